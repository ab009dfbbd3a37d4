"""A model made faster as a whole: what a baseline is beside eager."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from harness.sandbox.wire.construction import in_channels_last
from harness.sandbox.wire.input_form import Form, takes_parts
from harness.sandbox.wire.messages import Optimization


def optimize(model: torch.nn.Module, wanted: Optimization | None, forms: Sequence[Form] | None = None) -> Any:
    """The model to call in turns, with the parts of inputs that have these forms. Compilation itself happens at the
    first call, which is a warm-up."""
    if wanted is None:
        return takes_parts(model, forms)
    if wanted.channels_last:
        for tensor in (*model.parameters(), *model.buffers()):
            tensor.data = in_channels_last(tensor.data)
    if wanted.dtype is not None:
        dtype = getattr(torch, wanted.dtype)
        return _in_dtype(takes_parts(model.to(dtype), forms), dtype)
    if wanted.compile_mode is None:
        return takes_parts(model, forms)
    return takes_parts(torch.compile(model, mode=wanted.compile_mode), forms)


def _in_dtype(model: Callable[..., Any], dtype: torch.dtype) -> Callable[..., Any]:
    """Wrap a model of this floating type in a function that takes tensors of another, and gives those of the first that
    it is called with."""

    def call(*inputs: Any) -> Any:
        given = next((value.dtype for value in inputs if _is_floating(value) and value.itemsize > 1), dtype)
        return _converted(model(*(_converted(value, dtype) for value in inputs)), given)

    return call


def _converted(value: Any, dtype: torch.dtype) -> Any:
    if isinstance(value, (tuple, list)):
        return type(value)(_converted(one, dtype) for one in value)
    if isinstance(value, dict):
        return {key: _converted(one, dtype) for key, one in value.items()}
    return value.to(dtype) if _is_floating(value) else value


def _is_floating(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.is_floating_point()
