"""Operations in a problem's code that may return any index among equal values."""

from __future__ import annotations

import ast
import functools

from harness.python_text import parse

_PARTS = ("sort", "topk", "median", "kthvalue", "return_indices", "unique")
"""Parts of their names. Another is `mode`, which many a setting is called, too."""


@functools.lru_cache(maxsize=256)
def names_open_order(source: str) -> bool:
    """Say whether code names such an operation. Comments and texts of several words don't count."""
    return any(_is_mode(node) or _is_other(node) for node in ast.walk(parse(source)))


def _is_mode(node: ast.AST) -> bool:
    """Say whether torch's `mode` is called or handed on here."""
    match node:
        case ast.Call(func=ast.Name("mode") | ast.Attribute(attr="mode")):
            return True
        case ast.Call(func=ast.Name("getattr"), args=[_, ast.Constant("mode"), *_]):
            return True
        case ast.Attribute(ast.Name("torch"), "mode") | ast.alias("mode"):
            return True
    return False


def _is_other(node: ast.AST) -> bool:
    match node:
        case ast.Name(str(name)) | ast.Constant(str(name)):
            pass
        case ast.Attribute(attr=str(name)) | ast.keyword(arg=str(name)) | ast.alias(name=str(name)):
            pass
        case _:
            return False
    return name.isidentifier() and any(part in name for part in _PARTS)
