"""The pure parts of sampling: telling what was written, and what is compared."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from harness.devices.base import SharedBuffer
from harness.model.verdict import Verdict
from harness.referee import sampling
from harness.referee.answers.invalid_problem import InvalidProblem
from harness.referee.sampling import SampledTurns, is_oracle_cheap, must_be_sampled
from harness.referee.written_values import data_extents, runs, was_written, written_rows
from harness.sandbox.outcome import SolutionFailed
from harness.sandbox.wire.device import Account, BufferHandle, KernelRun
from tests.referee.in_process import InProcessDevice, checked, computing, in_process_host, setting_of
from tests.referee.test_correctness import DOUBLE, Honest, verdict_of

PAGE = os.sysconf("SC_PAGE_SIZE")
EXTENT = 64 * 2**10
"""Holes are kept at the grain of the kernel's pages, which may be larger than PAGE in a memfd."""


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.int64, torch.bool])
def test_zero_counts_as_unwritten(dtype: torch.dtype) -> None:
    values = torch.zeros(1, 3, dtype=dtype)
    values[0, 2] = 1
    assert was_written(values).tolist() == [[False, False, True]]


def test_poison_counts_as_unwritten() -> None:
    values = torch.full((16,), 0xFF, dtype=torch.uint8).view(torch.float32).reshape(1, 4)
    values[0, 1] = 2.0
    assert was_written(values).tolist() == [[False, True, False, False]]


@pytest.fixture
def sparse() -> Iterator[SharedBuffer]:
    """Eight extents, nothing written yet."""
    descriptor = os.memfd_create("test")
    os.truncate(descriptor, 8 * EXTENT)
    content = torch.from_file(f"/proc/self/fd/{descriptor}", shared=True, size=8 * EXTENT, dtype=torch.uint8)
    yield SharedBuffer(content, BufferHandle("memfd", 8 * EXTENT), descriptor, lambda: None)
    os.close(descriptor)


def test_nothing_written_has_no_extents(sparse: SharedBuffer) -> None:
    assert list(data_extents(sparse)) == []


def test_what_was_written_is_found_without_reading_holes(sparse: SharedBuffer) -> None:
    output = sparse.content.view(torch.float32).reshape(4, 2, EXTENT // 4)
    output[1, 0, 5] = 1.0
    output[3, 1, -1] = 2.0
    assert written_rows(output, sparse).tolist() == [1, 3]
    touched = sum(stop - start for start, stop in data_extents(sparse))
    assert touched <= 2 * EXTENT


def test_rows_alone_are_found_in_a_flat_output(sparse: SharedBuffer) -> None:
    output = sparse.content.view(torch.int32)
    output[EXTENT // 2] = 7
    assert written_rows(output, sparse).tolist() == [EXTENT // 2]


def test_neighbouring_rows_are_compared_together() -> None:
    rows = torch.tensor([0, 1, 2, 7, 9, 10])
    assert list(runs(rows, torch.empty(16, 4))) == [(0, 3), (7, 8), (9, 11)]
    assert list(runs(rows[:3], torch.empty(16, 2**21, device="meta"))) == [(0, 2), (2, 3)]


Triple = computing(lambda x: x * 3)


class PartlyDone(nn.Module):
    """An element is right only once all blocks have added to it."""

    calls = 0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        type(self).calls += 1
        return x * 1 if self.calls == 1 else x + x


@pytest.fixture
def one_launch(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every case counts as too large, and every call as one launch."""
    monkeypatch.setattr(sampling, "COMPLETE_BYTES", 0)
    monkeypatch.setattr(InProcessDevice, "take_findings", lambda self: ((), 1))


@pytest.fixture(params=["", "independent_batch: true\n"])
def yaml(request: pytest.FixtureRequest, one_launch: None) -> str:
    """Of a problem that says nothing of its rows, and of one whose rows are independent."""
    return str(request.param)


def test_a_wrong_sampled_answer_is_a_verdict(tmp_path: Path, yaml: str) -> None:
    setting = setting_of(tmp_path, DOUBLE, yaml)
    right, wrong = (checked(setting, model)[0] for model in (Honest, Triple))
    assert right.failed is None
    assert [(check.scope, check.passed) for check in right.checks] == [("sampled_blocks", True)]
    assert wrong.failed is not None
    assert wrong.failed.verdict is Verdict.WRONG_VALUES
    assert [check.passed for check in wrong.checks] == [False]


@pytest.mark.usefixtures("one_launch")
@pytest.mark.parametrize("launches", [0, 1])
def test_blocks_are_told_of_where_a_kernel_was_launched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, launches: int
) -> None:
    monkeypatch.setattr(InProcessDevice, "take_findings", lambda self: ((), launches))
    outcome, _ = checked(setting_of(tmp_path, DOUBLE), Honest)
    assert sum("blocks" in remark for remark in outcome.remarks) == launches


@pytest.mark.usefixtures("one_launch")
def test_an_output_that_nobody_wrote_does_not_pass(tmp_path: Path) -> None:
    setting = setting_of(tmp_path, DOUBLE.replace("x * 2", "x.sum()"))
    assert verdict_of(setting, computing(lambda x: torch.zeros(())))[0] is Verdict.WRONG_VALUES


def some_zeros(x: torch.Tensor) -> torch.Tensor:
    """Return the allocation's poison, of which a block has written a part."""
    made = torch.full(x.shape, -1, dtype=torch.int32).view(torch.float32)
    made[:, :1] = 0
    return made


@pytest.mark.usefixtures("one_launch")
@pytest.mark.parametrize(("yaml", "scope"), [("", "complete"), ("independent_batch: true\n", "row")])
def test_elements_that_several_blocks_add_to_are_judged_after_all_blocks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, yaml: str, scope: str
) -> None:
    monkeypatch.setattr(InProcessDevice, "account", lambda self: Account(1, {}, 0, atomics=1))
    PartlyDone.calls = 0
    outcome, worker = checked(setting_of(tmp_path, DOUBLE, yaml), PartlyDone)
    assert outcome.failed is None
    assert [(check.scope, check.passed) for check in outcome.checks] == [(scope, True)]
    assert [turn.sample_blocks for turn in worker.turns] == [4, 2**62]


def test_without_atomics_a_few_blocks_convict(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, yaml: str) -> None:
    """However long all of them would take: none of the others could mend what these wrote."""
    monkeypatch.setattr(InProcessDevice, "account", lambda self: Account(1, {}, 0))
    outcome, worker = checked(setting_of(tmp_path, DOUBLE, yaml), Triple)
    assert outcome.failed is not None
    assert outcome.failed.verdict is Verdict.WRONG_VALUES
    assert [(check.scope, check.passed) for check in outcome.checks] == [("sampled_blocks", False)]
    assert [turn.sample_blocks for turn in worker.turns] == [4]


def test_sampled_values_may_err_as_the_reference_errs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, yaml: str
) -> None:
    monkeypatch.setattr(InProcessDevice, "account", lambda self: Account(1, {}, 0))
    setting = setting_of(tmp_path, DOUBLE.replace("x * 2", "(x + 1000) - 1000"), yaml)
    right, _ = checked(setting, computing(lambda x: (x + 1000) - 1000))
    assert right.failed is None
    assert [check.worst > 0 for check in right.checks] == [True]


def test_where_the_reference_errs_like_a_wrong_element_the_problem_is_at_fault(tmp_path: Path, yaml: str) -> None:
    setting = setting_of(tmp_path, DOUBLE.replace("x * 2", "(x * 2 + 3e6) - 3e6"), yaml)
    with pytest.raises(InvalidProblem, match="error"):
        checked(setting, Triple)


@pytest.mark.parametrize(("name", "compared"), [("aten::convolution", 0), ("aten::clone", 0), ("aten::empty_like", 1)])
def test_what_an_operator_wrote_beside_the_kernel_is_not_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, compared: int, yaml: str
) -> None:
    rows = (KernelRun(name, 0, 0, 0, "kernel"), KernelRun("own", 0, 0, 0, "kernel"))
    monkeypatch.setattr(InProcessDevice, "take_trace", lambda self: rows)
    model = Honest if compared else Triple
    outcome, _ = checked(setting_of(tmp_path, DOUBLE, yaml), model, watch=lambda *about: None)
    assert outcome.failed is None
    assert len(outcome.checks) == compared


@pytest.fixture
def told_blocks(monkeypatch: pytest.MonkeyPatch) -> list[int | None]:
    """The numbers of blocks that turns were to run, the newest last."""
    told: list[int | None] = []
    monkeypatch.setattr(InProcessDevice, "limit_launches", lambda self, count=None, *_: told.append(count))
    monkeypatch.setattr(InProcessDevice, "account", lambda self: Account(1, {}, 0))
    return told


@pytest.mark.parametrize("are_too_many", [False, True])
def test_zeros_beside_what_nobody_wrote_say_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, told_blocks: list[int | None], yaml: str, are_too_many: bool
) -> None:
    """Zeros can't be told from holes of the file, and elements of blocks that didn't run blame nobody."""
    take = SampledTurns.take

    def turn(turns: SampledTurns, blocks: int, *rest: Any) -> Any:
        if are_too_many and blocks == sampling.ALL_BLOCKS:
            raise SolutionFailed(Verdict.UNSUPPORTED, "more than the simulator can bear")
        return take(turns, blocks, *rest)

    monkeypatch.setattr(SampledTurns, "take", turn)
    zeros = computing(lambda x: torch.zeros_like(x) if told_blocks[-1] == sampling.ALL_BLOCKS else some_zeros(x))
    outcome, _ = checked(setting_of(tmp_path, DOUBLE.replace("x * 2", "x * 0"), yaml), zeros)
    assert outcome.failed is None
    assert [check.passed for check in outcome.checks] == [True] * (not are_too_many)
    assert ("zeros" in outcome.remarks[-1]) is are_too_many
    nothing = computing(lambda x: torch.full(x.shape, -1, dtype=torch.int32).view(torch.float32))
    outcome, _ = checked(setting_of(tmp_path, DOUBLE.replace("x * 2", "x * 0"), yaml), nothing)
    assert outcome.failed
    assert outcome.failed.verdict is (Verdict.UNSUPPORTED if are_too_many else Verdict.WRONG_VALUES)


@pytest.mark.usefixtures("one_launch")
@pytest.mark.parametrize(
    ("more", "factor", "yaml", "verdict", "told"),
    [
        (64, 2, "", None, [4, 64]),
        (64, 2, "independent_batch: true\n", None, [4, 64]),
        (64, 3, "", Verdict.WRONG_VALUES, [4, 64]),
        (2**62, 2, "", None, [4, 64, 2**62]),
        (2**62, 3, "", Verdict.WRONG_VALUES, [4, 64, 2**62]),
        (2**62, 2, "independent_batch: true\n", None, [4, 64, 2**62]),
        (2**63, 2, "independent_batch: true\n", Verdict.WRONG_VALUES, [4, 64, 2**62]),
    ],
)
def test_blocks_that_wrote_zeros_alone_are_followed_by_more(
    tmp_path: Path,
    told_blocks: list[int | None],
    more: int,
    factor: int,
    yaml: str,
    verdict: Verdict | None,
    told: list[int],
) -> None:
    """An output may be zero nearly everywhere, such as that of a transposed convolution with a stride."""

    class Sparse(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x * factor * ((told_blocks[-1] or 0) >= more)

    outcome, _ = checked(setting_of(tmp_path, DOUBLE, yaml), Sparse)
    assert (outcome.failed and outcome.failed.verdict) == verdict
    assert [one for one in told_blocks if one is not None] == told


@pytest.mark.usefixtures("one_launch")
def test_what_fewer_blocks_left_unwritten_does_not_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, told_blocks: list[int | None]
) -> None:
    """The simulator leaves out pages of zeros when it copies an output."""

    def store(self: InProcessDevice, source: torch.Tensor, destination: torch.Tensor) -> None:
        if bool((source != 0).any()):
            destination.copy_(source)

    class Zeros(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            into = torch.full(x.shape, 0 if told_blocks[-1] == 2**62 else -1, dtype=torch.int32)
            into[0] = 0
            return into.view(torch.float32)

    monkeypatch.setattr(InProcessDevice, "store", store)
    source = DOUBLE.replace("x * 2", "(x - 1).relu()")
    assert checked(setting_of(tmp_path, source), Zeros)[0].failed is None
    assert [one for one in told_blocks if one is not None] == [4, 64, 2**62]


@pytest.mark.parametrize("in_place", [True, False])
@pytest.mark.parametrize(
    ("factor", "rows", "places", "verdict", "compared"),
    [
        (1, 4, (1, 2), None, 0),
        (3, 4, (1, 2), Verdict.WRONG_VALUES, 1),
        (3, 4, (2, 1), None, 0),  # the operator may have read what blocks that didn't run should have written
        (3, 4, (0, 0), None, 0),  # nobody knows
        (3, 0, (1, 2), None, 0),
        (1, 1, (1, 2), Verdict.UNSUPPORTED, 1),
    ],
    ids=["right", "wrong", "an operator after it", "an unknown order", "nothing changed", "a grid that is too small"],
)
def test_what_a_kernel_changes_in_the_answer_of_an_operator_is_compared(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    told_blocks: list[int | None],
    factor: int,
    rows: int,
    places: tuple[int, int],
    verdict: Verdict | None,
    compared: int,
    in_place: bool,
) -> None:
    """Twelve rows, of which the blocks that ran did some."""
    monkeypatch.setattr(sampling, "COMPLETE_BYTES", 0)
    monkeypatch.setattr(InProcessDevice, "take_findings", lambda self: ((), 1))
    before, own = places
    ran = (
        KernelRun("aten::mm", before, before, 0, "kernel"),
        KernelRun("own", own, own, 0, "kernel", blocks=12),
    )
    monkeypatch.setattr(InProcessDevice, "take_trace", lambda self: ran)

    class Activated(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y = x * 2 - 1
            unwritten = 0 if told_blocks[-1] else -1  # a hole of the file; the allocation's poison
            into = y if in_place else torch.full(y.shape, unwritten, dtype=torch.int32).view(torch.float32)
            if told_blocks[-1]:
                into[:rows] = y[:rows].relu() * factor
            return into

    source = DOUBLE.replace("rows = 6", "rows = 12").replace("x * 2", "(x * 2 - 1).relu()")
    outcome, _ = checked(setting_of(tmp_path, source), Activated, watch=lambda *about: None)
    assert (outcome.failed and outcome.failed.verdict) == verdict
    assert len(outcome.checks) == compared


@pytest.mark.parametrize(("factor", "verdict"), [(1, None), (3, Verdict.WRONG_VALUES)], ids=["right", "wrong"])
def test_blocks_that_changed_little_in_the_answer_of_an_operator_are_followed_by_more(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    told_blocks: list[int | None],
    factor: int,
    verdict: Verdict | None,
) -> None:
    monkeypatch.setattr(sampling, "COMPLETE_BYTES", 0)
    monkeypatch.setattr(InProcessDevice, "take_findings", lambda self: ((), 1))
    ran = (KernelRun("aten::mm", 1, 1, 0, "kernel"), KernelRun("own", 2, 2, 0, "kernel", blocks=12))
    monkeypatch.setattr(InProcessDevice, "take_trace", lambda self: ran)

    class Activated(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y = x * 2 - 1
            if told_blocks[-1] == 4:
                y[:1] = y[:1].relu()
            elif told_blocks[-1]:
                y = y.relu() * factor
            return y

    source = DOUBLE.replace("rows = 6", "rows = 12").replace("x * 2", "(x * 2 - 1).relu()")
    outcome, _ = checked(setting_of(tmp_path, source), Activated, watch=lambda *about: None)
    assert (outcome.failed and outcome.failed.verdict) == verdict


@pytest.mark.parametrize("is_half_zero", [False, True])
@pytest.mark.parametrize(
    ("rows", "grid_blocks", "verdict"),
    [
        (4, 12, None),  # a block a row
        (8, 6, None),  # a block does two
        (3, 12, None),  # one of those that ran had nothing to do
        (4, 5, Verdict.UNSUPPORTED),
        (1, 12, Verdict.UNSUPPORTED),
        (4, 0, None),  # nobody knows
    ],
)
def test_a_grid_that_cannot_fill_the_output_acquits_nobody(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    rows: int,
    grid_blocks: int,
    verdict: Verdict | None,
    is_half_zero: bool,
    yaml: str,
) -> None:
    """Twelve rows, of which the blocks that ran wrote some. Zeros needn't be written."""
    source = DOUBLE.replace("rows = 6", "rows = 12")

    class Some(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            written = (torch.arange(12) < rows).to(x.dtype)[:, None]
            return (x - 0.5).relu() * 2 * written if is_half_zero else x * 2 * written

    if is_half_zero:
        source = source.replace("x * 2", "torch.relu(x - 0.5) * 2")
    ran = (KernelRun("own", 0, 0, 0, "kernel", blocks=grid_blocks),)
    monkeypatch.setattr(InProcessDevice, "take_trace", lambda self: ran)
    monkeypatch.setattr(InProcessDevice, "account", lambda self: Account(1, {}, 0))
    outcome, _ = checked(setting_of(tmp_path, source, yaml), Some, watch=lambda *about: None)
    assert (outcome.failed and outcome.failed.verdict) == verdict
    assert [check.passed for check in outcome.checks] == [True]


@pytest.mark.parametrize(
    ("rows", "factor", "verdict"),
    [(12, 2, None), (12, 3, Verdict.WRONG_VALUES), (1, 2, Verdict.UNSUPPORTED)],
    ids=["right", "wrong", "a grid that is too small"],
)
def test_blocks_that_met_zeros_by_chance_are_followed_by_more(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    told_blocks: list[int | None],
    rows: int,
    factor: int,
    verdict: Verdict | None,
    yaml: str,
) -> None:
    """Four of a grid's twelve blocks wrote one row, as where rows of zeros lie between a convolution's strides."""

    class Striding(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            is_few = told_blocks[-1] == 4
            written = (torch.arange(12) < (1 if is_few else rows)).to(x.dtype)[:, None]
            return x * (2 if is_few else factor) * written

    ran = (KernelRun("own", 0, 0, 0, "kernel", blocks=12),)
    monkeypatch.setattr(InProcessDevice, "take_trace", lambda self: ran)
    source = DOUBLE.replace("rows = 6", "rows = 12")
    outcome, _ = checked(setting_of(tmp_path, source, yaml), Striding, watch=lambda *about: None)
    assert (outcome.failed and outcome.failed.verdict) == verdict
    assert [one for one in told_blocks if one is not None] == [4, 64]


@pytest.mark.parametrize("more", ["", "cases: {small: {constants: {rows: 4, columns: 70}}}\n"])
@pytest.mark.parametrize("inputs", ["torch.rand(columns, rows).t()", "torch.rand(rows, 1).expand(rows, columns)"])
def test_inputs_of_another_layout_are_compared_as_they_lie(tmp_path: Path, inputs: str, more: str, yaml: str) -> None:
    source = DOUBLE.replace("torch.rand(rows, columns)", inputs)
    assert checked(setting_of(tmp_path, source, yaml + more), Honest)[0].failed is None
    assert checked(setting_of(tmp_path, source, yaml + more), Triple)[0].failed is not None


def test_indices_in_an_open_order_are_those_of_the_full_shape(tmp_path: Path, yaml: str) -> None:
    """Stretched from a small case's, a row would have each value many times."""
    forward = "return torch.topk(x, 3, dim=1)"
    source = DOUBLE.replace("return x * 2", forward)
    small = "cases: {small: {constants: {rows: 4, columns: 70}}}\n"
    found, _ = checked(setting_of(tmp_path, source, yaml + small), OtherIndices)
    assert found.failed is None
    assert [check.passed for check in found.checks] == [True]


class OtherIndices(nn.Module):
    """As right as torch.topk, which returns others among equals."""

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        values, indices = x.flip(1).sort(dim=1, descending=True, stable=True)
        return values[:, :3].contiguous(), (x.shape[1] - 1 - indices[:, :3]).contiguous()


def test_what_an_output_cannot_hold_need_not_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, yaml: str
) -> None:
    """Half precision has no room for most of these values."""
    source = DOUBLE.replace("x * 2", "torch.where(x > 0.99, x, x * 1e-9)").replace("columns)]", "columns).half()]")
    ran = (KernelRun("own", 0, 0, 0, "kernel", blocks=1),)
    monkeypatch.setattr(InProcessDevice, "take_trace", lambda self: ran)
    monkeypatch.setattr(InProcessDevice, "account", lambda self: Account(1, {}, 0))
    model = computing(lambda x: torch.where(x > 0.99, x, x * 1e-9))
    assert checked(setting_of(tmp_path, source, yaml), model, watch=lambda *about: None)[0].failed is None


def test_plain_numbers_may_be_among_the_inputs(tmp_path: Path, yaml: str) -> None:
    source = DOUBLE.replace("forward(self, x)", "forward(self, x, factor)").replace("x * 2", "x * factor")
    source = source.replace("torch.rand(rows, columns)]", "torch.rand(rows, columns), 2.5]")
    outcome, _ = checked(setting_of(tmp_path, source, yaml), computing(lambda x, factor: x * factor))
    assert outcome.failed is None
    assert [check.passed for check in outcome.checks] == [True]


@pytest.mark.parametrize(
    ("seconds", "dtype", "slow"), [(0.0, "float32", False), (0.2, "float32", True), (0.2, "float64", True)]
)
def test_a_slow_reference_is_run_once_at_the_full_shape_and_so_is_its_oracle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seconds: float, dtype: str, slow: bool
) -> None:
    monkeypatch.setattr(sampling, "SLOW_S", 0.1)
    monkeypatch.setattr(sampling, "_QUICK_BYTES", 0)
    source = (
        DOUBLE.replace("return x * 2", "return calls.append(work(x)) or x * 2")
        + f"""
import time
calls = []
def work(x):
    end = time.thread_time() + {seconds} * (x.device.type == "cpu" and x.dtype is torch.{dtype})
    while time.thread_time() < end:
        pass
    return x.device.type
"""
    )
    setting = setting_of(tmp_path, source.replace("5000", "50"))
    for again in (setting, replace(setting, repeat=1)):
        assert must_be_sampled(again, in_process_host()) is slow
        assert is_oracle_cheap(again) is not slow
    assert setting.reference.constant("calls").count("cpu") == 2
