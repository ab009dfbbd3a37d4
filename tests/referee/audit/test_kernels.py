"""Whose kernels ran: symbols as an H100 with torch 2.11 reported them."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.builder.compiler_log import demangled
from harness.model.build import ExtensionBuild, KernelResources
from harness.model.trace import KernelOrigin
from harness.referee.audit.kernels import (
    Origins,
    framework_libraries,
    holds,
    own_kernels,
    shortened,
    summarize,
)
from harness.sandbox.wire.device import KernelRun
from tests.files import laid

SIGMOID = "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_11SigmoidFuncIfEESt5arrayIPcLm2EEEEviT0_T1_"
FILL = "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_11FillFunctorIfEESt5arrayIPcLm2EEEEviT0_T1_"
POOL = (
    "_ZN2at6native52_GLOBAL__N__e57809e0_19_DilatedMaxPool2d_cu_6258b57421max_pool_forward_nchwIfiEEvT0_PKT_"
    "llliiiiiiiiiiPS4_Pl"
)
OWN = "_Z12scale_kernelPKfPfl"
DOT = "_Z10dot_kernelIfLi128ELi0E15cublasDotParamsI16cublasGemvTensorIKfE30cublasGemvTensorStridedBatchedIfEEEvT2_"
VENDORS = (
    "_ZN17cutlass__5x_cudnn6KernelI66cutlass_tensorop_s1688fprop_optimized_tf32_256x64_16x4_nhwc_align4EEvNT_6ParamsE",
    "sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_tilesize32x32x8_stage3_warpsize1x2x1_ffma_aligna4_alignc4_execute_kernel"
    "__5x_cublas",
    "nvjet_tss_128x64_64x8_4x1_v_bz_NNT",
    "ampere_sgemm_128x64_nn",
    "_ZN7cutlass7Kernel2I51cutlass_80_tensorop_s1688gemm_128x64_16x6_nn_align4EEvNT_6ParamsE",
    DOT,
    "_Z15scal_kernel_valIffEv19cublasScalParamsValIffE",
    "sm80_xmma_gemm_cf32cf32_f32f32_cf32_nn_n_tilesize32x32x8_stage3_warpsize2x2x1_ffma_aligna8_alignc8",
    "cutlass3x_sm100_bstensorop_s128x128x32gemm_block_scaled_ue8m0xe4m3_ue8m0xe4m3_f32_f16_f16_128x128x128_0_nnn",
    "openai_hgemm_128x128x8_NN_vec",
)
GEMV = "_Z17gemv2N_kernel_valIiifEvPKfPf"
CUTLASS = "_ZN7cutlass6KernelI4MineEEvNT_6ParamsE"


def origin(symbol: str, origins: Origins, kind: str = "kernel") -> KernelOrigin:
    assert kind in ("kernel", "copy", "fill")
    row = KernelRun(symbol, 0, 1, 7, "kernel" if kind == "kernel" else "copy" if kind == "copy" else "fill")
    return origins.of(row, demangled([symbol])[0])


COMPILED = (  # by torch.compile, as it is and with descriptive_names="" and unique_kernel_names=False
    "triton_poi_fused_mul_sigmoid_0",
    "triton_tem_fused_mm_0",
    "triton_poi__0",
    "triton_per__1",
    "triton_",
    "triton_poi_fused_direct_copy_kernel_0",
)
CUTE = "kernel_cutlass__kernel_torch_nativeopsscatter_addtma_kernelTmaScatterAdd_object_at__tensorptrf32"


@pytest.mark.parametrize("symbol", [SIGMOID, POOL, *VENDORS, *COMPILED, CUTE, GEMV, "aten::max_pool2d"])
def test_the_frameworks_kernels_are_known_by_name(symbol: str) -> None:
    assert origin(symbol, Origins()) == "framework"


@pytest.mark.parametrize(
    "symbol",
    [
        FILL,
        "_ZN5cudnn19engines_precompiled16nchwToNhwcKernelIfffLb0ELb1EL21cudnnKernelDataType_t2EEEvNS0_18nchw2nhwc_"
        "params_tIT1_EEPKT_PT0_",
        "aten::empty",
        "aten::copy_",
    ],
)
def test_moves_are_held_against_nobody(symbol: str) -> None:
    assert origin(symbol, Origins()) == "move"


def test_copies_and_fills_are_moves() -> None:
    assert origin("copy of 4096 bytes", Origins(), "copy") == "move"
    assert origin("fill of 4096 bytes", Origins(), "fill") == "move"


def test_what_the_solution_compiled_is_its_own() -> None:
    assert origin(OWN, Origins(own={"scale_kernel(float const*, float*, long)"})) == "own"


@pytest.mark.parametrize(
    "symbol",
    ["nchwToNhwc_kernel", "winograd_conv", "flash_fwd_kernel", "sm90_gemm_mine", "implicit_convolve_mine", "sgemm_own"],
)
def test_an_own_kernel_may_be_called_after_its_algorithm(symbol: str) -> None:
    assert origin(symbol, Origins(own={symbol})) == "own"


@pytest.mark.parametrize(
    "symbol",
    [
        "softmax_kernel",
        "flash_fwd_kernel",
        "sm90_gemm_persistent",
        "my_cublas_style_gemm",
        "nchwToNhwc_tiled",
        "winograd_4x4",
        "fp8_copy",
        "triton_reduce_rows",
        "triton_permute",
        "triton_mm",
        "triton_red_kernel",
        "triton_direct_copy_kernel",
        "kernel_cutlass_kernel_minemodMine_object_at__tensorptrf32",
        CUTLASS,
        "_ZN3cub14DeviceScanMineILi1EEEvPf",
        "fused_attention",
        "kernel",
        "_Z3foov",
        "void pool<c10::Half>(c10::Half const*, c10::Half*)",
        "void scale<float>(at::GenericPackedTensorAccessor<float, 4ul, at::RestrictPtrTraits, int>)",
        "void (anonymous namespace)::mine<thrust::tuple<int, int> >(cub::KeyValuePair<int, float>*)",
    ],
)
def test_a_kernel_compiled_at_run_time_is_the_solutions(symbol: str) -> None:
    assert origin(symbol, Origins()) == "own"


@pytest.mark.parametrize("symbol", [SIGMOID, POOL])
def test_templates_of_torch_in_the_solutions_own_library_are_its_own(symbol: str) -> None:
    origins = Origins(own={demangled([symbol])[0]}, in_framework=lambda symbol: False)
    assert origin(symbol, origins) == "own"


@pytest.mark.parametrize("symbol", [SIGMOID, POOL])
def test_an_own_kernel_cant_hide_the_frameworks_of_the_same_symbol(symbol: str) -> None:
    origins = Origins(own={demangled([symbol])[0]}, in_framework=lambda searched: searched == symbol)
    assert origin(symbol, origins) == "framework"


@pytest.mark.parametrize("symbol", VENDORS)
def test_no_solution_compiles_a_vendors_symbol_by_chance(symbol: str) -> None:
    assert origin(symbol, Origins(own={demangled([symbol])[0]})) == "framework"


def test_a_symbol_that_the_reference_ran_is_the_frameworks() -> None:
    assert (
        origin("odd_vendor_kernel", Origins(own={"odd_vendor_kernel"}, reference={"odd_vendor_kernel"})) == "framework"
    )


def test_an_unknown_symbol_is_searched_for_in_the_framework() -> None:
    assert origin("_Z3barv", Origins(in_framework=lambda symbol: symbol == "_Z3barv")) == "framework"


@pytest.mark.parametrize("symbol", [CUTLASS, "_ZN3cub14DeviceScanMineILi1EEEvPf"])
@pytest.mark.parametrize("is_own", [True, False])
def test_whose_a_template_of_a_library_is_the_search_for_its_symbol_tells(symbol: str, is_own: bool) -> None:
    own = {demangled([symbol])[0]} if is_own else set()
    assert origin(symbol, Origins(own=own, in_framework=lambda searched: True)) == "framework"
    assert origin(symbol, Origins(own=own, in_framework=lambda searched: False)) == "own"


@pytest.mark.parametrize("symbol", ["flash_fwd_kernel", "my_cublas_style_gemm"])
def test_a_loose_plain_name_that_the_baseline_ran_is_the_frameworks(symbol: str) -> None:
    assert origin(symbol, Origins(reference={symbol})) == "framework"


def test_a_solutions_own_kernel_is_not_searched_for_without_a_reason() -> None:
    """The libraries are gigabytes."""
    searched: list[str] = []
    assert origin(OWN, Origins(own={demangled([OWN])[0]}, in_framework=lambda name: bool(searched.append(name)))) == (
        "own"
    )
    assert searched == []


def test_the_libraries_beside_torch_are_searched_for_the_whole_symbol(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "torch/lib/libtorch_cuda.so": b"\0_Z3foov\0",
        "torch/lib/libtorch_cpu.so": b"\0_Z3cpuv\0",
        "nvidia/cublas/lib/libcublas.so.12": b"..\0_Z10dot_kernelv\0..",
        "nvidia/cu13/lib/libcudnn_ops.so.9": b"",
        "nvidia/cuda_nvrtc/lib/libnvrtc.so.12": b"\0_Z3barv\0",
    }
    found = list(framework_libraries(laid(tmp_path, files) / "torch"))
    assert [path.name for path in found] == ["libtorch_cuda.so", "libcudnn_ops.so.9", "libcublas.so.12"]
    assert [any(holds(path, name) for path in found) for name in ("_Z3foov", "_Z10dot_kernelv")] == [True, True]
    assert [any(holds(path, name) for path in found) for name in ("_Z10dot_kernel", "_Z3barv")] == [False, False]


def test_a_library_that_cant_be_read_names_nothing(tmp_path: Path) -> None:
    assert not holds(tmp_path / "libcublas.so", "_Z3foov")


def test_only_kernels_that_are_listed_are_searched_for() -> None:
    """A solution could compile any number of kernels at run time, and each search reads gigabytes."""
    searched: list[str] = []
    rows = [KernelRun(f"_Z{len(str(n)) + 1}k{n}v", n, n + 1, 7, "kernel") for n in range(150)]
    found = summarize("full", 1, rows, Origins(in_framework=lambda name: bool(searched.append(name))))
    assert (len(found.kernels), len(shortened(found).kernels)) == (150, 100)
    assert len(searched) == 100


def test_a_plain_name_is_not_searched_for() -> None:
    """'kernel' or 'add_kernel' may well stand somewhere in a library of a gigabyte."""
    assert origin("add_kernel", Origins(in_framework=lambda symbol: True)) == "own"


def test_a_kernel_that_torch_compiles_at_run_time_is_the_frameworks() -> None:
    origins = Origins(
        own={"fused_mul_add"}, by_torch=lambda name: name in ("fused_mul_add", "_bmm_outer_product_kernel")
    )
    assert origin("_bmm_outer_product_kernel", origins) == "framework"
    assert origin("add_kernel", origins) == "own"
    assert origin("fused_mul_add", origins) == "own"  # the solution's build lists it


def test_own_kernels_come_from_the_builds() -> None:
    resources = KernelResources("scale_kernel(float*)", "sm_90", 32, 0, 0, 0, 0)
    build = ExtensionBuild("scale", "0" * 32, False, 1.0, "log", (resources,))
    assert own_kernels([build, build]) == {"scale_kernel(float*)"}


def test_launches_of_a_kernel_are_summed_and_the_longest_comes_first() -> None:
    rows = [
        KernelRun(OWN, 0, 10, 7, "kernel"),
        KernelRun(SIGMOID, 10, 200, 7, "kernel"),
        KernelRun(OWN, 300, 330, 7, "kernel"),
    ]
    trace = summarize("full", 2, rows, Origins())
    assert [(kernel.origin, kernel.launches, kernel.ns) for kernel in trace.kernels] == [
        ("framework", 1, 190),
        ("own", 2, 40),
    ]
    assert trace.kernels[1].name == "scale_kernel(float const*, float*, long)"


def test_the_elements_of_an_operator_are_summed_and_rank_where_nothing_is_timed() -> None:
    rows = [
        *(KernelRun("pool<float>", 0, 0, 0, "kernel") for _ in range(3)),
        *(KernelRun("aten::mm", 0, 0, 0, "kernel", elements=elements) for elements in (40, 60, -7)),
    ]
    found = summarize("small", 1, rows, Origins()).kernels
    assert [(kernel.name, kernel.launches, kernel.elements) for kernel in found] == [
        ("aten::mm", 3, 100),
        ("pool<float>", 3, 0),
    ]
