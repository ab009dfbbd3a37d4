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
_QUOTE = re.compile(r"\s{0,9}[0-9]{1,7} \|")
_KERNEL = re.compile(r"\bin (?P<kernel>[A-Za-z_]\w{0,500})(?:<[^\n]{0,500}?>)? at line [0-9]")


def places_of(evaluation: Evaluation) -> tuple[Location, ...]:
    """One place at least: each compiler error, the line at which a kernel faulted, the last one of a traceback, or 1.

    Compilers name lines of a file that torch generates from the strings in solution.py; the line of source that they
    quote is looked up in the solution's files.
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
    lines, quotable = text.splitlines(), _quotable(files)
    by_base = {name.rsplit("/", 1)[-1]: name for name in reversed(files)}
    found: dict[tuple[str, int, str], None] = {}
    for number, line in enumerate(lines):
        if match := _ERROR.match(line):
            base = match["file"].rsplit("/", 1)[-1]
            own = by_base.get(base)
            place = (own, _clamped(match["nvcc"] or match["line"], files[own])) if own else None
            if place := place or quotable.get(_quoted(lines[number + 1 : number + 2])):
                found[(*place, f"{base}: {match['text']}")] = None
        if len(found) == _MOST_PLACES:
            break
    return list(found)


def _quoted(lines: list[str]) -> str:
    """The line of source that a compiler quotes: '    5 |   foo();', or as it stands."""
    return re.sub(r"^\s*[0-9]+ \|", "", lines[0]).strip() if lines else ""


def _quotable(files: dict[str, str]) -> dict[str, tuple[str, int]]:
    """Lines of the sources with their places; those that stand twice, or are blank, are left out."""
    found: dict[str, tuple[str, int] | None] = {"": None}
    for name, source in files.items():
        for number, line in enumerate(source.splitlines(), 1):
            found[line.strip()] = None if line.strip() in found else (name, number)
    return {line: place for line, place in found.items() if place}


def _clamped(number: str, source: str) -> int:
    """A line that the file has: annotations elsewhere are refused."""
    return max(1, min(int(number), len(source.splitlines())))


def _of_traceback(text: str, files: dict[str, str]) -> list[tuple[str, int, str]]:
    last = None
    for match in _TRACEBACK.finditer(text):
        if own := next((name for name in files if f"/{match['file']}".endswith(f"/{name}")), None):
            last = own, _clamped(match["line"], files[own]), ""
    return [last] if last else []


def _of_kernel(text: str, files: dict[str, str]) -> list[tuple[str, int, str]]:
    """The line that the simulator quotes of the kernel that it names, else the kernel's definition."""
    if not (match := _KERNEL.search(text)):
        return []
    quotable = _quotable(files)
    for line in filter(_QUOTE.match, text.splitlines()):
        if place := quotable.get(_quoted([line])):
            return [(*place, "")]
    definition = re.compile(rf"\b{match['kernel']}\s*\(")
    for name, source in files.items():
        lines = source.splitlines()
        for number, line in enumerate(lines, 1):
            if definition.search(line) and "__global__" in "".join(lines[max(0, number - 3) : number]):
                return [(name, number, "")]
    return []
