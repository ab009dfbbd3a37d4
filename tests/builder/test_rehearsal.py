"""Triton's kernels are compiled before their solution gets a GPU, and lent to its workers."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from harness.builder.rehearsal import is_rehearsed, rehearse
from harness.builder.triton_cache import entries
from harness.builder.workers import Workers, bring, seen_files
from harness.devices import FLAGS, DistantGpu, open_host
from harness.model.config import LimitsConfig
from harness.model.record import hash_contents
from harness.model.verdict import Verdict
from harness.run.cache import cache_folder
from harness.sandbox.outcome import SolutionFailed
from harness.sandbox.wire.device import SeenGpu
from harness.sandbox.wire.layout import extensions_folder, own_triton
from harness.sandbox.wire.messages import Argument, Construct, Load, Rehearse, TensorRef
from harness.workspace.solution import Solution, load_solution
from tests.wording import tells

pytestmark = pytest.mark.skipif(not importlib.util.find_spec("triton"), reason="Triton isn't installed")

H200 = SeenGpu({"name": "H200", "major": 9, "minor": 0, "multi_processor_count": 132})
DOUBLE = """
import torch
import triton
import triton.language as tl

DEVICE = triton.runtime.driver.active.get_active_torch_device()


@triton.jit
def double(x, y, count, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, 2 * tl.load(x + at, mask=at < count), mask=at < count)


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = torch.nn.Parameter(torch.ones(64))

    def forward(self, x):
        assert x.is_cuda and self.scale.device == x.device == DEVICE
        with torch.cuda.device(x.device):
            y = torch.empty(x.shape, device="cuda")
            double[(triton.cdiv(x.numel(), 128),)](x * self.scale, y, x.numel(), BLOCK=128)
        return y
"""
TUNED = DOUBLE.replace(
    "@triton.jit",
    '@triton.autotune([triton.Config({"BLOCK": block}) for block in (64, 100, 256)], key=["count"])\n@triton.jit',
).replace(", BLOCK=128)", ")")
REFUSED = DOUBLE.replace("2 * tl.load", "tl.no_such_thing * tl.load")
NEEDS_VALUES = DOUBLE.replace("        return y", "        return y if y.sum() > 0 else x")
LOST = DOUBLE.replace("import torch\n", "import nothing_of_that_name\nimport torch\n", 1)
CALL = (Construct([], 0), Rehearse((Argument(TensorRef(0, "float32", (8, 64), (64, 1))),)))


@pytest.fixture
def workers(tmp_path: Path) -> Iterator[Workers]:
    with Workers(DistantGpu(H200), tmp_path / "cache") as made:
        yield made


def solution_of(text: str, place: Path) -> Solution:
    folder = place / "solutions" / "double" / "mine"
    folder.mkdir(parents=True)
    (folder / "solution.py").write_text(text)
    return load_solution(folder)


def rehearsed(workers: Workers, solution: Solution, calls: Sequence[Any] = (CALL,)) -> SolutionFailed | None:
    return rehearse(workers, solution, calls, LimitsConfig(build_s=60), None, None)


def kept(workers: Workers, solution: Solution) -> set[str]:
    namespace = extensions_folder(workers.cache, "cuda") / hash_contents(seen_files(solution.folder).items())
    return {entry.name for entry in entries(namespace) if any(entry.glob("*.cubin"))}


@pytest.mark.parametrize(("text", "kernels"), [(DOUBLE, 1), (TUNED, 2), (NEEDS_VALUES, 1), (LOST, 0)])
def test_what_a_call_launches_is_compiled_once_and_lent_to_later_workers(
    workers: Workers, tmp_path: Path, text: str, kernels: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A configuration that doesn't compile is left out, and so is what comes after a need for values."""
    solution = solution_of(text, tmp_path)
    assert is_rehearsed(workers, solution)
    assert rehearsed(workers, solution) is None
    assert len(made := kept(workers, solution)) == kernels
    with workers.start(for_build=True) as worker:
        path = bring(worker, solution.folder)
        if kernels:
            worker.ask(Load(path, "ModelNew", FLAGS, seen_gpu=H200, is_rehearsed=True), 60)
            assert {entry.name for entry in own_triton(worker.folder).iterdir()} >= made
    monkeypatch.setattr(Workers, "start", None)
    assert rehearsed(workers, solution) is None


def test_other_calls_are_compiled_as_well(workers: Workers, tmp_path: Path) -> None:
    solution = solution_of(DOUBLE, tmp_path)
    rehearsed(workers, solution)
    odd = Rehearse((Argument(TensorRef(0, "float32", (7, 64), (64, 1))),))
    half = Rehearse((Argument(TensorRef(0, "float64", (8, 64), (64, 1))),))
    rehearsed(workers, solution, [CALL, (CALL[0], odd), (CALL[0], half)])
    assert len(kept(workers, solution)) == 2  # how many elements there are is no part of the kernel, their kind is


def test_what_tritons_compiler_refuses_never_gets_a_gpu(workers: Workers, tmp_path: Path) -> None:
    solution = solution_of(REFUSED, tmp_path)
    for _ in range(2):  # it isn't remembered as done
        failed = rehearsed(workers, solution)
        assert failed is not None
        assert failed.verdict is Verdict.COMPILE_ERROR
        assert tells(failed.failure.reason, "doesn't compile", "no_such_thing")


def test_a_solution_in_another_language_is_not_rehearsed(workers: Workers, tmp_path: Path) -> None:
    assert not is_rehearsed(workers, solution_of("import torch\n", tmp_path / "plain"))
    on_cpu = Workers(open_host("sim", cache_folder(), lambda what: None), tmp_path / "other")
    assert not is_rehearsed(on_cpu, solution_of(DOUBLE, tmp_path / "triton"))
