"""Triton's autotuner: compiled side by side before anything is timed, and what it chose is told."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from harness.referee.buffers.turns import tuning_remarks
from harness.sandbox.wire.messages import Described
from harness.worker.triton_tuning import TritonTuning
from tests.wording import tells

pytest.importorskip("triton.runtime._async_compile", reason="Triton 3.5 compiles side by side")

KERNEL = """
import triton
import triton.language as tl

CONFIGS = [triton.Config({"BLOCK": block}, num_warps=warps) for block in (128, 256) for warps in (1, 2)]


@triton.autotune(configs=[*CONFIGS, triton.Config({"BLOCK": 100})], key=["count"])
@triton.heuristics({"FEW": lambda given: given["count"] < 10})
@triton.jit
def double(x, y, count, BLOCK: tl.constexpr, FEW: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, 2 * tl.load(x + at, mask=at < count), mask=at < count)
"""


@pytest.fixture
def kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A kernel of five configurations, one of which doesn't compile, on a GPU of which only the name is there."""
    from triton.backends.compiler import GPUTarget
    from triton.runtime import driver
    from triton.runtime.autotuner import Autotuner

    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("TRITON_DEFAULT_FP_FUSION", "1")  # Triton 3.9 warns where it is unset
    monkeypatch.setattr(Autotuner, "prune_configs", Autotuner.prune_configs)
    gpu = SimpleNamespace(
        get_current_target=lambda: GPUTarget("cuda", 90, 32),
        get_current_device=lambda: 0,
        get_current_stream=lambda device: 0,
    )
    monkeypatch.setattr(driver, "_active", gpu)
    file = tmp_path / "kernel_of_a_test.py"
    file.write_text(KERNEL)
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, file.stem, module)
    spec.loader.exec_module(module)
    return module.double


def test_all_configurations_are_compiled_before_the_first_is_timed(
    kernel: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    known: list[int] = []

    def timed(*_: object, config: Any, **__: object) -> list[float]:
        (caches,) = kernel.fn.fn.device_caches.values()
        known.append(len(caches[0]))
        return [config.num_warps] * 3

    run = kernel.fn.run
    monkeypatch.setattr(kernel, "_bench", timed)
    monkeypatch.setattr(kernel.fn, "run", lambda **given: run(**given) if given["warmup"] else None)
    tuning = TritonTuning()
    assert tuning.chosen() == ()
    tuning.take_over()
    kernel[(1,)](x=torch.ones(8), y=torch.empty(8), count=8)
    assert known == [4] * 5
    (chosen,) = tuning.chosen()
    assert tells(chosen, "double", "BLOCK: 128", "num_warps: 1", "of 5")


def test_strange_autotuners_say_nothing_or_a_line(kernel: Any) -> None:
    tuning = TritonTuning()
    tuning.take_over()
    named = SimpleNamespace(__name__="x\n\x1b[31m" + "y" * 900)
    plain = {"configs": [2], "early_config_prune": None, "perf_model": None, "nargs": {}}
    strange = [SimpleNamespace(**plain, **more) for more in ({}, {"base_fn": named, "best_config": 1}) * 10]
    for one in strange:
        type(kernel).prune_configs(one, {})
    described = Described((), None, tuning.chosen())
    assert {words[:6] for words in described.tuned} == {"x[31my"}
    (remark,) = tuning_remarks(described)
    assert tells(remark, "own account", "autotuner")


@pytest.mark.parametrize("bad", [("x\n",), ("x" * 900,), ("x",) * 20], ids=["lines", "long", "many"])
def test_a_worker_that_says_more_is_not_listened_to(bad: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match="Triton"):
        Described((), None, bad)


@pytest.mark.parametrize("asked", ["1", "true"])
def test_the_interpreter_is_left_alone(kernel: Any, monkeypatch: pytest.MonkeyPatch, asked: str) -> None:
    from triton.runtime.autotuner import Autotuner

    was = Autotuner.prune_configs
    monkeypatch.setenv("TRITON_INTERPRET", asked)
    TritonTuning().take_over()
    assert Autotuner.prune_configs is was
