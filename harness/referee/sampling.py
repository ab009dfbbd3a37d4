"""The simulator at the full shape: the true launch configuration, of which only a few blocks run.

Inputs are a short stretch of real values, repeated over the whole buffer, so that gigabytes cost megabytes; outputs
are sparse files in which a hole means that nothing was written. This finds what reduced shapes hide: 32-bit index
overflow, limits of the grid, too much shared memory.
"""

from __future__ import annotations

import math
import mmap
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import torch

from harness.backends.base import Host, SharedBuffer
from harness.backends.sim.host import SimHost
from harness.protocol.messages import TurnTaken
from harness.records.check import Check, OutputComparison
from harness.records.config import Config
from harness.records.evaluation import WeightsSource
from harness.records.verdict import Verdict
from harness.referee.answers.comparison import Comparison
from harness.referee.answers.judgement import describe_finding, judge_form, judge_sharing
from harness.referee.answers.reference import Reference
from harness.referee.outcome import SolutionFailed
from harness.referee.setting import Setting
from harness.referee.table.table import Table, TimedReply
from harness.referee.table.turns import construct_arm, take_turn
from harness.referee.tolerance.derive import least_tolerance
from harness.referee.workers.process import WorkerProcess
from harness.workspace.problem import FULL

COMPLETE_BYTES = 32 * 2**20
"""Cases whose inputs and outputs fit into this run whole; larger ones are sampled."""
_DRAWN_BYTES = 2 * 2**30
"""As much as the referee draws where there is no small case to draw from."""
_PERIOD_PAGES = 4099
"""16 MiB, and a prime number of pages, so that rows and channels don't repeat in step."""


@dataclass(frozen=True)
class PeriodicInput:
    """An input of `shape` whose values are `stretch` over and over."""

    stretch: torch.Tensor
    shape: tuple[int, ...]

    @property
    def nbytes(self) -> int:
        return math.prod(self.shape) * self.stretch.dtype.itemsize

    def rows(self, start: int, stop: int) -> torch.Tensor:
        """Rows of dimension 0, made real."""
        width = math.prod(self.shape[1:])
        index, end = start * width, stop * width
        pieces = []
        while index < end:
            begin = index % self.stretch.numel()
            piece = self.stretch[begin : begin + end - index]
            pieces.append(piece)
            index += piece.numel()
        return torch.cat(pieces).view(stop - start, *self.shape[1:])


def must_be_sampled(setting: Setting, host: Host) -> bool:
    """Whether a case is too large to be simulated whole."""
    if host.name != "sim" or setting.meta_inputs is None:
        return False
    total = _nbytes(setting.meta_inputs)
    for shape, dtype in zip(setting.spec.shapes, setting.spec.dtypes, strict=True):
        total += math.prod(shape) * dtype.itemsize
    return total > COMPLETE_BYTES


def check_sampled(
    setting: Setting,
    host: Host,
    worker: WorkerProcess,
    config: Config,
    watch: Callable[[TurnTaken, int, bool], None] | None = None,
) -> tuple[tuple[Check, ...], tuple[str, ...], WeightsSource]:
    """One turn of a few blocks of the true launch: checks, remarks, and where the weights came from.

    Values are compared only after a single launch: with several, one reads what blocks that didn't run should have
    written. Raises: SolutionFailed.
    """
    assert isinstance(host, SimHost)
    blocks, seed = config.correctness.sampled_blocks, setting.seed("inputs", 0)
    inputs = _draw_inputs(setting, seed)
    with Table(host, setting.spec) as table:
        for value, spec in zip(inputs, setting.meta_inputs or [], strict=True):
            table.lay_buffer(host.allocate_periodic(value.nbytes, value.stretch.view(torch.uint8)), spec)
        table.seat(worker, config.limits.load_s)
        weights = construct_arm(worker, table, setting, config.limits)
        timed = _take_sampled_turn(worker, table, config, blocks, setting.seed("blocks"), traced=watch is not None)
        reply = timed.reply
        judge_form(reply.calls[0], setting.spec)
        judge_sharing(reply.calls[0], setting.spec)
        remarks = [f"{setting.case}: {blocks} blocks of the true launch simulated, not all"]
        remarks += [f"{setting.case}: {describe_finding(finding)}" for finding in reply.findings]
        if watch is not None:
            watch(reply, timed.wall_ns, True)
        if reply.launches != 1 or not setting.problem.independent_batch:
            remarks.append(f"{setting.case}: searched for faults only, values not compared ({reply.launches} launches)")
            return (), tuple(remarks), weights
        compared = _judge_written(table, inputs, setting)
    return (setting.check(seed, "sampled_blocks", compared),), tuple(remarks), weights


def _take_sampled_turn(
    worker: WorkerProcess, table: Table, config: Config, blocks: int, seed: int, traced: bool
) -> TimedReply:
    try:
        return take_turn(worker, table, config.turn_limits, traced=traced, sample_blocks=blocks, sample_seed=seed)
    except SolutionFailed as error:
        if error.verdict in (Verdict.OUT_OF_MEMORY, Verdict.TIMEOUT):
            raise SolutionFailed(Verdict.UNSUPPORTED, f"more than the simulator can bear: {error}") from error
        raise


def _draw_inputs(setting: Setting, seed: int) -> list[PeriodicInput]:
    """get_inputs() of the problem's first small case, or of this one where there is none, stretched to its shapes."""
    specs = setting.meta_inputs or []
    small = next((case for case in setting.problem.cases if case != FULL), None)
    if small is not None:
        drawn = Reference(setting.problem, small, "cpu").make_inputs(seed)
    elif _nbytes(specs) <= _DRAWN_BYTES:
        drawn = setting.reference.make_inputs(seed)
    else:
        raise SolutionFailed(
            Verdict.UNSUPPORTED,
            "the problem has only its full shape, which is too large to simulate",
            next_step="add a small case to problem.yaml, or run on a GPU",
        )
    if not all(isinstance(spec, torch.Tensor) for spec in specs):
        raise SolutionFailed(Verdict.UNSUPPORTED, "a case with plain inputs beside tensors can't be sampled")
    return [periodic_input(values, tuple(spec.shape), mmap.PAGESIZE) for values, spec in zip(drawn, specs, strict=True)]


def _nbytes(values: Sequence[object]) -> int:
    return sum(value.numel() * value.itemsize for value in values if isinstance(value, torch.Tensor))


def periodic_input(values: torch.Tensor, shape: tuple[int, ...], page_bytes: int) -> PeriodicInput:
    """Stretch `values` (drawn at a small shape) over one period."""
    count = _PERIOD_PAGES * page_bytes // values.dtype.itemsize
    flat = values.reshape(-1)
    return PeriodicInput(flat.repeat(-(-count // flat.numel()))[:count].clone(), shape)


def _judge_written(table: Table, inputs: Sequence[PeriodicInput], setting: Setting) -> tuple[OutputComparison, ...]:
    """Compare what the sampled blocks wrote, in the first and the last row (dimension 0) that they touched.

    Raises: SolutionFailed where they wrote nothing at all.
    """
    comparisons = []
    for number, (output, buffer) in enumerate(zip(table.outputs(), table.output_buffers(), strict=True)):
        written = list(_written_slices(output, buffer))
        if not written:
            raise SolutionFailed(
                Verdict.WRONG_VALUES,
                "the sampled blocks, the first and the last among them, wrote nothing into the output",
                next_step="check that the launch succeeds at this shape: cudaGetLastError() after the launch",
            )
        rows = sorted({written[0][0], written[-1][0]})
        answers = {row: setting.oracle.answer([value.rows(row, row + 1) for value in inputs])[number] for row in rows}
        tolerance = setting.problem.tolerance or least_tolerance(
            torch.cat(list(answers.values())), output.dtype, setting.problem.precision
        )
        comparison = Comparison(tuple(output.shape), output.dtype, tolerance)
        for row, want in answers.items():
            for index in (index for index in written if index[0] == row):
                part, mask = _part(output, index)
                comparison.add(part, _part(want, (0, *index[1:]))[0], index, mask)
        comparisons.append(comparison.result())
    return tuple(comparisons)


def _written_slices(output: torch.Tensor, buffer: SharedBuffer) -> Iterator[tuple[int, ...]]:
    """Indices of rows and channels (dimensions 0 and 1) into which something was written.

    Holes are not read: reading a shared mapping fills it with pages.
    """
    depth = min(2, output.dim())
    nbytes = max(1, math.prod(output.shape[depth:])) * output.dtype.itemsize
    seen: set[int] = set()
    for start, stop in _data_extents(buffer):
        for number in range(max(0, start) // nbytes, -(-stop // nbytes)):
            index = (number // output.shape[1], number % output.shape[1]) if depth == 2 else (number,)
            if number in seen or index[0] >= output.shape[0]:
                continue
            seen.add(number)
            if _part(output, index)[1].any():
                yield index


def _part(values: torch.Tensor, index: tuple[int, ...]) -> tuple[torch.Tensor, torch.Tensor]:
    """One slice with all its dimensions, and which of its elements were written.

    Unwritten is zero, a hole of the file, or the poison that the allocation held before.
    """
    part = values[tuple(slice(i, i + 1) for i in index)]
    integers = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[values.dtype.itemsize]
    bits = part.contiguous().view(integers)
    return part, (bits != 0) & (bits != -1)


def _data_extents(buffer: SharedBuffer) -> Iterator[tuple[int, int]]:
    """Byte ranges of the buffer that are no holes."""
    assert buffer.descriptor is not None
    size, position = os.fstat(buffer.descriptor).st_size, 0
    while position < size:
        try:
            start = os.lseek(buffer.descriptor, position, os.SEEK_DATA)
        except OSError:
            return
        position = os.lseek(buffer.descriptor, start, os.SEEK_HOLE)
        yield start - buffer.handle.offset, position - buffer.handle.offset
