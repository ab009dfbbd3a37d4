"""Importing a checkout of KernelBench: names, runs and samples, and what is left out."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.errors import UsageError
from harness.workspace.kernelbench import import_kernelbench
from harness.workspace.workspace import Workspace
from tests.workspace.test_problem import SOURCE

KERNEL = "class ModelNew: ...\n"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Two problems of level 1 and a run with two samples of the second."""
    root = tmp_path / "checkout"
    put(root / "KernelBench" / "level1" / "1_Pool.py", SOURCE)
    put(root / "KernelBench" / "level1" / "26_GELU_.py", SOURCE)
    for sample in (0, 1):
        put(root / "runs" / "model" / f"level_1_problem_26_sample_{sample}_kernel.py", KERNEL)
    return root


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path / "field")


def put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_names_keep_level_number_run_and_sample(checkout: Path, workspace: Workspace) -> None:
    found = import_kernelbench(workspace, checkout, [1])
    assert (found.problems, found.left_out) == (["level1_1_Pool", "level1_26_GELU_"], [])
    assert workspace.problem_names() == ["level1_1_Pool", "level1_26_GELU_"]
    assert workspace.problem("level1_26_GELU_").source == SOURCE
    solutions = workspace.solutions("level1_26_GELU_")
    assert [(one.name, one.about.author) for one in solutions] == [
        ("model_sample_0", "model"),
        ("model_sample_1", "model"),
    ]


def test_a_second_import_changes_nothing_and_overwrites_nothing(checkout: Path, workspace: Workspace) -> None:
    import_kernelbench(workspace, checkout, [1])
    put(checkout / "runs" / "model" / "level_1_problem_26_sample_1_kernel.py", KERNEL + "# another\n")
    found = import_kernelbench(workspace, checkout, [1])
    assert (found.problems, found.solutions) == ([], [])
    assert found.kept == ["level1_1_Pool", "level1_26_GELU_", "level1_26_GELU_/model_sample_0"]
    assert len(found.left_out) == 1
    assert (workspace.root / "solutions/level1_26_GELU_/model_sample_1/solution.py").read_text() == KERNEL


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("KernelBench/level1/notes.py", SOURCE),
        ("KernelBench/level1/2_Broken.py", "def get_inputs(:"),
        ("runs/model/level_1_problem_99_sample_0_kernel.py", KERNEL),
        ("runs/model/kernel.py", KERNEL),
        ("runs/a run/level_1_problem_26_sample_0_kernel.py", KERNEL),
    ],
)
def test_a_bad_file_is_named_and_the_rest_imported(checkout: Path, workspace: Workspace, path: str, text: str) -> None:
    put(checkout / path, text)
    found = import_kernelbench(workspace, checkout, [1])
    (complaint,) = found.left_out
    name = "a run" if path.startswith("runs/a run") else Path(path).name
    assert name in complaint
    assert (len(found.problems), len(found.solutions)) == (2, 2)


@pytest.mark.parametrize(
    ("path", "text", "problems", "solutions"),
    [
        ("KernelBench/level1/01_Pool.py", SOURCE, 1, 2),
        ("runs/model/level_1_problem_26_sample_01_kernel.py", KERNEL, 2, 1),
    ],
)
def test_of_two_files_of_one_number_neither_is_taken(
    checkout: Path, workspace: Workspace, path: str, text: str, problems: int, solutions: int
) -> None:
    put(checkout / path, text)
    found = import_kernelbench(workspace, checkout, [1])
    assert (len(found.problems), len(found.solutions), len(found.left_out)) == (problems, solutions, 1)
    assert Path(path).name in found.left_out[0]


def test_a_missing_level_and_a_missing_run_are_named(checkout: Path, workspace: Workspace) -> None:
    found = import_kernelbench(workspace, checkout, [1, 7], ["modle"])
    assert len(found.problems) == 2
    assert ["level7" in found.left_out[0], "Did you mean 'model'?" in found.left_out[1]] == [True, True]


@pytest.mark.parametrize(
    ("text", "is_named"), [("class ModelNew(:\n", False), ("class Model: ...\n# no ModelNew\n", True)]
)
def test_a_sample_that_can_only_fail_is_imported_to_fail(
    checkout: Path, workspace: Workspace, text: str, is_named: bool
) -> None:
    path = checkout / "runs" / "model" / "level_1_problem_1_sample_0_kernel.py"
    put(path, text)
    found = import_kernelbench(workspace, checkout, [1])
    assert "level1_1_Pool/model_sample_0" in found.solutions
    assert (str(path) in found.without_model_new, found.left_out) == (is_named, [])


def test_another_folder_is_refused(tmp_path: Path, workspace: Workspace) -> None:
    with pytest.raises(UsageError):
        import_kernelbench(workspace, tmp_path)
