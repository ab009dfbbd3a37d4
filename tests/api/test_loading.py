"""Problems and solutions from what a caller has."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

import harness
from harness.api.loading import Scratch
from tests.files import laid
from tests.workspace.test_problem import SOURCE

MODEL_NEW = "import torch\n\n\nclass ModelNew(torch.nn.Module): ...\n"


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return laid(tmp_path, {"problems/relu/problem.py": SOURCE, "solutions/relu/plain/solution.py": MODEL_NEW})


def test_a_problem_is_found_by_name_and_by_folder(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert harness.load_problem("relu").folder == workspace / "problems" / "relu"
    assert harness.load_problem(Path("problems/relu")).folder == workspace / "problems" / "relu"
    monkeypatch.chdir("/")
    assert harness.load_problem("relu", workspace=workspace).name == "relu"


def test_a_solution_is_found_by_name_and_by_folder(workspace: Path) -> None:
    assert harness.load_solution("plain", problem="relu").problem == "relu"
    assert harness.load_solution("solutions/relu/plain").name == "plain"


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ("rleu", "no problem 'rleu'.*Did you mean 'relu'"),
        ("problems/rleu", "no such problem folder: problems/rleu"),
        (Path("rleu"), "no such problem folder: rleu"),
        (Path("rleu.py"), "no such file: rleu.py"),
    ],
)
def test_a_problem_that_is_not_there_is_named(workspace: Path, given: str | Path, complaint: str) -> None:
    with pytest.raises(harness.UsageError, match=complaint):
        harness.load_problem(given)


def test_a_solutions_name_needs_its_problem(workspace: Path) -> None:
    with pytest.raises(harness.UsageError, match="'plain' is no folder"):
        harness.load_solution("plain")
    with pytest.raises(harness.UsageError, match=r"'plain'\?"):
        harness.load_solution("plan", problem="relu")


def test_sources_get_folders_of_their_own(workspace: Path) -> None:
    with Scratch() as scratch:
        problem = scratch.problem(SOURCE)
        solution = scratch.solution(MODEL_NEW, problem)
        again = scratch.solution(MODEL_NEW, problem)
        other = scratch.solution(MODEL_NEW + "# other\n", problem)
        assert problem.source == SOURCE
        assert problem.name.startswith("problem-")
        assert scratch.problem(SOURCE) is problem
        assert solution.source_path.read_text() == MODEL_NEW
        assert (solution.problem, solution.name[:7]) == (problem.name, "source-")
        assert (solution.name, solution.sha256) == (again.name, again.sha256)
        assert solution.folder != again.folder
        assert solution.name != other.name
        scratch.discard(again)
        assert (solution.folder.exists(), again.folder.exists()) == (True, False)
    assert not solution.folder.exists()
    assert not problem.folder.exists()


def test_files_are_called_after_themselves(workspace: Path, tmp_path: Path) -> None:
    kernelbench, attempt = tmp_path / "19_ReLU.py", tmp_path / "attempt 3.py"
    kernelbench.write_text(SOURCE)
    attempt.write_text(MODEL_NEW)
    with Scratch() as scratch:
        problem = scratch.problem(kernelbench)
        assert (problem.name, scratch.solution(attempt, problem).name) == ("19_ReLU", "attempt_3")
        assert scratch.solution(MODEL_NEW, problem, "../mine").name == "_mine"


def test_names_and_objects_pass_through(workspace: Path) -> None:
    with Scratch() as scratch:
        problem = scratch.problem("relu")
        solution = scratch.solution(Path("solutions/relu/plain"), problem)
        assert scratch.problem(problem) is problem
        assert scratch.solution(solution, problem) is solution
        scratch.discard(solution)
        assert solution.folder == workspace / "solutions" / "relu" / "plain"
    assert solution.folder.exists()


@pytest.mark.parametrize(
    "text", ["", "plain", "solutions/relu/plain", "x" * 5000, "class ModelNew:\n\0", "x = '\udc80'\n", "﻿x = 1\n"]
)
def test_any_string_is_a_solutions_source(workspace: Path, text: str) -> None:
    """A name, a path, no text at all: Python will refuse it, which is a verdict."""
    with Scratch() as scratch:
        solution = scratch.solution(text, scratch.problem("relu"))
        assert solution.source_path.read_bytes() == text.encode(errors="surrogatepass")


@pytest.mark.parametrize("given", [None, b"class ModelNew: ...", 3])
def test_another_type_is_refused(workspace: Path, given: Any) -> None:
    with Scratch() as scratch:
        with pytest.raises(harness.UsageError, match="Solution, a Path"):
            scratch.solution(given, scratch.problem("relu"))
        with pytest.raises(harness.UsageError, match="Problem, a Path"):
            scratch.problem(given)


def test_a_path_that_leads_nowhere_is_named(workspace: Path) -> None:
    with Scratch() as scratch, pytest.raises(harness.UsageError, match="solution folder: nosuch"):
        scratch.solution(Path("nosuch"), scratch.problem("relu"))


def test_a_problem_source_that_is_none_is_refused(workspace: Path) -> None:
    with Scratch() as scratch, pytest.raises(harness.InvalidFile, match="'Model'"):
        scratch.problem("x = 1\n")


def test_a_folder_of_sources_whose_process_was_killed_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    killed, fresh = (laid(tmp_path / f"harness-sources-{name}", {"lock": "", "x/solution.py": ""}) for name in "ab")
    with Scratch() as under_way:
        for folder in (killed, under_way.root):
            os.utime(folder, (0, 0))
        with Scratch():
            assert [folder.is_dir() for folder in (killed, fresh, under_way.root)] == [False, True, True]
