"""Triton's kernels are compiled before their solution gets a GPU, and lent to its workers."""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from harness.builder.build import BuildOutcome
from harness.builder.rehearsal import is_rehearsed, rehearse
from harness.builder.triton_cache import entries
from harness.builder.workers import Workers, bring, seen_files
from harness.devices import FLAGS, DistantGpu, open_host
from harness.model.config import LimitsConfig
from harness.model.record import hash_contents
from harness.run import building
from harness.run.building import compile_ahead
from harness.run.cache import cache_folder
from harness.sandbox.process import SolutionRaised
from harness.sandbox.wire.device import SeenGpu
from harness.sandbox.wire.layout import extensions_folder, own_triton
from harness.sandbox.wire.messages import Argument, Construct, Load, Rehearse, TensorRef
from harness.workspace.solution import Solution, load_solution

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
NEEDS_VALUES = DOUBLE.replace("        return y", "        return y if y.sum() > 0 else x")
LOST = DOUBLE.replace("import torch\n", "import nothing_of_that_name\nimport torch\n", 1)
REFUSED = DOUBLE.replace("2 * tl.load", "tl.no_such_thing * tl.load")
LAUNCHES_FIRST = DOUBLE.replace(
    "    def forward",
    """        n = torch.zeros(1, dtype=torch.int32)
        double[(1,)](n, n, 1, BLOCK=16)
        self.block = triton.next_power_of_2(int(n.item()))

    def forward""",
).replace("BLOCK=128", "BLOCK=self.block")
KILLED = DOUBLE.replace(
    "        assert", "        import os, signal\n        os.kill(os.getpid(), signal.SIGKILL)\n        assert"
)
SLEEPS = DOUBLE.replace("        assert", "        import time\n        time.sleep(30)\n        assert")
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


def rehearsed(workers: Workers, solution: Solution, calls: Sequence[Any] = (CALL,), build_s: float = 60) -> None:
    rehearse(workers, solution, calls, build_s, None)


def namespace(workers: Workers, solution: Solution) -> Path:
    return extensions_folder(workers.cache, "cuda") / hash_contents(seen_files(solution.folder).items())


def kept(workers: Workers, solution: Solution) -> set[str]:
    """The kernels that are kept."""
    return {entry.name for entry in entries(namespace(workers, solution)) if any(entry.glob("*.cubin"))}


@pytest.mark.parametrize(
    ("text", "kernels"),
    [(DOUBLE, 1), (TUNED, 2), (NEEDS_VALUES, 1), (LOST, 0), (REFUSED, 0), (LAUNCHES_FIRST, 1)],
)
def test_what_a_call_launches_is_compiled_once_and_found_by_later_workers(
    workers: Workers, tmp_path: Path, text: str, kernels: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A configuration that doesn't compile is left out, and so is what comes after a need for values."""
    solution = solution_of(text, tmp_path)
    assert is_rehearsed(workers, solution)
    rehearsed(workers, solution)
    made = kept(workers, solution)
    assert len(made) == kernels
    with workers.start(for_build=True) as worker, suppress(SolutionRaised):
        path = bring(worker, solution.folder)
        worker.ask(Load(path, "ModelNew", FLAGS, seen_gpu=H200, is_rehearsed=True), 60)
        try:
            for request in CALL:
                worker.ask(request, 60)
        finally:
            cubins = [path for name in made for path in (own_triton(worker.folder) / name).glob("*.cubin")]
            assert len(cubins) == kernels
            assert {path.stat().st_mode & 0o777 for path in cubins} <= {0o444}  # as lent, and not compiled anew
    monkeypatch.setattr(Workers, "start", None)
    rehearsed(workers, solution)


@pytest.mark.parametrize("text", [KILLED, SLEEPS])
def test_what_ends_a_rehearsal_decides_nothing(
    workers: Workers, tmp_path: Path, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor is it remembered as done, and all of its calls have the time of one build."""
    solution = solution_of(text, tmp_path)
    monkeypatch.setattr(building, "_calls", lambda job: [CALL, CALL, CALL])
    limits = LimitsConfig(build_s=4)
    job: Any = SimpleNamespace(solution=solution, config=SimpleNamespace(limits=limits))
    started = time.monotonic()
    outcome = compile_ahead(job, workers, BuildOutcome((), None, 1.0))
    assert time.monotonic() - started < 15
    assert outcome.failed is None
    assert outcome.seconds > 1.0
    assert not (namespace(workers, solution) / "rehearsed").exists()


def test_a_problem_whose_calls_cannot_be_told_is_left_to_the_device(
    workers: Workers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(job: object) -> object:
        raise ValueError("no plain value")

    monkeypatch.setattr(building, "_calls", fails)
    job: Any = SimpleNamespace(solution=solution_of(DOUBLE, tmp_path), config=SimpleNamespace(limits=LimitsConfig()))
    assert compile_ahead(job, workers, BuildOutcome((), None, 1.0)).failed is None


def test_other_calls_are_compiled_as_well(workers: Workers, tmp_path: Path) -> None:
    solution = solution_of(DOUBLE, tmp_path)
    rehearsed(workers, solution)
    odd = Rehearse((Argument(TensorRef(0, "float32", (7, 65), (65, 1))),))
    wide = Rehearse((Argument(TensorRef(0, "float64", (8, 64), (64, 1))),))
    rehearsed(workers, solution, [CALL, (CALL[0], odd), (CALL[0], wide)])
    assert len(kept(workers, solution)) == 2  # 65 columns are more than the module's scale has


def test_a_solution_in_another_language_is_not_rehearsed(workers: Workers, tmp_path: Path) -> None:
    assert not is_rehearsed(workers, solution_of("import torch\n", tmp_path / "plain"))
    on_cpu = Workers(open_host("sim", cache_folder(), lambda what: None), tmp_path / "other")
    assert not is_rehearsed(on_cpu, solution_of(DOUBLE, tmp_path / "triton"))
