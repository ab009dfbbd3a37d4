"""What a case takes of a GPU's memory, and cases for which a GPU is too small."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest

from harness.model.verdict import Verdict
from harness.referee import memory
from harness.referee.answers import kept
from harness.referee.buffers.slots import can_keep_outputs
from harness.referee.inputs.draws import Drawn, draw_variants, make_inputs
from harness.referee.judgement import judge_values
from harness.referee.memory import Live, Need, need_of, require_host_memory, require_memory
from harness.referee.mutants.telling import untold
from harness.referee.setting import prepare_setting
from harness.sandbox.outcome import SolutionFailed
from tests.referee.answers.test_reference import problem
from tests.referee.test_shortage import fake_memory

GIB = 2**30
LARGE, SMALL = "torch.rand(112, 64, 512, 512)", "torch.rand(1024, 256)"


@pytest.mark.parametrize(
    ("forward", "need"),
    [
        ("return torch.relu(x)", Need(2**20, 0, 2**20, 2**21)),
        ("return x.view(-1)[5:]", Need(2**20, 0, 2**20 - 20, 2**20)),
        ("return torch.relu_(x)", Need(2**20, 0, 2**20, 2**20)),
        ("return ((x + 1) + 1).sum(1)", Need(2**20, 0, 2**12, 3 * 2**20)),  # what is used up is given back
        ("y = x + 1\nreturn ((y + 1) + 1) * y", Need(2**20, 0, 2**20, 4 * 2**20)),
    ],
)
def test_what_is_alive_at_once_is_counted(tmp_path: Path, forward: str, need: Need) -> None:
    assert need_of(problem(tmp_path, forward, SMALL, yaml=""), "full") == need


def test_parameters_count(tmp_path: Path) -> None:
    made = problem(tmp_path, "return self.w(x)", SMALL, init="self.w = nn.Linear(256, 1, bias=False)", yaml="")
    assert need_of(made, "full") == Need(2**20, 2**10, 2**12, 2**20 + 2**10 + 2**12)


def test_referee_holds_few_copies_of_inputs_whose_rows_depend_on_each_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half of all it holds is the oracle's, in float64, beside slow answers that it keeps on the host."""
    monkeypatch.setattr(kept, "_SLOW_S", math.inf)
    made = problem(tmp_path, "return x / x.norm()", "torch.rand(16384, 256)", yaml="")
    setting = prepare_setting(made, "full", 1, "cpu")
    inputs = make_inputs(setting, Drawn(2))
    phases: list[tuple[int, Callable[[], object]]] = [
        (6, setting.derived),
        (7, lambda: untold(setting)),
        (8, lambda: draw_variants(setting, count(), Random(1))),
        (6, lambda: judge_values(setting.oracle.native(inputs), inputs, setting)),
    ]
    for most, phase in phases:
        with Live() as live:
            phase()
        assert live.peak_bytes < (most + 1) * 2**24


@pytest.mark.parametrize(
    "forward", ["return x * float(x.sum())", "return x / 0 if x else x", "raise SystemExit\nreturn x"]
)
def test_what_needs_real_memory_has_no_known_need(tmp_path: Path, forward: str) -> None:
    assert need_of(problem(tmp_path, forward, SMALL, yaml=""), "full") is None


def test_a_case_that_cannot_fit_is_unsupported_with_needed_and_present_gib(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = problem(tmp_path, "return torch.relu(x)", LARGE, yaml="")
    fake_memory(monkeypatch, free_gib=16)
    with pytest.raises(SolutionFailed) as failed:
        require_memory(made, ["full"])
    assert failed.value.verdict is Verdict.UNSUPPORTED
    assert "24.7 GiB" in failed.value.failure.reason
    assert "16.0 GiB" in failed.value.failure.reason
    assert failed.value.failure.next_step


def test_large_parameters_count_beside_small_inputs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    init = "self.w = nn.Parameter(torch.empty(2**16, 3 * 2**14))"
    made = problem(tmp_path, "return x @ self.w[:256, :256]", SMALL, init=init, yaml="")
    fake_memory(monkeypatch, free_gib=24)
    with pytest.raises(SolutionFailed) as failed:
        require_memory(made, ["full"])
    assert failed.value.verdict is Verdict.UNSUPPORTED


def test_large_parameters_count_on_the_simulators_host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    init = "self.w = nn.Parameter(torch.empty(2**15, 2**15))"
    made = problem(tmp_path, "return x @ self.w[:256, :256]", SMALL, init=init, yaml="")
    monkeypatch.setattr(memory, "available_bytes", lambda: 25 * GIB)
    require_host_memory(made, ["full"])
    monkeypatch.setattr(memory, "available_bytes", lambda: 23 * GIB)
    with pytest.raises(SolutionFailed) as failed:
        require_host_memory(made, ["full"])
    assert failed.value.verdict is Verdict.UNSUPPORTED
    assert "24.0 GiB" in failed.value.failure.reason


@pytest.mark.parametrize(("inputs", "free_gib"), [(LARGE, 40), (LARGE, 80), (SMALL, 1)])
def test_a_case_that_may_fit_is_tried(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, inputs: str, free_gib: int
) -> None:
    fake_memory(monkeypatch, free_gib)
    has_room = require_memory(problem(tmp_path, "return torch.relu(x)", inputs, yaml=""), ["full"])
    assert has_room is (inputs == SMALL)


def test_a_need_that_is_not_known_leaves_no_room_for_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_memory(monkeypatch, free_gib=80)
    unknown = f"{SMALL} * float(torch.ones(1))"
    assert not require_memory(problem(tmp_path, "return torch.relu(x)", unknown, yaml=""), ["full"])


def test_two_fifths_of_a_gpu_are_little_enough() -> None:
    """Inputs and outputs alone, in equal parts: what takes most beside the call itself."""
    half = int(0.2 * 24 * GIB)
    assert Need(half, 0, half, 2 * half).least_bytes(GIB // 2) <= 24 * GIB


@pytest.mark.parametrize(
    ("output_mib", "call_gib", "can"), [(16, 8, True), (16, 17, False), (6000, 8, False), (8000, 4, False)]
)
def test_outputs_are_kept_where_two_calls_have_room(
    monkeypatch: pytest.MonkeyPatch, output_mib: int, call_gib: int, can: bool
) -> None:
    """A small output in a block of gigabytes keeps torch's allocator from using that again."""
    fake_memory(monkeypatch, free_gib=23)
    setting: Any = SimpleNamespace(
        reference=SimpleNamespace(on_gpu=True),
        spec=SimpleNamespace(nbytes=output_mib * 2**20),
        call_bytes=call_gib * GIB,
    )
    assert can_keep_outputs(setting) is can


@pytest.mark.parametrize(("free_gib", "forward"), [(40, "x / x.norm()"), (60, "x / x.norm()"), (40, "x / 2")])
def test_right_answers_that_are_computed_whole_take_twice_a_call_beside_the_buffers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free_gib: int, forward: str
) -> None:
    """Buffers and inputs take 22 GB, a call in float64 30."""
    yaml = "independent_batch: true" if forward == "x / 2" else ""
    setting = prepare_setting(problem(tmp_path, f"return {forward}", SMALL, yaml=yaml), "full", 1, "cpu")
    large = 112 * 2**26
    sizes = replace(setting, input_bytes=large, call_bytes=large, spec=replace(setting.spec, shapes=((large // 4,),)))
    assert not sizes.is_tight
    fake_memory(monkeypatch, free_gib)
    monkeypatch.setattr(type(setting), "on_gpu", True)
    assert sizes.is_tight is ((free_gib, forward) == (40, "x / x.norm()"))
