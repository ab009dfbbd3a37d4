"""A model made faster as a whole: what a baseline is beside eager."""

from __future__ import annotations

from typing import Any

import torch

from harness.protocol.messages import Optimization

_CHANNELS_LAST = {4: torch.channels_last, 5: torch.channels_last_3d}
"""By the number of a tensor's dimensions; others have no such layout."""


def optimize(model: torch.nn.Module, wanted: Optimization | None) -> Any:
    """The model to call in turns. Compilation itself happens at the first call, which is a warm-up."""
    if wanted is None:
        return model
    if wanted.channels_last:
        for tensor in (*model.parameters(), *model.buffers()):
            tensor.data = in_channels_last(tensor.data)
    if wanted.compile_mode is None:
        return model
    return torch.compile(model, mode=wanted.compile_mode)


def in_channels_last(value: Any) -> Any:
    """The tensor with its channels innermost, where it is one that has channels."""
    layout = _CHANNELS_LAST.get(value.dim()) if isinstance(value, torch.Tensor) else None
    return value if layout is None else value.contiguous(memory_format=layout)
