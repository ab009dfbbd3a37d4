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
        "`AT_DISPATCH_…`, `at::acc_type`, `at::opmath_type`",
        tuple(ints(128, -8, 8).to(dtype) for dtype in DTYPES),
        _means,
    ),
    case(
        "dispatch_all_types",
        "`AT_DISPATCH_…`, `at::acc_type`, `at::opmath_type`",
        (ints(32), ints(32).long(), ints(32, 0, 30).half()),
        lambda *inputs: tuple(x * x for x in inputs),
    ),
    case(
        "packed_accessors",
        "`PackedTensorAccessor32/64`, `C10_CUDA_CHECK`",
        (ints(128).float(),),
        lambda x: x.view(8, 16).sum(0) + 16,
    ),
    case(
        "torch_operators",
        "torch's operators between launches",
        (floats(32),),
        lambda x: (x * x).clamp_min(0.25).flip(0),
        FUSED,
    ),
    case(
        "torch_streams",
        "`getCurrentCUDAStream`, `CUDAGuard`, `getCurrentDeviceProperties`",
        (floats(32),),
        lambda x: x * x,
    ),
    case(
        "torch_atomics",
        "`gpuAtomicAdd`",
        (ints(32, 0, 9).half(), ints(32).double()),
        lambda x, y: (x.sum(0, keepdim=True), y.sum(0, keepdim=True)),
    ),
    case(
        "torch_halves",
        "`at::Half` and `at::BFloat16` beside CUDA's",
        (ints(32).half(),),
        lambda x: ((x + 1) * 2).bfloat16(),
    ),
    case(
        "empty_tensor_has_no_address",
        "torch's operators between launches",
        (ints(32).float(),),
        lambda x: x + 1,
    ),
)
