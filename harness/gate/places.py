"""Where in a solution's files its failure lies, as far as compilers and tracebacks tell."""

from __future__ import annotations

import re
from collections.abc import Iterator

from harness.records.evaluation import Evaluation
from harness.records.gate import Place

_MAIN_FILE = "solution.py"
_MOST_PLACES = 8
_ERROR = re.compile(
    r"^(?P<file>[^\s:(][^:(\n]*)(?:\((?P<nvcc>\d+)\)|:(?P<line>\d+)(?::\d+)?): (?:(?:fatal )?error:? )?(?P<text>.+)$"
)
_TRACEBACK = re.compile(r'^\s*File "(?P<file>[^"\n]+)", line (?P<line>\d+)', re.MULTILINE)
_KERNEL = re.compile(r"\bin (?P<kernel>[A-Za-z_]\w*)(?:<[^\n]*?>)? at line \d+")


def places_of(evaluation: Evaluation) -> tuple[Place, ...]:
    """One place at least: each compiler error, the last line of a traceback, the kernel that faulted, or line 1.

    Compilers name lines of a file that torch generates from the strings in solution.py; the line of source that they
    quote is looked up in the solution's files.
    """
    folder = f"solutions/{evaluation.problem.name}/{evaluation.solution.name}"
    files = evaluation.solution.files
    failure = evaluation.failure
    text = f"{failure.reason}\n{failure.details or ''}" if failure else ""
    found = list(dict.fromkeys(_of_compiler(text, files))) or _of_traceback(text, files) or _of_kernel(text, files)
    return tuple(
        Place(f"{folder}/{file}", line, message)
        for file, line, message in found[:_MOST_PLACES] or [(_MAIN_FILE, 1, "")]
    )


def first_line(problem: str, solution: str) -> tuple[Place, ...]:
    return (Place(f"solutions/{problem}/{solution}/{_MAIN_FILE}", 1),)


def _of_compiler(text: str, files: dict[str, str]) -> Iterator[tuple[str, int, str]]:
    lines = text.splitlines()
    for number, line in enumerate(lines):
        if match := _ERROR.match(line):
            message = f"{match['file'].rsplit('/', 1)[-1]}: {match['text']}"
            base = match["file"].rsplit("/", 1)[-1]
            if own := next((name for name in files if name.rsplit("/", 1)[-1] == base), None):
                yield own, int(match["nvcc"] or match["line"]), message
            elif place := _quoted(lines[number + 1 : number + 2], files):
                yield *place, message


def _quoted(lines: list[str], files: dict[str, str]) -> tuple[str, int] | None:
    """The only place in the files of the line that a compiler quotes ('    5 |   foo();' or as it stands)."""
    quoted = re.sub(r"^\s*\d+ \|", "", lines[0]).strip() if lines else ""
    if not quoted:
        return None
    hits = [
        (name, number)
        for name, source in files.items()
        for number, line in enumerate(source.splitlines(), 1)
        if line.strip() == quoted
    ]
    return hits[0] if len(hits) == 1 else None


def _of_traceback(text: str, files: dict[str, str]) -> list[tuple[str, int, str]]:
    hits = [
        (name, int(match["line"]), "")
        for match in _TRACEBACK.finditer(text)
        for name in files
        if f"/{match['file']}".endswith(f"/{name}")
    ]
    return hits[-1:]


def _of_kernel(text: str, files: dict[str, str]) -> list[tuple[str, int, str]]:
    """Where the kernel is defined that the simulator or the sanitizer names; the line inside it is of another file."""
    if not (match := _KERNEL.search(text)):
        return []
    definition = re.compile(rf"\b{match['kernel']}\s*\(")
    for name, source in files.items():
        lines = source.splitlines()
        for number, line in enumerate(lines, 1):
            if definition.search(line) and "__global__" in "".join(lines[max(0, number - 3) : number]):
                return [(name, number, "")]
    return []
