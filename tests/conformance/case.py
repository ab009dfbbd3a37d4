"""A row of the conformance table: inputs, what must come out, and how exactly."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch

Tensors = Sequence[torch.Tensor]


@dataclass(frozen=True)
class Tolerance:
    """|got − want| ≤ atol + rtol·|want|. `why` says which freedom the arithmetic leaves."""

    name: str
    rtol: float
    atol: float
    why: str


EXACT = Tolerance("exact", 0.0, 0.0, "to the last bit")
FUSED = Tolerance("fused", 5e-7, 1e-6, "the compiler may fuse a product with a sum")
LIBRARY = Tolerance("library", 1e-6, 1e-6, "last places of functions (CUDA documents up to 4 ulp, 9 for lgammaf)")
DOUBLE_LIBRARY = Tolerance("double library", 2e-15, 1e-15, "last places of functions")
FAST = Tolerance("fast math", 4e-6, 2e-6, "approximations on a GPU, exact on the simulator")
HALF_FAST = Tolerance("half functions", 2e-3, 1e-3, "one last place (2^-10)")
BFLOAT16_FAST = Tolerance("bfloat16 functions", 1.6e-2, 8e-3, "one last place (2^-7)")
ORDER = Tolerance("order", 2e-6, 1e-6, "sums depend on their order")
HALF_ORDER = Tolerance("order of halves", 2e-2, 1e-2, "sums depend on their order")
TENSOR_CORE = Tolerance("tensor core", 1e-3, 1e-3, "an order and precision of their own")


@dataclass(frozen=True)
class Case:
    """`name` is that of the CASE in kernels/`theme`.cu; `covers` names the constructs for the documentation, which has
    what several cases cover once.

    `expected` gets the inputs and gives the outputs; buffers of their shapes and types, filled with `start`, are what
    the kernel gets to write to.
    """

    theme: str
    name: str
    covers: str
    inputs: Tensors
    expected: Callable[..., torch.Tensor | Tensors]
    tolerance: Tolerance = EXACT
    start: float = 0
    needs: tuple[int, int] | None = None
    """The one compute capability whose numbers are expected."""

    def wanted(self) -> Tensors:
        result = self.expected(*self.inputs)
        return (result,) if isinstance(result, torch.Tensor) else tuple(result)

    def buffers(self) -> tuple[Tensors, Tensors]:
        """The inputs, and the outputs before the kernel."""
        return self.inputs, tuple(torch.full_like(tensor, self.start) for tensor in self.wanted())

    def agrees(self, got: torch.Tensor, wanted: torch.Tensor) -> bool:
        if got.dtype != wanted.dtype or got.shape != wanted.shape:
            return False
        if self.tolerance is EXACT:
            return torch.equal(_bits(got), _bits(wanted))
        return torch.allclose(
            got.double(), wanted.double(), rtol=self.tolerance.rtol, atol=self.tolerance.atol, equal_nan=True
        )


def _bits(tensor: torch.Tensor) -> torch.Tensor:
    """Equal for equal values; all NaN are alike, +0 and −0 are not."""
    if not tensor.is_floating_point():
        return tensor
    alike = torch.where(tensor.isnan(), torch.full_like(tensor, float("nan")), tensor)
    return torch.stack([alike.double().nan_to_num(1.5e300, 1.6e300, -1.6e300), torch.signbit(alike).double()])


def ints(count: int, low: int = 0, high: int = 100, seed: int = 0) -> torch.Tensor:
    return torch.randint(low, high, (count,), generator=torch.Generator().manual_seed(seed), dtype=torch.int32)


def words(count: int, seed: int = 0) -> torch.Tensor:
    """Any 32 bits, with 0, 1, −1 and the extremes among them."""
    random = ints(count, -(2**31), 2**31 - 1, seed)
    random[:6] = torch.tensor([0, 1, -1, 2**31 - 1, -(2**31), 0x00FF00FF], dtype=torch.int32)
    return random


def floats(count: int, low: float = -1.0, high: float = 1.0, seed: int = 0) -> torch.Tensor:
    return torch.rand(count, generator=torch.Generator().manual_seed(seed)) * (high - low) + low
