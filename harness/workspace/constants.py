"""A problem's constants: other values for them, put into its source text so that derived constants follow."""

from __future__ import annotations

import ast
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from harness.python_text import parse


def module_constants(source: str) -> dict[str, ast.expr]:
    """Names assigned once at the top level of a module, with the expressions they are assigned.

    Raises:
        SyntaxError: `source` is not Python.
    """
    return {name: value for name, (_, value) in _assigned_once(source).items()}


def constants_of_inputs(source: str) -> dict[str, ast.expr]:
    """Names assigned once in `get_inputs` and not at the module's top level, with their expressions."""
    return {name: value for name, (_, value) in _assigned_in_inputs(source).items()}


def with_constants(source: str, values: Mapping[str, object]) -> str:
    """Return `source` with each of these names assigned anew, right behind its own assignment; line numbers stay.

    Raises:
        KeyError: a name that is assigned neither at the module's top level nor in `get_inputs`.
    """
    assigned = {**_assigned_in_inputs(source), **_assigned_once(source)}
    lines = source.encode().splitlines(keepends=True)  # ast counts columns in UTF-8 bytes
    ends = [(assigned[name][0].end_lineno, assigned[name][0].end_col_offset, name) for name in values]
    for number, column, name in sorted(ends, reverse=True):
        assert number is not None
        line = lines[number - 1]
        lines[number - 1] = line[:column] + f"; {name} = {_literal(values[name])}".encode() + line[column:]
    return b"".join(lines).decode()


def _assigned_in_inputs(source: str) -> dict[str, tuple[ast.stmt, ast.expr]]:
    module = parse(source)
    outside = {name for node in module.body for name, _ in _assignments(node)}
    inside = [node for node in module.body if isinstance(node, ast.FunctionDef) and node.name == "get_inputs"]
    nodes = [node for function in inside for node in ast.walk(function)]
    stored = Counter(node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store))
    outside |= {name for node in nodes if isinstance(node, ast.Global) for name in node.names}
    found = _once([statement for function in inside for statement in function.body])
    return {name: where for name, where in found.items() if name not in outside and stored[name] == 1}


def _assigned_once(source: str) -> dict[str, tuple[ast.stmt, ast.expr]]:
    return _once(parse(source).body)


def _once(statements: Sequence[ast.stmt]) -> dict[str, tuple[ast.stmt, ast.expr]]:
    """The names with their statements and expressions. What is derived from the first of two assignments wouldn't
    follow the second."""
    found: dict[str, list[tuple[ast.stmt, ast.expr]]] = {}
    for node in statements:
        for name, value in _assignments(node):
            found.setdefault(name, []).append((node, value))
    return {name: ways[0] for name, ways in found.items() if len(ways) == 1}


def _assignments(node: ast.stmt) -> Iterator[tuple[str, ast.expr]]:
    """Yield `a = 1`, `a: int = 1`, `a = b = 1` and `a, b = 1, 2`, name by name."""
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
        yield node.target.id, node.value
    elif isinstance(node, ast.Assign):
        for target in node.targets:
            value, pairs = node.value, [(target, node.value)]
            if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
                pairs = list(zip(target.elts, value.elts, strict=True))
            for name, part in pairs:
                if isinstance(name, ast.Name):
                    yield name.id, part


def _literal(value: object) -> str:
    """Return `value` as source; the infinities and NaN have no literal of their own."""
    return f"float('{value}')" if isinstance(value, float) and not math.isfinite(value) else repr(value)
