"""The places of a failure in a solution's files, as far as compilers and tracebacks show them."""

from __future__ import annotations

import re

from harness.model.evaluation import Evaluation
from harness.model.gate import Location

_MAIN_FILE = "solution.py"
_MOST_PLACES = 8
# The text is a stranger's: numbers have few digits, and no pattern can look at a line again and again.
_ERROR = re.compile(
    r"^(?P<file>[^\s:(][^:(\n]*)(?:\((?P<nvcc>[0-9]{1,7})\)|:(?P<line>[0-9]{1,7})(?::[0-9]{1,7})?): "
    r"(?:(?:fatal )?error:? )?(?P<text>.+)$"
)
_TRACEBACK = re.compile(r'^[ \t]{0,80}File "(?P<file>[^"\n]{1,4096})", line (?P<line>[0-9]{1,7})\b', re.MULTILINE)
_KERNEL = re.compile(
    r"\bin (?P<kernel>[A-Za-z_]\w{0,500})(?:<[^\n]{0,500}?>)? at "
    r"(?:line [0-9]|(?P<file>[\w./+-]{1,200}):(?P<line>[0-9]{1,7}))"
)


def places_of(evaluation: Evaluation) -> tuple[Location, ...]:
    """One place at least: each compiler error, the line at which a kernel faulted, the last one of a traceback, or 1.

    A record names the solution's own lines where they are known (model.own_lines).
    """
    folder = f"solutions/{evaluation.problem.name}/{evaluation.solution.name}"
    files = evaluation.solution.files
    failure = evaluation.failure
    text = f"{failure.reason}\n{failure.details or ''}" if failure else ""
    found = _of_compiler(text, files) or _of_kernel(text, files) or _of_traceback(text, files)
    return tuple(Location(f"{folder}/{file}", line, message) for file, line, message in found or [(_MAIN_FILE, 1, "")])


def first_line(problem: str, solution: str) -> tuple[Location, ...]:
    return (Location(f"solutions/{problem}/{solution}/{_MAIN_FILE}", 1),)


def _of_compiler(text: str, files: dict[str, str]) -> list[tuple[str, int, str]]:
    """The first few errors, each once."""
    by_base = {name.rsplit("/", 1)[-1]: name for name in reversed(files)}
    found: dict[tuple[str, int, str], None] = {}
    for match in filter(None, map(_ERROR.match, text.splitlines())):
        if own := by_base.get(match["file"].rsplit("/", 1)[-1]):
            found[own, _clamped(match["nvcc"] or match["line"], files[own]), match["text"]] = None
        if len(found) == _MOST_PLACES:
            break
    return list(found)


def _clamped(number: str, source: str) -> int:
    """A line that the file has: annotations elsewhere are refused."""
    return max(1, min(int(number), source.rstrip("\n").count("\n") + 1))


def _of_traceback(text: str, files: dict[str, str]) -> list[tuple[str, int, str]]:
    last = None
    for match in _TRACEBACK.finditer(text):
        if own := next((name for name in files if f"/{match['file']}".endswith(f"/{name}")), None):
            last = own, _clamped(match["line"], files[own]), ""
    return [last] if last else []


def _of_kernel(text: str, files: dict[str, str]) -> list[tuple[str, int, str]]:
    """The line that is named of the first kernel, else the kernel's definition."""
    if not (match := _KERNEL.search(text)):
        return []
    if match["file"] in files:
        return [(match["file"], _clamped(match["line"], files[match["file"]]), "")]
    definition = re.compile(rf"\b{match['kernel']}\s*\(")
    for name, source in files.items():
        lines = source.split("\n")
        for number, line in enumerate(lines, 1):
            if definition.search(line) and "__global__" in "".join(lines[max(0, number - 3) : number]):
                return [(name, number, "")]
    return []
