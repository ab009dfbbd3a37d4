"""The user's line that an instruction comes from, by the extension's debug information, and what its text says."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

_TIMEOUT_S = 60


@dataclass(frozen=True)
class SourceLine:
    file: str
    line: int


def source_line(trace: Sequence[tuple[str, int]]) -> SourceLine | None:
    """Find the nearest line of the user's. `trace` leads from the instruction, a library and an offset in it, outwards
    through its callers, since what lies in the simulator's, torch's or the system's headers was called from somewhere.
    None if nothing tells, as without addr2line."""
    for library, offset in trace:
        for line in _lines(library, offset):
            if not _is_a_header_of_others(Path(line.file)):
                return line
    return None


def _lines(library: str, offset: int) -> list[SourceLine]:
    """List an instruction's lines, the innermost first: an inlined one has several."""
    command = ["addr2line", "-i", "-e", library, hex(offset)]
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


# ---- What the text of a kernel says about an arithmetic fault in it, which the instruction alone doesn't.


_NAME = r"[A-Za-z_]\w*"
_ASSIGNMENT = re.compile(rf"\b({_NAME})\s*(?:[-+*/]|<<)?=(?!=)(.*)", re.DOTALL)
_IN_BRACKETS = re.compile(r"\[([^\[\]]*)(?=\])")
_UNMASKED_IN_BRACKETS = re.compile(r"\[([^\[\]&%]*)(?=\])")
_ARITHMETIC = re.compile(r"[-+*]")
_CONDITION = re.compile(r"\b(if|while|for)\b")
_POINTER_MADE = re.compile(rf"\*(?:const\b|__restrict__\b|\s)*{_NAME}\s*=(?!=)")
_HEAD = re.compile(r"[ \t]*(?:else[ \t]+)?(?:if|while|for)[ \t]*\(")
_COMMENT = re.compile(r"//[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)
_INCLUSION = re.compile(r"^[ \t]*#[ \t]*include\b[^\n]*", re.MULTILINE)
_TEMPLATE = re.compile(r"\btemplate[ \t]*<[^<>]*>")
_MASKING = re.compile(r"[&%^]")
_ARGUMENT = re.compile(r"\bargument (\d+)\b")
_LONGEST_HEAD = 4000
_DECLARATION = re.compile(rf"[^=()]*[\w*&>] ?[ *&>]({_NAME}) ?(?:[=\[].*)?")
_MOST_STEPS = 4
_MOST_NAMES = 500
"""The number of names beyond which what becomes of a number isn't followed, and it counts as an index."""


def feeds_an_index(source: str, line: int) -> bool:
    """Say whether what the statement at `line` computes is used as an index or compared with a bound, directly or by
    way of other variables. Where it is masked on the way, as a hash is, it may wrap on purpose."""
    source = _without_words(source)
    statement = _statement(source, line)
    if any(_ARITHMETIC.search(index) for index in _IN_BRACKETS.findall(statement)):
        return True
    if _CONDITION.search(statement) or _POINTER_MADE.search(statement):
        return True
    assignments = [part.partition("=") for part in re.split(r"[;{}]", source) if "=" in part]
    known, new = set[str](), _assigned(statement)
    for _ in range(_MOST_STEPS):
        if len(known | new) > _MOST_NAMES or any(_is_index(name, source) for name in new):
            return True
        known |= new
        new = {target for name in new for target in _made_from(name, assignments)} - known
    return False


def is_row_of_shared_array(source: str, line: int) -> bool:
    """Say whether the line indexes a shared array of several dimensions: beyond a row there is the next one."""
    above = "".join(source.splitlines(keepends=True)[:line])
    names = re.findall(rf"\b({_NAME})\s*\[[^\[\]]*\]\s*\[", _statement(source, line))
    return any(_is_shared(name, above) for name in names)


def with_names(detail: str, source: str, kernel: str) -> str:
    """Name a kernel's arguments, which `detail` numbers from 1, as the kernel's own text does; not where it has several
    kernels of this name."""
    own = re.escape(kernel.partition("<")[0].rpartition("::")[2])
    code = _without_words(source)
    heads = list(re.finditer(rf"\b__global__\b[^;{{}}]{{0,{_LONGEST_HEAD}}}?\b{own}\s*\(", code)) if own else []
    names = _parameters(code[heads[0].end() : heads[0].end() + _LONGEST_HEAD]) if len(heads) == 1 else []

    def named(match: re.Match[str]) -> str:
        number = int(match[1])
        return f"{match[0]} '{names[number - 1]}'" if 0 < number <= len(names) and names[number - 1] else match[0]

    return _ARGUMENT.sub(named, detail)


def _parameters(declared: str) -> list[str]:
    """The names of a function's parameters, from what stands behind its opening bracket; empty where one has none, or
    is no plain declaration."""
    found, depth = [""], 1
    for character in declared:
        depth += (character in "(<[{") - (character in ")>]}")
        if depth == 0:
            break
        if depth == 1 and character == ",":
            found.append("")
        else:
            found[-1] += character
    matches = (_DECLARATION.fullmatch(" ".join(one.split())) for one in found)
    return [match[1] if match else "" for match in matches]


def _is_shared(name: str, above: str) -> bool:
    """Say whether the last declaration makes it shared: a thread's array may have the name of another kernel's tile."""
    array = rf"\b{name}\s*\[[^\[\]]*\]\s*\["
    shared = _last_shared(array, above)
    own = _last(rf"[;{{}}]\s*(?:const\s+|volatile\s+)*(?!return\b|else\b|do\b)[\w:]*\w\s+{array}", above)
    return shared > own


def _last(pattern: str, text: str) -> int:
    """Return where the pattern's last match ends; -1 if there is none."""
    return max((match.end() for match in re.finditer(pattern, text)), default=-1)


def _last_shared(array: str, text: str) -> int:
    """Do the same for the array in a statement that says `__shared__` before it."""
    end, found = 0, -1
    for statement in text.split(";"):
        word = re.search(r"\b__shared__\b", statement)
        declared = _last(array, statement[word.end() :]) if word else -1
        if word and declared >= 0:
            found = end + word.end() + declared
        end += len(statement) + 1
    return found


def _without_words(source: str) -> str:
    """Remove what looks like a comparison and is none, and no line: comments, inclusions, arrows, templates' heads."""
    code = _COMMENT.sub(lambda comment: "\n" * comment[0].count("\n"), source)
    return _TEMPLATE.sub(" ", _INCLUSION.sub("", code).replace("->", "."))


def _statement(source: str, line: int) -> str:
    """Return the text between semicolons or braces around the first word of a line. If the line begins with the head of
    a loop or a condition that does no arithmetic, return the text behind it."""
    lines = source.splitlines(keepends=True)
    start = sum(map(len, lines[: line - 1]))
    line_end = start + len(lines[line - 1]) if line <= len(lines) else len(source)
    begin = _behind_heads(source, start, line_end)
    if begin is None:
        begin = max(source.rfind(mark, 0, start) for mark in ";{}") + 1
    end = source.find(";", max(start, begin))
    return source[begin : end if end >= 0 else len(source)]


def _behind_heads(source: str, start: int, line_end: int) -> int | None:
    """Find where the statement behind all heads at the beginning of a line begins; None if there is no head."""
    begin = None
    while head := _HEAD.match(source, start, line_end):
        depth, close = 1, head.end()
        while close < line_end and depth:
            depth += (source[close] == "(") - (source[close] == ")")
            close += 1
        counting = re.sub(r"\+\+|--", "", source[head.end() : close])
        if depth or _ARITHMETIC.search(counting) or not source[close:line_end].strip("{ \t\r\n"):
            return begin
        begin = start = close
    return begin


def _assigned(statement: str) -> set[str]:
    match = _ASSIGNMENT.search(statement)
    return {match[1]} if match and not _MASKING.search(match[2]) else set()


def _made_from(name: str, assignments: list[tuple[str, str, str]]) -> set[str]:
    used = re.compile(rf"\b{name}\b")
    return {t for left, mark, right in assignments if used.search(right) for t in _assigned(left + mark + right)}


def _is_index(name: str, source: str) -> bool:
    word = re.compile(rf"\b{name}\b")
    return bool(
        any(word.search(index) for index in _UNMASKED_IN_BRACKETS.findall(source))
        or re.search(rf"\b{name}\s*\[", source)
        or re.search(rf"\b{name}\b\s*[<>]=?(?![<>])", source)
        or re.search(rf"(?<![<>])[<>]=?\s*{name}\b", source)
    )
