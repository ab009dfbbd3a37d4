"""`harness gate` and `harness snapshot` from the command line to the exit code, with a scripted session."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from harness.errors import MachineError
from harness.model.environment import Environment
from harness.model.evaluation import Evaluation
from harness.model.timing import Timing
from harness.model.verdict import Verdict
from harness.workspace.selection import Task
from tests.cli.sessions import RUN, Ending, ScriptedSession
from tests.cli.shell import Outcome, Shell
from tests.examples import environment, sim_environment
from tests.gate.builders import timing
from tests.gate.test_scope import commit, git
from tests.machine import ROOT

Sessions = Callable[..., ScriptedSession]


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch) -> Sessions:
    """Makes the session that the next command opens: it gives each solution's endings in turn, the last one again."""

    def make(where: Environment | None = None, **script: list[Ending]) -> ScriptedSession:
        def ending_of(name: str) -> Ending:
            endings = script.get(name, [1_000_000])
            return endings.pop(0) if len(endings) > 1 else endings[0]

        scripted = ScriptedSession(ending_of, where)
        monkeypatch.setattr("harness.run.session.open_session", scripted.open)
        return scripted

    return make


@pytest.fixture
def accepted(workspace: Path, harness: Shell, session: Sessions) -> Path:
    """A snapshot in which both solutions take 1 ms."""
    session()
    assert harness("gate", "--quiet").code == 0
    assert harness("snapshot", "accept").code == 0
    return workspace / "snapshot.jsonl"


@pytest.fixture
def root(accepted: Path) -> Path:
    """The workspace with that snapshot, in a repository."""
    git(accepted.parent, "init", "-q", "-b", "main")
    commit(accepted.parent)
    return accepted.parent


def words(outcome: Outcome) -> str:
    """The output whatever its lines."""
    return " ".join(outcome.out.split())


def report(outcome: Outcome) -> dict[str, Any]:
    return json.loads(outcome.out)  # type: ignore[no-any-return]


NOISY = timing(1_000_000, spread=0.2)


@pytest.mark.parametrize(
    ("script", "policy", "code", "rounds", "told"),
    [
        ({}, "", 0, 1, "2 solutions, 2 passed"),
        ({"plain": [Verdict.WRONG_VALUES]}, "", 1, 1, "maxpool2d/plain: failed (unexpected_verdict)"),
        ({"plain": [None]}, "", 1, 1, "maxpool2d/plain: failed (missing_result)"),
        ({"plain": [Verdict.HARNESS_ERROR]}, "", 3, 1, "maxpool2d/plain: broken (harness_error)"),
        ({"plain": [Verdict.HARNESS_ERROR], "shared_tile": [Verdict.TIMEOUT]}, "", 1, 1, "1 failed, 1 broken"),
        ({"plain": [1_100_000, 1_000_000]}, "", 0, 2, "tolerated (inconclusive_speed)"),
        ({"plain": [1_100_000, 1_000_000]}, "inconclusive: forbid", 4, 2, "inconclusive (inconclusive_speed)"),
        ({"plain": [NOISY, 1_000_000]}, "", 0, 2, "2 passed"),
        ({"plain": [1_100_000, None]}, "", 1, 3, "maxpool2d/plain: failed (regressed)"),
        ({"plain": [1_100_000]}, "remeasure: 0", 1, 1, "measured once"),
        ({"plain": [1_100_000]}, "remeasure: 4", 1, 5, "measured 5 times"),
        ({"plain": [1_100_000]}, "problems: {max*: {correctness_only: true}}", 0, 1, "2 passed"),
    ],
)
def test_what_comes_of_evaluating_decides_and_suspects_alone_are_measured_again(
    harness: Shell, accepted: Path, session: Sessions, script: Any, policy: str, code: int, rounds: int, told: str
) -> None:
    (accepted.parent / "gate.yaml").write_text(policy)
    fake = session(**{name: list(endings) for name, endings in script.items()})
    outcome = harness("gate", "--quiet")
    assert (outcome.code, fake.rounds) == (code, [["plain", "shared_tile"], *[["plain"]] * (rounds - 1)])
    assert told in words(outcome)


def test_a_planted_regression_fails_after_three_measurements(harness: Shell, accepted: Path, session: Sessions) -> None:
    fake = session(plain=[1_100_000])
    outcome = harness("gate")
    assert outcome.code == 1
    assert fake.rounds == [["plain", "shared_tile"], ["plain"], ["plain"]]
    assert outcome.err.count("again: maxpool2d/plain") == 2
    assert "4/4  plain: passed" in outcome.err
    assert "maxpool2d/plain: failed (regressed)" in outcome.out
    assert "measurement 3: speed-up" in outcome.out


def test_a_workspace_without_solutions_is_never_green(harness: Shell, workspace: Path, session: Sessions) -> None:
    (workspace / "solutions").rename(workspace / "elsewhere")
    fake = session()
    outcome = harness("gate", "--quiet")
    assert (outcome.code, outcome.out) == (2, "")
    assert "no solution in" in outcome.err
    assert fake.opened == []


def test_an_empty_solution_folder_is_never_green(harness: Shell, workspace: Path, session: Sessions) -> None:
    session()
    (workspace / "solutions/maxpool2d/empty").mkdir()
    outcome = harness("gate", "--quiet")
    assert outcome.code == 1
    assert "maxpool2d/empty: failed (missing_result)" in outcome.out
    assert "no solution.py" in outcome.out


def test_without_a_gpu_correctness_is_judged_and_the_rest_is_said(
    harness: Shell, accepted: Path, session: Sessions
) -> None:
    fake = session(sim_environment(), plain=[Verdict.PASSED], shared_tile=[Verdict.PASSED])
    outcome = harness("gate", "--quiet", "--backend", "sim")
    assert (outcome.code, fake.rounds) == (0, [["plain", "shared_tile"]])
    assert "not judged: no GPU" in outcome.out
    session(sim_environment(), plain=[Verdict.WRONG_VALUES])
    assert harness("gate", "--quiet").code == 1


def test_what_the_simulator_cannot_run_ends_with_four(harness: Shell, workspace: Path, session: Sessions) -> None:
    fake = session(sim_environment(), plain=[Verdict.UNSUPPORTED])
    outcome = harness("gate", "--quiet", "--backend", "sim")
    assert outcome.code == 4
    assert "maxpool2d/plain: inconclusive (unsupported)" in outcome.out
    assert fake.opened[0].backend == "sim"
    (workspace / "gate.yaml").write_text("unsupported: allow")
    assert harness("gate", "--quiet", "--backend", "sim").code == 0


def test_a_machine_that_lacks_what_is_asked_for_ends_with_three(
    harness: Shell, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_gpu(*_: object) -> None:
        raise MachineError("no GPU here")

    monkeypatch.setattr("harness.run.session.open_session", no_gpu)
    outcome = harness("gate", "--quiet", "--backend", "cuda")
    assert (outcome.code, outcome.err) == (3, "harness: no GPU here\n")


def test_another_environment_is_refused_before_anything_is_measured(
    harness: Shell, accepted: Path, session: Sessions
) -> None:
    fake = session(environment(driver="590.1"))
    outcome = harness("gate", "--quiet")
    assert (outcome.code, fake.rounds) == (2, [])
    assert "driver 580.65.06" in outcome.err
    assert "590.1" in outcome.err
    for way in ("--correctness-only", "accept a new snapshot", "--allow-other-environment"):
        assert way in outcome.err
    assert harness("gate", "--quiet", "--correctness-only").code == 0
    allowed = harness("gate", "--quiet", "--allow-other-environment")
    assert allowed.code == 0
    assert "different environments" in allowed.out
    assert "driver 580.65.06" in allowed.out


def test_an_interruption_keeps_what_was_evaluated(
    harness: Shell, workspace: Path, session: Sessions, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = session()
    whole = fake.evaluate

    def interrupted(tasks: Sequence[Task], *how: object) -> Generator[Evaluation, None, None]:
        yield next(whole(tasks, *how))
        raise KeyboardInterrupt

    monkeypatch.setattr(fake, "evaluate", interrupted)
    outcome = harness("gate", "--quiet", "--junit", "gate.xml")
    assert (outcome.code, outcome.out) == (130, "")
    assert len(list((workspace / "results" / RUN).glob("*.jsonl"))) == 1
    assert not (workspace / "gate.xml").exists()


def test_correctness_only_measures_nothing(harness: Shell, accepted: Path, session: Sessions) -> None:
    fake = session(plain=[2_000_000])
    outcome = harness("gate", "--quiet", "--correctness-only", "--seed", "7", "--config", "quick")
    assert outcome.code == 0
    assert "not judged: --correctness-only" in outcome.out
    (opened,) = fake.opened
    assert (opened.config.timing.enabled, opened.config.timing.blocks, opened.seed) == (False, 6, 7)


def test_a_waiver_lets_a_regression_pass(harness: Shell, accepted: Path, session: Sessions) -> None:
    session(plain=[1_200_000])
    waiver = "waivers: [{problem: max*, solution: plain, what: performance, reason: r, owner: ann, expires: %s}]"
    policy = accepted.parent / "strict.yaml"
    policy.write_text(waiver % "2999-01-01")
    outcome = harness("gate", "--quiet", "--policy", "strict.yaml")
    assert outcome.code == 0
    assert "waived until 2999-01-01" in outcome.out
    assert "ann: r" in outcome.out
    policy.write_text(waiver % "2020-01-01")
    outcome = harness("gate", "--quiet", "--policy", "strict.yaml")
    assert outcome.code == 1
    assert "expired on 2020-01-01" in words(outcome)


def test_patterns_choose_solutions(harness: Shell, workspace: Path, session: Sessions) -> None:
    fake = session()
    assert harness("gate", "--quiet", "-p", "max*", "-s", "pl*").code == 0
    assert fake.rounds == [["plain"]]


def test_only_what_changed_is_judged(harness: Shell, root: Path, session: Sessions) -> None:
    fake = session()
    outcome = harness("gate", "--quiet", "--changed-since", "main")
    assert outcome.code == 0
    assert outcome.out.splitlines()[-1].startswith("gate passed: nothing")
    assert "0 of 2" in outcome.out
    assert fake.opened == []
    (root / "solutions/maxpool2d/plain/solution.py").write_text("class ModelNew: pass")
    outcome = harness("gate", "--quiet", "--changed-since", "main", "--snapshot", "git:main")
    assert outcome.code == 0
    assert fake.rounds == [["plain"]]
    assert "speed against git:main" in outcome.out


def test_the_reports_of_earlier_calls_are_no_changes(harness: Shell, root: Path, session: Sessions) -> None:
    fake = session()
    for _ in range(2):
        outcome = harness("gate", "--changed-since", "main", "--sarif", "gate.sarif", "--junit", str(root / "gate.xml"))
        assert "0 of 2" in outcome.out
    assert fake.opened == []


def test_a_file_that_the_shell_leads_stdout_into_is_no_change(root: Path) -> None:
    command = f"cd {root}; {sys.executable} -m harness gate --changed-since main --json > gate.json"
    ended = subprocess.run(command, shell=True, env={**os.environ, "PYTHONPATH": str(ROOT)}, check=False)
    assert ended.returncode == 0
    assert "0 of 2" in (root / "gate.json").read_text()


def test_a_finished_run_is_judged_without_a_session(harness: Shell, accepted: Path, session: Sessions) -> None:
    fake = session()
    outcome = harness("gate", "--from-run", "latest")
    assert outcome.code == 0
    assert fake.opened == []
    assert outcome.out.splitlines()[-1].endswith(" 2 passed")
    (accepted.parent / "solutions/maxpool2d/plain/solution.py").write_text("class ModelNew: pass")
    outcome = harness("gate", "--from-run", RUN)
    assert outcome.code == 1
    assert "maxpool2d/plain: failed (missing_result)" in words(outcome)
    assert "edited" in words(outcome)
    (accepted.parent / "solutions/maxpool2d/shared_tile/solution.py").write_text("class ModelNew: pass")
    outcome = harness("gate", "--from-run", RUN, "--json")
    assert outcome.code == 1
    assert "no result" in report(outcome)["not_judged"]


def test_every_file_that_is_asked_for_is_written(
    harness: Shell, workspace: Path, session: Sessions, monkeypatch: pytest.MonkeyPatch
) -> None:
    session(plain=[Verdict.WRONG_VALUES])
    summary = workspace / "summary.md"
    summary.write_text("before\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    files = ["--junit", "gate.xml", "--sarif", "gate.sarif", "--markdown", "gate.md"]
    outcome = harness("gate", "--quiet", *files, "--github")
    assert outcome.code == 1
    assert ElementTree.parse(workspace / "gate.xml").getroot().get("failures") == "1"
    assert json.loads((workspace / "gate.sarif").read_text())["version"] == "2.1.0"
    assert (workspace / "gate.md").read_text().startswith("### ❌ ")
    assert summary.read_text().startswith("before\n### ❌ ")
    lines = outcome.out.splitlines()
    assert lines[0].startswith("::stop-commands::")
    token = lines[0].removeprefix("::stop-commands::")
    assert len(token) == 32
    (annotation,) = lines[lines.index(f"::{token}::") + 1 :]
    assert annotation.startswith("::error file=solutions/maxpool2d/plain/solution.py,line=1,title=maxpool2d/plain%3A ")


def test_json_stays_one_object_beside_annotations(harness: Shell, workspace: Path, session: Sessions) -> None:
    session(plain=[Verdict.WRONG_VALUES])
    outcome = harness("gate", "--quiet", "--github", "--json")
    assert report(outcome)["outcome"] == "failed"
    stopped, resumed, annotation = outcome.err.splitlines()
    assert resumed == f"::{stopped.removeprefix('::stop-commands::')}::"
    assert annotation.startswith("::error file=")


def test_a_broken_solution_yaml_fails_that_solution_and_every_report_tells_of_it(
    harness: Shell, workspace: Path, session: Sessions
) -> None:
    fake = session()
    path = workspace / "solutions/maxpool2d/plain/solution.yaml"
    path.write_text('"x\\e[31m\\n::warning file=y::spoofed": 1')
    outcome = harness("gate", "--quiet", "--junit", "gate.xml", "--sarif", "gate.sarif", "--github")
    assert outcome.code == 1
    assert fake.rounds == [["shared_tile"]]
    assert "maxpool2d/plain: failed (missing_result)" in outcome.out
    assert "\x1b" not in outcome.out + outcome.err
    (case,) = ElementTree.parse(workspace / "gate.xml").getroot().iter("failure")
    assert "solutions/maxpool2d/plain/solution.yaml:1: unknown key" in (case.text or "")
    (result,) = json.loads((workspace / "gate.sarif").read_text())["runs"][0]["results"]
    place = result["locations"][0]["physicalLocation"]["artifactLocation"]
    assert place["uri"] == "solutions/maxpool2d/plain/solution.yaml"


def test_the_runner_obeys_nothing_before_the_annotations(harness: Shell, workspace: Path, session: Sessions) -> None:
    """What is printed before the answer, and an error in its place, may hold the words of a solution."""
    session(plain=[Verdict.WRONG_VALUES])
    outcome = harness("gate", "--github")
    assert outcome.err.splitlines()[0] == outcome.out.splitlines()[0]
    assert outcome.err.startswith("::stop-commands::")
    (workspace / "gate.yaml").write_text('"x\\n::warning file=y::spoofed": 1')
    outcome = harness("gate", "--github")
    (stopped,) = outcome.out.splitlines()
    assert outcome.code == 2
    assert outcome.err.startswith(stopped + "\n")
    assert f"::{stopped.removeprefix('::stop-commands::')}::" not in outcome.err.splitlines()


def test_a_shared_file_has_all_judged_and_is_named(harness: Shell, root: Path, session: Sessions) -> None:
    (root / "solutions/common.cuh").write_text("")
    fake = session()
    outcome = harness("gate", "--quiet", "--changed-since", "main")
    assert fake.rounds == [["plain", "shared_tile"]]
    assert "all solutions (2)" in outcome.out
    assert "solutions/common.cuh" in outcome.out


def test_a_loosened_expectation_is_red(harness: Shell, accepted: Path, session: Sessions) -> None:
    (accepted.parent / "solutions/maxpool2d/plain/solution.yaml").write_text("expected_verdict: wrong_values")
    session(plain=[Verdict.WRONG_VALUES])
    shutil.rmtree(accepted.parent / "results")
    outcome = harness("gate", "--quiet")
    assert outcome.code == 1
    assert "maxpool2d/plain: failed (changed_expectation)" in outcome.out
    assert harness("snapshot", "accept").code == 0
    assert harness("gate", "--quiet").code == 0


@pytest.fixture
def partial(workspace: Path, harness: Shell, session: Sessions, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run that left the case 'full' of one solution out."""
    fake = session()
    whole = fake.evaluate

    def small_alone(tasks: Sequence[Task], *how: object) -> Generator[Evaluation, None, None]:
        yield from whole(tasks, *how)
        path = next((workspace / "results" / RUN).glob("*.jsonl"))
        path.write_text(path.read_text().replace('"cases":["full","small"]', '"cases":["small"]', 1))

    monkeypatch.setattr(fake, "evaluate", small_alone)
    assert harness("gate", "--quiet").code == 0
    return workspace


def test_a_run_without_a_case_is_not_green(harness: Shell, partial: Path) -> None:
    outcome = harness("gate", "--from-run", "latest")
    assert outcome.code == 1
    assert "maxpool2d/plain: failed (missing_result)" in outcome.out
    assert "without full" in outcome.out
    assert "1 failed," in outcome.out


def test_a_run_without_a_case_is_not_accepted(harness: Shell, partial: Path) -> None:
    outcome = harness("snapshot", "accept")
    assert outcome.code == 2
    assert "maxpool2d/plain" in outcome.err
    assert "without full" in outcome.err
    assert not (partial / "snapshot.jsonl").exists()


def test_damaged_lines_and_other_settings_of_a_run_are_told(harness: Shell, accepted: Path, session: Sessions) -> None:
    (path,) = (accepted.parent / "results" / RUN).glob("*.jsonl")
    path.write_text("damaged\n" + path.read_text())
    told = words(harness("gate", "--from-run", "latest", "--config", "quick"))
    assert f"remark: {RUN}/{path.name}:1: " in told
    assert "timing.blocks 12 there" in told
    assert f"{path.name}:1: " in harness("snapshot", "accept").err


def test_without_a_snapshot_the_way_to_one_is_named(harness: Shell, workspace: Path, session: Sessions) -> None:
    session()
    assert "'harness snapshot accept'" in words(harness("gate", "--quiet"))


def test_an_accepted_solution_that_is_gone_fails(harness: Shell, accepted: Path, session: Sessions) -> None:
    session()
    (accepted.parent / "solutions/maxpool2d/plain").rename(accepted.parent / "gone")
    assert harness("gate", "--quiet").code == 1
    assert harness("snapshot", "accept").code == 2  # its run held what is gone
    assert harness("snapshot", "accept", "-s", "shared_tile").code == 0
    assert harness("gate", "--quiet").code == 0


def test_accept_writes_a_line_for_each_solution(harness: Shell, accepted: Path) -> None:
    entries = [json.loads(line) for line in accepted.read_text().splitlines()]
    assert [(entry["problem"], entry["solution"]) for entry in entries] == [
        ("maxpool2d", "plain"),
        ("maxpool2d", "shared_tile"),
    ]


def test_accepting_the_same_again_changes_nothing(harness: Shell, accepted: Path) -> None:
    before = accepted.read_bytes()
    outcome = harness("snapshot", "accept", "--run", RUN)
    done, next_step = outcome.out.splitlines()
    assert done.startswith(f"accepted 2 of run {RUN};")
    assert "holds 2, 0 left" in done
    assert "git add snapshot.jsonl" in next_step
    assert accepted.read_bytes() == before


def test_accept_writes_where_it_is_told(harness: Shell, accepted: Path) -> None:
    assert harness("snapshot", "accept", "-o", "other/h100.jsonl", "-s", "plain").code == 0
    assert (accepted.parent / "other/h100.jsonl").read_text().count("\n") == 1


@pytest.mark.parametrize(
    ("ending", "words"),
    [
        (Verdict.WRONG_VALUES, "wrong_values, expected passed"),
        (Verdict.PASSED, "not timed"),
        (timing(1_000_000, spread=0.2), "±12.9 %"),
    ],
)
def test_what_is_nothing_to_compare_with_is_not_accepted(
    harness: Shell, workspace: Path, session: Sessions, ending: Verdict | Timing, words: str
) -> None:
    session(plain=[ending])
    harness("gate", "--quiet")
    outcome = harness("snapshot", "accept")
    assert outcome.code == 2
    assert "maxpool2d/plain: " in outcome.err
    assert words in outcome.err
    assert not (workspace / "snapshot.jsonl").exists()


def test_an_edited_solution_is_not_accepted(harness: Shell, accepted: Path) -> None:
    (accepted.parent / "solutions/maxpool2d/plain/solution.py").write_text("class ModelNew: pass")
    outcome = harness("snapshot", "accept")
    assert outcome.code == 2
    assert "maxpool2d/plain" in outcome.err
    assert "edited" in outcome.err


def test_show_lists_the_snapshot(harness: Shell, accepted: Path) -> None:
    lines = [line.split() for line in harness("snapshot", "show").out.splitlines()]
    assert lines[1][0] == "maxpool2d/plain"
    assert "3.0000×" in lines[1]
    assert harness("snapshot", "show", "--json").out == accepted.read_text()


@pytest.mark.sim
def test_the_simulator_judges_a_real_solution(harness: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert harness("init", ".").code == 0
    outcome = harness("gate", "--backend", "sim", "--quiet", "--json")
    assert outcome.code == 0
    found = report(outcome)
    assert "no GPU" in found["not_judged"]
    assert [(one["solution"], one["attempts"][0]["verdict"]) for one in found["judged"]] == [("vectorized", "passed")]
    solution = tmp_path / "solutions/relu/vectorized/solution.py"
    assert solution.read_text().count("x < 0.0f") == 1
    solution.write_text(solution.read_text().replace("x < 0.0f", "x < 0.5f"))
    outcome = harness("gate", "--backend", "sim", "--quiet", "--json")
    assert outcome.code == 1
    assert report(outcome)["judged"][0]["findings"][0]["message"].startswith("wrong_values: ")


@pytest.mark.sim
def test_a_store_one_float_past_the_end_fails_on_the_simulator(
    harness: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert harness("init", ".").code == 0
    solution = tmp_path / "solutions/relu/vectorized/solution.py"
    past_the_end = "{ y[i] = relu(x[i]); if (i + 1 == count) y[count] = 0.0f; }"
    solution.write_text(solution.read_text().replace("y[i] = relu(x[i]);", past_the_end))
    command = ("gate", "--backend", "sim", "--quiet", "--json")
    assert harness(*command, "--no-sanitize").code == 0
    outcome = harness(*command)
    assert outcome.code == 1
    assert report(outcome)["judged"][0]["findings"][0]["message"].startswith("memory_error: ")


@pytest.mark.gpu
def test_a_gpu_finds_a_planted_regression_and_nothing_else(
    harness: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert harness("init", ".").code == 0
    assert harness("gate", "--quiet").code == 0
    assert harness("snapshot", "accept").code == 0
    outcome = harness("gate", "--quiet", "--json")
    assert outcome.code == 0
    assert report(outcome)["judged"][0]["speed"] != "regressed"
    solution = tmp_path / "solutions/relu/vectorized/solution.py"
    once = "extension.relu_forward(x.contiguous())"
    assert solution.read_text().count(once) == 1
    solution.write_text(solution.read_text().replace(once, f"extension.relu_forward({once})"))
    outcome = harness("gate", "--quiet", "--json")
    assert outcome.code == 1
    (one,) = report(outcome)["judged"]
    assert [finding["rule"] for finding in one["findings"]] == ["regressed"]
    first, *repetitions = [attempt["speed"] for attempt in one["attempts"]]
    assert first in ("regressed", "inconclusive")  # it may turn out noisy; then the repetitions decide
    assert repetitions == ["regressed"] * 2
