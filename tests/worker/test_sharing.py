"""What an output shares memory with, and what is forgotten of earlier ones."""

from __future__ import annotations

import itertools

import pytest
import torch

from harness.worker.sharing import Held, Sharing, own_bytes


def shared_by_each(sharing: Sharing, outputs: list[torch.Tensor], keeps: bool) -> list[tuple[str, ...]]:
    found = []
    for output in outputs:
        found.append(sharing.of([output], [], {}))
        sharing.remember([output], keeps)
    return found


@pytest.mark.parametrize("keeps", [True, False])
@pytest.mark.parametrize("buffers", [1, 2, 3, 7])
def test_outputs_that_take_turns_in_a_few_buffers_are_earlier_ones(buffers: int, keeps: bool) -> None:
    held = [torch.zeros(4) for _ in range(buffers)]
    given = list(itertools.islice(itertools.cycle(held), buffers + 1))
    assert shared_by_each(Sharing(), given, keeps) == [()] * buffers + [("output 0 of an earlier call",)]


def test_a_buffer_is_known_again_after_a_turn() -> None:
    sharing, held = Sharing(), torch.zeros(4)
    sharing.remember([held], True)
    sharing.release()
    sharing.remember([torch.zeros(4)], True)
    assert sharing.of([held[1:]], [], {}) == ("output 0 of an earlier call",)


@pytest.mark.parametrize("keeps", [True, False])
def test_all_that_outputs_share_is_named(keeps: bool) -> None:
    sharing, held, given = Sharing(), torch.zeros(4), torch.zeros(4)
    sharing.remember([held], keeps)
    assert sharing.of([held, given], [given], {}) == ("output 0 of an earlier call", "input 0")


@pytest.mark.parametrize("keeps", [True, False])
def test_new_tensors_share_nothing_and_leave_nothing(keeps: bool) -> None:
    """Their memory is that of earlier ones, which are gone."""
    sharing = Sharing()
    for _ in range(500):
        output = torch.zeros(4)
        assert sharing.of([output], [], {}) == ()
        sharing.remember([output], keeps)
        del output
    assert len(sharing._earlier) <= 2


def test_memory_of_several_outputs_in_one_storage_counts_once() -> None:
    whole = torch.zeros(10)
    assert own_bytes([whole[:4], whole[4:], torch.zeros(3)], [3, torch.zeros(5)]) == 52


def test_memory_of_an_input_is_not_an_outputs_own() -> None:
    given = torch.zeros(10)
    assert own_bytes([given[2:].view(2, 4), torch.zeros(3)], [given]) == 12


@pytest.mark.parametrize(
    ("before", "after", "is_given_back"),
    [(100, 60, True), (100, 30, True), (100, 61, False), (100, 100, False), (None, 60, False), (100, None, False)],
)
def test_memory_is_given_back_when_so_much_less_is_given_out(
    before: int | None, after: int | None, is_given_back: bool
) -> None:
    assert Held(40, before).is_given_back(after) == is_given_back
