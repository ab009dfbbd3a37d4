"""Python's parser, for one thread at a time.

CPython 3.11 keeps the depth of the tree under construction per interpreter. Where a collection of garbage lets another
thread parse meanwhile, both lose count: "SystemError: AST constructor recursion depth mismatch".
"""

from __future__ import annotations

import ast
import threading
from typing import Any

_ALONE = threading.Lock()


def parse(source: str | bytes) -> ast.Module:
    """Parse like ast.parse()."""
    with _ALONE:
        return ast.parse(source)


def literal_value(source: str) -> Any:
    """Evaluate like ast.literal_eval()."""
    with _ALONE:
        return ast.literal_eval(source)
