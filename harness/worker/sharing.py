"""The owner of the memory in which the outputs of a call lie, if it isn't their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch.multiprocessing.reductions import StorageWeakRef

_storage_of = torch._C.TensorBase.untyped_storage  # torch's own: a tensor's attributes hide its methods

_Extent = tuple[int, int]
"""First address and the one behind the last. Noted while a tensor is young: torch refuses to tell it of an output of a
CUDA graph that has run again."""


@dataclass(frozen=True)
class Held:
    """A call's outputs while they live: their own bytes, and what torch's allocator has given out in all.

    Sums are compared: somebody who keeps a small output beside a large one hides it in what a block of the allocator is
    larger than was asked for, up to 1 MiB."""

    output_bytes: int
    allocated_bytes: int | None

    def is_given_back(self, allocated_bytes: int | None) -> bool:
        """Say whether so much less is given out now that the outputs' memory went with them; False where that isn't
        told."""
        if self.allocated_bytes is None or allocated_bytes is None:
            return False
        return self.allocated_bytes - allocated_bytes >= self.output_bytes


class Sharing:
    """A record of the outputs of one arm's calls.

    Of every earlier output its storage is remembered by a weak reference, which costs no memory: a new output in the
    same living storage is a buffer that somebody kept. Foreign memory wrapped anew at every call (torch::from_blob) has
    a new storage each time; it is known by its address, but only while the earlier output is kept alive, since torch's
    allocator rightly hands out the memory of what is gone. Where there is no room for that, see Held.
    """

    def __init__(self) -> None:
        self._earlier: dict[int, tuple[str, StorageWeakRef]] = {}
        self._kept: list[tuple[str, _Extent, torch.Tensor]] = []

    def of(
        self, outputs: Sequence[torch.Tensor], inputs: Sequence[object], buffers: Mapping[int, torch.Tensor]
    ) -> tuple[str, ...]:
        """Name all that outputs share their memory with; `buffers` are all of the referee's."""
        own = [(f"input {i}", _extent(value)) for i, value in enumerate(inputs) if isinstance(value, torch.Tensor)]
        foreign = [("a buffer of the referee", _extent(value)) for value in buffers.values()]
        kept = [(name, extent) for name, extent, _ in self._kept]
        found: list[str] = []
        for output in outputs:
            place = _extent(output)
            if place[0] == place[1]:
                continue
            found += _overlapping(place, own) or _overlapping(place, foreign)  # inputs lie in such buffers
            found += _overlapping(place, kept)
            found += [name for name, _ in filter(None, [self._earlier.get(_storage_of(output)._cdata)])]
        return tuple(dict.fromkeys(found))

    def remember(self, outputs: Sequence[torch.Tensor], keeps: bool) -> None:
        """Remember `outputs` as earlier ones, for as long as their storages live; with `keeps` they stay alive until
        the next call's are remembered."""
        # A dead storage's number can't be given to another one before the reference to it is gone.
        self._earlier = {number: known for number, known in self._earlier.items() if not _has_died(known[1])}
        self._kept = []
        for number, output in enumerate(outputs):
            name = f"output {number} of an earlier call"
            storage = _storage_of(output)
            self._earlier[storage._cdata] = (name, StorageWeakRef(storage))  # type: ignore[no-untyped-call]
            if keeps:
                self._kept.append((name, _extent(output), output))

    def release(self) -> None:
        """Let go of what was kept alive."""
        self._kept = []

    def forget(self) -> None:
        """Forget all outputs so far: another module makes the next ones."""
        self._earlier, self._kept = {}, []


def own_bytes(outputs: Sequence[torch.Tensor], inputs: Sequence[object]) -> int:
    """Count the bytes of the outputs' storages that lie in no input, each once."""
    given = [_extent(value) for value in inputs if isinstance(value, torch.Tensor)]
    storages = {_storage_of(output)._cdata: _extent(output) for output in outputs}
    return sum(
        end - start
        for start, end in storages.values()
        if not any(start < last and first < end for first, last in given)
    )


def _overlapping(place: _Extent, others: Sequence[tuple[str, _Extent]]) -> list[str]:
    return [name for name, (first, last) in others if place[0] < last and first < place[1]]


def _has_died(storage: StorageWeakRef) -> bool:
    return bool(storage.expired())  # type: ignore[no-untyped-call]


def _extent(tensor: torch.Tensor) -> _Extent:
    storage = _storage_of(tensor)
    return storage.data_ptr(), storage.data_ptr() + storage.nbytes()
