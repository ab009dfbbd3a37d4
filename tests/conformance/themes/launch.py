"""kernels/launch.cu."""

from __future__ import annotations

from functools import partial

import torch

from tests.conformance.case import Case, ints

case = partial(Case, "launch")


def _positions() -> torch.Tensor:
    return (torch.arange(30).view(30, 1) * 1000 + torch.arange(24)).int()


def _fibonacci() -> torch.Tensor:
    return torch.tensor([0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 233, 377, 610], dtype=torch.int32)


CASES = (
    case(
        "launch_template",
        "`kernel<T, (expression)><<<…, stream>>>`, `__launch_bounds__`, `__restrict__`",
        (ints(300),),
        lambda x: x * 5,
    ),
    case("launch_three_dimensions", "grids and blocks of three dimensions", (), _positions),
    case(
        "functor_argument",
        "functors, lambdas and `__grid_constant__` structs as arguments",
        (ints(150),),
        lambda x: x + 42,
    ),
    case(
        "lambda_argument",
        "functors, lambdas and `__grid_constant__` structs as arguments",
        (ints(150),),
        lambda x: x * 3 - 1,
    ),
    case(
        "host_device_lambda",
        "functors, lambdas and `__grid_constant__` structs as arguments",
        (ints(64),),
        lambda x: (x ^ 9) + 9,
    ),
    case(
        "struct_argument",
        "functors, lambdas and `__grid_constant__` structs as arguments",
        (ints(100),),
        lambda x: ((x & 15) * (x & 15)).int(),
    ),
    case(
        "kernel_pointer",
        "launches in macros and through function pointers",
        (ints(32),),
        lambda x: torch.cat([x + 7, x - 7]),
    ),
    case("launch_in_macro", "launches in macros and through function pointers", (ints(32),), lambda x: x + 11),
    case("recursion", "recursion, `__noinline__`", (), _fibonacci),
    case(
        "forced_inline",
        "`__CUDA_ARCH__`, `__forceinline__`, namespaces",
        (ints(32),),
        lambda x: torch.maximum(x, torch.arange(32).int() % 7 * (torch.arange(32).int() % 7 + 1) // 2),
    ),
    case(
        "null_argument", "functors, lambdas and `__grid_constant__` structs as arguments", (ints(32),), lambda x: x + 3
    ),
    case(
        "architecture_macro",
        "`__CUDA_ARCH__`, `__forceinline__`, namespaces",
        (),
        lambda: torch.arange(32).double() * 2,
    ),
    case("many_blocks", "grids of more than 65,535 blocks", (), lambda: torch.tensor([69999 * 32])),
)
