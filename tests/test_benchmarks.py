"""Scripts under benchmarks/: what they conclude from the runs that they made, and what they hand to the harness."""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

import harness
from harness.model.evaluation import Evaluation
from harness.model.instruments import SanitizerFinding, Sanitizing, ToolRun
from harness.model.timing import TimerOverhead
from harness.model.verdict import Verdict
from harness.referee.setting import prepare_setting
from harness.store.journal import Journal
from tests.examples import failed, measured, passed, sim_environment, timing
from tests.files import laid
from tests.machine import ROOT
from tests.scripts import script
from tests.workspace.test_problem import SOURCE

against_kernelbench = script("against_kernelbench")
equal_arms = script("equal_arms")
field = script("field")
field_simulator = script("field_simulator")
fuzz_files = script("fuzz_files")
kept = script("kept")
memory = script("memory")
other_shapes = script("other_shapes")
run_times = script("run_times")
sanitized = script("sanitized")
served = script("served")
stopping = script("stopping")


@pytest.mark.heavy
def test_strange_files_neither_hang_the_harness_nor_end_it_with_a_traceback() -> None:
    found = fuzz_files.fuzz(seed=random.randrange(2**32), inputs=1_000_000, seconds=20)
    assert [failure for tally in found.values() for failure in tally.failures] == []
    assert all(tally.refused < tally.inputs for tally in found.values())


def run(low: float, high: float, number: int = 1, **changes: Any) -> Any:
    facts: dict[str, Any] = {
        "size": "1ms",
        "config": "publish",
        "run": number,
        "seconds": 61.0 + number,
        "timing_s": 30.25,
        "blocks": 60,
        "baseline_us": 1080.5,
        "solution_us": 360.25,
        "speedup": (low + high) / 2,
        "low": low,
        "high": high,
        "metric": "gpu_cold",
        "noise": None,
        "failure": None,
    }
    return run_times.Row(**{**facts, **changes})


def without_ratio(**changes: Any) -> Any:
    return replace(run(1, 1), speedup=None, low=None, high=None, **changes)


def test_runs_agree_where_their_intervals_overlap() -> None:
    one, near, far = run(2.990, 3.010), run(3.008, 3.020, 2), run(3.011, 3.030, 3)
    assert run_times.agreement([one, near]) == "1 of 1"
    assert run_times.agreement([one, far]) == "0 of 1"
    assert run_times.agreement([one, near, far]) == "2 of 3"
    assert run_times.agreement([one, replace(near, metric="end_to_end")]) == "0 of 1"
    assert run_times.agreement([one, without_ratio()]) == "—"


def test_a_run_is_a_line() -> None:
    assert run_times.line_of(run(2.99, 3.01)) == (
        "  1ms publish  run 1    62.0 s, timing   30.2 s     1080.50 µs /    360.25 µs  "
        "3.0000× [2.9900, 3.0100] ±0.33%  60 blocks"
    )
    waits = run(2.99, 3.01, metric="end_to_end", noise="drift")
    assert run_times.line_of(waits).endswith("60 blocks  end_to_end  noisy: drift")
    short = without_ratio()
    assert run_times.line_of(short).endswith("360.25 µs  no ratio  60 blocks")
    broken = without_ratio(baseline_us=None, failure="wrong_values: 1 of 4")
    assert run_times.line_of(broken).endswith("timing   30.2 s  wrong_values: 1 of 4")


def test_runs_are_summed_up_by_size_and_config() -> None:
    rows = [
        run(2.99, 3.01),
        run(3.00, 3.02, 2),
        without_ratio(config="quick"),
    ]
    lines = list(run_times.summary(rows))[2:]
    assert [" ".join(line.split()) for line in lines] == [
        "1ms publish 2 62.0 to 63.0 0.333% 0.333% 1 of 1",
        "1ms quick 1 62.0 to 62.0 — — —",
    ]


def test_compiling_is_no_part_of_a_runs_time() -> None:
    timing = measured()
    row = run_times.row_of(passed(timing=timing, stages_s={"build": 33.0, "timing": 4.5}), "1ms", "quick", 2, 60.0)
    assert (row.seconds, row.timing_s, row.blocks, row.metric, row.failure) == (27.0, 4.5, 12, "gpu_cold", None)
    assert timing.speedup is not None
    assert (row.speedup, row.low, row.high) == (timing.speedup.estimate, timing.speedup.low, timing.speedup.high)
    lost = run_times.row_of(failed(), "1ms", "quick", 1, 60.0)
    assert (lost.speedup, lost.failure) == (None, "wrong_values: 1 of 4 values are outside the tolerance")


def test_its_problems_and_configs_are_what_the_harness_reads(tmp_path: Path) -> None:
    workspace = run_times.make_workspace(tmp_path, list(run_times.SIZES))
    assert workspace.problem_names() == ["10ms", "10us", "1ms"]
    for name in run_times.SIZES:
        assert list(workspace.problem(name).cases) == ["full", "small"]
        (solution,) = workspace.solutions(name)
        assert solution.name == "fused"
    assert {name: workspace.config(str(run_times.CONFIGS / f"{name}.yaml")).timing.processes for name in (
        "quick", "publish"
    )} == {"quick": 1, "publish": 3}  # fmt: skip


def test_other_shapes_are_the_problems_own_with_other_parameters(tmp_path: Path) -> None:
    workspace = other_shapes.make_workspace(tmp_path, ["generic", "implicit_gemm"])
    (name,) = workspace.problem_names()
    problem = workspace.problem(name)
    assert list(problem.cases) == ["full", *other_shapes.SHAPES]
    assert problem.precision == "tf32"
    assert [solution.name for solution in workspace.solutions(name)] == ["generic", "implicit_gemm"]
    for shape in other_shapes.SHAPES:
        drawn = prepare_setting(problem, shape, 1, "cpu")
        channels = drawn.reference.init_inputs[0]
        assert f"in_channels = {channels}" in problem.source_for(shape)


def test_a_shapes_line_has_both_times_and_the_ratio(tmp_path: Path) -> None:
    line = other_shapes.line_of("square", passed(timing=measured()))
    assert line.startswith("square           tiled            ")
    assert "3000." in line
    assert "× [" in line
    assert other_shapes.line_of("square", failed()).endswith("1 of 4 values are outside the tolerance")


def test_a_shapes_row_can_be_written_as_json() -> None:
    row = json.loads(json.dumps(other_shapes.row_of("square", passed(timing=measured()))))
    assert row["speedup"][0] == pytest.approx(row["baseline_us"] / row["solution_us"], rel=0.01)
    assert row["environment"]["gpu"]
    assert json.loads(json.dumps(other_shapes.row_of("square", failed())))["speedup"] is None


def equal(problem: str, solution: float | None, control: float, around_us: float = 2.0) -> Any:
    """Intervals of ±0.2 % around these ratios."""

    def around(ratio: float) -> tuple[float, float, float]:
        return ratio, ratio * 0.998, ratio * 1.002

    return equal_arms.Row(
        problem=problem,
        seconds=9.0,
        blocks=24,
        baseline_us=42.0,
        solution=None if solution is None else around(solution),
        control=around(control),
        noise=None,
        around_us=around_us,
        empty_us=3.1,
    )


def test_equal_arms_are_counted_by_runs_above_the_floor() -> None:
    rows = [
        equal("x2_5us", None, 1.01),
        equal("x2_20us", 1.001, 1.0),
        equal("x2_20us", 1.003, 1.001, around_us=3.0),
        equal("x2_1ms", 0.999, 1.003),
        equal("x2_1ms", 0.997, 0.997),
    ]
    lines = [" ".join(line.split()) for line in equal_arms.summary(rows)]
    assert lines[2:5] == [
        "x2_5us 42.00 0 of 0 0 of 0 0 of 0 1.000% 0.952 1.000",
        "x2_20us 42.00 1 of 2 2 of 2 1 of 2 0.300% 0.940 0.988",
        "x2_1ms 42.00 1 of 2 0 of 2 0 of 2 0.300% 0.952 1.000",
    ]
    assert lines[5:] == [
        "4 runs above the floor, 1 below it, which claim no ratio",
        "the solution's interval holds 1 in 2 of 4 (50.0 %)",
        "the control's interval holds 1 in 2 of 4 (50.0 %)",
        "both intervals hold 1 in 1 of 4 (25.0 %)",
        "intervals hold 1 in 95% of the runs: solution NOT MET and control NOT MET",
        "over 20 µs, estimates within 0.5% of 1: NOT MET, 8 of 9, x2_5us at most 1.00%",
        "over 20 µs, CUPTI within 2% of events less 2.00 µs, the usual: NOT MET, 4 of 5, x2_20us at most 2.50%",
    ]


def test_equal_arms_that_are_as_they_should_be_are_called_so() -> None:
    lines = [*equal_arms.summary([equal("x2_1ms", 1.001, 1.0)])]
    assert lines[-3:] == [
        "intervals hold 1 in 95% of the runs: solution met and control met",
        "over 20 µs, estimates within 0.5% of 1: met, 2 of 2, x2_1ms at most 0.10%",
        "over 20 µs, CUPTI within 2% of events less 2.00 µs, the usual: met, 1 of 1, x2_1ms at most 0.00%",
    ]


def test_events_that_add_more_than_an_empty_kernel_takes_are_no_instrument() -> None:
    lines = [*equal_arms.summary([equal("x2_1ms", 1.001, 1.0, around_us=10.0)])]
    assert lines[-1].endswith("events less 10.00 µs, the usual: NOT MET, an empty kernel takes 3.10 µs")


def test_what_lies_between_events_beside_the_kernel_is_told() -> None:
    listener = equal_arms.Listener(equal_arms.AroundCalls())
    assert listener.around_ns() is None
    listener.calls += [(18_600, 21_000), (18_500, 21_000), (18_700, 21_000)]
    row = equal_arms._row("x2_20us", measured(floors=TimerOverhead(1_250.0, 3_100.0)), listener, 9.0)
    assert row.around_us == 2.4
    assert "events beyond CUPTI 2.40 µs" in equal_arms._line(row)


def test_three_processes_that_hardly_jitter_end_within_the_precision() -> None:
    within, covered, blocks = stopping.three_processes(jitter=0.0003, apart=0.0, runs=5)
    assert (within, covered, blocks) == (1, 1, 18)


class ScriptedEvaluator:
    """A source that it hasn't seen takes 4.5 s to build, a known one 0.25 s."""

    def __init__(self, **arguments: Any) -> None:
        self.backend = arguments["backend"]
        self.sources: list[tuple[str, str]] = []

    def __enter__(self) -> ScriptedEvaluator:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def evaluate(self, problem: str, source: str, cases: list[str]) -> Evaluation:
        assert (self.backend, cases) == ("sim", ["small"])
        is_known = (problem, source) in self.sources
        self.sources.append((problem, source))
        if "asm" in source:
            return failed(verdict=Verdict.UNSUPPORTED, checks=())
        return passed(stages_s={"build": 0.25 if is_known else 4.5})


@pytest.fixture
def simulator(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """Over a workspace of two solutions, one of which has inline PTX."""
    sources = {"plain": "x = 1\n", "with_ptx": "# asm\n"}
    laid(tmp_path, {f"solutions/pool/{name}/solution.py": source for name, source in sources.items()})
    laid(tmp_path, {"problems/pool/problem.py": SOURCE})
    loaded = script("simulator")
    monkeypatch.setattr(loaded, "ROOT", tmp_path)
    monkeypatch.setattr(harness, "Evaluator", ScriptedEvaluator)
    return loaded


def test_who_needs_a_gpu_is_not_compiled_for_the_simulator(
    simulator: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "solutions" / "pool" / "with_ptx" / "solution.yaml").write_text("needs_gpu: true\n")
    assert simulator.compile_times() == {"pool/plain": (4.5, 0.25)}
    assert capsys.readouterr().err == "pool/with_ptx is left out: it needs a GPU\n"


def test_a_solution_that_fails_unannounced_ends_the_benchmark(simulator: Any) -> None:
    with pytest.raises(SystemExit, match="pool: unsupported: "):
        simulator.compile_times()


def sanitizing(case: str, *findings: SanitizerFinding, complaint: str | None = None) -> Sanitizing:
    runs = (ToolRun("memcheck", 8.0, findings, len(findings), 0, "log", complaint),)
    return Sanitizing("maxpool2d", case, "plain", "a GPU", runs)


def test_all_our_solutions_are_sanitized_on_cases_that_exist() -> None:
    assert sorted(sanitized.CASES) == sorted(path.name for path in (ROOT / "problems").iterdir())
    for problem, cases in sanitized.CASES.items():
        assert set(cases) <= set(yaml.safe_load((ROOT / "problems" / problem / "problem.yaml").read_text())["cases"])


def test_a_finding_in_a_kernel_of_ones_own_is_none_of_torchs() -> None:
    foreign, own = (SanitizerFinding("memcheck", "Invalid __global__ read", "k", is_own) for is_own in (False, True))
    assert sanitized.line_of(sanitized.row_of(sanitizing("wide", foreign), "c0de")) == "maxpool2d/plain, wide: clean"
    found = sanitized.row_of(sanitizing("wide", own, own), "c0de")
    assert (found.is_clean, sanitized.line_of(found)) == (False, "maxpool2d/plain, wide: findings: memcheck 2")


@pytest.mark.parametrize(
    ("answer", "code", "line"),
    [
        (lambda case: sanitizing(case), False, "maxpool2d/plain, large_windows: clean"),
        (lambda case: "harness: no CUDA GPU", True, "maxpool2d/plain, small: harness: no CUDA GPU"),
        (
            lambda case: sanitizing(case, complaint="not done after 600 s"),
            True,
            "maxpool2d/plain, wide: memcheck: not done after 600 s",
        ),
    ],
)
def test_what_was_not_looked_through_is_not_clean(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    answer: Callable[[str], Sanitizing | str],
    code: bool,
    line: str,
) -> None:
    monkeypatch.setattr(sanitized, "sanitize", lambda problem, solution, case, folder: answer(case))
    out = tmp_path / "rows.json"
    monkeypatch.setattr(sys, "argv", ["", "--problem", "maxpool2d", "--solution", "plain", "--json", str(out)])
    with pytest.raises(SystemExit) as ended:
        sanitized.main()
    assert bool(ended.value.code) is code
    assert line in capsys.readouterr().out.splitlines()
    assert [row["case"] for row in json.loads(out.read_text())] == list(sanitized.CASES["maxpool2d"])


@pytest.mark.parametrize(
    ("cap_gib", "eager_gib", "verdict", "is_missing"),
    [
        (24, 9.0, "no_custom_kernel", False),
        (24, 9.0, "unsupported", True),
        (24, 9.0, "out_of_memory", True),
        (24, 14.0, "unsupported", False),
        (24, None, "unsupported", False),
        (80, 60.0, "unsupported", True),
        (80, None, "wrong_values", True),
    ],
)
def test_what_must_be_judged_follows_from_the_eager_call(
    cap_gib: int, eager_gib: float | None, verdict: str, is_missing: bool
) -> None:
    row = memory.Row("l1_034", cap_gib, False, eager_gib, 20.0, verdict, None, (), 3.5)
    assert row.is_missing is is_missing


def test_what_stands_in_the_file_is_not_measured_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    laid(tmp_path, {f"problems/{name}/problem.py": SOURCE for name in ("one", "two")})
    asked: list[tuple[str, int]] = []

    def measure(folders: Any, cap_gib: int, is_timed: bool) -> Any:
        for folder in folders:
            asked.append((folder.name, cap_gib))
            evaluation = failed(verdict=Verdict.NO_CUSTOM_KERNEL)
            yield memory.row_of(folder.name, cap_gib, is_timed, 1.0, 5.0, 2.0, evaluation)

    monkeypatch.setattr(memory, "measure", measure)
    out = tmp_path / "rows.jsonl"
    assert memory.main([str(tmp_path), "--gib", "24", "--problem", "one", "--json", str(out)]) == 0
    with out.open("a") as file:
        file.write('{"problem": "tw')
    assert memory.main([str(tmp_path), "--gib", "24", "--json", str(out)]) == 0
    assert asked == [("one", 24), ("two", 24)]
    assert [row.problem for row in memory.read(out)] == ["one", "two"]


@pytest.mark.parametrize(
    ("unit", "before", "now", "is_lost"),
    [
        ("s", [2.0, 2.0, 2.0], [2.25, 2.25, 2.25], True),
        ("s", [2.0, 2.0, 2.0], [2.15, 2.15, 2.15], False),
        ("s", [2.0, 2.0, 2.0], [1.0, 1.0, 1.0], False),
        ("s", [2.0, 2.0, 2.4], [2.25, 2.25, 2.25], False),
        ("/s", [100.0], [80.0], True),
        ("x", [100.0], [200.0], False),
        ("%", [100.0], [0.0], True),
    ],
)
def test_a_loss_is_worse_by_a_tenth_beyond_the_noise(
    unit: str, before: list[float], now: list[float], is_lost: bool
) -> None:
    assert kept.is_lost(kept.Measured(unit, now), kept.Measured(unit, before)) is is_lost


def run_kept(monkeypatch: pytest.MonkeyPatch, file: Path, seconds: float, *options: str, host_s: float = 2.0) -> None:
    monkeypatch.setattr(kept, "host_s", lambda: [host_s] * 3)
    monkeypatch.setattr(kept, "help_s", lambda: [seconds] * 3)
    monkeypatch.setattr(kept, "kind_of_machine", lambda: "simulator, 2 cores")
    monkeypatch.setattr(sys, "argv", ["", "--file", str(file), "--only", "harness", *options])
    kept.main()


def test_a_loss_ends_with_1_until_it_is_accepted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = tmp_path / "kept.json"
    file.write_text(json.dumps({"a GPU": {"taken_at": "2026-11-24", "measures": {}}}))
    run_kept(monkeypatch, file, 1.0, "--accept")
    run_kept(monkeypatch, file, 1.05)
    with pytest.raises(SystemExit) as ended:
        run_kept(monkeypatch, file, 1.2)
    assert ended.value.code
    run_kept(monkeypatch, file, 1.2, "--accept")
    run_kept(monkeypatch, file, 1.2)
    found = json.loads(file.read_text())
    assert list(found) == ["a GPU", "simulator, 2 cores"]
    assert found["simulator, 2 cores"]["measures"]["harness --help"] == {"unit": "s", "samples": [1.2, 1.2, 1.2]}


def test_no_loss_is_one_of_the_host_alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = tmp_path / "kept.json"
    run_kept(monkeypatch, file, 1.0, "--accept")
    run_kept(monkeypatch, file, 2.0, "--accept", host_s=4.0)
    measures = json.loads(file.read_text())["simulator, 2 cores"]["measures"]
    assert {name: set(one["samples"]) for name, one in measures.items()} == {kept.HOST: {2.0}, "harness --help": {1.0}}
    run_kept(monkeypatch, file, 1.0, host_s=1.0)  # an import from a warm disk says little of other times
    with pytest.raises(SystemExit):
        run_kept(monkeypatch, file, 1.2, host_s=1.0)


def test_what_is_promised_of_a_gpu_is_not_asked_of_the_simulator() -> None:
    on_gpu, simulated = kept.measures(is_gpu=True), kept.measures(is_gpu=False)
    assert "speed-up maxpool2d/one_copy" in on_gpu
    assert "speed-up maxpool2d/one_copy" not in simulated
    assert "threads, no barrier" in simulated
    assert "maxpool2d, command to verdict, warm" in {*on_gpu} & {*simulated}


@pytest.fixture
def leaderboard(tmp_path: Path) -> Path:
    """A checkout with one problem and two models' kernels."""
    names = ("problems/l1_p7.py", "solutions/aa.py", "solutions/bb.py")
    assets = laid(tmp_path / "checkout/docs/assets", {name: f"# {name}\n" for name in names})
    entries = [{"display_name": name, "torch_speedup": claimed, "file": file} for name, claimed, file in KERNELS]
    (assets / "data.json").write_text(json.dumps({"Level 1: 7_Some_product_": entries, "Level 3: 1_Empty": []}))
    return tmp_path / "checkout"


KERNELS = (("gpt-o1", 2.0, "aa"), ("claude-3.5-sonnet", 0.5, "bb"))


def test_a_leaderboard_becomes_a_workspace_with_its_claims(leaderboard: Path, tmp_path: Path) -> None:
    claims = field.make_workspace(leaderboard, tmp_path / "work")
    assert claims == {"l1_007/gpt_o1": 2.0, "l1_007/claude_3_5_sonnet": 0.5}
    assert (tmp_path / "work/problems/l1_007/problem.py").read_text() == "# problems/l1_p7.py\n"
    assert (tmp_path / "work/solutions/l1_007/claude_3_5_sonnet/solution.py").read_text() == "# solutions/bb.py\n"
    assert not (tmp_path / "work/problems/l3_001").exists()


def judged(problem: str, solution: str, evaluation: Evaluation, **changes: Any) -> Evaluation:
    named = replace(evaluation.problem, name=problem), replace(evaluation.solution, name=solution)
    return replace(evaluation, problem=named[0], solution=named[1], **changes)


def test_sittings_are_merged_and_written_without_source(
    leaderboard: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = tmp_path / "work/results", tmp_path / "second"
    Journal(first, "a").append(judged("l1_007", "gpt_o1", passed(timing=measured())))
    Journal(second, "b").append(judged("l1_007", "gpt_o1", failed(verdict=Verdict.HARNESS_ERROR), id="later"))
    Journal(second, "b").append(judged("l1_007", "claude_3_5_sonnet", failed(), id="other"))
    monkeypatch.setattr(field, "readings", lambda: {"l1_007/claude_3_5_sonnet": {"truth": "right", "why": "a sum"}})
    file, page = tmp_path / "field.json", tmp_path / "field.md"
    options = ["--workspace", str(tmp_path / "work"), "--minutes", "0", "--merge", str(second)]
    monkeypatch.setattr(sys, "argv", ["", str(leaderboard), *options, "--file", str(file), "--page", str(page)])
    field.main()
    found = json.loads(file.read_text())
    assert {name: row["verdict"] for name, row in found.items()} == {
        "l1_007/claude_3_5_sonnet": "wrong_values",
        "l1_007/gpt_o1": "passed",
    }
    assert found["l1_007/gpt_o1"]["claimed"] == 2.0
    assert found["l1_007/gpt_o1"]["measured"][0] == pytest.approx(3.0, rel=0.01)
    lines = page.read_text().splitlines()
    (level,) = [line for line in lines if line.startswith("| level 1 |")]
    assert level.startswith("| level 1 | 2 | 1 | 1 | 0 | 2.000× | ")
    assert level.endswith(" | 1 | 1 |")
    assert any(line.startswith("| l1_007/claude_3_5_sonnet | `wrong_values` |") for line in lines)
    assert any(line.startswith("1 false alarms, 0 false passes") for line in lines)
    written = page.read_text()
    field.main()
    assert page.read_text() == written


def test_without_data_no_page_is_written(leaderboard: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, page = tmp_path / "field.json", tmp_path / "field.md"
    options = ["--workspace", str(tmp_path / "work"), "--minutes", "0", "--file", str(file), "--page", str(page)]
    monkeypatch.setattr(sys, "argv", ["", str(leaderboard), *options])
    field.main()
    assert not file.exists()
    assert not page.exists()


def test_verdicts_of_the_simulator_are_held_to_a_gpu_s(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without a GPU's own verdict, KernelBench's counts: it accepted all of them."""
    place = sim_environment()
    stages = {"build": 4.0, "load": 0.5, "correctness": 1.5}
    ways = [passed(), passed(), failed(), failed(verdict=Verdict.UNSUPPORTED)]
    for number, way in enumerate(ways, 1):
        record = judged(f"l1_00{number}", "one", way, environment=place, stages_s=stages, id=str(number))
        Journal(tmp_path / "results", "a").append(record)
    Journal(tmp_path / "results", "b").append(
        judged("l1_005", "one", failed(), environment=place, stages_s=stages, id="5")
    )
    monkeypatch.setattr(field_simulator, "readings", lambda: {"l1_005/one": {"truth": "wrong", "why": "a race"}})
    gpu, file, page = (tmp_path / name for name in ("gpu.json", "found.json", "page.md"))
    gpu.write_text(json.dumps({"l1_002/one": {"verdict": "wrong_values"}}))
    options = [str(tmp_path / "results"), "--gpu", str(gpu), "--file", str(file), "--page", str(page)]
    monkeypatch.setattr(sys, "argv", ["", *options])
    field_simulator.main()
    assert "| 1 | 5 | 1 (20%) | 1 | 1 | 1 | 4.0 | 2.0 |" in page.read_text()
    assert json.loads(file.read_text())["l1_002/one"]["on_gpu"] == "wrong_values"
    assert capsys.readouterr().out.splitlines()[-4:] == [
        "l1_002/one: passed, on a GPU wrong_values",
        "l1_003/one: wrong_values, on a GPU passed",
        "l1_004/one: unsupported, on a GPU passed",
        "l1_005/one: wrong_values, on a GPU passed, wrong by its source",
    ]


def test_the_committed_readings_are_whole() -> None:
    assert {reading["truth"] for reading in field.readings().values()} <= {"right", "wrong"}


EVALUATOR = """
from pydantic import BaseModel
import requests
from . import utils

class Result(BaseModel):
    compiled: bool = False
    correctness: bool = False
    metadata: dict = {}
    runtime: float = -1.0
    ref_runtime: float = -1.0

def build_compile_cache(solution, verbose, build_dir):
    open(build_dir, "w").write(solution)

def eval_kernel_against_ref(reference, solution, num_correct_trials, num_perf_trials, measure_performance, build_dir,
                            backend):
    assert (num_correct_trials, num_perf_trials, measure_performance) == (5, 100, True)
    assert "def get_init_inputs" in reference
    if "lost" in solution:
        raise SystemExit(1)
    if "locked" in solution:
        return None
    correct = "wrong" not in solution
    return Result(compiled=True, correctness=correct, runtime=2.0, ref_runtime=60.0 if "fast" in solution else 3.0,
                  metadata={"excessive_speedup": True} if "fast" in solution else {})
"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("right", {"verdict": "correct", "passed": True, "speedup": 1.5}),
        ("fast", {"verdict": "excessive_speedup", "passed": False, "speedup": 30.0}),
        ("wrong", {"verdict": "wrong", "passed": False, "speedup": None}),
        ("locked", {"verdict": "no answer", "passed": False, "speedup": None}),
        ("lost", {"verdict": "no answer", "passed": False, "speedup": None}),
    ],
)
def test_kernelbench_is_asked_in_a_process_of_its_own(tmp_path: Path, text: str, expected: dict[str, Any]) -> None:
    utils = "from dotenv import load_dotenv\nfrom tqdm import tqdm\nfrom openai import OpenAI\n"
    utils += "from litellm import completion\nload_dotenv()\n"
    package = {"__init__.py": "from . import utils\n", "utils.py": utils, "eval.py": EVALUATOR}
    laid(tmp_path / "checkout/src/kernelbench", package)
    sources = {"problems/p/problem.py": "class Model: ...\n", "solutions/p/s/solution.py": text}
    work = laid(tmp_path / "work", sources)
    subject = against_kernelbench.Subject(work, "cheats", "p", "s", "right", "corpus")
    with ThreadPoolExecutor(1) as pool:
        assert against_kernelbench.all_by_kernelbench([subject], tmp_path, tmp_path / "checkout", pool) == [expected]
    assert (tmp_path / "cheats/p/s/build").read_text() == text


def test_the_corpus_says_what_is_right_and_what_is_wrong() -> None:
    known = {one.name: one for one in against_kernelbench.corpus()}
    assert known["cheats/double/returns_empty"].truth == "wrong"
    assert known["cheats/double/synchronizes"].truth == "right"
    assert known["cheats/double/poisoned_torch_import"].truth == "unknown"
    assert known["faults/double/honest"].truth == "right"
    assert all(one.source.is_file() and one.reference.is_file() for one in known.values())
    assert all((one.workspace / f"configs/{one.config}.yaml").is_file() for one in known.values())


def test_false_passes_and_false_alarms_are_counted_by_solution() -> None:

    def row(name: str, truth: str, passed: bool, seconds: float, speedup: float | None = None) -> dict[str, Any]:
        return {"name": name, "truth": truth, "passed": passed, "seconds": seconds, "speedup": speedup}

    rows = [
        row("a", "wrong", True, 10.0, 2.0),
        row("a", "wrong", False, 20.0),
        row("b", "right", True, 30.0, 1.0),
        row("b", "right", True, 30.0, 1.1),
        row("c", "right", False, 5.0),
        row("d", "unknown", True, 7.0),
    ]
    assert against_kernelbench.figures(rows) == ["1 of 1", "1 of 2", "1 of 2", "15.0", "10.00 %"]


def test_what_came_through_the_door_is_held_against_the_field_and_compare() -> None:
    right, wrong, hostile = (
        served.Candidate("relu", name, "", due, hostile=is_hostile)
        for name, due, is_hostile in (("a", "passed", False), ("b", "wrong_values", False), ("c", "crashed", True))
    )
    fast, slow = passed(timing=timing()), passed(timing=timing(solution_ns=2_000_000))
    judged = {right.name: fast, wrong.name: passed(), hostile.name: failed(verdict=Verdict.CRASHED)}
    found = served.outcome([right, wrong, hostile], judged, {right.name: slow, wrong.name: failed()}, 6.0, 50.0)
    assert (found["judged"], found["hostile"], found["seconds_each"], found["step_of_768_s"]) == (3, 1, 2.0, 1536)
    assert found["not_as_due"] == {wrong.name: "wrong_values → passed"}
    assert list(found["not_as_compare"].values()) == ["passed → wrong_values"]
    assert (found["intervals"], found["overlapping"]) == (1, 0)
