"""What the simulator's compilers make of a solution's C++ and CUDA code, up to the verdict."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from harness.builder.build import _require_compiler, build
from harness.builder.workers import Workers, bring
from harness.devices.environment import FLAGS
from harness.errors import MachineError
from harness.model.config import LimitsConfig
from harness.model.verdict import Verdict
from harness.sandbox.outcome import SolutionFailed
from harness.sandbox.wire.messages import Load, Loaded
from harness.workspace.solution import Solution, load_solution
from tests.wording import tells

pytestmark = pytest.mark.sim

DECLARATION = "torch::Tensor run(torch::Tensor x);"
SOLUTION = """
from torch.utils.cpp_extension import load_inline

extension = load_inline("one", {cpp!r}, {cuda!r}, functions=["run"])


class ModelNew:
    pass
"""


def written(folder: Path, text: str) -> Solution:
    (folder / "solution.py").write_text(text)
    return load_solution(folder)


def failure(workers: Workers, folder: Path, cpp: str, cuda: str) -> SolutionFailed | None:
    failed = build(workers, written(folder, SOLUTION.format(cpp=cpp, cuda=cuda)), [], LimitsConfig()).failed
    assert failed is None or isinstance(failed, SolutionFailed)
    return failed


def run(statement: str) -> str:
    """A function with `statement` in its fourth line; load_inline() writes includes before it."""
    head = "#include <ATen/cuda/CUDAContext.h>\nusing namespace at::cuda;\ntorch::Tensor run(torch::Tensor x) {"
    return f"{head}\n  {statement}\n  return x;\n}}\n"


EMPTY = "#include <torch/extension.h>\n"
CUDA = "#include <torch/types.h>\n"


@pytest.mark.parametrize(
    ("cpp", "cuda", "reason"),
    [
        (
            DECLARATION,
            CUDA + run("auto h = at::cuda::getCurrentCUDASolverDnHandle();"),
            "cuSOLVER at line 8",
        ),
        (DECLARATION, CUDA + run("auto h = getCurrentCUDASparseHandle();"), "cuSPARSE at line 8"),
        (run("auto h = getCurrentCUDASolverDnHandle();"), EMPTY, "cuSOLVER at line 5 of main.cpp"),
        (f"#include <cublasXt.h>\n{DECLARATION}", EMPTY, "rarer parts of cuBLAS at line 2 of main.cpp"),
        pytest.param(
            run("c10::cuda::getNumaNode(0);"),
            EMPTY,
            "main.cpp:5: ‘getNumaNode’ is not a member of ‘c10::cuda’",
            marks=pytest.mark.heavy,
        ),
    ],
)
def test_what_torch_has_on_a_gpu_alone_is_unsupported(
    workers: Workers, tmp_path: Path, cpp: str, cuda: str, reason: str
) -> None:
    failed = failure(workers, tmp_path, cpp, cuda)
    assert failed is not None
    assert failed.verdict is Verdict.UNSUPPORTED
    assert failed.failure.reason.startswith("extension 'one' ")
    assert failed.failure.reason.endswith(f": {reason}")


def test_a_mistake_beside_torch_s_cuda_headers_stays_a_compile_error(workers: Workers, tmp_path: Path) -> None:
    failed = failure(workers, tmp_path, run("nowhere = 3;"), EMPTY)
    assert failed is not None
    assert failed.verdict is Verdict.COMPILE_ERROR
    reason = "main.cpp:5: ‘nowhere’ was not declared in this scope"
    assert failed.failure.reason.startswith("extension 'one' ")
    assert failed.failure.reason.endswith(f": {reason}")


FALLING_BACK = """
from torch.utils.cpp_extension import load_inline

try:
    extension = load_inline("one", {cpp!r}, {cuda!r}, functions=["run"])
except Exception:
    extension = None


class ModelNew:
    pass
"""


def test_what_a_solution_goes_on_without_is_said(workers: Workers, tmp_path: Path) -> None:
    built = build(
        workers, written(tmp_path, FALLING_BACK.format(cpp=run("nowhere = 3;"), cuda=EMPTY)), [], LimitsConfig()
    )
    assert built.failed is None
    (missing,) = built.missing
    assert tells(missing, "'one'", "goes on without it", "main.cpp:5", "nowhere")
    assert built.beyond_simulator == ()


def test_what_only_the_simulator_refuses_is_told_apart(workers: Workers, tmp_path: Path) -> None:
    cuda = '__global__ void one(int* x) { asm("nop;"); }'
    built = build(workers, written(tmp_path, FALLING_BACK.format(cpp=DECLARATION, cuda=cuda)), [], LimitsConfig())
    assert built.beyond_simulator == built.missing
    assert tells(built.missing[0], "'one'", "inline PTX")


EVENTS = """
#include <torch/types.h>
#include <ATen/cuda/CUDAApplyUtils.cuh>
#include <ATen/cuda/CUDABlas.h>
#include <ATen/cuda/CUDAEvent.h>

__global__ void fill(int* x) { x[threadIdx.x] = threadIdx.x; }

torch::Tensor filled(torch::Tensor x) {
  TORCH_CHECK(!at::cuda::canDeviceAccessPeer(0, 0) && at::ceil_div(5, 2) == 3);
  at::cuda::CUDAEvent event, other;
  TORCH_CHECK(event.query() && !event.isCreated() && event.device_index() == -1);
  fill<<<1, x.numel(), 0, c10::cuda::getStreamFromExternal(nullptr, 0)>>>(x.data_ptr<int>());
  event.record();
  other = std::move(event);
  other.block(at::cuda::getCurrentCUDAStream());
  other.synchronize();
  TORCH_CHECK(other.isCreated() && other.device()->index() == 0 && !event.isCreated());
  return x;
}
"""
TWO_EXTENSIONS = """
import torch
from torch.utils.cpp_extension import load_inline

EVENTS = {events!r}
CPP = '''
#include <ATen/cuda/CUDAEvent.h>
double milliseconds() {{
  at::cuda::CUDAEvent start(cudaEventDefault), end(cudaEventDefault);
  start.record(at::cuda::getCurrentCUDAStream());
  end.recordOnce(at::cuda::getCurrentCUDAStream());
  return start.elapsed_time(end);
}}
'''
first = load_inline("first", "torch::Tensor filled(torch::Tensor x);", EVENTS, functions=["filled"])
second = load_inline("second", CPP, "", functions=["milliseconds"], with_cuda=True)
assert first.filled(torch.zeros(4, dtype=torch.int32, device="cuda")).tolist() == [0, 1, 2, 3]
assert second.milliseconds() >= 0


class ModelNew:
    pass
"""


def test_a_solution_of_two_extensions_uses_torch_s_events(workers: Workers, tmp_path: Path) -> None:
    solution = written(tmp_path, TWO_EXTENSIONS.format(events=EVENTS))
    with workers.start() as worker:
        reply = worker.ask(Load(bring(worker, solution.folder), "ModelNew", FLAGS), 120)
    assert isinstance(reply, Loaded)
    assert [(report.name, report.succeeded) for report in reply.extensions] == [("first", True), ("second", True)]


def without_compilers(folder: Path) -> Path:
    """Programs by which torch builds, but for the compilers."""
    folder.mkdir()
    for name in ("ninja", "sh", "rm", "which", "ldconfig"):
        if program := shutil.which(name):
            (folder / name).symlink_to(program)
    return folder


def test_a_compiler_that_is_gone_is_the_machines_fault(
    workers: Workers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "solution").mkdir()
    solution = written(tmp_path / "solution", SOLUTION.format(cpp=run("return x + 1;"), cuda=EMPTY))
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setenv("PATH", str(without_compilers(tmp_path / "bin")))
    with Workers(workers.host, tmp_path / "cache") as there, pytest.raises(MachineError, match="C\\+\\+ compiler"):
        build(there, solution, [], LimitsConfig())


def test_a_real_compiler_that_is_gone_is_the_machines_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "/nowhere/c++")
    with pytest.raises(MachineError, match="C\\+\\+ compiler"):
        _require_compiler("cuda")
    monkeypatch.setenv("CXX", "c++ -Wall")
    _require_compiler("cuda")


def test_what_a_log_says_of_a_compiler_is_not_believed(workers: Workers, tmp_path: Path) -> None:
    failed = failure(
        workers, tmp_path, f'#pragma message "\\nsh: 1: c++: not found"\n#include "gone.h"\n{DECLARATION}', EMPTY
    )
    assert failed is not None
    assert failed.verdict is Verdict.COMPILE_ERROR
