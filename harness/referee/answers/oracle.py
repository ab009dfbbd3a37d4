"""The right answer: the reference in float64, in pieces where memory asks for it."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from harness.records.check import OracleKind
from harness.referee.answers.reference import PROBLEM_ERRORS, InvalidProblem, OutputSpec, Reference, blamed_on, unpack

_PIECE_BYTES = {"cuda": 2 * 2**30, "cpu": 256 * 2**20}
"""Inputs and outputs of one piece of the oracle in float64; intermediates and the comparison take a few times that."""


@dataclass(frozen=True)
class Piece:
    """The oracle's outputs for rows [start, stop) of dimension 0, or for everything."""

    rows: slice
    outputs: tuple[torch.Tensor, ...]


class Oracle:
    """The right answer: the reference in float64, or in strict float32 where its code refuses float64."""

    def __init__(self, reference: Reference, model: torch.nn.Module, independent_batch: bool, device: str) -> None:
        self._reference = reference
        self._independent = independent_batch
        self._budget = _PIECE_BYTES[device]
        self._native = model
        with blamed_on(reference, "Model can't be copied"), torch.no_grad():
            self._double = copy.deepcopy(model).double()
        self.kind: OracleKind = "float64"
        self.why_float32: str | None = None

    def pieces(self, inputs: Sequence[Any], spec: OutputSpec) -> Iterator[Piece]:
        """The answer piece by piece."""
        count = self.common_rows(inputs, spec)
        if count is None:
            yield Piece(slice(None), self.answer(inputs))
            return
        step = max(1, self._budget // _row_bytes(inputs, spec, count))
        for start in range(0, count, step):
            part = slice(start, min(start + step, count))
            yield Piece(part, self.answer(rows_of(inputs, part)))

    def verify_independence(self, inputs: Sequence[Any], spec: OutputSpec) -> None:
        """Compare two rows alone with the same rows together, where the problem claims that they are independent.

        Raises: InvalidProblem where the claim is wrong.
        """
        count = self.common_rows(inputs, spec)
        if count is None or count < 2:
            return
        both = self.answer(rows_of(inputs, slice(0, 2)))
        rtol, atol = (1e-6, 1e-9) if self.kind == "float64" else (1e-3, 1e-4)
        for row in (0, 1):
            alone = self.answer(rows_of(inputs, slice(row, row + 1)))
            for one, two in zip(alone, both, strict=True):
                if not torch.allclose(one, two[row : row + 1], rtol=rtol, atol=atol, equal_nan=True):
                    raise InvalidProblem("independent_batch is claimed, but rows along dimension 0 do depend on others")

    def answer(self, inputs: Sequence[Any]) -> tuple[torch.Tensor, ...]:
        """The outputs for these inputs, whole."""
        if self.kind == "float64":
            try:
                with torch.no_grad(), _strict_float32():
                    return tuple(unpack(self._double(*[_double(v) for v in inputs]), self._reference)[1])
            except (torch.OutOfMemoryError, MemoryError):
                raise
            except PROBLEM_ERRORS as error:  # e.g. forward() makes float32 tensors of its own
                self.kind = "float32"
                self.why_float32 = f"the reference refuses float64 ({type(error).__name__}); judged against float32"
        with blamed_on(self._reference, "Model.forward() failed"), _strict_float32(), torch.no_grad():
            return tuple(unpack(self._native(*inputs), self._reference)[1])

    def native(self, inputs: Sequence[Any]) -> tuple[torch.Tensor, ...]:
        """What the reference itself gives, in its own precision and under the flags of all arms."""
        with blamed_on(self._reference, "Model.forward() failed"), torch.no_grad():
            return tuple(unpack(self._native(*inputs), self._reference)[1])

    def reformulations(self, inputs: Sequence[Any]) -> Iterator[tuple[str, tuple[torch.Tensor, ...]]]:
        """By name what the reference gives when only the way of computing changes: no tf32; another memory layout, for
        which cuDNN chooses other algorithms. On a CPU there are none."""
        if not self._reference.on_gpu:
            return
        with blamed_on(self._reference, "Model.forward() failed"), torch.no_grad():
            with _strict_float32():
                strict = tuple(unpack(self._native(*copied(inputs)), self._reference)[1])
            yield "strict float32", strict
            if any(isinstance(value, torch.Tensor) and value.dim() in _CHANNELS_LAST for value in inputs):
                model, values = copy.deepcopy(self._native), [_channels_last(value) for value in inputs]
                for parameter in model.parameters():
                    parameter.data = _channels_last(parameter.data)
                yield "channels-last", tuple(unpack(model(*values), self._reference)[1])

    def common_rows(self, inputs: Sequence[Any], spec: OutputSpec) -> int | None:
        """How many rows can be judged one by one; None where they can't."""
        return _common_rows(inputs, spec) if self._independent else None


_CHANNELS_LAST = {4: torch.channels_last, 5: torch.channels_last_3d}
"""By number of dimensions."""


class _strict_float32:  # noqa: N801
    """Context: no tf32 in the oracle."""

    def __enter__(self) -> None:
        self._saved = (torch.backends.cudnn.allow_tf32, torch.backends.cuda.matmul.allow_tf32)
        torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = False

    def __exit__(self, *_: object) -> None:
        torch.backends.cudnn.allow_tf32, torch.backends.cuda.matmul.allow_tf32 = self._saved


def _double(value: Any) -> Any:
    return value.double() if isinstance(value, torch.Tensor) and value.is_floating_point() else value


def _channels_last(value: Any) -> Any:
    if not isinstance(value, torch.Tensor) or value.dim() not in _CHANNELS_LAST:
        return value
    return value.contiguous(memory_format=_CHANNELS_LAST[value.dim()])


def copied(inputs: Sequence[Any]) -> list[Any]:
    """In memory of their own: a reference may work in place."""
    return [value.clone() if isinstance(value, torch.Tensor) else value for value in inputs]


def rows_of(inputs: Sequence[Any], part: slice) -> list[Any]:
    return [value[part] if isinstance(value, torch.Tensor) else value for value in inputs]


def _common_rows(inputs: Sequence[Any], spec: OutputSpec) -> int | None:
    tensors = [value for value in inputs if isinstance(value, torch.Tensor)]
    counts = {tensor.shape[0] if tensor.dim() else None for tensor in tensors}
    counts |= {shape[0] if shape else None for shape in spec.shapes}
    return counts.pop() if len(counts) == 1 else None


def _row_bytes(inputs: Sequence[Any], spec: OutputSpec, rows: int) -> int:
    elements = sum(value.numel() for value in inputs if isinstance(value, torch.Tensor))
    elements += sum(int(torch.Size(shape).numel()) for shape in spec.shapes)
    return max(1, 8 * elements // max(1, rows))
