"""The scope of a gate: what there is, what of it changed, and what should be there and isn't."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath

from harness.gate.ruling import missing
from harness.gate.snapshot import Snapshot
from harness.model.gate import Judged, Location
from harness.model.record import is_prose
from harness.model.verdict import Verdict
from harness.workspace.selection import Broken, Task, find_tasks, fits
from harness.workspace.source_hash import hashed_files
from harness.workspace.workspace import Workspace

CONCERNS_NOTHING = ("docs/*", "results/*", "*.md", "*.rst", "*.sarif", "LICENSE*", ".gitignore", ".editorconfig")
"""Files of the workspace, as shell patterns, that no verdict depends on, unless they lie in a problem or, but for its
prose, in a solution."""


def find_scope(
    workspace: Workspace, problems: Sequence[str], solutions: Sequence[str]
) -> tuple[Sequence[Task], list[Judged]]:
    """Find the tasks; where a file breaks its rules, that is a finding.

    Raises: UsageError where a pattern matches nothing, or nothing is left.
    """
    tasks, broken = find_tasks(workspace, problems, solutions)
    return tasks, [_broken(workspace, one) for one in broken]


def select_changed(
    workspace: Workspace, tasks: Sequence[Task], changed: Collection[PurePosixPath], also: Collection[str]
) -> tuple[Sequence[Task], PurePosixPath | None]:
    """The tasks that a changed file may concern; and, where it may concern all of them, that file.

    A file of a solution, but for its prose, concerns that one, one of a problem all its solutions, and so does one that
    lies in a problem's folder of solutions beside them. Any other concerns all but for CONCERNS_NOTHING; so do those of
    `also`, the policy, config and snapshot that were named.
    """
    problems = workspace.problem_names()
    solutions = {(p, s) for p in problems for s in workspace.solution_names(p)}
    named, concerned = {PurePosixPath(name) for name in also}, set[tuple[str, str]]()
    for path in sorted(changed):
        found = None if path in named else _concerned(path, workspace.root, problems, solutions)
        if found is None:
            return tasks, path
        concerned |= found
    return [t for t in tasks if (t.problem.name, t.solution.name) in concerned], None


def find_missing(
    workspace: Workspace, problems: Sequence[str], solutions: Sequence[str], snapshot: Snapshot | None
) -> list[Judged]:
    """Solutions that can't be evaluated although somebody expects it: folders without solution.py or without a
    problem, and accepted solutions that are gone. The patterns choose; none means all."""
    known = {(p, s) for p in workspace.problem_names() for s in workspace.solution_names(p)}
    found: dict[tuple[str, str], Judged] = {}
    for key in _folders(workspace.root / "solutions"):
        subject = Judged(*key, Verdict.PASSED)
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
            found[key] = missing(Judged(*key, entry.verdict), why, next_step)
    return [found[key] for key in sorted(found) if fits(key[0], problems) and fits(key[1], solutions)]


def without_solutions(workspace: Workspace, problems: Sequence[str]) -> list[str]:
    """Problems that the patterns choose and nobody has solved."""
    names = [name for name in workspace.problem_names() if fits(name, problems)]
    return [name for name in names if not workspace.solution_names(name)]


def _broken(workspace: Workspace, broken: Broken) -> Judged:
    """A report names files from the workspace on: the rest is the machine's."""
    why = str(broken.error).replace(f"{workspace.root}/", "")
    match = re.match(r"((?:problems|solutions)/[^:]+):(?:([0-9]{1,7}):)?", why)
    place = Location(match[1], int(match[2] or 1)) if match and (workspace.root / match[1]).is_file() else None
    return missing(Judged(broken.problem, broken.solution, Verdict.PASSED), why, "mend the file", place)


def _concerned(
    path: PurePosixPath, root: Path, problems: Collection[str], solutions: Collection[tuple[str, str]]
) -> set[tuple[str, str]] | None:
    """The solutions that a changed file concerns; None: all."""
    top, problem, solution = (*path.parts[:-1], "", "", "")[:3]  # of its folders
    if top == "solutions" and (problem, solution) in solutions:
        return set() if _is_mere_prose(root / path, root / top / problem / solution) else {(problem, solution)}
    if top == "problems" and problem in problems:
        return {key for key in solutions if key[0] == problem}
    if any(fnmatchcase(str(path) if "/" in pattern else path.name, pattern) for pattern in CONCERNS_NOTHING):
        return set()
    if top == "solutions" and problem in problems:
        return {key for key in solutions if key[0] == problem}
    return None


def _is_mere_prose(path: Path, solution: Path) -> bool:
    """False where git names a folder (a repository within), or a link may lead to it by a name that is judged."""
    has_links = any(one.is_symlink() for one in solution.rglob("*"))
    return is_prose(path.name) and not path.is_dir() and not has_links


def _folders(solutions: Path) -> list[tuple[str, str]]:
    """Folders of solutions, but those that git leaves behind with nothing but compiled Python."""
    paths = [
        path for path in solutions.glob("*/*") if path.is_dir() and (hashed_files(path) or not any(path.iterdir()))
    ]
    names = [(path.parent.name, path.name) for path in paths]
    return sorted(key for key in names if not any(name.startswith((".", "__")) for name in key))
