"""What is laid out before a call, as far as it needs no GPU."""

from __future__ import annotations

from harness.devices.cuda.lead_in import LeadIn

MIB = 2**20


def pieces(kept_bytes: int, *memory: tuple[int, int]) -> list[tuple[int, int]]:
    lead_in = LeadIn.__new__(LeadIn)
    lead_in._kept_bytes = kept_bytes
    return lead_in.pieces(memory)


def test_pieces_lie_within_their_memory_and_take_little_of_the_cache() -> None:
    memory = [(4096 * MIB, 100 * MIB), (9000 * MIB + 512, 3 * MIB)]
    found = [pieces(MIB, *memory) for _ in range(200)]
    for drawn in found:
        assert [nbytes for _, nbytes in drawn] == [MIB // 2, MIB // 2]
        for (start, nbytes), (address, size) in zip(drawn, memory, strict=True):
            assert address <= start
            assert start + nbytes <= address + size
            assert (start - address) % 256 == 0
    starts = [drawn[0][0] - 4096 * MIB for drawn in found]
    assert min(starts) < 20 * MIB
    assert max(starts) > 79 * MIB


def test_small_memory_is_taken_whole() -> None:
    assert pieces(MIB, (256, 1000), (8192, MIB // 2)) == [(256, 1000), (8192, MIB // 2)]
    assert pieces(MIB) == []
