"""Commands that read results."""

from __future__ import annotations

import csv
import io
import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.model.config import Config, TimingConfig
from harness.model.evaluation import Evaluation
from harness.model.verdict import Verdict
from harness.store.journal import Journal
from harness.store.line import to_line
from tests.cli.shell import Shell
from tests.examples import build, environment, failed, passed, timing

pytestmark = pytest.mark.usefixtures("results")

OLD_SOURCE = "class ModelNew:\n    fast = False\n"
NEW_SOURCE = "class ModelNew:\n    fast = True\n"


def with_source(evaluation: Evaluation, source: str, **changes: Any) -> Evaluation:
    return replace(evaluation, solution=replace(evaluation.solution, files={"solution.py": source}), **changes)


OLD = with_source(
    passed("plain", timing=timing(solution_ns=1_000_000), builds=(build(),)),
    OLD_SOURCE,
    id="20261121T100000-aaaaaaaa",
    started_at="2026-11-21T10:00:00.000+00:00",
)
NEW = with_source(
    passed("plain", timing=timing(solution_ns=500_000), environment=environment(commit="b" * 12)),
    NEW_SOURCE,
    id="20261121T110000-bbbbbbbb",
    started_at="2026-11-21T11:00:00.000+00:00",
)
WRONG = failed(
    "broken", id="20261121T120000-cccccccc", run="run-2", started_at="2026-11-21T12:00:00.000+00:00", seed=77
)


@pytest.fixture
def results(workspace: Path, terminal: None) -> Path:
    """Two evaluations of maxpool2d/plain and a later one of maxpool2d/broken; a terminal of 80 columns."""
    Journal(workspace / "results", "run-1").append_all([OLD, NEW])
    Journal(workspace / "results", "run-2").append(WRONG)
    return workspace / "results"


@pytest.mark.parametrize(
    "arguments",
    [
        ["show", "20261121T10"],
        ["show", "last"],
        ["history", "maxpool2d"],
        ["diff", "aaaaaaaa", "bbbbbbbb"],
        ["index"],
    ],
)
def test_output_fits_eighty_columns_without_escapes(harness: Shell, results: Path, arguments: list[str]) -> None:
    outcome = harness(*arguments)
    assert outcome.code == 0
    assert outcome.err == ""
    assert "\x1b" not in outcome.out
    assert max(map(len, outcome.out.replace(str(results), "results").splitlines())) <= 80


def test_show_tells_everything_of_an_evaluation(harness: Shell) -> None:
    words = " ".join(harness("show", "aaaaaaaa").out.split())
    for expected in (
        "maxpool2d / plain passed",
        "20261121T100000-aaaaaaaa",
        "eager 3.000 [3.000, 3.000] 3.000 to 3.000 0.00 % 0 24",
        "solution 1.000 [1.000, 1.000] 1.000 to 1.000 0.00 % 0 24",
        "gpu_cold eager / solution 3.0000× [2.9910, 3.0090] faster",
        "checks against the float64 oracle",
        "1 4 0 0.12",
        "relu sm_90 32 4096 8/4 16",
        "NVIDIA H100 80GB HBM3",
        "harness run --problem maxpool2d --solution plain --backend cuda \\ --seed 5692163613755307619",
    ):
        assert expected in words
    assert "--case" not in words  # all of the problem's: full and small


@pytest.mark.parametrize(
    ("is_there", "options", "repeated"),
    [
        (False, [], "harness run plain.py --reference maxpool2d.py"),
        (False, ["--results", "results"], "harness run --problem maxpool2d"),
        (True, [], "harness run --problem maxpool2d"),
    ],
)
def test_show_repeats_bare_files_where_the_problem_is_none_of_the_workspaces(
    harness: Shell, workspace: Path, is_there: bool, options: list[str], repeated: str
) -> None:
    (workspace / "problems/maxpool2d/problem.yaml").write_text("cases: 7\n")  # what is broken is there, too
    if not is_there:
        shutil.rmtree(workspace / "problems/maxpool2d")
    assert repeated in harness("show", "aaaaaaaa", *options).out


@pytest.mark.parametrize(
    ("words", "shown"),
    [(["maxpool2d", "plain"], "maxpool2d / plain"), (["maxpool2d"], "maxpool2d / broken"), (["aaaaaaaa"], "/ plain")],
)
def test_show_takes_a_problem_and_a_solution(harness: Shell, words: list[str], shown: str) -> None:
    assert shown in harness("show", *words).out.splitlines()[0]


def test_show_without_a_name_shows_the_newest_and_why_it_failed(harness: Shell) -> None:
    words = " ".join(harness("show").out.split())
    assert words.startswith("maxpool2d / broken")
    assert "wrong_values" in words
    assert "expected was passed" in words
    assert "1 of 4" in words
    assert "look at the borders" in words


def test_show_gives_the_record_the_source_or_the_log(harness: Shell) -> None:
    assert harness("show", "aaaaaaaa", "--json").out == to_line(OLD) + "\n"
    assert harness("show", "aaaaaaaa", "--source").out == f"# ==== solution.py\n{OLD_SOURCE}"
    assert "# ==== relu_ext\nthe record keeps no output" in harness("show", "aaaaaaaa", "--log").out
    assert harness("show", "last", "--log").out == "nothing was built\n"


def test_show_gives_programs_what_is_derived_from_times(harness: Shell) -> None:
    data = json.loads(harness("show", "aaaaaaaa", "--statistics").out)
    assert (data["metric"], data["speed"], data["control"], data["noise"]) == ("gpu_cold", "faster", None, [])
    assert data["speedup"]["estimate"] == pytest.approx(3.0)
    assert [(row["arm"], row["calls"], row["blocks"], row["outliers"]) for row in data["arms"]] == [
        ("eager", 24, 6, 0),
        ("solution", 24, 6, 0),
    ]


def test_export_gives_a_row_per_metric_and_arm(harness: Shell) -> None:
    rows = list(csv.DictReader(io.StringIO(harness("export", "--timings").out)))
    assert len({row["evaluation"] for row in rows}) == 2
    assert [(row["solution"], row["metric"], row["arm"]) for row in rows[:2]] == [
        ("plain", "gpu_cold", "eager"),
        ("plain", "gpu_cold", "solution"),
    ]
    assert (rows[0]["typical_ns"], rows[0]["speed"], rows[1]["ratio"]) == ("3000000.0", "faster", "")


def test_sources_cannot_steer_the_terminal(harness: Shell, results: Path) -> None:
    hostile = with_source(OLD, "a\x1b[2Jb\n", id="x", builds=(replace(build(), output="\x1b]0;title\x07"),))
    Journal(results, "run-3").append(hostile)
    outputs = [harness("show", "x", flag).out for flag in ("--source", "--log")] + [harness("diff", "x", "last").out]
    assert [out for out in outputs if "\x1b" in out or "\x07" in out] == []


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("show 20261121T100000-aaaaaaab", "'20261121T100000-aaaaaaaa'?"),
        ("show 2026", "'2026' fits several"),
        ("show --results nosuch", "no folder nosuch"),
        ("show last --source --log", "ask for one"),
        ("show last --statistics", "--statistics"),
        ("history maxpol2d", "'maxpool2d'?"),
        ("history maxpool2d plane", "'plain'?"),
        ("history maxpool2d --run run-7", "'run-7'"),
        ("history maxpool2d --backend sim", "no evaluation"),
        ("history maxpool2d --plot x.pdf", ".png or .svg"),
        ("plot", "20261121T120000-cccccccc of maxpool2d/broken has no times to draw: it ended as wrong_values"),
        ("plot maxpol2d", "no evaluation of problem 'maxpol2d'. Did you mean 'maxpool2d'?"),
        ("plot maxpool2d plane", "no evaluation of solution 'plane'. Did you mean 'plain'?"),
        ("plot maxpool2d broken", "of maxpool2d/broken was timed: 'harness run --problem maxpool2d'"),
        ("plot 20261121T100000-aaaaaaab", "'20261121T100000-aaaaaaaa'?"),
        ("plot 2026", "'2026' fits several evaluations"),
        ("plot maxpool2d --format pdf", "'pdf' is not one of 'svg', 'png'"),
        ("export", "--csv, --timings, --jsonl or --kernelbench"),
        ("export --csv --jsonl", "one format"),
        ("export --csv --problem relu", "'relu'. Valid: maxpool2d."),
        ("index --merge nosuch", "--merge nosuch: "),
        ("leaderboard --problem sofmax", "--problem sofmax: no problem with results fits. There are: maxpool2d"),
        ("leaderboard --environment b200", f"Choose one of: {environment().label}"),
        ("leaderboard --open --format json", "--open shows a page: use --format html, not json"),
        ("leaderboard --results nowhere", "no folder nowhere yet: make results with 'harness run', or name --results"),
        ("leaderboard --output board.pdf", "board.pdf: nothing is written as .pdf; end it in .htm, "),
        ("leaderboard --plot board.pdf", "--plot board.pdf: the file's name must end in .png or .svg"),
    ],
)
def test_what_cannot_be_answered_ends_with_two_and_a_reason(harness: Shell, line: str, words: str) -> None:
    outcome = harness(*line.split())
    assert (outcome.code, outcome.out) == (2, "")
    assert words in " ".join(outcome.err.split())
    assert not Path("plots").exists()


def test_history_shows_what_changed(harness: Shell) -> None:
    out = harness("history", "maxpool2d", "plain").out
    rows = [line.split() for line in out.splitlines() if line.startswith("2026-11-21")]
    passed = [row[2:6] for row in rows]
    assert passed == [["a49ed80", "passed", "1.000", "3.0000×"], ["bbbbbbb", "passed", "0.5000", "6.000×"]]
    assert rows[0][6:] == ["[2.9910,", "3.0090]"]
    assert rows[1][6:] == ["[5.982,", "6.018]", "+100.0%"]
    assert "broken" not in out


def test_history_can_be_cut_and_given_as_json(harness: Shell) -> None:
    outcome = harness("history", "maxpool2d", "plain", "--limit", "1", "--json")
    (found,) = map(json.loads, outcome.out.splitlines())
    assert (found["id"], found["change"]) == ("20261121T110000-bbbbbbbb", pytest.approx(1.0))


def test_history_of_one_run(harness: Shell) -> None:
    outcome = harness("history", "maxpool2d", "--run", "run-2", "--json")
    # the record's own run, as it was written
    assert [json.loads(line)["solution"] for line in outcome.out.splitlines()] == ["broken"]


def test_diff_tells_source_speed_and_environment(harness: Shell) -> None:
    out = harness("diff", "aaaaaaaa", "bbbbbbbb").out
    assert "2.0000× [1.9915, 2.0086]" in out
    assert "second is faster" in out
    assert "-    fast = False\n+    fast = True" in out
    assert "a49ed80c5a78 → bbbbbbbbbbbb" in out
    assert "caution" not in out


def test_diff_names_what_makes_a_comparison_doubtful(harness: Shell, results: Path) -> None:
    other = replace(
        NEW,
        id="other",
        config=Config(timing=TimingConfig(blocks=13)),
        environment=environment(driver="1"),
        problem=replace(NEW.problem, sha256="0" * 64),
        cases=("full",),
    )
    Journal(results, "run-3").append(other)
    found = json.loads(harness("diff", "aaaaaaaa", "other", "--json").out)
    assert found["config"] == [{"name": "timing.blocks", "old": 12, "new": 13}]
    assert found["environment"] == [{"name": "driver", "old": "580.65.06", "new": "1"}]
    assert found["cases"] == [{"name": "cases", "old": ["full", "small"], "new": ["full"]}]
    assert "problem" in found["caution"]
    assert "environment" in found["caution"]
    assert found["speed"]["estimate"] == pytest.approx(2.0)


def test_diff_with_what_was_not_timed_has_no_ratio(harness: Shell) -> None:
    found = json.loads(harness("diff", "aaaaaaaa", "cccccccc", "--json").out)
    assert (found["verdicts"], found["speed"]) == (["passed", "wrong_values"], None)
    assert "timed" in found["judgement"]


def test_export_writes_whole_records(harness: Shell, tmp_path: Path) -> None:
    outcome = harness("export", "--jsonl", "--solution", "plain", "--output", "out.jsonl")
    assert (outcome.code, outcome.out, outcome.err) == (0, "", "harness: wrote out.jsonl\n")
    assert Path("out.jsonl").read_text() == f"{to_line(OLD)}\n{to_line(NEW)}\n"


def test_export_for_kernelbench_has_the_newest_of_each_solution(harness: Shell, results: Path) -> None:
    Journal(results, "run-3").append(
        replace(WRONG, id="z", solution=replace(WRONG.solution, name="odd"), verdict=Verdict.UNSUPPORTED)
    )
    outcome = harness("export", "--kernelbench")
    samples = json.loads(outcome.out)["maxpool2d"]
    assert [(s["metadata"]["solution"], s["correctness"], s["runtime"]) for s in samples] == [
        ("broken", False, -1.0),
        ("plain", True, 0.5),
    ]
    assert "1 left out" in outcome.err


def test_an_export_of_nothing_overwrites_nothing(harness: Shell, results: Path) -> None:
    Path("out.csv").write_text("precious")
    assert harness("export", "--csv", "--problem", "nosuch", "--output", "out.csv").code == 2
    for number, name in enumerate(("level1_42_A", "level2_42_B")):
        evaluation = replace(OLD, id=f"same-{number}", problem=replace(OLD.problem, name=name))
        Journal(results, "run-3").append(evaluation)
    assert harness("export", "--kernelbench", "--output", "out.csv").code == 2
    assert Path("out.csv").read_text() == "precious"


def test_an_export_that_cannot_be_written_is_the_machines_fault(harness: Shell) -> None:
    outcome = harness("export", "--csv", "--output", "no/such/folder.csv")
    assert outcome.code == 3
    assert "no/such/folder.csv" in outcome.err
    assert "--output" in outcome.err


def test_index_counts_and_names_lines_that_cannot_be_used(harness: Shell, results: Path) -> None:
    path = results / "run-9" / "torn.jsonl"
    path.parent.mkdir()
    path.write_text('{"schema": 4}\n{"id":')
    out = harness("index").out
    assert out.startswith("3 evaluations of 2 runs")
    assert f"{path}:1: schema 4" in out
    assert f"{path}:2: an unfinished" in out
    found = json.loads(harness("index", "--json").out)
    assert (found["evaluations"], [problem["line"] for problem in found["problems"]]) == (3, [1, 2])


def test_index_verifies_what_it_does_not_need_itself(harness: Shell, results: Path) -> None:
    assert harness("index", "--verify").code == 0
    (path,) = (results / "run-2").iterdir()
    data = json.loads(path.read_text())
    data["checks"].append({"case": 1})
    path.write_text(json.dumps(data) + "\n")
    assert json.loads(harness("index", "--json").out)["problems"] == []
    outcome = harness("index", "--verify")
    assert outcome.code == 3
    assert "checks[1].case" in outcome.out


def test_index_merges_another_machines_results(harness: Shell, results: Path, tmp_path: Path) -> None:
    shutil.copytree(results, tmp_path / "laptop")
    Journal(tmp_path / "laptop", "run-5").append(replace(WRONG, id="new", run="run-5"))
    outcome = harness("index", "--merge", "laptop")
    assert "1 evaluation taken" in outcome.err
    assert "3 were" in outcome.err
    assert outcome.out.startswith("4 evaluations of 3 runs")
    assert (results / "run-5").is_dir()


def test_index_can_be_made_anew(harness: Shell, results: Path) -> None:
    assert harness("index", "--rebuild").code == 0
    (results / ".index.sqlite").write_bytes(b"nonsense" * 100)
    outcome = harness("index")
    assert "was damaged" in outcome.err
    assert "3 evaluations" in outcome.out
