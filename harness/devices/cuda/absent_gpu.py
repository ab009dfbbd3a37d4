"""A GPU that torch speaks of and this process doesn't hold, so that a solution comes to its builds.

What asks for the GPU's facts is answered; tensors and modules that are to be on it stay on the CPU; what needs it after
all raises, as without a GPU.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any  # torch's functions take arguments of many shapes

import torch
from torch.overrides import TorchFunctionMode

from harness.sandbox.wire.device import SeenGpu


def show_absent(gpu: SeenGpu) -> None:
    """Show the GPU to this thread, to its end."""
    properties = SimpleNamespace(**gpu.properties)
    answers: dict[str, object] = {
        "is_available": True,
        "device_count": 1,
        "current_device": 0,
        "set_device": None,
        "init": None,
        "synchronize": None,
        "empty_cache": None,
        "get_device_properties": properties,
        "get_device_name": properties.name,
        "get_device_capability": (properties.major, properties.minor),
        "is_bf16_supported": properties.major >= 8,
    }
    for name, answer in answers.items():
        setattr(torch.cuda, name, lambda *_, answer=answer, **__: answer)
    _OnCpu().__enter__()  # type: ignore[no-untyped-call]


class _OnCpu(TorchFunctionMode):
    """Takes the CPU where a call names the GPU."""

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        if func is torch.Tensor.cuda:
            return args[0]
        if func is torch.device:
            return func(*args, **(kwargs or {}))
        named = {name: _on_cpu(value) for name, value in (kwargs or {}).items()}
        if named.get("pin_memory"):
            named["pin_memory"] = False
        return func(*map(_on_cpu, args), **named)


def _on_cpu(value: Any) -> Any:
    is_gpu = isinstance(value, (str, torch.device)) and str(value).partition(":")[0] == "cuda"
    return torch.device("cpu") if is_gpu else value
