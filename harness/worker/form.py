"""The form of every output of a call, and which of them can be copied as they lie."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeGuard

import torch

from harness.sandbox.wire.messages import OutputForm

_PLAIN_TYPES = (torch.Tensor, torch.nn.Parameter)
"""The types that count as plain, exactly these. A subclass may compute its values when they are looked at, after the
clock has stopped."""

# torch's own, taken before any code of a solution runs. What an output is, is asked between the end of its call and the
# copy: its own attributes may not answer, which hide methods, nor a mode.
_is_conj, _is_neg = torch._C.TensorBase.is_conj, torch._C.TensorBase.is_neg
_is_wrapped = torch._C._functorch.is_functorch_wrapped_tensor
_plainly = torch._C.DisableTorchFunction


def form_of(output: object) -> OutputForm:
    """Return the form of an output. It raises nothing, whatever the solution made up."""
    if not is_plain(output):
        return OutputForm(_described(output))
    assert isinstance(output, torch.Tensor)
    with _plainly():
        return OutputForm(None, str(output.dtype).removeprefix("torch."), tuple(output.shape), str(output.device.type))


def is_plain(output: object) -> bool:
    """A dense tensor of torch's own class, whose values lie in its memory."""
    return _is_of_torch(output) and _peculiarity(output) is None


def fitting(outputs: Sequence[object], destinations: Sequence[torch.Tensor]) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """Return outputs with the buffers that they can be copied into; no buffer takes what has another form."""
    if len(outputs) != len(destinations):
        return []
    pairs = zip(outputs, destinations, strict=True)
    with _plainly():
        return [(output, buffer) for output, buffer in pairs if _fits(output, buffer)]


def _fits(output: Any, destination: torch.Tensor) -> TypeGuard[torch.Tensor]:
    return (
        is_plain(output)
        and output.shape == destination.shape
        and output.dtype == destination.dtype
        and output.device.type == destination.device.type
    )


def _is_of_torch(output: object) -> bool:
    """Say whether its class is torch's, by identity: a class may say that it equals another."""
    return any(type(output) is plain for plain in _PLAIN_TYPES)


def _described(output: object) -> str:
    if not _is_of_torch(output):
        return str(type(output).__name__)
    return f"{_peculiarity(output)} tensor"


def _peculiarity(output: Any) -> str | None:
    """Say what keeps a tensor of torch's own class from being plain memory of numbers."""
    with _plainly():
        if output.is_nested:
            return "nested"
        if output.layout is not torch.strided:
            return str(output.layout).removeprefix("torch.").replace("_", " ")
        if output.is_quantized:
            return "quantized"
        if _is_conj(output) or _is_neg(output):  # a flag on values still to be computed: resolve_conj() does it
            return "lazily conjugated or negated"
        if _is_wrapped(output):
            return "functorch-wrapped"
        return None
