"""`harness import`, `score`, `prompt` and `feedback` from the shell."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from harness.model.evaluation import ProblemRef
from harness.store.line import to_line
from tests.cli.shell import Shell
from tests.examples import failed, passed, timing
from tests.workspace.test_problem import SOURCE


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "checkout" / "KernelBench" / "level1"
    folder.mkdir(parents=True)
    (folder / "1_Pool.py").write_text(SOURCE)
    (tmp_path / "field").mkdir()
    monkeypatch.chdir(tmp_path / "field")
    return tmp_path / "checkout"


@pytest.mark.parametrize(("levels", "code"), [(["1"], 0), (["1", "2"], 1), (["2"], 2)])
def test_the_exit_code_says_how_much_was_imported(harness: Shell, checkout: Path, levels: list[str], code: int) -> None:
    outcome = harness("import", "kernelbench", str(checkout), *(f"--level={level}" for level in levels))
    assert outcome.code == code
    assert ("level2" in outcome.err) == (code != 0)


def test_scores_are_shown_and_exported(harness: Shell, checkout: Path) -> None:
    harness("import", "kernelbench", str(checkout), "--level", "1")
    Path("results/run").mkdir(parents=True)
    judged = passed("m_sample_0", timing=timing(eager_ns=3_000_000, solution_ns=2_000_000))
    record = replace(judged, problem=ProblemRef("level1_1_Pool", "aa" * 32, "float32"))
    Path("results/run/journal.jsonl").write_text(to_line(record) + "\n")
    outcome = harness("score", "--json", "-k", "1", "--export", "scored")
    (found,) = map(json.loads, outcome.out.splitlines())
    assert (outcome.code, found["run"], found["fast_p"]["1.0"], found["fast_p"]["1.5"]) == (0, "m", 1.0, 0.0)
    assert len(list(Path("scored").rglob("*.json"))) == 3


def test_prompt_holds_the_reference(harness: Shell, workspace: Path) -> None:
    outcome = harness("prompt", "maxpool2d")
    assert outcome.code == 0
    assert SOURCE.strip() in outcome.out
    assert "ModelNew" in outcome.out
    assert "- full: the reference as it stands" in outcome.out
    assert "- small: height = 3" in outcome.out


def test_prompt_takes_no_folder_of_that_name_for_the_problem(
    harness: Shell, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(workspace / "solutions")
    assert (workspace / "solutions" / "maxpool2d").is_dir()
    assert harness("prompt", "maxpool2d").code == 0


def test_feedback_holds_verdict_reason_and_next_step(harness: Shell, workspace: Path) -> None:
    (workspace / "results" / "run").mkdir(parents=True)
    evaluation = failed()
    assert evaluation.failure is not None
    (workspace / "results" / "run" / "journal.jsonl").write_text(to_line(evaluation) + "\n")
    outcome = harness("feedback")
    assert outcome.code == 0
    assert harness("feedback", evaluation.problem.name, evaluation.solution.name).out == outcome.out
    assert all(
        word in outcome.out for word in ("wrong_values", evaluation.failure.reason, evaluation.failure.next_step)
    )
