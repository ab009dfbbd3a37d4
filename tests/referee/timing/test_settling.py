"""Waiting until nothing takes bandwidth from a turn, with scripted fills."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest
import torch

from harness.referee.audit.idle_gpu import ProbeKernel
from harness.referee.timing.settling import BUSY, Settling, still_fill_ns

USUAL, SLOWER = 90_000, 100_000


class Device:
    """Fills take so long, one after another, and the last for ever; `now_s` is what they add up to."""

    def __init__(self, fills_ns: Iterable[int]) -> None:
        self.fills_ns = list(fills_ns)
        self.now_s = 0.0

    def quickest_ns(self) -> int:
        found = self.fills_ns.pop(0) if len(self.fills_ns) > 1 else self.fills_ns[0]
        self.now_s += 4 * found / 1e9
        return found


def waits(device: Device, still_ns: int | None = USUAL) -> Callable[[], tuple[int, float]]:
    """Waits once more: the fill at last, and for how many ms that took."""
    settling = Settling(device.quickest_ns, still_ns, lambda: device.now_s)

    def wait() -> tuple[int, float]:
        before_s = device.now_s
        return settling.wait(), round(1e3 * (device.now_s - before_s), 2)

    return wait


def test_a_device_at_rest_is_not_waited_for() -> None:
    wait = waits(Device([USUAL, USUAL + 1_000, USUAL - 1_000]))
    assert [wait()[1] for _ in range(3)] == [0.36, 0.36, 0.36]


def test_what_is_being_cleared_is_waited_for() -> None:
    wait = waits(Device([USUAL, *[SLOWER] * 10, USUAL]))
    assert wait() == (USUAL, 0.36)
    assert wait() == (USUAL, 4.36)
    assert wait() == (USUAL, 0.36)


def test_what_is_cleared_before_every_turn_is_waited_for_before_every_turn() -> None:
    wait = waits(Device([*[*[SLOWER] * 10, USUAL] * 40, USUAL]))
    assert {wait() for _ in range(40)} == {(USUAL, 4.36)}


def test_where_rest_is_unknown_the_quickest_fill_is_the_measure() -> None:
    wait = waits(Device([SLOWER, SLOWER, USUAL, SLOWER, USUAL]), still_ns=None)
    assert [wait()[0] for _ in range(3)] == [SLOWER, USUAL, USUAL]


def test_a_device_at_rest_is_known_by_what_nobody_beats_for_a_while() -> None:
    device = Device([*[SLOWER] * 200, *[USUAL] * 30, USUAL - 500, USUAL])
    assert still_fill_ns(device.quickest_ns, lambda: device.now_s) == USUAL - 500
    assert device.now_s == pytest.approx(0.1 + 4e-9 * (200 * SLOWER + 31 * USUAL), rel=0.01)


def test_waiting_in_vain_becomes_short() -> None:
    wait = waits(Device([USUAL, *[SLOWER] * 10_000]))
    wait()
    found = [wait() for _ in range(30)]
    assert {fill for fill, _ in found} == {SLOWER}
    assert [ms for _, ms in found[:6]] == pytest.approx([500.4] * 6, abs=0.4)
    assert [ms for _, ms in found[6:]] == pytest.approx([20.2] * 24, abs=0.4)


def test_one_wait_that_helped_makes_waits_long_again() -> None:
    device = Device([SLOWER])
    wait = waits(device)
    for fills in ([USUAL], *[[SLOWER]] * 7, [SLOWER, USUAL]):
        device.fills_ns = [*fills]
        found = wait()
    assert found == (USUAL, 0.76)
    device.fills_ns = [SLOWER]
    assert wait()[1] == pytest.approx(500.4, abs=0.4)


@pytest.mark.gpu
def test_a_gpu_has_settled_soon_after_memory_was_freed() -> None:
    with ProbeKernel() as probe:
        usual_ns = still_fill_ns(probe.quickest_ns)
        settling = Settling(probe.quickest_ns, usual_ns)
        freed = torch.full((2**32,), 1, dtype=torch.uint8, device="cuda")
        del freed
        torch.cuda.empty_cache()
        assert settling.wait() <= BUSY * usual_ns
