"""From an instruction to the user's line that it comes from, by the extension's debug information."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

_TIMEOUT_S = 60


@dataclass(frozen=True)
class Instruction:
    """A byte of a loaded library."""

    library: str
    offset: int


@dataclass(frozen=True)
class SourceLine:
    file: str
    line: int


def source_line(trace: Sequence[Instruction]) -> SourceLine | None:
    """The user's line that is nearest: `trace` leads from the instruction outwards through its callers, and what lies
    in the simulator's, torch's or the system's headers was called from somewhere. None where nothing tells, as without
    addr2line."""
    for instruction in trace:
        for line in _lines(instruction):
            if not _is_a_header_of_others(Path(line.file)):
                return line
    return None


def _lines(instruction: Instruction) -> list[SourceLine]:
    """Innermost first: what is inlined has several."""
    command = ["addr2line", "-i", "-e", instruction.library, hex(instruction.offset)]
    try:
        output = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False).stdout
    except (OSError, subprocess.TimeoutExpired):
        return []
    found = []
    for frame in output.splitlines():
        file, _, number = frame.partition(" ")[0].rpartition(":")
        if number.isdigit() and int(number):
            found.append(SourceLine(file, int(number)))
    return found


def _is_a_header_of_others(file: Path) -> bool:
    if file.parent.name == "sim" and file.suffix == ".h":
        return True
    is_system_s = file.is_relative_to("/usr") or "/torch/include/" in str(file)
    return is_system_s or any((folder / "toolkit.json").is_file() for folder in file.parents)
