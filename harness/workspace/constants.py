"""A problem's constants: other values for them, put into its source text so that derived constants follow."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator, Mapping

from harness.python_text import parse


def module_constants(source: str) -> dict[str, ast.expr]:
    """Names assigned once at the top level of a module, with the expressions they are assigned.

    Raises:
        SyntaxError: `source` is not Python.
    """
    found: dict[str, list[ast.expr]] = {}
    for node in parse(source).body:
        for name, value in _assignments(node):
            found.setdefault(name, []).append(value)
    return {name: values[0] for name, values in found.items() if len(values) == 1}


def with_constants(source: str, values: Mapping[str, object]) -> str:
    """Return `source` with the right-hand sides of the named assignments replaced; line numbers stay.

    Raises:
        KeyError: a name that the module doesn't assign at its top level.
    """
    assigned = module_constants(source)
    lines = source.encode().splitlines(keepends=True)  # ast counts columns in UTF-8 bytes
    spans = [(assigned[name], _literal(value)) for name, value in values.items()]
    for node, text in sorted(spans, key=lambda span: (span[0].lineno, span[0].col_offset), reverse=True):
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        first, last = node.lineno - 1, node.end_lineno - 1
        tail = lines[last][node.end_col_offset :]
        is_whole = tail.strip() == b"" or tail.lstrip().startswith(b"#")
        padding = b"\n" * (last - first) if is_whole else b""
        lines[first : last + 1] = [lines[first][: node.col_offset] + text.encode() + tail + padding]
    return b"".join(lines).decode()


def _assignments(node: ast.stmt) -> Iterator[tuple[str, ast.expr]]:
    """Yield `a = 1`, `a: int = 1` and `a, b = 1, 2`, name by name."""
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
        yield node.target.id, node.value
    elif isinstance(node, ast.Assign) and len(node.targets) == 1:
        target, value = node.targets[0], node.value
        pairs = [(target, value)]
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
            pairs = list(zip(target.elts, value.elts, strict=True))
        for name, part in pairs:
            if isinstance(name, ast.Name):
                yield name.id, part


def _literal(value: object) -> str:
    """Return `value` as source; the infinities and NaN have no literal of their own."""
    return f"float('{value}')" if isinstance(value, float) and not math.isfinite(value) else repr(value)
