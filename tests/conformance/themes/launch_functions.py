"""kernels/launch_functions.cu."""

from __future__ import annotations

from functools import partial

import torch

from tests.conformance.case import Case, ints

case = partial(Case, "launch_functions")

BY_FUNCTION = "`cudaLaunchKernel`"
BY_CONFIGURATION = "`cudaLaunchKernelEx` and `ExC`"
OF_GRID = "`cudaLaunchCooperativeKernel`, `this_grid().sync()`"


def _line(x: torch.Tensor) -> torch.Tensor:
    return 3 * x + 12


def _halves(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    return x + 1, (x + 1) * 3, (x + 1) * -2


def _rounds(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Five rounds end in the second buffer, whose blocks' first elements gain 1000; the first has the fourth round."""
    shifted = [x]
    for number in range(5):
        shifted.append(shifted[-1].roll(-64) + number)
    last = shifted[5].clone()
    last[::64] += 1000
    return shifted[4], last


def _from_last_block(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    rows = x.view(-1, 32)
    shift = rows[-1] * 2
    return shift, (rows.flip(1) + shift).view(-1), torch.tensor([2 * len(rows)], dtype=torch.int32)


CASES = (
    case("launch_by_address", BY_FUNCTION, (ints(128),), _line),
    case("launch_by_name", BY_FUNCTION, (ints(128),), _line),
    case("launch_with_shared", BY_FUNCTION, (ints(16_000),), lambda x: x.flip(0)),
    case("launch_with_attributes", BY_CONFIGURATION, (ints(96),), _halves),
    case("barrier_of_grid", OF_GRID, (ints(64 * 7),), _rounds),
    case("barrier_of_grid_by_attribute", OF_GRID, (ints(64 * 6),), _rounds),
    case("barrier_of_atomics", OF_GRID, (ints(32 * 5),), _from_last_block),
    case("barrier_of_a_full_device", OF_GRID, (), lambda: torch.tensor([0, 1, 0, 0], dtype=torch.int32)),
    case("cooperative_too_large", OF_GRID, (), lambda: torch.tensor([720, 720, 0], dtype=torch.int32)),
    case("hints_for_the_l2_cache", "`cudaStreamSetAttribute`", (), lambda: torch.zeros(3, dtype=torch.int32)),
)
