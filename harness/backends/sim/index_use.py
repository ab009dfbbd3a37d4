"""What the text of a kernel says about an arithmetic fault in it, which the instruction alone doesn't."""

from __future__ import annotations

import re

_NAME = r"[A-Za-z_]\w*"
_ASSIGNMENT = re.compile(rf"\b({_NAME})\s*(?:[-+*/]|<<)?=(?!=)(.*)", re.DOTALL)
_ARITHMETIC_IN_INDEX = re.compile(r"\[[^\[\]]*[-+*][^\[\]]*\]")
_CONDITION = re.compile(r"\b(if|while|for)\b")
_POINTER_MADE = re.compile(rf"\*\s*(const\b|__restrict__\b|\s)*{_NAME}\s*=(?!=)")
_MASKING = re.compile(r"[&%^]")
_MOST_STEPS = 4


def feeds_an_index(source: str, line: int) -> bool:
    """Whether what the statement at `line` computes is used as an index or compared with a bound, directly or by way
    of other variables. Where it is masked on the way, as a hash is, it may wrap on purpose."""
    statement = _statement(source, line)
    if any(pattern.search(statement) for pattern in (_ARITHMETIC_IN_INDEX, _CONDITION, _POINTER_MADE)):
        return True
    known, new = set[str](), _assigned(statement)
    for _ in range(_MOST_STEPS):
        if any(_is_index(name, source) for name in new):
            return True
        known |= new
        new = {target for name in new for target in _made_from(name, source)} - known
    return False


def is_row_of_shared_array(source: str, line: int) -> bool:
    """Whether the line indexes a shared array of several dimensions: beyond a row there is the next one."""
    above = "".join(source.splitlines(keepends=True)[:line])
    names = re.findall(rf"\b({_NAME})\s*\[[^\[\]]*\]\s*\[", _statement(source, line))
    return any(_is_shared(name, above) for name in names)


def _is_shared(name: str, above: str) -> bool:
    """Whether its last declaration says so: an array of a thread's own may have the name of another kernel's tile."""
    array = rf"\b{name}\s*\[[^\[\]]*\]\s*\["
    shared = _last(rf"\b__shared__\b[^;]*{array}", above)
    own = _last(rf"[;{{}}]\s*(?:const\s+|volatile\s+)*(?!return\b|else\b|do\b)[\w:]*\w\s+{array}", above)
    return shared > own


def _last(pattern: str, text: str) -> int:
    """Where its last match ends; -1 if there is none."""
    return max((match.end() for match in re.finditer(pattern, text)), default=-1)


def _statement(source: str, line: int) -> str:
    """The text between semicolons or braces around the first word of a line."""
    lines = source.splitlines(keepends=True)
    start = sum(map(len, lines[: line - 1]))
    begin = max(source.rfind(mark, 0, start) for mark in ";{}") + 1
    end = source.find(";", start)
    return source[begin : end if end >= 0 else len(source)]


def _assigned(statement: str) -> set[str]:
    match = _ASSIGNMENT.search(statement)
    return {match[1]} if match and not _MASKING.search(match[2]) else set()


def _made_from(name: str, source: str) -> set[str]:
    statements = re.findall(rf"[^;{{}}]*=[^;{{}}]*\b{name}\b[^;{{}}]*", source)
    return {target for statement in statements for target in _assigned(statement)}


def _is_index(name: str, source: str) -> bool:
    return bool(
        re.search(rf"\[[^\[\]&%]*\b{name}\b[^\[\]&%]*\]", source)
        or re.search(rf"\b{name}\s*\[", source)
        or re.search(rf"\b{name}\b\s*[<>]=?(?![<>])", source)
        or re.search(rf"(?<![<>])[<>]=?\s*{name}\b", source)
    )
