"""Casts to half precision left out: a kernel may keep in float32 what its reference rounds on the way."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from harness.referee.answers.operator_mode import OperatorMode

HALVES = frozenset({torch.float16, torch.bfloat16})


class Uncast(OperatorMode):
    """Context: float64 stays float64 where it would be cast to half precision; `halves` are the formats meant."""

    def __init__(self) -> None:
        super().__init__()
        self.halves: set[torch.dtype] = set()

    def __torch_dispatch__(self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        is_cast = func.overloadpacket is torch.ops.aten._to_copy and kwargs.get("dtype") in HALVES
        if is_cast and args[0].dtype is torch.float64:
            self.halves.add(kwargs["dtype"])
            kwargs = {**kwargs, "dtype": torch.float64}
        return func(*args, **kwargs)
