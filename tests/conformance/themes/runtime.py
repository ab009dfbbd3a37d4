"""kernels/runtime.cu."""

from __future__ import annotations

from functools import partial

import torch

from tests.conformance.case import Case, ints

case = partial(Case, "runtime")


def _literals(*values: int) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.int32)


def _text(*lines: str) -> torch.Tensor:
    return torch.tensor(list("".join(line.ljust(32, "\0") for line in lines).encode()), dtype=torch.uint8)


CASES = (
    case(
        "streams_and_events",
        "streams, events",
        (),
        lambda: _literals(3, 7, 8, 1),
    ),
    case(
        "device_properties",
        "`cudaGetDeviceProperties`, `cudaDeviceGetAttribute`",
        (),
        lambda: _literals(32, 1024, 49152, 64, 65535, 65536, 1, 1, 1, 1, 1, 1, 0, 1, 16, 8, 1),
    ),
    case("header_guards", "`cudaGetDeviceProperties`, `cudaDeviceGetAttribute`", (), lambda: _literals(1)),
    case(
        "hopper_properties",
        "the limits of an H100",
        (),
        lambda: _literals(9, 0, 232448, 233472, 2048, 32, 65536),
        needs=(9, 0),
    ),
    case(
        "occupancy",
        "`cudaOccupancyMaxActiveBlocksPerMultiprocessor` and its family",
        (),
        lambda: _literals(1, 1, 1024, 5),
        needs=(9, 0),
    ),
    case(
        "occupancy_by_block",
        "`cudaOccupancyMaxActiveBlocksPerMultiprocessor` and its family",
        (),
        lambda: _literals(512, 512, 64),
        needs=(9, 0),
    ),
    case(
        "memory_pools",
        "memory pools, `cudaPointerGetAttributes`",
        (),
        lambda: _literals(0, 0, 0, 1),
    ),
    case(
        "launch_errors",
        "CUDA 13's error codes and names",
        (),
        lambda: _literals(1, 1, 0, 1, 1, 1),
    ),
    case(
        "error_names",
        "CUDA 13's error codes and names",
        (),
        lambda: _text("cudaErrorInvalidConfiguration", "invalid argument", "no error"),
    ),
    case("refused_calls", "CUDA 13's error codes and names", (), lambda: _literals(101, 12, 1, 101)),
    case(
        "device_printf_and_clock",
        "`printf`, `assert`, `clock64`, `__nanosleep`",
        (),
        lambda: _literals(1, 1, 1, 1),
    ),
    case(
        "compiler_hints",
        "`__builtin_assume`, `#pragma unroll`, `__trap`",
        (ints(32),),
        lambda x: x * 15,
    ),
)
