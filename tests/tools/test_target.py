"""Which arm and which case is looked at."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.errors import MachineError, UsageError
from harness.tools.target import choose_target, folder_for
from harness.workspace.workspace import Workspace

SOURCE = """\
import torch

rows = 8


class Model(torch.nn.Module): ...


def get_inputs(): ...


def get_init_inputs(): ...
"""


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    cases = {
        "several": "cases: {odd: {constants: {rows: 3}}, small: {constants: {rows: 2}}}",
        "nameless": "cases: {odd: {constants: {rows: 3}}, tiny: {constants: {rows: 1}}}",
        "plain": "title: one case",
    }
    for name, yaml in cases.items():
        (tmp_path / "problems" / name).mkdir(parents=True)
        (tmp_path / "problems" / name / "problem.py").write_text(SOURCE)
        (tmp_path / "problems" / name / "problem.yaml").write_text(yaml)
        (tmp_path / "solutions" / name / "first").mkdir(parents=True)
        (tmp_path / "solutions" / name / "first" / "solution.py").write_text("")
    (tmp_path / "solutions" / "several" / "second").mkdir()
    (tmp_path / "solutions" / "several" / "second" / "solution.py").write_text("")
    return Workspace(tmp_path)


@pytest.mark.parametrize(
    ("problem", "is_small", "case"),
    [
        ("several", False, "full"),
        ("several", True, "small"),
        ("nameless", True, "odd"),
        ("plain", True, "full"),
    ],
)
def test_the_default_case(workspace: Workspace, problem: str, is_small: bool, case: str) -> None:
    assert choose_target(workspace, problem, "first", None, False, is_small).case == case


def test_a_named_case_is_taken(workspace: Workspace) -> None:
    assert choose_target(workspace, "several", "second", "odd", False, True).case == "odd"


def test_the_only_solution_needs_no_name(workspace: Workspace) -> None:
    assert choose_target(workspace, "plain", None, None, False, False).name == "plain/first"


def test_a_solution_of_the_reference_is_a_contradiction(workspace: Workspace) -> None:
    with pytest.raises(UsageError, match="leave 'first' out"):
        choose_target(workspace, "several", "first", None, True, False)


def test_files_lie_in_a_folder_of_their_own_among_the_results(workspace: Workspace, tmp_path: Path) -> None:
    target = choose_target(workspace, "plain", None, None, False, False)
    folder = folder_for(target, None, tmp_path / "results", "profiles")
    assert folder.is_dir()
    assert folder.parent == tmp_path / "results" / "profiles"
    assert folder.name.endswith("Z-plain-first-full")


def test_a_folder_that_cannot_be_made_is_said(workspace: Workspace, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    target = choose_target(workspace, "plain", None, None, False, False)
    with pytest.raises(MachineError, match="--output"):
        folder_for(target, tmp_path / "file" / "below", tmp_path, "profiles")
