"""Where a call's outputs come to lie: memory that the device takes and gives back, by a scripted allocator."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
import torch

from harness.devices.cuda import device as module
from harness.devices.cuda.device import CudaDevice

MIB = 2**20


class Allocator:
    """Gives out what is free at the lowest address, as torch's does among blocks of a size; `room` blocks at most."""

    def __init__(self, room: int = 1000) -> None:
        self.room = room
        self.taken: set[int] = set()

    def take(self, nbytes: int, stream: int) -> int:
        address = next(number for number in range(1, self.room + 2) if number not in self.taken)
        if address > self.room:
            raise torch.OutOfMemoryError("none left")
        self.taken.add(address)
        return address

    def give(self, address: int) -> None:
        self.taken.remove(address)


class Filling:
    """A meter that notes what is filled."""

    def __init__(self) -> None:
        self.filled: list[int] = []

    def fill(self, address: int, value: int, nbytes: int, stream: int) -> None:
        self.filled.append(address)


def poisoned(monkeypatch: pytest.MonkeyPatch, allocator: Allocator, sizes: tuple[int, ...], calls: int) -> list[int]:
    """The blocks that each call's output would get: by size, call after call."""
    monkeypatch.setattr(module, "_take_block", allocator.take)
    monkeypatch.setattr(module, "_give_block", allocator.give)
    monkeypatch.setattr(module, "_memory_stats", None)
    device: Any = CudaDevice()
    device._can_poison = True
    device._output_bytes = sizes
    got = []
    for _ in range(calls):
        meter = Filling()
        device._poison(meter, 0)
        for filled in meter.filled:
            block = allocator.take(sizes[0], 0)
            got.append(block)
            assert block in meter.filled, filled
        for block in got[len(got) - len(meter.filled) :]:
            allocator.give(block)
        device._give_back(device._aside)
    assert allocator.taken == set()
    return got


def test_small_outputs_lie_at_sixteen_places_in_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    places = poisoned(monkeypatch, Allocator(), (33 * MIB,), 32)
    assert sorted(places) == sorted([*range(1, 17)] * 2)


def test_places_take_a_gibibyte_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    assert set(poisoned(monkeypatch, Allocator(), (128 * MIB,), 20)) == {*range(1, 9)}
    assert set(poisoned(monkeypatch, Allocator(), (2048 * MIB,), 20)) == {1}


def test_each_of_several_outputs_changes_places(monkeypatch: pytest.MonkeyPatch) -> None:
    assert set(poisoned(monkeypatch, Allocator(), (MIB, 0, MIB), 16)) == {*range(1, 33)}


def test_short_memory_ends_it_with_all_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    allocator = Allocator(room=10)
    assert poisoned(monkeypatch, allocator, (MIB,), 3) == []


@pytest.mark.parametrize(
    ("asks", "places"),
    [(False, 16), (True, 1)],
    ids=["only the host was slow", "the allocator asked the driver each time"],
)
def test_slow_fills_count_where_the_allocator_had_to_ask_for_memory(
    monkeypatch: pytest.MonkeyPatch, asks: bool, places: int
) -> None:
    allocator, filled = Allocator(), Filling()
    clock, asked = itertools.count(step=1_000_000), itertools.count(step=int(asks))
    monkeypatch.setattr(module, "_take_block", allocator.take)
    monkeypatch.setattr(module, "_give_block", allocator.give)
    monkeypatch.setattr(module, "clock_ns", lambda: next(clock))
    monkeypatch.setattr(module, "_memory_stats", lambda device: {"num_device_alloc": next(asked)})
    device: Any = CudaDevice()
    device._can_poison = True
    device._output_bytes = (33 * MIB,)
    for _ in range(3):  # the first is of a new size, and may ask
        device._poison(filled, 0)
        device._give_back(device._aside)
    device._poison(filled, 0)
    assert len(device._aside) == places - 1
    device._give_back(device._aside)
    for _ in range(3):
        device._poison(filled, 0)
        device._give_back(device._aside)
    assert len(filled.filled) == (5 if asks else 7)
