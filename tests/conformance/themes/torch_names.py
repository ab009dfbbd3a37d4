"""kernels/torch_names.cu."""

from __future__ import annotations

from functools import partial

import torch

from tests.conformance.case import FUSED, Case, floats, ints

case = partial(Case, "torch_names")

DTYPES = (torch.float32, torch.float64, torch.float16, torch.bfloat16)


def _means(*inputs: torch.Tensor) -> tuple[torch.Tensor, ...]:
    return tuple(x.double().view(16, 8).mean(1).to(x.dtype) for x in inputs)


CASES = (
    case(
        "dispatch_floating_types",
        "`AT_DISPATCH_FLOATING_TYPES_AND2`, `at::acc_type`, `OptionalCUDAGuard(device_of(x))`, `CHECK_CUDA`, "
        "`C10_CUDA_KERNEL_LAUNCH_CHECK`, `C10_LAUNCH_BOUNDS_1`",
        tuple(ints(128, -8, 8).to(dtype) for dtype in DTYPES),
        _means,
    ),
    case(
        "dispatch_all_types",
        "`AT_DISPATCH_ALL_TYPES_AND`, `at::opmath_type`, `AT_CUDA_CHECK`",
        (ints(32), ints(32).long(), ints(32, 0, 30).half()),
        lambda *inputs: tuple(x * x for x in inputs),
    ),
    case(
        "packed_accessors",
        "`PackedTensorAccessor32` and `64`, `RestrictPtrTraits`, `C10_CUDA_CHECK`",
        (ints(128).float(),),
        lambda x: x.view(8, 16).sum(0) + 16,
    ),
    case(
        "torch_operators",
        "`torch::empty_like`, `torch::zeros` and operators between launches",
        (floats(32),),
        lambda x: (x * x).clamp_min(0.25).flip(0),
        FUSED,
    ),
    case(
        "torch_streams",
        "`at::cuda::getCurrentCUDAStream`, `CUDAGuard`, `getCurrentDeviceProperties`",
        (floats(32),),
        lambda x: x * x,
    ),
    case(
        "torch_atomics",
        "`gpuAtomicAdd` on `at::Half` and `double`",
        (ints(32, 0, 9).half(), ints(32).double()),
        lambda x, y: (x.sum(0, keepdim=True), y.sum(0, keepdim=True)),
    ),
    case(
        "torch_halves",
        "`at::Half` and `at::BFloat16` beside `__half` and `__nv_bfloat16`",
        (ints(32).half(),),
        lambda x: ((x + 1) * 2).bfloat16(),
    ),
)
