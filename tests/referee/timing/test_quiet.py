"""Waiting until nothing takes bandwidth from a turn, with scripted fills."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest
import torch

from harness.referee.audit import Canary
from harness.referee.timing.quiet import Quiet

USUAL, SLOWER = 90_000, 96_000


class Device:
    """Fills take so long, one after another, and the last for ever; `now` is what its pauses add up to."""

    def __init__(self, fills_ns: Iterable[int]) -> None:
        self.fills_ns = list(fills_ns)
        self.looks = 0
        self.now = 0.0

    def quickest_ns(self) -> int:
        self.looks += 1
        return self.fills_ns.pop(0) if len(self.fills_ns) > 1 else self.fills_ns[0]

    def pause(self, seconds: float) -> None:
        self.now += seconds

    def quiet(self) -> Quiet:
        return Quiet(self.quickest_ns, lambda: self.now, self.pause)


def waits(device: Device) -> Callable[[], tuple[bool, float]]:
    """Waits once more: whether it was quiet at last, and for how long that took."""
    quiet = device.quiet()

    def wait() -> tuple[bool, float]:
        before = device.now
        return quiet.wait(), device.now - before

    return wait


def test_a_device_at_rest_is_not_waited_for() -> None:
    wait = waits(Device([USUAL, USUAL + 1_000, USUAL - 1_000]))
    assert [wait() for _ in range(3)] == [(True, 0.0)] * 3


def test_what_is_being_cleared_is_waited_for() -> None:
    wait = waits(Device([USUAL, *[SLOWER] * 10, USUAL]))
    assert wait() == (True, 0.0)
    quiet, waited_s = wait()
    assert quiet
    assert waited_s == pytest.approx(0.02)
    assert wait() == (True, 0.0)


def test_a_first_look_at_a_busy_device_is_no_measure() -> None:
    wait = waits(Device([SLOWER, USUAL, SLOWER, USUAL]))
    assert wait() == (True, 0.0)
    assert wait() == (True, 0.0)
    assert wait()[1] > 0


def test_waiting_ends_after_half_a_second_and_before_long_altogether() -> None:
    device = Device([USUAL, SLOWER])
    wait = waits(device)
    wait()
    waited = [wait() for _ in range(23)]
    assert {quiet for quiet, _ in waited} == {False}
    assert [seconds for _, seconds in waited[:12]] == pytest.approx([0.5] * 12, abs=0.003)
    assert [seconds for _, seconds in waited[12:]] == [0.0] * 11
    assert wait() == (True, 0.0), "a device that stays slower is as quick as it gets"


@pytest.mark.gpu
def test_a_gpu_is_quiet_soon_after_memory_was_freed() -> None:
    with Canary() as canary:
        quiet = Quiet(canary.quickest_ns)
        assert [quiet.wait() for _ in range(20)] == [True] * 20
        usual_ns = canary.quickest_ns()
        freed = torch.full((2**32,), 1, dtype=torch.uint8, device="cuda")
        del freed
        torch.cuda.empty_cache()
        assert quiet.wait()
        assert canary.quickest_ns() < 1.05 * usual_ns
