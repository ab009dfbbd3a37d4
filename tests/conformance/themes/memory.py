"""kernels/memory.cu."""

from __future__ import annotations

from functools import partial

import torch

from tests.conformance.case import Case, floats, ints

case = partial(Case, "memory")


def _vectors(a: torch.Tensor, b: torch.Tensor, c: torch.Tensor, d: torch.Tensor) -> torch.Tensor:
    x, y, z, w = (a.view(-1, 4)[:, i] for i in range(4))
    integers, doubles, small = b.view(-1, 4), c.view(-1, 2), d.view(-1, 4)
    parts = (
        x + integers[:, 1],
        y + doubles[:, 0].float(),
        z + small[:, 3],
        w + doubles[:, 1].float() + integers[:, 3] + small[:, 0],
    )
    return torch.stack(parts, 1).view(-1)


def _strided(small: torch.Tensor) -> torch.Tensor:
    rows = torch.full((8, 16), 7, dtype=torch.uint8)
    rows[:, 2:10] = small.view(8, 8)
    return rows


def _copied(x: torch.Tensor) -> torch.Tensor:
    return torch.cat([x[:32] + 1, torch.full((32,), -1, dtype=torch.int32)])


def _globals() -> tuple[torch.Tensor, torch.Tensor]:
    return (2.0 ** (torch.arange(32) % 8)).float(), torch.tensor([64, 64], dtype=torch.int32)


SIZES = [301, 404, 404, 808, 1204, 1616, 1616, 808, 1204, 1616, 1204]

CASES = (
    case(
        "constant_memory",
        "`__constant__`, `cudaMemcpyToSymbol`",
        (ints(64),),
        lambda x: 5 + x * (1 + 2 * 2 + 3 * 3 + 10 * 4),
    ),
    case(
        "device_globals",
        "`__device__` variables, `cudaMemcpyFromSymbol`, `cudaGetSymbolAddress`",
        (),
        _globals,
    ),
    case(
        "static_shared",
        "kernels in headers",
        (floats(2500),),
        lambda x: x.view(50, 50).t().reshape(-1).clone(),
    ),
    case(
        "templated_dynamic_shared",
        "`extern __shared__` in templates, in structs, outside functions",
        (floats(128), floats(128, seed=1).double()),
        lambda x, y: (x.view(2, 64).flip(1).reshape(-1), y.view(2, 64).flip(1).reshape(-1)),
    ),
    case(
        "shared_memory_wrapper",
        "`extern __shared__` in templates, in structs, outside functions",
        (ints(128),),
        lambda x: x.sum(0, keepdim=True).int(),
    ),
    case(
        "dynamic_rows",
        "`extern __shared__` in templates, in structs, outside functions",
        (ints(64),),
        lambda x: x.view(8, 8).t().reshape(-1),
    ),
    case(
        "file_scope_shared",
        "`extern __shared__` in templates, in structs, outside functions",
        (floats(96),),
        lambda x: x.roll(-1),
    ),
    case(
        "opted_in_shared",
        "`cudaFuncSetAttribute` for over 48 KB of shared memory",
        (floats(25000),),
        lambda x: x.flip(0),
    ),
    case(
        "shared_structs",
        "`__shared__` arrays, structs, unions, pointers",
        (ints(32),),
        lambda x: (x.min() * 10 + torch.tensor([4, 3, 2, 1] * 8)).int(),
    ),
    case(
        "vector_loads",
        "vector types such as `float4`, with CUDA's sizes and alignments",
        (ints(128).float(), ints(128, seed=1), ints(64, seed=2).double(), ints(128, 0, 255, 3).to(torch.uint8)),
        _vectors,
    ),
    case(
        "vector_sizes",
        "vector types such as `float4`, with CUDA's sizes and alignments",
        (),
        lambda: torch.tensor(SIZES, dtype=torch.int32),
    ),
    case(
        "cached_loads",
        "`__ldg`, `__ldcs`, `__stwt` and their family",
        (ints(64).float(),),
        lambda x: torch.cat([x * 4, x * 2, x[3].expand(64)]),
    ),
    case(
        "copies",
        "`cudaMalloc`, `cudaMemcpy`, `cudaMemset` and their `Async` forms, `cudaMemcpy2DAsync`",
        (ints(32),),
        _copied,
    ),
    case(
        "strided_copies",
        "`cudaMalloc`, `cudaMemcpy`, `cudaMemset` and their `Async` forms, `cudaMemcpy2DAsync`",
        (ints(64).to(torch.uint8),),
        _strided,
    ),
    case(
        "host_and_managed_memory",
        "`cudaHostAlloc`, `cudaMallocManaged`",
        (),
        lambda: torch.arange(32, dtype=torch.int32) * 2 + 1,
    ),
)
