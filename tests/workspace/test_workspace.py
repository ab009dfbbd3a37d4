"""Finding the workspace, and things in it by name."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.errors import InvalidFile, UsageError
from harness.model.config import Config
from harness.model.verdict import Verdict
from harness.suggest import did_you_mean
from harness.workspace import workspace as workspace_module
from harness.workspace.selection import find_tasks, select_tasks
from harness.workspace.solution import SolutionFile
from harness.workspace.workspace import Workspace, find_workspace, select_cases
from tests.workspace.made import made_workspace, write_files
from tests.workspace.test_problem import SOURCE


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    made_workspace(tmp_path, "avgpool2d", SOURCE, {})
    made_workspace(tmp_path, "maxpool2d", SOURCE, dict.fromkeys(("plain", "shared_tile"), "class ModelNew: ..."))
    (tmp_path / "problems" / "notes").mkdir()
    cases, quick = "cases: {small: {}, odd: {}}", "timing: {blocks: 7}\ncorrectness: {seeds: 1}"
    write_files(tmp_path, {"problems/maxpool2d/problem.yaml": cases, "configs/quick.yaml": quick})
    return Workspace(tmp_path)


@pytest.mark.parametrize("below", ["", "solutions/maxpool2d", "solutions/maxpool2d/plain"])
def test_the_workspace_is_found_upwards(workspace: Workspace, below: str) -> None:
    assert find_workspace(workspace.root / below) == workspace


def test_the_nearest_workspace_wins(workspace: Workspace) -> None:
    inner = workspace.root / "solutions" / "problems"
    inner.mkdir()
    assert find_workspace(inner.parent / "maxpool2d").root == inner.parent


def test_without_a_workspace_the_way_to_one_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"problems/ .*'harness init'"):
        find_workspace(tmp_path)


def test_a_problem_is_a_folder_with_problem_py(workspace: Workspace) -> None:
    assert workspace.problem_names() == ["avgpool2d", "maxpool2d"]
    assert workspace.problem("avgpool2d").name == "avgpool2d"


@pytest.mark.parametrize("name", ["\x1b[2Jx", "a\n::warning file=x::spoofed", "a::b", "##[error]x", "a\u202eb"])
def test_a_name_that_would_steer_a_terminal_or_a_ci_is_refused(workspace: Workspace, name: str) -> None:
    folder = workspace.root / "solutions" / "maxpool2d" / name
    folder.mkdir()
    (folder / "solution.py").touch()
    with pytest.raises(UsageError, match="rename it") as caught:
        workspace.solution_names("maxpool2d")
    assert str(caught.value).isprintable()


def test_letters_of_any_language_make_a_name(workspace: Workspace) -> None:
    folder = workspace.root / "solutions" / "avgpool2d" / "größer 2×"
    folder.mkdir(parents=True)
    (folder / "solution.py").touch()
    assert workspace.solution_names("avgpool2d") == ["größer 2×"]


def test_a_solution_with_a_link_out_of_its_folder_is_refused(workspace: Workspace) -> None:
    (workspace.root / "solutions" / "maxpool2d" / "plain" / "key").symlink_to("../../../configs/quick.yaml")
    with pytest.raises(InvalidFile, match="out of plain/"):
        workspace.solutions("maxpool2d", ["plain"])


@pytest.mark.parametrize("file", ["solution.py", "solution.yaml", "tile.cuh"])
def test_a_link_to_itself_stops_its_own_solution_alone(workspace: Workspace, file: str) -> None:
    folder = workspace.root / "solutions" / "maxpool2d" / "plain"
    (folder / file).unlink(missing_ok=True)
    (folder / file).symlink_to(file)
    tasks, broken = find_tasks(workspace, ["maxpool2d"])
    assert [task.solution.name for task in tasks] == ["shared_tile"]
    assert [one.solution for one in broken] == ["plain"]
    assert file in str(broken[0].error)


def test_a_pipe_is_no_solution_yaml(workspace: Workspace) -> None:
    os.mkfifo(workspace.root / "solutions" / "maxpool2d" / "plain" / "solution.yaml")
    _, broken = find_tasks(workspace, ["maxpool2d"])
    assert ["no plain file" in str(one.error) for one in broken] == [True]


def test_all_solutions_are_taken_where_none_is_named(workspace: Workspace) -> None:
    assert [solution.name for solution in workspace.solutions("maxpool2d")] == ["plain", "shared_tile"]


def test_named_solutions_come_in_their_order_and_once(workspace: Workspace) -> None:
    chosen = workspace.solutions("maxpool2d", ["shared_tile", "pl*n", "shared_tile"])
    assert [solution.name for solution in chosen] == ["shared_tile", "plain"]
    assert chosen[0].problem == "maxpool2d"
    assert chosen[0].source_path == workspace.root / "solutions/maxpool2d/shared_tile/solution.py"


@pytest.mark.parametrize(
    ("look", "words"),
    [
        (lambda found: found.problem("maxpol2d"), r"'maxpol2d' .*ROOT/problems.* Did you mean 'maxpool2d'\?"),
        (lambda found: found.problem("../problems/maxpool2d"), "no problem"),
        (lambda found: found.solutions("maxpool2d", ["shared_title"]), r"'shared_title' .*'shared_tile'"),
        (lambda found: found.solutions("maxpool2d", [".."]), r"solution '\.\.'"),
        (lambda found: found.solutions("avgpool2d"), r"ModelNew .*/solutions/avgpool2d/<name>/solution\.py"),
        (lambda found: found.config("quik"), r"'quik', .*'quick'"),
        (lambda found: select_cases(found.problem("maxpool2d"), ["smal"]), r"'smal' .*'maxpool2d'.*'small'"),
    ],
)
def test_a_name_of_nothing_is_told_with_what_there_is(
    workspace: Workspace, look: Callable[[Workspace], object], words: str
) -> None:
    with pytest.raises(UsageError, match=words.replace("ROOT", str(workspace.root))):
        look(workspace)


def test_a_folder_without_a_solution_is_named(workspace: Workspace) -> None:
    (workspace.root / "solutions" / "maxpool2d" / "begun").mkdir()
    with pytest.raises(UsageError, match=r"solutions/maxpool2d/begun .*solution\.py"):
        workspace.solutions("maxpool2d", ["begun"])


def test_what_may_not_be_looked_at_does_not_pass_for_missing(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a folder without permissions answers who isn't root."""
    closed, stat, scandir = workspace.root / "solutions" / "maxpool2d" / "plain", Path.stat, os.scandir

    def guarded(path: Path, **options: Any) -> os.stat_result:
        refuse(path)
        return stat(path, **options)

    def refuse(path: Path) -> None:
        if closed in path.parents:
            raise PermissionError(errno.EACCES, "Permission denied", str(path))

    def guarded_scan(path: str) -> Any:
        refuse(Path(path) / "any")
        return scandir(path)

    monkeypatch.setattr(Path, "stat", guarded)
    monkeypatch.setattr(os, "scandir", guarded_scan)
    assert workspace.solution_names("maxpool2d") == ["plain", "shared_tile"]
    assert [one.name for one in workspace.solutions("maxpool2d", ["shared_tile"])] == ["shared_tile"]
    with pytest.raises(InvalidFile, match=r"solutions/maxpool2d/plain.*: Permission denied"):
        workspace.solutions("maxpool2d")


def test_a_folder_of_solutions_that_cannot_be_read_is_not_empty(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(folder: Path) -> list[str]:
        raise PermissionError(errno.EACCES, "Permission denied", str(folder))

    monkeypatch.setattr(os, "listdir", refuse)
    with pytest.raises(UsageError, match=r"solutions/maxpool2d: .*Permission denied"):
        workspace.solution_names("maxpool2d")


def test_a_solution_says_of_itself_what_its_file_says(workspace: Workspace) -> None:
    folder = workspace.root / "solutions" / "maxpool2d" / "plain"
    (folder / "solution.yaml").write_text(
        "author: me\nexplanation: one thread each\nlanguage: triton\nprecision: tf32\nexpected_verdict: wrong_values"
    )
    (solution,) = workspace.solutions("maxpool2d", ["plain"])
    assert solution.about == SolutionFile("me", "one thread each", "triton", "tf32", Verdict.WRONG_VALUES)


@pytest.mark.parametrize(
    ("asked", "runs_on", "not_on"),
    [
        (None, ("7.5", "9.0", "12.0"), ()),
        ("9.0", ("9.0",), ("8.9", "10.0", "12.0")),
        ("8.0+", ("8.0", "8.6", "9.0", "10.0", "12.1"), ("7.5",)),
        ("10.0+", ("10.0", "12.0"), ("9.0",)),
    ],
)
def test_a_solution_says_on_which_gpus_it_runs(
    asked: str | None, runs_on: tuple[str, ...], not_on: tuple[str, ...]
) -> None:
    about = SolutionFile(compute_capability=asked)
    assert all(about.runs_on(one) for one in (*runs_on, None))
    assert not any(about.runs_on(one) for one in not_on)


@pytest.mark.parametrize("word", ["sm_90", "'9'", "'>=9.0'", "'9.0-'", "9.0"])
def test_another_way_to_name_a_gpu_is_an_error(workspace: Workspace, word: str) -> None:
    folder = workspace.root / "solutions" / "maxpool2d" / "plain"
    (folder / "solution.yaml").write_text(f"compute_capability: {word}")
    with pytest.raises(InvalidFile, match=r"plain/solution\.yaml:1: .*compute_capability.*'9\.0'"):
        workspace.solutions("maxpool2d", ["plain"])


def test_a_wrong_word_in_a_solution_s_file_is_named(workspace: Workspace) -> None:
    folder = workspace.root / "solutions" / "maxpool2d" / "plain"
    (folder / "solution.yaml").write_text("expected_verdict: fails")
    with pytest.raises(InvalidFile, match=r"plain/solution\.yaml:1: .*expected_verdict: 'fails'"):
        workspace.solutions("maxpool2d", ["plain"])


def test_no_config_means_the_defaults(workspace: Workspace) -> None:
    assert workspace.config(None) == Config()


def test_a_config_is_found_by_name(workspace: Workspace) -> None:
    config = workspace.config("quick")
    assert (config.timing.blocks, config.correctness.seeds, config.timing.calls_per_turn) == (7, 1, 5)


def test_a_config_is_found_by_path(workspace: Workspace, tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("limits: {turn_s: 2}")
    assert workspace.config(str(path)).limits.turn_s == 2.0


@pytest.mark.parametrize(
    ("yaml", "words"),
    [
        ("timing: {block: 7}", r"unknown key 'timing\.block'\. Did you mean 'blocks'\?"),
        ("timing: {blocks: 3}", r"timing\.blocks: must be at least 6; not 3"),
        ("correctness: {seeds: 100000000000000000000}", r"correctness\.seeds: must be at most 100000; not 1"),
        ("timing: {blocks: 10000000}", r"timing\.blocks: must be at most 100000; not 10000000"),
        ("timing: {blocks: many}", r"timing\.blocks: a text where a whole number belongs"),
        ("timeing: {}", r"unknown key 'timeing'\. Did you mean 'timing'\?"),
    ],
)
def test_a_broken_config_names_file_and_key(workspace: Workspace, yaml: str, words: str) -> None:
    (workspace.root / "configs" / "quick.yaml").write_text(yaml)
    with pytest.raises(InvalidFile, match=rf"configs/quick\.yaml:1: .*{words}"):
        workspace.config("quick")


def test_all_cases_are_taken_where_none_is_named(workspace: Workspace) -> None:
    assert select_cases(workspace.problem("maxpool2d"), []) == ["full", "small", "odd"]


def test_named_cases_come_in_their_order_and_once(workspace: Workspace) -> None:
    assert select_cases(workspace.problem("maxpool2d"), ["odd", "small", "odd"]) == ["odd", "small"]


@pytest.mark.parametrize(
    ("word", "valid", "words"),
    [
        ("tolerence", ["tags", "tolerance"], " Did you mean 'tolerance'?"),
        ("zzz", ["b", "a"], " Valid: a, b."),
        ("zzz", [], ""),
    ],
)
def test_the_nearest_word_is_suggested(word: str, valid: list[str], words: str) -> None:
    assert did_you_mean(word, valid) == words


def test_a_folder_of_solutions_is_read_as_often_whether_it_holds_few_or_many(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def listings(count: int) -> int:
        root = tmp_path / str(count)
        solutions = {f"s{number}": "class ModelNew: ..." for number in range(count)}
        workspace = made_workspace(root, "relu", SOURCE, solutions)
        listed: list[object] = []
        real = workspace_module._folders_with
        with monkeypatch.context() as patched:
            patched.setattr(workspace_module, "_folders_with", lambda *given: listed.append(given) or real(*given))
            assert len(select_tasks(workspace)) == count
        return len(listed)

    assert listings(2) == listings(9)
