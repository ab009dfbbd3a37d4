"""Counting what torch.compile() did."""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from types import SimpleNamespace
from typing import Any

import pytest

from harness.sandbox.wire.messages import Compilation
from harness.worker.compilation import compilation
from tests.worker.test_flags import run

COUNT = """
import json, torch
from harness.worker.compilation import compilation

class Model(torch.nn.Module):
    def forward(self, x):
        y = x + 1
        torch._dynamo.graph_break()
        return y * 2

def count():
    found = compilation()
    return found and [found.graphs, found.graph_breaks, found.recompilations]

before = count()
model = torch.compile(Model(), backend="eager")
model(torch.ones(3))
model(torch.ones(3))
first = count()
model(torch.ones(3, 3))
print(json.dumps([before, first, count()]))
"""


def test_graphs_their_breaks_and_recompilations_are_counted() -> None:
    """The second shape compiles both halves of the function again."""
    assert run(COUNT) == [None, [2, 1, 0], [4, 2, 2]]


def with_torch(monkeypatch: pytest.MonkeyPatch, utils: Any, frames: Any) -> Compilation | None:
    monkeypatch.setitem(sys.modules, "torch._dynamo.utils", utils)
    monkeypatch.setitem(sys.modules, "torch._dynamo.convert_frame", frames)
    return compilation()


def test_what_torch_does_not_count_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    unknown = Compilation(None, None, None)
    assert with_torch(monkeypatch, SimpleNamespace(), SimpleNamespace()) == unknown
    renamed = SimpleNamespace(counters=defaultdict(Counter, {"functions": Counter(total=1)}))
    assert with_torch(monkeypatch, renamed, SimpleNamespace(FRAME_COMPILE_COUNTER=Counter())) == unknown


def test_functions_that_the_compiler_left_alone_gave_no_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    utils = SimpleNamespace(counters=defaultdict(Counter, {"frames": Counter(total=1)}))
    frames = SimpleNamespace(FRAME_COMPILE_COUNTER=Counter({0: 1}))
    assert with_torch(monkeypatch, utils, frames) == Compilation(0, 0, 0)
