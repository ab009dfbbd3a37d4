"""The form of what a reference returns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from harness.referee.answers.invalid_problem import InvalidProblem
from harness.sandbox.wire.structure import unpack


@dataclass(frozen=True)
class OutputSpec:
    """The form of what the reference returns.

    `shared_inputs` are the numbers of the inputs whose storage it returns. `is_kept`: it returns memory that outlives
    the call, such as a parameter. A solution may do what the reference does.
    """

    structure: str
    dtypes: tuple[torch.dtype, ...]
    shapes: tuple[tuple[int, ...], ...]
    shared_inputs: frozenset[int] = frozenset()
    is_kept: bool = False
    changed_inputs: frozenset[int] = frozenset()
    """The inputs that it writes into, by torch's count of such writes (Tensor._version)."""
    gradients: tuple[str, ...] = ()
    """The inputs and parameters of which the last outputs are the gradients, in a training step."""
    may_choose: bool = False
    """True where the problem names an operation that chooses among values, such as argmax: integers may be indices."""

    def called(self, number: int) -> str:
        """'output 0', 'gradient of x': the name of an output where there are several; empty for the only one."""
        if len(self.shapes) == 1:
            return ""
        before = len(self.shapes) - len(self.gradients)
        if number >= before:
            return f"gradient of {self.gradients[number - before]}"
        keys = [part.partition(": ")[0] for part in self.structure[len("dict(") : -1].split(", ")]
        is_flat = self.structure.startswith("dict(") and self.structure.count("(") == 1 and len(keys) == before
        return f"output '{keys[number]}'" if is_flat else f"output {number}"

    @property
    def nbytes(self) -> int:
        """The size of all outputs of one call."""
        return sum(math.prod(shape) * dtype.itemsize for shape, dtype in zip(self.shapes, self.dtypes, strict=True))


def spec_of(model: torch.nn.Module, inputs: Sequence[Any], returned: Any) -> OutputSpec:
    """The form of what a model returned for these inputs. Raises: InvalidProblem."""
    outputs = tensors_of(returned)
    own = {_storage(output) for output in outputs}
    given = {number: value for number, value in enumerate(inputs) if isinstance(value, torch.Tensor)}
    return OutputSpec(
        unpack(returned)[0],
        tuple(t.dtype for t in outputs),
        tuple(tuple(t.shape) for t in outputs),
        shared_inputs=frozenset(number for number, value in given.items() if _storage(value) in own),
        is_kept=any(_storage(tensor) in own for tensor in (*model.parameters(), *model.buffers())),
    )


def versions(inputs: Sequence[Any]) -> list[int]:
    """Return how often each tensor was written into; 0 for other values."""
    return [value._version if isinstance(value, torch.Tensor) else 0 for value in inputs]


def tensors_of(returned: Any) -> list[torch.Tensor]:
    """The tensors that a model returned, in order. Raises: InvalidProblem."""
    structure, outputs = unpack(returned)
    if isinstance(returned, dict) and not all(type(key) is str for key in returned):
        raise InvalidProblem("Model.forward() returns a dict with keys that aren't texts")
    odd = next((type(one).__name__ for one in outputs if not isinstance(one, torch.Tensor)), None)
    if odd or not outputs:
        found = f" with a {odd} in it" if odd else ""
        raise InvalidProblem(
            f"Model.forward() returns a {structure.partition('(')[0]}{found}; tensors, or tuples, lists and dicts of "
            "them, belong"
        )
    if any(one.is_nested or one.layout is not torch.strided for one in outputs):
        raise InvalidProblem("Model.forward() returns a sparse or nested tensor: return its values(), say")
    if narrow := next((one.dtype for one in outputs if one.dtype.is_floating_point and one.itemsize == 1), None):
        raise InvalidProblem(
            f"Model.forward() returns {narrow}, which can't be compared: convert it to bfloat16 or wider"
        )
    return outputs


def _storage(tensor: torch.Tensor) -> int:
    """Identify a tensor's memory; a sparse tensor has no storage and stands for itself."""
    return int(tensor.untyped_storage()._cdata) if tensor.layout is torch.strided else id(tensor)


def dtype_name(dtype: torch.dtype) -> str:
    """Return the name without its module, such as 'float32'."""
    return str(dtype).removeprefix("torch.")


def shape_and_dtype(value: torch.Tensor) -> tuple[Sequence[int], str]:
    return tuple(value.shape), dtype_name(value.dtype)


def tensor_bytes(values: Sequence[Any]) -> int:
    """Return the size of the tensors among some values."""
    return sum(value.numel() * value.itemsize for value in values if isinstance(value, torch.Tensor))
