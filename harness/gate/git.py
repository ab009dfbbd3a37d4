"""Questions to git about the workspace."""

from __future__ import annotations

import subprocess
from pathlib import Path, PurePosixPath

from harness.errors import MachineError, UsageError, refused


def folder_in_repository(workspace: Path) -> str:
    """The workspace's path in its repository, with a slash at its end; '' at the root and outside a repository."""
    try:
        result = _git(workspace, "rev-parse", "--show-prefix")
    except MachineError:
        return ""
    return result.stdout.strip() if result.returncode == 0 else ""


def file_at(workspace: Path, ref: str, path: str) -> str:
    """A file's text as of a commit, by its path in the workspace.

    Raises: UsageError where git doesn't know the ref, or the file wasn't there.
    """
    _require_commit(workspace, ref)
    result = _git(workspace, "show", f"{ref}:./{path}")
    if result.returncode != 0:
        raise UsageError(f"no {path} in git's '{ref}': commit it there first, or name another")
    return result.stdout


def changed_since(workspace: Path, ref: str) -> set[PurePosixPath]:
    """Files of the workspace that differ from where HEAD left `ref`: committed, not yet committed, and new.

    Raises: UsageError where git doesn't know the ref, or the two have no common ancestor.
    """
    _require_commit(workspace, ref)
    base = _git(workspace, "merge-base", ref, "HEAD")
    if base.returncode != 0:
        raise UsageError(
            f"git finds no common ancestor of '{ref}' and HEAD; in CI fetch the whole history (fetch-depth: 0)"
        )
    # Without rename detection a moved file counts in the folder that it left as well.
    differing = _lines(_git(workspace, "diff", "--name-only", "-z", "--no-renames", "--relative", base.stdout.strip()))
    untracked = _lines(_git(workspace, "ls-files", "-z", "--others", "--exclude-standard"))
    return {PurePosixPath(name) for name in differing | untracked}


def _require_commit(workspace: Path, ref: str) -> None:
    """Refuse what is no commit, and what git would take for an option."""
    if _git(workspace, "rev-parse", "--verify", "--quiet", f"{ref}^{{commit}}").returncode != 0:
        raise UsageError(f"git knows no commit '{ref}' in {workspace}; in CI fetch it first (fetch-depth: 0)")


def _lines(result: subprocess.CompletedProcess[str]) -> set[str]:
    if result.returncode != 0:
        raise MachineError(f"git failed: {result.stderr.strip()}")
    return {name for name in result.stdout.split("\0") if name}


def _git(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run git in a folder. Raises: MachineError where there is no git."""
    command = ["git", "-C", str(folder), *arguments]
    with refused(MachineError, "can't run git", "install it, or leave out what needs it"):
        return subprocess.run(command, capture_output=True, text=True, errors="surrogateescape", check=False)
