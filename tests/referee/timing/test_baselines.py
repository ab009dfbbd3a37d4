"""How each baseline runs the reference."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from harness.devices.environment import FLAGS
from harness.model.arms import BASELINES
from harness.model.build import CompiledBaseline
from harness.model.config import Config, TimingConfig
from harness.model.verdict import Verdict
from harness.referee.answers.invalid_problem import InvalidProblem
from harness.referee.buffers.buffers import Freezer
from harness.referee.buffers.turns import flag_remarks
from harness.referee.timing import references as references_module
from harness.referee.timing.references import OPTIMIZATIONS, References, flags_of, made_of
from harness.sandbox.outcome import SolutionFailed
from harness.sandbox.process import Made
from harness.sandbox.wire.construction import in_channels_last
from harness.sandbox.wire.messages import Compilation, Described, FlagChange, Optimization
from harness.worker.optimization import optimize
from tests.wording import tells


def test_every_baseline_differs_from_the_others_in_one_way() -> None:
    ways = {name: (flags_of(name)["cudnn_benchmark"], OPTIMIZATIONS.get(name)) for name in BASELINES[:5]}
    assert ways == {
        "eager": (False, None),
        "compile": (False, Optimization(compile_mode="default")),
        "compile-max-autotune": (False, Optimization(compile_mode="max-autotune")),
        "cudnn-benchmark": (True, None),
        "channels-last": (False, Optimization(channels_last=True)),
    }


def test_in_a_precision_of_its_own_the_reference_has_its_switches_and_its_type() -> None:
    names = ("cudnn_allow_tf32", "matmul_allow_tf32", "float32_matmul_precision")
    ways = {name: (*(flags_of(name)[flag] for flag in names), OPTIMIZATIONS.get(name)) for name in BASELINES[5:]}
    assert ways == {
        "eager-float64": (True, False, "highest", Optimization(dtype="float64")),
        "eager-float32": (False, False, "highest", Optimization(dtype="float32")),
        "eager-tf32": (True, True, "high", Optimization(dtype="float32")),
        "eager-float16": (True, False, "highest", Optimization(dtype="float16")),
        "eager-bfloat16": (True, False, "highest", Optimization(dtype="bfloat16")),
    }


def test_a_model_of_another_type_takes_and_gives_what_it_did() -> None:
    class Seen(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = torch.nn.Linear(4, 4)

        def forward(self, x: torch.Tensor, index: torch.Tensor, scale: float) -> Any:
            assert (x.dtype, index.dtype, self.linear.weight.dtype) == (torch.bfloat16, torch.int64, torch.bfloat16)
            return [self.linear(x)[index] * scale], index

    values, index = optimize(Seen(), Optimization(dtype="bfloat16"))(torch.rand(3, 4), torch.tensor([2, 0]), 2.0)
    assert (values[0].dtype, index.dtype) == (torch.float32, torch.int64)


def test_a_reference_that_has_the_type_already_is_as_it_was() -> None:
    model, x = torch.nn.Linear(4, 4), torch.rand(3, 4)
    want = model(x)
    assert torch.equal(optimize(model, Optimization(dtype="float32"))(x), want)


def test_the_flags_of_all_arms_are_left_as_they_are() -> None:
    flags_of("cudnn-benchmark")
    assert FLAGS["cudnn_benchmark"] is False


def test_channels_last_changes_the_layout_and_nothing_else() -> None:
    model = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.BatchNorm2d(8)).eval()
    x = torch.rand(2, 3, 9, 9)
    want = model(x)
    optimized = optimize(model, Optimization(channels_last=True))
    laid = in_channels_last(x)
    assert laid.is_contiguous(memory_format=torch.channels_last)
    assert optimized[0].weight.is_contiguous(memory_format=torch.channels_last)
    assert torch.allclose(optimized(laid), want, atol=1e-5)


@pytest.mark.parametrize("value", [torch.rand(3, 4), torch.tensor(1.0), torch.rand(2, 3, 4), 7, "sum", None])
def test_what_has_no_channels_keeps_its_layout(value: Any) -> None:
    assert in_channels_last(value) is value


def test_volumes_have_channels_too() -> None:
    assert in_channels_last(torch.rand(2, 3, 4, 5, 6)).is_contiguous(memory_format=torch.channels_last_3d)


def test_a_compiled_model_is_compiled_as_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[str, Any] = {}

    def compile_model(model: torch.nn.Module, **options: Any) -> str:
        asked.update(options)
        return "compiled"

    monkeypatch.setattr(torch, "compile", compile_model)
    assert optimize(torch.nn.ReLU(), Optimization(compile_mode="max-autotune")) == "compiled"
    assert asked == {"mode": "max-autotune"}


class Worker:
    """A worker that can be ended."""

    def __init__(self) -> None:
        self.is_closed = False
        self.made: Made | None = None

    def close(self) -> None:
        self.is_closed = True


def made_ready(monkeypatch: pytest.MonkeyPatch, broken: str, workers: Any) -> tuple[References, list[Worker]]:
    """Make ready eager, compile and channels-last, of which one can't be."""

    def make_ready(self: References, baseline: str, *rest: Any) -> None:
        if baseline == broken:
            raise SolutionFailed(Verdict.OUT_OF_MEMORY, "no memory left")

    monkeypatch.setattr(References, "_make_ready", make_ready)
    forgotten: list[Worker] = []
    buffers: Any = SimpleNamespace(forget=forgotten.append, freezer=Freezer())
    setting: Any = SimpleNamespace(problem=SimpleNamespace(source_for=lambda case: "x = 1"), case="full")
    config = Config(timing=TimingConfig(baselines=("eager", "compile", "channels-last")))
    references = References(setting, buffers, workers, config, lambda what: None)
    references.make_ready(config.timing.baselines)
    return references, forgotten


def test_another_baseline_that_fails_is_left_out_with_a_remark(monkeypatch: pytest.MonkeyPatch) -> None:
    workers = {name: Worker() for name in ("eager", "compile", "channels-last")}
    references, forgotten = made_ready(monkeypatch, "compile", workers)
    assert references.ready == ("eager", "channels-last")
    (remark,) = references.remarks
    assert tells(remark, "compile", "left out", "no memory left")
    assert forgotten == [workers["compile"]]
    assert [name for name, worker in workers.items() if worker.is_closed] == ["compile"]


def test_a_first_baseline_that_fails_is_the_problems_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    workers = {name: Worker() for name in ("eager", "compile", "channels-last")}
    with pytest.raises(InvalidProblem, match=r"\(eager\): .*memory"):
        made_ready(monkeypatch, "eager", workers)


SECOND = 1_000_000_000


class Clock:
    """Scripted in place of turns and questions: by baseline the wall clock of each turn."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, walls: dict[str, list[int]], described: Any) -> None:
        self.turns: list[str] = []
        names: dict[Any, str] = {}

        def turn(worker: Any, *rest: Any) -> Any:
            name = names[worker]
            self.turns.append(name)
            return SimpleNamespace(wall_ns=walls[name].pop(0), answered=SimpleNamespace(calls=(None,)))

        def describe(worker: Any, limits: Any) -> Any:
            found = described[names[worker]]
            if isinstance(found, Exception):
                raise found
            return found

        self.steps: list[str] = []
        for name in ("load_arm", "construct_arm", "judge_form"):
            monkeypatch.setattr(references_module, name, lambda *rest, name=name: self.steps.append(name))
        monkeypatch.setattr(references_module, "take_turn", turn)
        monkeypatch.setattr(references_module, "describe_arm", describe)
        self.workers: Any = {name: SilentWorker() for name in walls}
        names.update({worker: name for name, worker in self.workers.items()})
        self.buffers: Any = SimpleNamespace(attach=lambda *_: None, calls=lambda slots: (), freezer=Freezer())
        problem = SimpleNamespace(source_for=lambda case: "x = 1", sha256="1", batch_statistics=False)
        self.setting: Any = SimpleNamespace(problem=problem, case="full", spec=None, master_seed=1, drawn=(None, 0))
        self.config = Config(timing=TimingConfig(baselines=tuple(walls)))  # type: ignore[arg-type]
        self.compiled = self.make_ready()

    def make_ready(self) -> Any:
        self.references = References(self.setting, self.buffers, self.workers, self.config, lambda what: None)
        self.references.make_ready(self.config.timing.baselines)
        return self.references.look_back()


class SilentWorker(Worker):
    def bring_text(self, name: str, text: str) -> str:
        return name

    def pause(self, thoroughly: bool = True) -> None: ...

    def resume(self) -> None: ...


UNCHANGED = Described((), None)


def test_compiling_took_what_the_first_call_takes_longer_than_the_second(monkeypatch: pytest.MonkeyPatch) -> None:
    walls = {"eager": [2 * SECOND], "compile": [9 * SECOND, SECOND], "compile-max-autotune": [SECOND, 2 * SECOND]}
    described = {
        "eager": UNCHANGED,
        "compile": Described((), Compilation(2, 1, 3)),
        "compile-max-autotune": Described((), Compilation(None, None, None)),
    }
    clock = Clock(monkeypatch, walls, described)
    assert clock.turns == ["eager", "compile", "compile", "compile-max-autotune", "compile-max-autotune"]
    assert clock.compiled == (
        CompiledBaseline("compile", 8.0, 2, 1, 3),
        CompiledBaseline("compile-max-autotune", 0.0, None, None, None),
    )
    assert clock.references.remarks == []


def test_what_an_earlier_evaluation_made_is_taken_and_tried_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    walls = {"eager": [SECOND] * 4, "compile": [9 * SECOND, *[SECOND] * 6]}
    clock = Clock(monkeypatch, walls, {"eager": UNCHANGED, "compile": UNCHANGED})
    made = {name: worker.made for name, worker in clock.workers.items()}
    assert [one.of[:2] for one in made.values()] == [("eager", "eager"), ("compile", "compile")]
    clock.steps.clear()
    clock.turns.clear()
    assert clock.make_ready() == clock.compiled
    assert clock.steps == ["judge_form", "judge_form"]
    assert clock.turns == ["eager", "compile"]
    assert {name: worker.made for name, worker in clock.workers.items()} == made
    for number, drawn in enumerate([("zeros", 0), (None, 2)], start=1):
        clock.setting.drawn = drawn
        clock.make_ready()
        assert clock.steps.count("construct_arm") == 2 * number
        assert {worker.made.drawn for worker in clock.workers.values()} == {drawn}


@pytest.mark.parametrize("timing", [{"processes": 2}, {"metrics": ("graph",)}])
def test_no_worker_stays_where_each_measurement_has_fresh_ones_or_a_graph_may_harm_it(
    monkeypatch: pytest.MonkeyPatch, timing: dict[str, Any]
) -> None:
    clock = Clock(monkeypatch, {"eager": [SECOND] * 2}, {"eager": UNCHANGED})
    clock.workers["eager"].made = None
    clock.config = replace(clock.config, timing=replace(clock.config.timing, **timing))
    clock.make_ready()
    assert clock.workers["eager"].made is None


def test_only_what_follows_from_the_same_is_the_same_module() -> None:
    problem: Any = SimpleNamespace(sha256="1", batch_statistics=False)
    config = TimingConfig(baselines=("eager", "compile"))
    others = [
        made_of("compile", config, problem, 1),
        made_of("control", config, problem, 1),
        made_of("eager", config, problem, 2),
        made_of("eager", replace(config, case="small"), problem, 1),
        made_of("eager", config, SimpleNamespace(sha256="2", batch_statistics=False), 1),  # type: ignore[arg-type]
        made_of("eager", config, SimpleNamespace(sha256="1", batch_statistics=True), 1),  # type: ignore[arg-type]
    ]
    assert made_of("eager", config, problem, 1) not in others
    assert len(set(others)) == len(others)


def test_a_baseline_that_does_not_tell_has_its_time_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    described = {"eager": UNCHANGED, "compile": SolutionFailed(Verdict.CRASHED, "the process ended")}
    clock = Clock(monkeypatch, {"eager": [SECOND], "compile": [9 * SECOND, SECOND]}, described)
    assert clock.compiled == (CompiledBaseline("compile", 8.0, None, None, None),)
    (remark,) = clock.references.remarks
    assert tells(remark, "compile", "flags", "the process ended")


def test_flags_that_the_problems_own_file_changes_are_remarked_on(monkeypatch: pytest.MonkeyPatch) -> None:
    changes = (FlagChange("matmul_allow_tf32", False, True), FlagChange("float32_matmul_precision", "highest", None))
    clock = Clock(monkeypatch, {"eager": [SECOND]}, {"eager": Described(changes, None)})
    (remark,) = clock.references.remarks
    assert tells(remark, "reference (eager)", "matmul_allow_tf32 off → on")
    assert tells(remark, "float32_matmul_precision highest → contradictory")


def test_a_change_that_is_known_is_not_told_twice() -> None:
    early, late = FlagChange("cudnn_benchmark", False, True), FlagChange("flash_sdp", True, False)
    assert flag_remarks("the solution", (early,), known=(early,)) == []
    (remark,) = flag_remarks("the solution", (early, late), known=(early,))
    assert tells(remark, "solution", "flags", "flash_sdp on → off")
