"""How each baseline runs the reference."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch

from harness.protocol.messages import Optimization
from harness.records.config import Config, TimingConfig
from harness.records.timing import BASELINES
from harness.records.verdict import Verdict
from harness.referee.baselines import flags_of, optimization_of
from harness.referee.environment import FLAGS
from harness.referee.outcome import SolutionFailed
from harness.referee.reference import InvalidProblem
from harness.referee.seats import Seats
from harness.referee.stillness import Stillness
from harness.worker.optimization import in_channels_last, optimize


def test_every_baseline_differs_from_the_others_in_one_way() -> None:
    ways = {name: (flags_of(name)["cudnn_benchmark"], optimization_of(name)) for name in BASELINES}
    assert ways == {
        "eager": (False, None),
        "compile": (False, Optimization(compile_mode="default")),
        "compile-max-autotune": (False, Optimization(compile_mode="max-autotune")),
        "cudnn-benchmark": (True, None),
        "channels-last": (False, Optimization(channels_last=True)),
    }


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

    def close(self) -> None:
        self.is_closed = True


def fill_seats(monkeypatch: pytest.MonkeyPatch, broken: str, workers: Any) -> tuple[Seats, list[Worker]]:
    """Seat eager, compile and channels-last, of which one can't be made ready."""

    def seat(self: Seats, baseline: str, *rest: Any) -> None:
        if baseline == broken:
            raise SolutionFailed(Verdict.OUT_OF_MEMORY, "no memory left")

    monkeypatch.setattr(Seats, "_seat", seat)
    unseated: list[Worker] = []
    table: Any = SimpleNamespace(unseat=unseated.append)
    setting: Any = SimpleNamespace(problem=SimpleNamespace(source_for=lambda case: "x = 1"), case="full")
    config = Config(timing=TimingConfig(baselines=("eager", "compile", "channels-last")))
    seats = Seats(table, Stillness(), workers)
    seats.fill(setting, config.timing.baselines, config, lambda what: None)
    return seats, unseated


def test_another_baseline_that_fails_is_left_out_with_a_remark(monkeypatch: pytest.MonkeyPatch) -> None:
    workers = {name: Worker() for name in ("eager", "compile", "channels-last")}
    seats, unseated = fill_seats(monkeypatch, "compile", workers)
    assert seats.taken == ("eager", "channels-last")
    assert seats.remarks == ["baseline compile is left out: no memory left"]
    assert unseated == [workers["compile"]]
    assert [name for name, worker in workers.items() if worker.is_closed] == ["compile"]


def test_a_first_baseline_that_fails_is_the_problems_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    workers = {name: Worker() for name in ("eager", "compile", "channels-last")}
    with pytest.raises(InvalidProblem, match=r"\(eager\): no memory left"):
        fill_seats(monkeypatch, "eager", workers)
