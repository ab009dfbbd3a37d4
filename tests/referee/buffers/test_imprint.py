"""Memory that was changed is told from memory that wasn't."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from harness.referee.buffers.laid import imprint, is_unchanged

WORDS = 4096
"""Of eight bytes, in a row of the grid whose sums are kept."""


def content(words: int, rest: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(words + rest)
    return torch.randint(0, 256, (words * 8 + rest,), dtype=torch.uint8, generator=generator)


def _swap_words(memory: torch.Tensor, one: int, two: int) -> None:
    words = memory[: memory.numel() // 8 * 8].view(torch.int64)
    words[one], words[two] = words[two].clone(), words[one].clone()


CHANGES: dict[str, Callable[[torch.Tensor], object]] = {
    "first byte": lambda memory: memory[0].add_(1),
    "last byte": lambda memory: memory[-1].add_(1),
    "highest bit of a word": lambda memory: memory[15].bitwise_xor_(0x80),
    "two words of a row": lambda memory: _swap_words(memory, 3, 4),
    "two words of a column": lambda memory: _swap_words(memory, 3, 3 + WORDS),
    "halves of a word": lambda memory: memory[:8].copy_(memory[:8].roll(4)),
    "rows": lambda memory: memory[: 2 * 8 * WORDS].copy_(memory[: 2 * 8 * WORDS].roll(8 * WORDS)),
    "all zero": lambda memory: memory.zero_(),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize("rest", [0, 5])
def test_a_change_and_a_permutation_show(change: Callable[[torch.Tensor], object], rest: int) -> None:
    memory = content(2 * WORDS, rest)
    before = imprint(memory)
    assert is_unchanged(memory, before)
    change(memory)
    assert not is_unchanged(memory, before)


@pytest.mark.parametrize("nbytes", [0, 1, 7, 8 * WORDS, 2 * 8 * WORDS - 1])
def test_little_memory_is_kept_whole(nbytes: int) -> None:
    memory = torch.zeros(nbytes, dtype=torch.uint8)
    before = imprint(memory)
    assert is_unchanged(memory, before)
    if nbytes:
        memory[nbytes // 2] = 1
        assert not is_unchanged(memory, before)
