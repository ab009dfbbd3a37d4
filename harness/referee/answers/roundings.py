"""Roundings of operands to cheaper formats, and the reference computed with operands so rounded."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.utils.flop_counter import flop_registry

from harness.referee.answers.operator_mode import OperatorMode
from harness.referee.answers.oracle import Oracle
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
    """Context: matrix products and convolutions take operands so rounded: both, the first or the second. `rounding` may
    be another for each of the two. `count` says how many there were."""

    def __init__(self, rounding: Rounding | tuple[Rounding, Rounding], operands: tuple[int, ...] = (0, 1)) -> None:
        super().__init__()
        first, second = rounding if isinstance(rounding, tuple) else (rounding, rounding)
        self._roundings = (first, second, second)
        self._operands = operands

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func._overloadpacket in flop_registry:
            self.count += 1
            before = 1 if func._overloadpacket in _WITH_SUMMAND else 0
            places = {before + operand for operand in self._operands}
            if func._overloadpacket is torch.ops.aten.convolution_backward and len(self._operands) == 2:
                places.add(2)  # it multiplies the gradient by the input and by the weight
            args = [
                self._roundings[n - before](one) if n in places and is_floating(one) else one
                for n, one in enumerate(args)
            ]
        return func(*args, **(kwargs or {}))


_WITH_SUMMAND = (torch.ops.aten.addmm, torch.ops.aten.baddbmm)
"""Products whose first argument is added to them."""
_PLAIN_PRODUCTS = (torch.ops.aten.mm, torch.ops.aten.bmm)


class TooManySteps(RuntimeError):
    """Sums are rounded more often than anybody wants to wait for."""


class RoundedSums(OperatorMode):
    """Context: matrix products of at most so many terms keep their sums so rounded, after every `step` of them; `count`
    says how many there were. Raises: TooManySteps beyond `most_steps` roundings."""

    def __init__(self, rounding: Rounding, step: int, most_terms: int, most_steps: int) -> None:
        super().__init__()
        self._steps_left = most_steps
        self._rounding = rounding
        self._step = step
        self._most_terms = most_terms

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        before = 1 if func._overloadpacket in _WITH_SUMMAND else 0
        if not (before or func._overloadpacket in _PLAIN_PRODUCTS) or kwargs:
            return func(*args, **(kwargs or {}))
        left, right = args[before : before + 2]
        if left.shape[-1] > self._most_terms:
            return func(*args)
        self.count += 1
        self._steps_left -= -(-left.shape[-1] // self._step)
        if self._steps_left < 0:
            raise TooManySteps
        total = left.new_zeros((*left.shape[:-1], right.shape[-1]))
        for start in range(0, left.shape[-1], self._step):
            stop = start + self._step
            total = self._rounding(total + left[..., start:stop] @ right[..., start:stop, :])
        return args[0] + total if before else total


class RoundedResults(OperatorMode):
    """Context: what operators compute is so rounded, as where a whole model runs in a cheaper format."""

    def __init__(self, rounding: Rounding) -> None:
        super().__init__()
        self._rounding = rounding

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = func(*args, **(kwargs or {}))
        is_new = all(one.alias_info is None for one in func._schema.returns)
        return self._rounding(made) if is_new and is_floating(made) else made


def answer_with_rounded(
    rounding: Rounding, oracle: Oracle, model: torch.nn.Module, inputs: Sequence[Any]
) -> tuple[torch.Tensor, ...]:
    """Round inputs and parameters, then compute exactly, as the best kernel in this precision would."""
    model = copy.deepcopy(model)
    with torch.no_grad():
        for parameter in filter(is_floating, model.parameters()):
            parameter.copy_(rounding(parameter))
    rounded = [rounding(value) if is_floating(value) else value for value in inputs]
    return oracle.for_model(model).answer(rounded)
