"""What the guard finds replaced, and what it leaves alone. Each patch is undone: the process is the tests' own."""

from __future__ import annotations

import ctypes
import json
import mmap
import os
import time
from typing import Any

import pytest
import torch

import harness.worker.arm
from harness.worker import guard
from harness.worker.guard import Guard


@pytest.mark.parametrize(
    ("owner", "name", "said"),
    [
        (time, "perf_counter_ns", "time.perf_counter_ns"),
        (json, "dumps", "json.dumps"),
        (torch, "allclose", "torch.allclose"),
        (torch.testing, "assert_close", "torch.testing.assert_close"),
        (torch.cuda, "synchronize", "torch.cuda.synchronize"),
        (torch.cuda, "Event", "torch.cuda.Event"),
        (torch.cuda.Event, "elapsed_time", "torch.cuda.Event.elapsed_time"),
        (torch.Tensor, "copy_", "torch.Tensor.copy_"),
        (harness.worker.arm, "fitting", "harness.worker.arm.fitting"),
        (harness.worker.arm.Arm, "take_turn", "harness.worker.arm.Arm.take_turn"),
    ],
)
def test_a_replaced_function_is_named(owner: Any, name: str, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before = Guard()
    assert before.patched() == ()
    monkeypatch.setattr(owner, name, lambda *arguments, **named: 0)
    assert said in before.patched()


def test_exchanged_code_is_found_behind_an_unchanged_name(monkeypatch: pytest.MonkeyPatch) -> None:
    before = Guard()
    function = harness.worker.arm.Arm.take_turn
    monkeypatch.setattr(function, "__code__", (lambda self, request: None).__code__)
    assert before.patched() == ("harness.worker.arm.Arm.take_turn",)


def test_native_code_that_was_written_over_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    code = mmap.mmap(-1, 4096)
    address = ctypes.addressof(ctypes.c_char.from_buffer(code))
    code[:16] = bytes(range(16))
    monkeypatch.setattr(guard, "_native_functions", lambda: iter([(address, "libcuda: cuEventElapsedTime")]))
    before = Guard()
    assert before.patched() == ()
    code[3] = 0xE9
    assert before.patched() == ("libcuda: cuEventElapsedTime",)


def test_libc_is_looked_at() -> None:
    assert {said for _, said in guard._native_functions()} >= {"libc: clock_gettime", "libc: sendmsg"}


def test_honest_work_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Functions of its own, of torch.nn.functional, and what libraries wrap."""
    before = Guard()
    monkeypatch.setattr(torch.nn.functional, "relu", lambda x: x)
    monkeypatch.setattr(torch.nn.Module, "__call__", lambda self, x: x)
    monkeypatch.setattr(torch, "my_helper", len, raising=False)
    monkeypatch.setitem(os.environ, "MINE", "1")
    assert before.patched() == ()


class Held:
    """As the GPU's device holds its meter."""

    __module__ = "harness.backends.held"

    def __init__(self, inner: object = None) -> None:
        self.inner = inner
        self.count = 0
        self.record = len

    def elapsed(self) -> int:
        return 5


@pytest.mark.parametrize(("name", "said"), [("elapsed", "Held.elapsed"), ("record", "Held.record")])
def test_a_function_exchanged_in_one_object_alone_is_found(name: str, said: str) -> None:
    inner = Held()
    before = Guard(Held(inner))
    inner.count = 7
    assert before.patched() == ()
    setattr(inner, name, lambda *arguments: 0)
    assert before.patched() == (said,)


def test_an_exchanged_object_is_found() -> None:
    outer = Held(Held())
    before = Guard(outer)
    outer.inner = Held()
    assert before.patched() == ("Held.inner",)
