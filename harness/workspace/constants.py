"""Other values for a module's constants, put into its source text so that derived constants follow."""

from __future__ import annotations

import ast
from collections.abc import Mapping


def module_constants(source: str) -> dict[str, ast.expr]:
    """Names assigned once at the top level of a module, with the expressions they are assigned.

    Raises:
        SyntaxError: `source` is not Python.
    """
    found: dict[str, ast.expr] = {}
    for node in ast.parse(source).body:
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            found[node.targets[0].id] = node.value
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
            found[node.target.id] = node.value
    return found


def with_constants(source: str, values: Mapping[str, object]) -> str:
    """`source` with the right-hand sides of the named assignments replaced; line numbers stay.

    Raises:
        KeyError: a name that the module doesn't assign at its top level.
    """
    assigned = module_constants(source)
    lines = source.encode().splitlines(keepends=True)  # ast counts columns in UTF-8 bytes
    spans = [(assigned[name], repr(value)) for name, value in values.items()]
    for node, text in sorted(spans, key=lambda span: (span[0].lineno, span[0].col_offset), reverse=True):
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        first, last = node.lineno - 1, node.end_lineno - 1
        tail = lines[last][node.end_col_offset :]
        padding = b"\n" * (last - first) if tail.strip() == b"" else b""
        lines[first : last + 1] = [lines[first][: node.col_offset] + text.encode() + tail + padding]
    return b"".join(lines).decode()
