"""Roundings of operands to cheaper formats, and the reference computed with operands so rounded."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.utils.flop_counter import flop_registry

from harness.referee.answers.operator_mode import OperatorMode
from harness.referee.answers.oracle import Oracle
from harness.referee.answers.reference import Reference
from harness.referee.answers.rows import is_floating
from harness.referee.answers.tf32 import rounded_to_tf32

Rounding = Callable[[torch.Tensor], torch.Tensor]


def to_and_back(dtype: torch.dtype) -> Rounding:
    """The rounding to a format of torch's."""
    return lambda value: value.to(dtype).to(value.dtype)


def _to_tf32(value: torch.Tensor) -> torch.Tensor:
    return torch.where(torch.isfinite(value.float()), rounded_to_tf32(value.float()).to(value.dtype), value)


ROUNDINGS: dict[str, Rounding] = {
    "float32": to_and_back(torch.float32),
    "tf32": _to_tf32,
    "float16": to_and_back(torch.float16),
    "bfloat16": to_and_back(torch.bfloat16),
}


class RoundedProducts(OperatorMode):
    """Context: matrix products and convolutions take operands so rounded: both, the first or the second; `count` says
    how many there were."""

    def __init__(self, rounding: Rounding, operands: tuple[int, ...] = (0, 1)) -> None:
        super().__init__()
        self.count = 0
        self._rounding = rounding
        self._operands = operands

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func._overloadpacket in flop_registry:
            self.count += 1
            before = 1 if func._overloadpacket in _WITH_SUMMAND else 0
            places = {before + operand for operand in self._operands}
            if func._overloadpacket is torch.ops.aten.convolution_backward and len(self._operands) == 2:
                places.add(2)  # it multiplies the gradient by the input and by the weight
            args = [self._rounding(one) if n in places and is_floating(one) else one for n, one in enumerate(args)]
        return func(*args, **(kwargs or {}))


_WITH_SUMMAND = (torch.ops.aten.addmm, torch.ops.aten.baddbmm)
"""Products whose first argument is added to them."""


def answer_with_rounded(
    rounding: Rounding, reference: Reference, model: torch.nn.Module, inputs: Sequence[Any]
) -> tuple[torch.Tensor, ...]:
    """Round inputs and parameters, then compute exactly, as the best kernel in this precision would."""
    model = copy.deepcopy(model)
    with torch.no_grad():
        for parameter in filter(is_floating, model.parameters()):
            parameter.copy_(rounding(parameter))
    rounded = [rounding(value) if is_floating(value) else value for value in inputs]
    return Oracle(reference, model, False).answer(rounded)
