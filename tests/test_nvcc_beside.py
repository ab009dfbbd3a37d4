"""The machine's own nvcc beside the simulator: what it accepts, refuses, and can't be made to do."""

from __future__ import annotations

import dataclasses
import secrets
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

import pytest

from harness.model.config import Config, CorrectnessConfig, NvccConfig
from harness.model.evaluation import Evaluation
from harness.run.session import open_session
from harness.workspace.selection import Task
from harness.workspace.workspace import Workspace
from tests.files import laid
from tests.machine import ROOT

pytestmark = [pytest.mark.sim, pytest.mark.nvcc, pytest.mark.usefixtures("nvcc_is_found")]

SOLUTION = '''
import torch
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <torch/extension.h>
#include <c10/cuda/CUDAStream.h>
@BEFORE@
__global__ void twice(const float* x, float* y, int64_t n) {
  int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;
  if (i < n) { @BODY@ }
}
torch::Tensor run(torch::Tensor x) {
  torch::Tensor y = torch::empty_like(x);
  int64_t n = x.numel();
  twice<<<(n + 255) / 256, 256, 0, c10::cuda::getCurrentCUDAStream()>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
  return y;
}
"""
built = load_inline("twice", "torch::Tensor run(torch::Tensor x);", CUDA, functions=["run"] @MORE@)

class ModelNew(torch.nn.Module):
    def forward(self, x):
        return built.run(x)
'''
TWICE = "y[i] = x[i] * 2;"
UNKNOWN_TO_THE_SIMULATOR = """
#include <mma.h>
__global__ void product(const __half* a, const __half* b, float* c) {
  using namespace nvcuda;
  unsigned lane;
  asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane));
  wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> fa;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::col_major> fb;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;
  wmma::fill_fragment(fc, lane * 0.0f);
  wmma::load_matrix_sync(fa, a, 16);
  wmma::load_matrix_sync(fb, b, 16);
  wmma::mma_sync(fc, fa, fb, fc);
  wmma::store_matrix_sync(c, fc, 16, wmma::mem_row_major);
}
"""

Evaluate = Callable[..., Evaluation]


@pytest.fixture(scope="module")
def evaluate(tmp_path_factory: pytest.TempPathFactory) -> Evaluate:
    """Evaluates one solution of `double`, its kernel's body and what stands before it given."""
    root: Path = tmp_path_factory.mktemp("nvcc")
    problem = root / "problems" / "double"
    problem.parent.mkdir()
    problem.symlink_to(ROOT / "tests" / "cheats" / "problems" / "double")

    def evaluate_one(
        name: str,
        body: str = TWICE,
        before: str = "",
        more: str = "",
        timeout_s: float = 180,
        files: Mapping[str, str] = MappingProxyType({}),
    ) -> Evaluation:
        folder = root / "solutions" / "double" / name
        text = SOLUTION.replace("@BODY@", body).replace("@BEFORE@", before).replace("@MORE@", more)
        laid(folder, {"solution.py": text, **files})
        config = Config(CorrectnessConfig(seeds=1), nvcc=NvccConfig(timeout_s=timeout_s))
        workspace = Workspace(root)
        (solution,) = workspace.solutions("double", [name])
        with open_session("sim", root, root / "results", config, 1, lambda what: None) as session:
            (found,) = session.evaluate([Task(workspace.problem("double"), solution, ("odd",))], lambda job, what: None)
        return found

    return evaluate_one


def test_honest_solution_gets_the_resources_of_its_kernels_and_the_answer_is_kept(evaluate: Evaluate) -> None:
    new = f"// {secrets.token_hex(8)}: what an earlier run of the tests was told is kept in the cache"
    first = evaluate("honest", before=new)
    assert first.verdict.value == "passed", first.failure
    (build,) = first.builds
    assert build.nvcc is not None
    assert (build.nvcc.outcome, build.nvcc.architectures, build.nvcc.was_cached) == ("accepted", ("sm_90",), False)
    (kernel,) = build.kernels
    assert (kernel.kernel, kernel.architecture, kernel.shared_bytes) == (
        "twice(float const*, float*, long)",
        "sm_90",
        0,
    )
    assert kernel.registers is not None
    assert kernel.constant_bytes == 528 + 24  # the launch's own part of bank 0, and three arguments
    again = evaluate("honest", before=new)
    assert again.builds[0].kernels == build.kernels
    assert again.builds[0].nvcc == dataclasses.replace(build.nvcc, was_cached=True)


def test_host_function_called_from_a_kernel_is_refused_in_nvcc_s_words(evaluate: Evaluate) -> None:
    helper = "struct Helper { static float twice(float x) { return 2 * x; } };"
    found = evaluate("host_call", "y[i] = Helper::twice(x[i]);", helper)
    assert found.verdict.value == "compile_error", found.failure
    assert found.failure is not None
    assert 'function("Helper::twice(float)")' in found.failure.reason
    lines = found.solution.files["solution.py"].split("\n")
    assert (
        f"solution.py:{1 + next(n for n, line in enumerate(lines) if 'Helper::twice(x' in line)}: "
        in found.failure.reason
    )


def test_type_error_inside_a_kernel_is_refused_in_nvcc_s_words(evaluate: Evaluate) -> None:
    found = evaluate("type_error", "float4 v = x[i]; y[i] = v.x;")
    assert found.verdict.value == "compile_error", found.failure
    assert found.failure is not None
    assert '"const float" to "float4"' in found.failure.reason


@pytest.mark.heavy
def test_what_only_the_simulator_lacks_is_unsupported_with_its_resources(evaluate: Evaluate) -> None:
    found = evaluate("wmma", before=UNKNOWN_TO_THE_SIMULATOR)
    assert found.verdict.value == "unsupported", found.failure
    assert found.failure is not None
    assert "nvcc" in found.failure.reason
    assert "compiles" in found.failure.reason
    assert "sm_90" in found.failure.reason
    assert [kernel.kernel.partition("(")[0] for kernel in found.builds[0].kernels] == ["twice", "product"]
    assert "product (sm_90): " in (found.failure.details or "")


@pytest.mark.heavy
def test_files_beside_the_solution_are_compiled_where_they_lie(evaluate: Evaluate) -> None:
    kernel = "#pragma once\n__device__ inline float twofold(float x) { return x * 2; }\n"
    more = ", extra_include_paths=[__import__('os').path.dirname(__import__('os').path.abspath(__file__)) + '/parts']"
    found = evaluate(
        "files", "y[i] = twofold(x[i]);", '#include "twofold.cuh"', more, files={"parts/twofold.cuh": kernel}
    )
    assert found.verdict.value == "passed", found.failure
    assert found.builds[0].nvcc is not None
    assert (found.builds[0].nvcc.outcome, found.builds[0].nvcc.words) == ("accepted", "")


@pytest.mark.heavy
def test_flags_of_the_solution_choose_the_architecture(evaluate: Evaluate) -> None:
    found = evaluate("other_gpu", more=', extra_cuda_cflags=["-arch=sm_80", "-maxrregcount=32"]')
    assert found.verdict.value == "passed", found.failure
    assert found.builds[0].nvcc is not None
    assert found.builds[0].nvcc.architectures == ("sm_80",)


@pytest.mark.heavy
def test_library_that_is_not_installed_accuses_nobody(evaluate: Evaluate) -> None:
    before = "#ifndef HARNESS_SIM_DEVICE\n#include <cublasXt.h>\n#endif"
    found = evaluate("library", before=before)
    assert found.verdict.value in ("passed", "unsupported"), found.failure
    check = found.builds[0].nvcc
    assert check is not None
    assert (check.outcome, "cublasXt.h" in check.words) == ("unchecked", True)


@pytest.mark.heavy
def test_files_that_a_worker_may_not_read_nvcc_may_not_either(evaluate: Evaluate) -> None:
    secret = ROOT / "tests" / "cheats" / "families.yaml"
    before = f'#ifndef HARNESS_SIM_DEVICE\n#include "{secret}"\n#endif'
    found = evaluate("reads_files", before=before)
    check = found.builds[0].nvcc
    assert check is not None
    assert check.outcome in ("unchecked", "refused")
    assert "caught_by" not in check.output
    assert "caught_by" not in check.words


@pytest.mark.heavy
def test_endless_compilation_ends_with_its_time(evaluate: Evaluate) -> None:
    endless = """
#ifndef HARNESS_SIM_DEVICE
template <int N, int M> struct Tree {
  static constexpr long value = Tree<N - 1, 2 * M>::value + Tree<N - 1, 2 * M + 1>::value;
};
template <int M> struct Tree<0, M> { static constexpr long value = M; };
static_assert(Tree<24, 0>::value != 0);
#endif
"""
    found = evaluate("endless", before=endless, timeout_s=8)
    assert found.verdict.value == "passed", found.failure
    check = found.builds[0].nvcc
    assert check is not None
    assert check.outcome == "unchecked"
    assert any("could not check" in remark for remark in found.remarks)
