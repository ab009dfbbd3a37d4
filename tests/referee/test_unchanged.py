"""Files that were edited while a solution was judged spoil the result; a worker's own edit is a cheat."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.errors import HarnessError
from harness.referee import unchanged
from harness.referee.unchanged import change_meanwhile, remember_harness
from harness.sandbox.outcome import SolutionFailed
from harness.sandbox.wire.sandbox import FIRST_USER
from harness.workspace.problem import Problem, load_problem
from tests.files import laid
from tests.wording import tells
from tests.workspace.test_problem import SOURCE


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stands for the harness's own folder."""
    made = laid(tmp_path / "harness", {"judge.py": "RIGHT = True"})
    monkeypatch.setattr(unchanged, "_OWN_PACKAGE", made)
    remember_harness.cache_clear()
    remember_harness()
    return made


@pytest.fixture(autouse=True)
def _forget() -> Iterator[None]:
    yield
    remember_harness.cache_clear()


@pytest.fixture
def problem(tmp_path: Path) -> Problem:
    return load_problem(laid(tmp_path / "pool", {"problem.py": SOURCE}))


def test_nothing_is_said_where_nothing_has_changed(package: Path, problem: Problem) -> None:
    os.utime(package / "judge.py")  # touched, with the same content
    assert change_meanwhile(problem, problem.sha256) is None


def test_an_edit_of_the_harness_spoils_the_result(package: Path, problem: Problem) -> None:
    (package / "judge.py").write_text("RIGHT = 1 > 0")
    found = change_meanwhile(problem, problem.sha256)
    assert isinstance(found, HarnessError)
    assert tells(str(found), str(package / "judge.py"), "changed", "again")


def test_an_edit_of_the_problem_spoils_the_result(package: Path, problem: Problem) -> None:
    before = problem.sha256
    (problem.folder / "problem.py").write_text(SOURCE + "# edited\n")
    assert isinstance(change_meanwhile(problem, before), HarnessError)


def test_a_file_that_a_worker_wrote_is_a_cheat(package: Path, problem: Problem) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give files away")
    (package / "judge.py").write_text("RIGHT = False or True")
    os.chown(package / "judge.py", FIRST_USER + 77, -1)
    found = change_meanwhile(problem, problem.sha256)
    assert isinstance(found, SolutionFailed)
    assert [(one.check, one.numbers) for one in found.failure.evidence] == [("harness_files", {"files": 1})]


def test_an_edit_by_a_user_of_a_directory_is_an_edit(package: Path, problem: Problem) -> None:
    """sssd gives such users numbers above 2^30."""
    if os.geteuid() != 0:
        pytest.skip("only root can give files away")
    (package / "judge.py").write_text("RIGHT = False or True")
    os.chown(package / "judge.py", 1_999_999_999, -1)
    assert isinstance(change_meanwhile(problem, problem.sha256), HarnessError)
