"""Operations in a problem's code that choose among values, and those that may return any index among equal ones."""

from __future__ import annotations

import ast
import functools
from collections.abc import Collection

from harness.python_text import parse

_PARTS = ("sort", "topk", "median", "kthvalue", "return_indices", "unique")
"""Parts of the names of those with an open order. Another is `mode`, which many a setting is called, too."""
_FIRST = ("argmax", "argmin", "max", "min")
"""Operations of which torch takes the first index of equal values: whole names, since softmax has one as a part."""


@functools.lru_cache(maxsize=256)
def names_open_order(source: str) -> bool:
    """Say whether code names such an operation. Comments and texts of several words don't count."""
    return any(_is_mode(node) or _is_open(_name(node)) for node in ast.walk(parse(source)))


@functools.lru_cache(maxsize=256)
def uses_open_indices(source: str) -> bool:
    """Say whether code goes on with the indices of such an operation, as a router does with those of its experts."""
    nodes = list(ast.walk(parse(source)))
    read = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    kept = {
        target.id
        for node in nodes
        if isinstance(node, ast.Assign) and _leaves_open(node.value)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    return names_open_order(source) and any(_hands_on_indices(node, read, kept) for node in nodes)


@functools.lru_cache(maxsize=256)
def names_choice(source: str) -> bool:
    """Say whether code names an operation that returns indices of values that it chose or sorted."""
    return names_open_order(source) or any(_name(node) in _FIRST for node in ast.walk(parse(source)))


def _is_mode(node: ast.AST) -> bool:
    """Say whether torch's `mode` is called or handed on here; a module's own setting, self.mode, isn't it."""
    match node:
        case ast.Call(func=ast.Name("mode")) | ast.alias("mode") | ast.Constant("mode"):
            return True
        case ast.Attribute(ast.Name(owner), "mode"):
            return owner != "self"
        case ast.Attribute(attr="mode"):
            return True
    return False


def _hands_on_indices(node: ast.AST, read: Collection[str], kept: Collection[str]) -> bool:
    """Say whether a node takes indices from such an operation's result, or from a name that it is `kept` by."""
    match node:
        case ast.Assign(targets=[ast.Tuple(elts=[_, ast.Name(indices)])], value=value):
            return indices in read and (_leaves_open(value) or (isinstance(value, ast.Name) and value.id in kept))
        case ast.Assign(targets=[ast.Tuple(elts=[_, ast.Attribute()])], value=value):
            return _leaves_open(value)
        case ast.Subscript(value=value, slice=ast.Constant(1)):
            return _leaves_open(value) or (isinstance(value, ast.Name) and value.id in kept)
        case ast.Attribute(attr="indices" | "argsort"):
            return True
    return isinstance(node, ast.Name) and node.id == "argsort"


def _leaves_open(node: ast.AST) -> bool:
    """Say whether it is a call of such an operation, which isn't told to keep the order of equals."""
    if not isinstance(node, ast.Call) or _name(node.func) in ("sorted", "unique", "unique_consecutive"):
        return False
    is_stable = any(one.arg == "stable" and ast.unparse(one.value) == "True" for one in node.keywords)
    return _is_open(_name(node.func)) and not is_stable


def _is_open(name: str) -> bool:
    return name.isidentifier() and any(part in name for part in _PARTS)


def _name(node: ast.AST) -> str:
    """The name that a node reads, calls or hands on, perhaps as a text; '' for others."""
    match node:
        case ast.Name(str(name)) | ast.Constant(str(name)):
            return name
        case ast.Attribute(attr=str(name)) | ast.keyword(arg=str(name)) | ast.alias(name=str(name)):
            return name
    return ""
