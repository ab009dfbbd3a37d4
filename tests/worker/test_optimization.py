"""What is called as a baseline beside eager."""

from __future__ import annotations

from typing import Any

import torch

from harness.sandbox.wire.input_form import take_apart
from harness.sandbox.wire.messages import Optimization
from harness.worker.optimization import optimize


def test_another_dtype_gives_back_that_of_the_first_part() -> None:
    seen = []

    class Sums(torch.nn.Module):
        def forward(self, cache: dict[str, torch.Tensor]) -> torch.Tensor:
            seen.append(cache["a"].dtype)
            return cache["a"] + cache["b"]

    parts: list[Any] = []
    form = take_apart({"a": torch.ones(2), "b": torch.ones(2)}, parts)
    returned = optimize(Sums(), Optimization(dtype="bfloat16"), (form,))(*parts)
    assert (seen, returned.dtype) == ([torch.bfloat16], torch.float32)
