"""What changed, and what should be there and isn't; in a real git repository."""

from __future__ import annotations

import subprocess
from pathlib import Path, PurePosixPath

import pytest

from harness.errors import UsageError
from harness.gate.git import changed_since, file_at, folder_in_repository
from harness.gate.scope import find_missing, find_scope, select_changed, without_solutions
from harness.workspace.selection import select_tasks
from harness.workspace.workspace import Workspace
from tests.gate.builders import snapshot_of, timed
from tests.workspace.test_problem import SOURCE


def git(folder: Path, *arguments: str) -> None:
    who = ["-c", "user.name=t", "-c", "user.email=t@t", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *who, "-C", str(folder), *arguments], check=True, capture_output=True)


def commit(folder: Path) -> None:
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "another")


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """Two problems with two solutions each, committed, in a folder of its repository."""
    root = tmp_path / "kernels"
    for problem in ("maxpool2d", "relu"):
        (root / "problems" / problem).mkdir(parents=True)
        (root / "problems" / problem / "problem.py").write_text(SOURCE)
        for solution in ("plain", "tiled"):
            (root / "solutions" / problem / solution).mkdir(parents=True)
            (root / "solutions" / problem / solution / "solution.py").write_text("class ModelNew: ...")
    git(tmp_path, "init", "-q", "-b", "main")
    commit(tmp_path)
    return Workspace(root)


def selected(workspace: Workspace, also: tuple[str, ...] = ()) -> list[str]:
    tasks, _ = select_changed(workspace, select_tasks(workspace), changed_since(workspace.root, "main"), also)
    return [f"{task.problem.name}/{task.solution.name}" for task in tasks]


RELU = ["relu/plain", "relu/tiled"]
ALL = ["maxpool2d/plain", "maxpool2d/tiled", *RELU]


def test_nothing_changed_selects_nothing(workspace: Workspace) -> None:
    assert selected(workspace) == []


def test_a_changed_solution_is_selected_committed_or_not(workspace: Workspace) -> None:
    git(workspace.root, "checkout", "-q", "-b", "topic")
    (workspace.root / "solutions/relu/tiled/solution.py").write_text("class ModelNew: pass")
    assert selected(workspace) == ["relu/tiled"]
    commit(workspace.root)
    assert selected(workspace) == ["relu/tiled"]


def test_what_changed_on_the_other_branch_meanwhile_does_not_count(workspace: Workspace) -> None:
    git(workspace.root, "checkout", "-q", "-b", "topic")
    git(workspace.root, "checkout", "-q", "main")
    (workspace.root / "solutions/relu/plain/solution.py").write_text("class ModelNew: pass")
    commit(workspace.root)
    git(workspace.root, "checkout", "-q", "topic")
    assert selected(workspace) == []


def test_a_file_moved_out_of_a_solution_selects_it(workspace: Workspace) -> None:
    (workspace.root / "solutions/relu/tiled/kernel.cu").write_text("int x;\n" * 20)
    commit(workspace.root)
    git(workspace.root, "checkout", "-q", "-b", "topic")
    git(workspace.root, "mv", "solutions/relu/tiled/kernel.cu", "solutions/relu/plain/kernel.cu")
    git(workspace.root, "commit", "-q", "-m", "moved")
    assert selected(workspace) == RELU


@pytest.mark.parametrize(
    ("name", "chosen"),
    [
        *((name, ALL) for name in ("gate.yaml", "configs/quick.yaml", "requirements.txt", "include/tile.cuh")),
        *((name, ALL) for name in ("solutions/common.cuh", "solutions/common/tile.cuh", "docs.yaml")),
        *((name, ALL) for name in ("problems/shared.py", "problems/common/shared.py")),
        *((f"solutions/relu/{name}", RELU) for name in ("common.cuh", "common/tile.cuh", "gone/solution.cu")),
        *((f"problems/relu/{name}", RELU) for name in ("problem.yaml", "README.md")),
        *((f"solutions/relu/plain/{name}", ["relu/plain"]) for name in ("kernel.cu", "docs/x.txt")),
        ("solutions/relu/plain2/solution.py", ["relu/plain2"]),
        *((name, []) for name in ("README.md", "docs/pages/x.py", "results/run/journal.jsonl", "LICENSE")),
        *((name, []) for name in ("solutions/relu/notes.md", "solutions/relu/plain/NOTES.md", "../elsewhere.py")),
    ],
)
def test_a_file_selects_what_may_depend_on_it(workspace: Workspace, name: str, chosen: list[str]) -> None:
    (workspace.root / name).parent.mkdir(parents=True, exist_ok=True)
    (workspace.root / name).write_text("")
    assert selected(workspace) == chosen
    _, because = select_changed(workspace, select_tasks(workspace), changed_since(workspace.root, "main"), ())
    assert because == (PurePosixPath(name) if chosen == ALL else None)


def test_a_removed_shared_file_selects_too(workspace: Workspace) -> None:
    (workspace.root / "solutions/relu/common.cuh").write_text("")
    commit(workspace.root)
    (workspace.root / "solutions/relu/common.cuh").unlink()
    assert selected(workspace) == RELU


def test_patterns_hold_beside_a_change(workspace: Workspace) -> None:
    changed = {PurePosixPath("solutions/relu/plain/solution.py")}
    tasks = select_tasks(workspace, solutions=["tiled"])
    assert select_changed(workspace, tasks, changed, ()) == ([], None)


def test_a_named_policy_selects_all(workspace: Workspace) -> None:
    (workspace.root / "docs").mkdir()
    (workspace.root / "docs/strict.yaml").write_text("")
    assert selected(workspace) == []
    assert selected(workspace, also=("docs/strict.yaml",)) == ALL


def test_prose_that_a_link_gives_another_name_counts(workspace: Workspace) -> None:
    folder = workspace.root / "solutions/relu/plain"
    (folder / "kernel.md").write_text("one")
    assert selected(workspace) == []
    (folder / "kernel.cuh").symlink_to("kernel.md")
    assert selected(workspace) == ["relu/plain"]
    commit(workspace.root)
    assert selected(workspace) == []
    (folder / "kernel.md").write_text("two")
    assert selected(workspace) == ["relu/plain"]


def test_a_repository_within_a_solution_is_no_prose(workspace: Workspace) -> None:
    within = workspace.root / "solutions/relu/plain/lib.md"
    within.mkdir()
    (within / "k.cuh").write_text("__global__ void k();")
    git(within, "init", "--quiet")
    assert selected(workspace) == ["relu/plain"]


@pytest.mark.parametrize("ref", ["nosuch", "--output=/tmp/x", ""])
def test_an_unknown_ref_is_refused(workspace: Workspace, ref: str) -> None:
    with pytest.raises(UsageError, match="commit"):
        changed_since(workspace.root, ref)


def test_outside_a_repository_a_ref_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="commit 'main'"):
        changed_since(tmp_path, "main")


def test_branches_without_a_common_ancestor_are_refused(workspace: Workspace) -> None:
    git(workspace.root, "checkout", "-q", "--orphan", "other")
    git(workspace.root, "commit", "-q", "-m", "other")
    with pytest.raises(UsageError, match="fetch-depth: 0"):
        changed_since(workspace.root, "main")


def test_a_commit_without_a_snapshot_is_refused(workspace: Workspace) -> None:
    with pytest.raises(UsageError, match=r"no snapshot\.jsonl in .*'main'"):
        file_at(workspace.root, "main", "snapshot.jsonl")


def test_the_workspaces_folder_in_its_repository_is_known(workspace: Workspace, tmp_path: Path) -> None:
    assert folder_in_repository(workspace.root) == "kernels/"
    assert folder_in_repository(workspace.root.parent) == ""


def test_outside_a_repository_the_folder_is_empty(tmp_path: Path) -> None:
    assert folder_in_repository(tmp_path) == ""


def missing(workspace: Workspace, *problems: str) -> list[tuple[str, str, str]]:
    found = find_missing(workspace, problems, (), snapshot_of(timed(1_000_000)))
    return [(one.problem, one.solution, one.findings[0].message) for one in found]


def test_a_complete_workspace_misses_nothing(workspace: Workspace) -> None:
    assert missing(workspace) == []


def test_a_folder_without_solution_py_is_missed(workspace: Workspace) -> None:
    (workspace.root / "solutions/relu/tiled/solution.py").rename(workspace.root / "solutions/relu/tiled/soluton.py")
    ((problem, solution, message),) = missing(workspace)
    assert (problem, solution) == ("relu", "tiled")
    assert "no solution.py" in message


def test_what_python_leaves_behind_is_not(workspace: Workspace) -> None:
    (workspace.root / "solutions/relu/gone/__pycache__").mkdir(parents=True)
    (workspace.root / "solutions/relu/gone/__pycache__/solution.pyc").write_text("")
    assert missing(workspace) == []


def test_solutions_of_no_problem_are_missed(workspace: Workspace) -> None:
    (workspace.root / "problems/relu").rename(workspace.root / "problems/relu6")
    found = missing(workspace, "rel*")
    assert [solution for _, solution, _ in found] == ["plain", "tiled"]
    assert all("no problem 'relu'" in message for _, _, message in found)


def test_an_accepted_solution_that_is_gone_is_missed(workspace: Workspace) -> None:
    (workspace.root / "solutions/maxpool2d/tiled").rename(workspace.root / "gone")
    ((problem, solution, message),) = missing(workspace)
    assert (problem, solution) == ("maxpool2d", "tiled")
    assert "gone" in message
    assert missing(workspace, "relu") == []


def test_a_problem_without_a_solution_is_known(workspace: Workspace) -> None:
    (workspace.root / "solutions/relu").rename(workspace.root / "gone")
    assert without_solutions(workspace, ()) == ["relu"]
    assert without_solutions(workspace, ("max*",)) == []


def broken(workspace: Workspace, *problems: str) -> list[tuple[str, str, str, str, int]]:
    _, found = find_scope(workspace, problems, ())
    places = [(one, finding.message, finding.places[0]) for one in found for finding in one.findings]
    return [(one.problem, one.solution, message, place.file, place.line) for one, message, place in places]


def test_a_broken_problem_is_a_finding_of_each_of_its_solutions(workspace: Workspace) -> None:
    (workspace.root / "problems/relu/problem.py").write_text("import torch\n\nclass Model(")
    file = "problems/relu/problem.py"
    found = broken(workspace, "relu")
    assert [(solution, place, line) for _, solution, _, place, line in found] == [
        ("plain", file, 3),
        ("tiled", file, 3),
    ]
    assert all(message.startswith(f"{file}:3: ") for _, _, message, _, _ in found)


def test_a_link_out_of_a_solution_is_a_finding_too(workspace: Workspace) -> None:
    (workspace.root / "solutions/relu/tiled/x.cuh").symlink_to("../plain/solution.py")
    ((_, solution, message, file, _),) = broken(workspace)
    assert (solution, file) == ("tiled", "solutions/relu/tiled/solution.py")
    assert message.startswith("'solutions/relu/tiled/x.cuh' is a link")
    assert "'../plain/solution.py'" in message


def test_what_is_whole_has_no_finding_and_takes_all_its_cases(workspace: Workspace) -> None:
    tasks, unreadable = find_scope(workspace, ("max*",), ("pl*",))
    assert unreadable == []
    assert [(task.solution.name, task.cases) for task in tasks] == [("plain", ("full",))]
