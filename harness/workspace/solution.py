"""A solution: solution.py with ModelNew, and what solution.yaml says of it."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import re
from pathlib import Path
from typing import Literal

from pydantic.dataclasses import dataclass

from harness.errors import InvalidFile
from harness.model.record import SETTINGS
from harness.model.verdict import Verdict
from harness.plain_file import LONGEST_TEXT, read_text
from harness.workspace.problem import Precision
from harness.workspace.source_hash import hash_files, hashed_files, is_text, judged_files, refuse_unfit
from harness.workspace.yaml_file import read_yaml

_TEXTS_IN_ALL = 2**23
_CAPABILITY = re.compile(r"[0-9]{1,2}\.[0-9]\+?")


@dataclass(frozen=True, config=SETTINGS)
class SolutionFile:
    """solution.yaml as it is written."""

    author: str | None = None
    """The author of the solution."""
    explanation: str = ""
    """The approach, why, and what bounds it."""
    language: Literal["cuda", "c++", "triton", "python"] = "cuda"
    """It has no effect any more: the languages of kernels are found in the files."""
    precision: Precision | None = None
    """The precision that it computes in."""
    expected_verdict: Verdict = Verdict.PASSED
    """The verdict that is expected; a gallery of known failures names something else."""
    needs_gpu: bool = False
    """True where it uses what the simulator doesn't have, such as TMA: there it is expected to be
    `unsupported`."""
    compute_capability: str | None = None
    """'9.0' runs on such GPUs alone, '8.0+' on those and newer ones: on others it is expected to be `unsupported`. null
    runs on every GPU."""

    def __post_init__(self) -> None:
        if self.compute_capability is not None and not _CAPABILITY.fullmatch(self.compute_capability):
            raise ValueError(
                f"compute_capability must be '9.0', for that one alone, or '9.0+', for newer ones as well, in quotes; "
                f"not {self.compute_capability!r}"
            )

    def runs_on(self, compute_capability: str | None) -> bool:
        """Say whether it runs on a GPU of this compute capability, such as '9.0'; it is assumed to on one that isn't
        known."""
        if self.compute_capability is None or compute_capability is None:
            return True
        least, here = _version(self.compute_capability.rstrip("+")), _version(compute_capability)
        return here >= least if self.compute_capability.endswith("+") else here == least


_NOTHING_SAID = SolutionFile()


@dataclasses.dataclass(frozen=True)
class Solution:
    """A solution folder. Its Python is never read into this process: workers alone run it."""

    name: str
    problem: str
    folder: Path
    about: SolutionFile
    file: str | None = None
    """The path of the bare file that it was made of, as it was named."""

    @property
    def source_path(self) -> Path:
        return self.folder / "solution.py"

    @property
    def sha256(self) -> str:
        """The hash of what is judged: prose has no part in it."""
        return hash_files(judged_files(self.folder))

    def texts(self) -> dict[str, str]:
        """Return the files' texts like texts_in()."""
        return texts_in(self.folder)


def texts_in(folder: Path) -> dict[str, str]:
    """A folder's text files by their path in it; those above 256 KiB or beyond 8 MiB in all, those that are no UTF-8
    and git's own are left out."""
    found: dict[str, str] = {}
    left = _TEXTS_IN_ALL
    for name, path in hashed_files(folder).items():
        size = path.stat().st_size
        if size <= min(LONGEST_TEXT, left) and ".git" not in name.split("/") and is_text(name):
            with contextlib.suppress(UnicodeDecodeError):
                found[name] = read_text(path)
                left -= size
    return found


def load_solution(folder: Path) -> Solution:
    """Read one solution folder.

    Raises:
        InvalidFile: solution.py is missing, solution.yaml breaks its rules, or a link leads out of the folder.
    """
    refuse_unfit(folder)
    if not os.path.isfile(os.path.join(folder, "solution.py")):  # strings: a workspace may have 20,000 of them
        raise InvalidFile(f"{folder / 'solution.py'} is missing: a solution folder holds solution.py with ModelNew")
    has_about = os.path.exists(os.path.join(folder, "solution.yaml"))
    about = read_yaml(SolutionFile, folder / "solution.yaml") if has_about else _NOTHING_SAID
    return Solution(name=folder.name, problem=folder.parent.name, folder=folder, about=about)


def _version(capability: str) -> tuple[int, ...]:
    return tuple(map(int, capability.split(".")))
