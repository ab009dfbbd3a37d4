"""Inputs that are made of several tensors: lists, tuples and dicts of them, sparse and jagged tensors.

In buffers, on the wire and for the oracle an input is its parts, which are dense tensors and plain values. They are put
together within the model's call, so that nothing of a solution's can work there unseen. Parts of a sparse or jagged
tensor are used as they are, and nothing of them is read: they may not have arrived yet.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch

Form = Any
"""None for an input that is a part by itself; else a kind and what belongs to it, as plain values."""

JAGGED = "jagged"
_CONTAINERS = ("list", "tuple", "dict")
_COMPRESSED = {
    "sparse_csr": (torch.Tensor.crow_indices, torch.Tensor.col_indices),
    "sparse_bsr": (torch.Tensor.crow_indices, torch.Tensor.col_indices),
    "sparse_csc": (torch.Tensor.ccol_indices, torch.Tensor.row_indices),
    "sparse_bsc": (torch.Tensor.ccol_indices, torch.Tensor.row_indices),
}


def take_apart(value: Any, parts: list[Any]) -> Form:
    """Append the parts of an input, and return its form. Raises: ValueError for a tensor that has none."""
    if isinstance(value, torch.Tensor) and value.layout is not torch.strided:
        return _take_tensor_apart(value.detach(), parts)
    if isinstance(value, torch.Tensor) and value.is_nested:
        raise ValueError("nested tensor of strided layout (layout=torch.jagged is taken)")
    if type(value) in (list, tuple) and any(map(_holds_tensor, value)):
        return (type(value).__name__, tuple(take_apart(one, parts) for one in value))
    if type(value) is dict and any(map(_holds_tensor, value.values())):
        return ("dict", {key: take_apart(one, parts) for key, one in value.items()})
    parts.append(value)
    return None


def takes_parts(call: Callable[..., Any], forms: Sequence[Form] | None) -> Callable[..., Any]:
    """Let a model be called with parts. `forms`: None where each input is a part."""
    return call if forms is None else lambda *parts: call(*put_together(forms, parts))


def put_together(forms: Sequence[Form], parts: Sequence[Any]) -> list[Any]:
    """Make the inputs of their parts."""
    left = iter(parts)
    return [_put_together(form, left) for form in forms]


def count_parts(form: Form) -> int:
    """Count the parts of an input."""
    return sum(3 if kind in _COMPRESSED else 1 if kind is None else 2 for kind in _kinds(form))


def with_indices(forms: Sequence[Form]) -> set[str]:
    """The kinds of tensors of which one part says where another's elements belong: 'jagged', 'sparse_csr' and so on."""
    return {kind for form in forms for kind in _kinds(form) if kind is not None}


def _kinds(form: Form) -> Iterator[str | None]:
    """The kind of each tensor or plain value of an input; None for one that is a part."""
    if form is None or form[0] not in _CONTAINERS:
        yield form and form[0]
        return
    kind, content = form
    for one in content.values() if kind == "dict" else content:
        yield from _kinds(one)


def _holds_tensor(value: Any) -> bool:
    if isinstance(value, Mapping):
        return any(map(_holds_tensor, value.values()))
    return any(map(_holds_tensor, value)) if isinstance(value, (list, tuple)) else isinstance(value, torch.Tensor)


def _take_tensor_apart(value: torch.Tensor, parts: list[Any]) -> Form:
    layout = str(value.layout).removeprefix("torch.")
    if layout == JAGGED:
        if value.lengths() is not None or value._ragged_idx != 1:  # type: ignore[attr-defined]
            raise ValueError("jagged tensor with holes, or whose ragged dimension isn't the second")
        parts += [value.values(), value.offsets()]  # type: ignore[attr-defined]
        return (JAGGED, None)
    if layout == "sparse_coo":
        whole = value.coalesce()
        parts += [whole.indices(), whole.values()]
    elif layout in _COMPRESSED:
        parts += [*(indices(value) for indices in _COMPRESSED[layout]), value.values()]
    else:
        raise ValueError(f"tensor of layout {layout}")
    return (layout, tuple(value.shape))


def _put_together(form: Form, parts: Iterator[Any]) -> Any:
    if form is None:
        return next(parts)
    kind, content = form
    if kind == "dict":
        return {key: _put_together(one, parts) for key, one in content.items()}
    if kind in ("list", "tuple"):
        values = [_put_together(one, parts) for one in content]
        return values if kind == "list" else tuple(values)
    with warnings.catch_warnings():  # torch's of its first one, which a solution may have made errors
        warnings.simplefilter("ignore")
        return _tensor_of(kind, content, parts)


def _tensor_of(kind: str, shape: tuple[int, ...], parts: Iterator[torch.Tensor]) -> torch.Tensor:
    if kind == JAGGED:
        return torch.nested.nested_tensor_from_jagged(next(parts), next(parts))
    if kind == "sparse_coo":
        return torch.sparse_coo_tensor(next(parts), next(parts), shape, check_invariants=False, is_coalesced=True)
    compressed, plain, values = next(parts), next(parts), next(parts)
    layout = getattr(torch, kind)
    return torch.sparse_compressed_tensor(compressed, plain, values, shape, layout=layout, check_invariants=False)
