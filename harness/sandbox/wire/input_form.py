"""Inputs that are made of several tensors: lists, tuples and dicts of them, sparse and jagged tensors.

In buffers, on the wire and for the oracle an input is its parts, which are dense tensors and plain values. They are put
together within the model's call, so that nothing of a solution's can work there unseen. Parts of a sparse or jagged
tensor are used as they are, and nothing of them is read: they may not have arrived yet.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch

Form = Any
"""None for an input that is a part by itself; else a kind and what belongs to it, as plain values.

A list or tuple has the forms within, a dict pairs of key and form, a sparse tensor its shape and whether it is
coalesced, a jagged one the number of the earlier part that holds its offsets, or None."""

_CONTAINERS = ("list", "tuple", "dict")
_ROWS, _COLUMNS = ("crow_indices", "col_indices", "values"), ("ccol_indices", "row_indices", "values")
_PARTS = {
    "jagged": ("values", "offsets", "_maybe_min_seqlen", "_maybe_max_seqlen"),
    "sparse_coo": ("_indices", "_values"),
    "sparse_csr": _ROWS,
    "sparse_bsr": _ROWS,
    "sparse_csc": _COLUMNS,
    "sparse_bsc": _COLUMNS,
}
"""The methods or attributes of torch.Tensor that give the parts of each kind."""

# As they are before a solution is loaded.
_jagged, _coo = torch.nested.nested_tensor_from_jagged, torch.sparse_coo_tensor
_compressed = torch.sparse_compressed_tensor


class NoForm(ValueError):
    """An input that has no form: what it is stands in the message."""


def take_apart(value: Any, parts: list[Any]) -> Form:
    """Append the parts of an input to those of earlier ones, and return its form. Raises: NoForm."""
    if isinstance(value, torch.Tensor) and (value.is_nested or value.layout is not torch.strided):
        return _take_tensor_apart(value.detach(), parts)
    if type(value) in (list, tuple) and any(map(_holds_tensor, value)):
        return (type(value).__name__, tuple(take_apart(one, parts) for one in value))
    if type(value) is dict and any(map(_holds_tensor, value.values())):
        if odd := next((key for key in value if type(key) is not str), None):
            raise NoForm(f"dict with the key {odd!r}: keys are texts")
        return ("dict", tuple((key, take_apart(one, parts)) for key, one in value.items()))
    if isinstance(value, (list, tuple, dict)) and type(value) not in (list, tuple, dict) and _holds_tensor(value):
        raise NoForm(f"{type(value).__name__} of tensors: a tuple, a list or a dict belongs")
    parts.append(value)
    return None


def takes_parts(call: Callable[..., Any], forms: Sequence[Form] | None) -> Callable[..., Any]:
    """Let a model be called with parts. `forms`: None where each input is a part."""
    if forms is None:
        return call
    with warnings.catch_warnings():  # torch's of its first one comes now: a solution may make warnings errors
        warnings.simplefilter("ignore")
        torch.eye(1).to_sparse_csr()
    return lambda *parts: call(*put_together(forms, parts))


def put_together(forms: Sequence[Form], parts: Sequence[Any]) -> list[Any]:
    """Make the inputs of their parts."""
    left = iter(parts)
    return [_put_together(form, left, parts) for form in forms]


def irregular_kinds(forms: Sequence[Form]) -> set[str]:
    """The kinds of tensors of which one part says where another's elements belong: 'jagged', 'sparse_csr' and so on."""
    return {kind for form in forms for kind in _kinds(form)}


def leaves(form: Form, name: str) -> Iterator[tuple[str, list[str]]]:
    """Name each tensor or plain value of the input called `name`, and its parts: `cache['keys'][0]` is its only one,
    `sparse` has `sparse.values()` among others."""
    if form is None:
        yield name, [name]
        return
    kind, content = form
    if kind in _CONTAINERS:
        for key, one in content if kind == "dict" else enumerate(content):
            yield from leaves(one, f"{name}[{key!r}]")
        return
    is_shared = kind == "jagged" and content is not None
    yield name, [f"{name}.{part}()" for part in _PARTS[kind] if not (is_shared and part == "offsets")]


def _kinds(form: Form) -> Iterator[str]:
    if form is None:
        return
    kind, content = form
    if kind not in _CONTAINERS:
        yield kind
        return
    for one in content:
        yield from _kinds(one[1] if kind == "dict" else one)


def _holds_tensor(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(_holds_tensor, value.values()))
    return any(map(_holds_tensor, value)) if isinstance(value, (list, tuple)) else isinstance(value, torch.Tensor)


def _take_tensor_apart(value: Any, parts: list[Any]) -> Form:
    kind = str(value.layout).removeprefix("torch.")
    if kind not in _PARTS:
        raise NoForm("nested tensor that isn't jagged" if value.is_nested else f"tensor of layout {kind}")
    names: Sequence[str] = _PARTS[kind]
    content: Any = tuple(value.shape), kind != "sparse_coo" or value.is_coalesced()
    if kind == "jagged":
        if value.lengths() is not None or value._ragged_idx != 1:
            raise NoForm("jagged tensor with holes, or whose ragged dimension isn't the second")
        # Torch knows by their offsets, the very same object, which jagged tensors go together.
        content = next((number for number, part in enumerate(parts) if part is value.offsets()), None)
        names = [name for name in names if content is None or name != "offsets"]
    found = (getattr(value, name) for name in names)
    parts += [one() if callable(one) and not isinstance(one, torch.Tensor) else one for one in found]
    return (kind, content)


def _put_together(form: Form, left: Iterator[Any], parts: Sequence[Any]) -> Any:
    if form is None:
        return next(left)
    kind, content = form
    if kind == "dict":
        return {key: _put_together(one, left, parts) for key, one in content}
    if kind in _CONTAINERS:
        whole = [_put_together(one, left, parts) for one in content]
        return whole if kind == "list" else tuple(whole)
    if kind == "jagged":
        values, offsets = next(left), next(left) if content is None else parts[content]
        return _jagged(values, offsets, min_seqlen=next(left), max_seqlen=next(left))
    shape, is_coalesced = content
    options: dict[str, Any] = {"size": shape, "check_invariants": False}
    if kind == "sparse_coo":
        return _coo(next(left), next(left), is_coalesced=is_coalesced, **options)
    return _compressed(next(left), next(left), next(left), layout=getattr(torch, kind), **options)
