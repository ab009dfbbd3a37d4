"""What a gate has to judge: what changed, and what should be there and isn't."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath

from harness.gate.judgement import Subject, missing
from harness.gate.snapshot import Snapshot
from harness.records.gate import Judged
from harness.records.verdict import Verdict
from harness.workspace.selection import Task
from harness.workspace.source_hash import hashed_files
from harness.workspace.workspace import Workspace

CONCERNS_ALL = ("configs", "harness", "harness.yaml", "pyproject.toml", "gate.yaml", "snapshot.jsonl")
"""Files and folders of the workspace that any verdict may depend on."""


def select_changed(tasks: Sequence[Task], changed: Collection[PurePosixPath], also: Collection[str]) -> list[Task]:
    """The tasks whose problem's or solution's folder holds a changed file; all of them where a file changed that any
    verdict may depend on (CONCERNS_ALL, and `also`: the policy, config and snapshot that were named)."""
    prefixes = {PurePosixPath(name) for name in (*CONCERNS_ALL, *also)}
    if any(_is_in(path, prefix) for path in changed for prefix in prefixes):
        return list(tasks)
    return [
        task
        for task in tasks
        if any(
            _is_in(path, PurePosixPath("problems", task.problem.name))
            or _is_in(path, PurePosixPath("solutions", task.problem.name, task.solution.name))
            for path in changed
        )
    ]


def find_missing(
    workspace: Workspace, problems: Sequence[str], solutions: Sequence[str], snapshot: Snapshot | None
) -> list[Judged]:
    """Solutions that can't be evaluated although somebody expects it: folders without solution.py or without a
    problem, and accepted solutions that are gone. The patterns choose; none means all."""
    known = {(p, s) for p in workspace.problem_names() for s in workspace.solution_names(p)}
    found: dict[tuple[str, str], Judged] = {}
    for key in _folders(workspace.root / "solutions"):
        subject = Subject(*key, Verdict.PASSED)
        if key not in known:
            if key[0] in workspace.problem_names():
                why, next_step = (
                    "the folder holds no solution.py",
                    "add solution.py with ModelNew, or remove the folder",
                )
            else:
                why, next_step = f"there is no problem '{key[0]}'", f"add problems/{key[0]}/problem.py, or rename it"
            found[key] = missing(subject, why, next_step)
    for entry in snapshot.accepted if snapshot else ():
        key = entry.problem, entry.solution
        if key not in known and key not in found:
            why = "it was accepted, and is gone from the workspace"
            next_step = "bring it back; if its removal is meant, run 'harness snapshot accept' and commit the snapshot"
            found[key] = missing(Subject(*key, entry.verdict), why, next_step)
    return [found[key] for key in sorted(found) if _matches(key[0], problems) and _matches(key[1], solutions)]


def without_solutions(workspace: Workspace, problems: Sequence[str]) -> list[str]:
    """Problems that the patterns choose and nobody has solved."""
    names = [name for name in workspace.problem_names() if _matches(name, problems)]
    return [name for name in names if not workspace.solution_names(name)]


def _is_in(path: PurePosixPath, folder: PurePosixPath) -> bool:
    return path == folder or folder in path.parents


def _folders(solutions: Path) -> list[tuple[str, str]]:
    """Those that git leaves behind, with nothing but compiled Python, are none."""
    paths = [
        path for path in solutions.glob("*/*") if path.is_dir() and (hashed_files(path) or not any(path.iterdir()))
    ]
    names = [(path.parent.name, path.name) for path in paths]
    return sorted(key for key in names if not any(name.startswith((".", "__")) for name in key))


def _matches(name: str, patterns: Sequence[str]) -> bool:
    return not patterns or any(fnmatchcase(name, pattern) for pattern in patterns)
