"""The clock's ratios of equal arms, and a second instrument's view of them.

Three workers run the very same reference, as baseline, control and 'solution', with fresh workers each time (as many
times as the config has processes): every ratio should be 1. Beside it, of the traced turns: how much longer a call is
between events than by CUPTI's records of its kernels (2.4 µs on an H100, whatever its length: starting and ending), and
the time between events of traced calls over that of all others, which nobody traces. At the end, what is wanted:
intervals hold 1 in 95 % of the runs; over 20 µs, estimates lie within 0.5 % of it, and CUPTI within 2 % of events less
what they usually add.

Problems of the workspace at their full shape, and x * 2 of about 5, 20, 50, 100 and 1000 µs. Needs a GPU. In a
workspace:

    python benchmarks/equal_arms.py --repeats 5 [--problem NAME …] [--config NAME] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from statistics import median

from harness.builder.workers import Workers
from harness.devices import Telemetry
from harness.model.arms import ArmName
from harness.model.config import Config
from harness.model.statistics import Interval
from harness.model.timing import Timing
from harness.referee.audit.idle_gpu import ProbeKernel
from harness.referee.audit.traced_turn import AroundCalls, output_sizes, read_traced_turn
from harness.referee.buffers.buffers import open_buffers
from harness.referee.buffers.case_turns import CaseTurns
from harness.referee.buffers.slots import Capacity
from harness.referee.buffers.turns import load_arm
from harness.referee.setting import Setting, draw_master_seed, prepare_setting
from harness.referee.timing.arms import Instruments
from harness.referee.timing.launch_hold import LaunchHold
from harness.referee.timing.references import references_of
from harness.referee.timing.series import Series, joined
from harness.referee.timing.settling import Settling, still_fill_ns
from harness.referee.timing.timed_case import TimedCase
from harness.run.gpu_lock import alone_on_gpu
from harness.run.session import open_session
from harness.sandbox.wire.messages import TurnTaken
from harness.workspace.problem import FULL, Problem, load_problem
from harness.workspace.workspace import find_workspace

SMALL = {"x2_5us": 2**20, "x2_20us": 2**23, "x2_50us": 2**24, "x2_100us": 2**25, "x2_1ms": 2**28}
"""Elements of float32, read and written: about so long on an H100."""
SOURCE = """import torch
elements = {elements}


class Model(torch.nn.Module):
    def forward(self, x):
        return x * 2


def get_inputs():
    return [torch.rand(elements)]


def get_init_inputs():
    return []
"""


_LONG_US, _SHORT_US = 20, 200
_LEAST_HELD, _MOST_OFF, _MOST_APART = 0.95, 0.005, 0.02


@dataclass(frozen=True)
class Row:
    """One measurement. Ratios: the estimate between its bounds; None below the clock's floor."""

    problem: str
    seconds: float
    blocks: int
    baseline_us: float
    solution: tuple[float, float, float] | None
    control: tuple[float, float, float] | None
    noise: str | None
    around_us: float | None
    """The time between events beyond the device's work by CUPTI, the median of the traced calls."""
    traced: float | None = None
    """The time between events, traced calls over all others."""
    empty_us: float | None = None
    """An empty kernel between events."""
    fills_us: dict[str, float] = field(default_factory=dict)
    """The time of a fill of the device's memory before an arm's turns, by arm, the median."""


@dataclass
class Listener:
    """A stand-in for the auditor that keeps what traced turns show."""

    around: AroundCalls
    calls: list[tuple[float, float]] = field(default_factory=list)
    """The calls: ns by CUPTI and by events."""

    def turn(self, arm: ArmName, calls: int, reply: TurnTaken, wall_ns: int) -> None:
        """A timed turn."""

    def check(self, reply: TurnTaken, wall_ns: int, is_traced: bool) -> None:
        """A turn for correctness, whose calls begin on an idle device."""

    def rest(self, canary_ns: int, after: ArmName) -> None:
        """A canary."""

    def trace(self, arm: ArmName, calls: int, reply: TurnTaken, wall_ns: int, by_host: bool = False) -> None:
        timeline = read_traced_turn(reply.kernels or (), calls, self.around)
        pairs = zip(timeline.calls, reply.calls, strict=True)
        self.calls += [(traced.busy_ns, call.gpu_ns) for traced, call in pairs if call.gpu_ns]

    def around_ns(self) -> float | None:
        """Return the median time between events beyond CUPTI's."""
        return median([gpu_ns - busy_ns for busy_ns, gpu_ns in self.calls]) if self.calls else None

    def median_ns(self) -> float | None:
        """Return the median time between events, of traced calls."""
        return median([gpu_ns for _, gpu_ns in self.calls]) if self.calls else None


def main() -> None:
    options = _options()
    workspace = find_workspace(Path.cwd())
    config = _bare(workspace.config(options.config))
    rows: list[Row] = []
    with (
        tempfile.TemporaryDirectory() as scratch,
        open_session("cuda", workspace.root, Path(scratch), config, None, print, lanes=1) as session,
        alone_on_gpu(print),
    ):
        problems = [*map(workspace.problem, workspace.problem_names()), *_small(Path(scratch))]
        problems = [one for one in problems if not options.problem or one.name in options.problem]
        for _ in range(options.repeats):
            for problem in problems:
                rows.append(measured(session.lanes.builders, problem, config))
                print(_line(rows[-1]), flush=True)
    if options.json:
        options.json.write_text(json.dumps([asdict(row) for row in rows], indent=1))
    print("\n".join(summary(rows)))


def _bare(config: Config) -> Config:
    """The headline metric alone, after one turn for correctness."""
    return replace(
        config,
        correctness=replace(config.correctness, seeds=1),
        timing=replace(config.timing, metrics=()),
    )


def measured(workers: Workers, problem: Problem, config: Config) -> Row:
    """One measurement, with workers of its own for each process of it."""
    started = time.monotonic()
    setting = prepare_setting(problem, FULL, draw_master_seed(), "cuda")
    listener, series = Listener(AroundCalls(output_sizes(setting.spec))), Series(config.timing)
    while not series.is_complete:
        series.add(_by_fresh_workers(workers, setting, config, listener, series))
    return _row(problem.name, joined(series.parts), listener, time.monotonic() - started)


def _by_fresh_workers(workers: Workers, setting: Setting, config: Config, listener: Listener, series: Series) -> Timing:
    problem, arms = setting.problem, references_of(config.timing)
    with ExitStack() as stack:
        worker = stack.enter_context(workers.start())
        load_arm(worker, worker.bring_text("problem.py", problem.source_for(FULL)), "Model", config.limits)
        references = {arm: stack.enter_context(workers.start()) for arm in arms}
        probe, telemetry = stack.enter_context(ProbeKernel()), stack.enter_context(Telemetry())
        capacity = Capacity(config.timing.calls_per_turn, arms)
        buffers = stack.enter_context(open_buffers(setting, workers.host, capacity))
        settling = Settling(probe.quickest_ns, still_fill_ns(probe.quickest_ns))
        hold = LaunchHold(series.metric)
        instruments = Instruments(hold, listener, probe, telemetry, settling)  # type: ignore[arg-type]
        case = CaseTurns(setting, buffers, worker, config, instruments)
        timed = TimedCase(case, references, instruments, series, lambda what: None)
        timed.warm_up()
        checked = timed.check()
        if checked.failed:
            raise SystemExit(f"{problem.name}: the reference fails by its own oracle: {checked.failed}")
        return timed.measure({}, workers.host.timer_overhead()).timing


def _row(name: str, timing: Timing, listener: Listener, seconds: float) -> Row:
    first = timing.baselines[0]
    usual_ns, traced_ns, around_ns = timing.median_ns(first), listener.median_ns(), listener.around_ns()
    return Row(
        problem=name,
        seconds=seconds,
        blocks=len(timing.block_ns(first)),
        baseline_us=usual_ns / 1e3,
        solution=_bounds(timing.speedup),
        control=_bounds(timing.control_ratio),
        noise=timing.noise,
        around_us=None if around_ns is None else around_ns / 1e3,
        traced=traced_ns / usual_ns if traced_ns else None,
        empty_us=timing.floors.kernel_ns / 1e3 if timing.floors else None,
        fills_us={
            arm: median(fills) / 1e3
            for arm in timing.arms
            if (fills := [turn.fill_ns for turn in timing.turns if turn.arm == arm and turn.fill_ns])
        },
    )


def _bounds(interval: Interval | None) -> tuple[float, float, float] | None:
    return None if interval is None else (interval.estimate, interval.low, interval.high)


def _small(scratch: Path) -> Iterator[Problem]:
    for name, elements in SMALL.items():
        folder = scratch / "problems" / name
        folder.mkdir(parents=True)
        (folder / "problem.py").write_text(SOURCE.format(elements=elements))
        (folder / "problem.yaml").write_text("independent_batch: true\n")
        yield load_problem(folder)


def _line(row: Row) -> str:
    ratios = "  ".join(
        f"{what} {one[0]:.4f} [{one[1]:.4f}, {one[2]:.4f}]" if one else f"{what} —"
        for what, one in (("solution", row.solution), ("control", row.control))
    )
    around = "—" if row.around_us is None else f"{row.around_us:.2f} µs"
    fills = " / ".join(f"{us:.1f}" for us in row.fills_us.values()) or "—"
    noise = f"  noisy: {row.noise}" if row.noise else ""
    return (
        f"{row.problem:18} {row.baseline_us:10.2f} µs  {ratios}  events beyond CUPTI {around}, "
        f"traced/untraced {_share(row.traced)}  fills {fills} µs  {row.seconds:.1f} s{noise}"
    )


def summary(rows: Sequence[Row]) -> Iterator[str]:
    """Say for each problem in how many runs the intervals hold 1, how far the estimates lie from it, what CUPTI says;
    then for all runs above the clock's floor together."""
    yield ""
    usual_us = _usual_around_us(rows)
    yield (
        "problem                   µs   solution   control      both   furthest from 1   CUPTI/events   less the usual"
    )
    for name in dict.fromkeys(row.problem for row in rows):
        own = [row for row in rows if row.problem == name]
        middle = median([row.baseline_us for row in own])
        claimed = [row for row in own if row.solution]
        counts = [_of([_holds(row, which) for row in claimed]) for which in ("solution", "control", "both")]
        found = [one[0] for row in own for one in (row.solution, row.control) if one]
        furthest = max((abs(estimate - 1) for estimate in found), default=0.0)
        cupti = [_share(_middle([_cupti(row, off_us) for row in own])) for off_us in (0.0, usual_us)]
        yield (
            f"{name:18} {middle:10.2f}   {counts[0]:>8}  {counts[1]:>8}  {counts[2]:>8}      {furthest:12.3%}   "
            f"{cupti[0]:>12}   {cupti[1]:>14}"
        )
    claimed = [row for row in rows if row.solution]
    below = len(rows) - len(claimed)
    yield f"{len(claimed)} runs above the floor" + (f", {below} below it, which claim no ratio" if below else "")
    for which, words in (("solution", "the solution's"), ("control", "the control's"), ("both", "both")):
        held = [_holds(row, which) for row in claimed]
        share = f" ({100 * sum(held) / len(held):.1f} %)" if held else ""
        interval = "intervals hold" if which == "both" else "interval holds"
        yield f"  {words} {interval} 1 in {_of(held)}{share}"
    yield from _wanted(rows)


def _wanted(rows: Sequence[Row]) -> Iterator[str]:
    """Say what a clock that may be trusted shows, and whether this one does."""
    claimed = [row for row in rows if row.solution]
    yield f"intervals hold 1 in {_LEAST_HELD:.0%} of the runs: " + " and ".join(
        f"{which} {_met(sum(held) >= _LEAST_HELD * len(held))}"
        for which, held in ((which, [_holds(row, which) for row in claimed]) for which in ("solution", "control"))
    )
    long = [row for row in rows if row.baseline_us > _LONG_US]
    apart = [(abs(one[0] - 1), row) for row in long for one in (row.solution, row.control) if one]
    yield _worst(f"over {_LONG_US} µs, estimates within {_MOST_OFF:.1%} of 1", apart, _MOST_OFF)
    usual_us = _usual_around_us(rows)
    found = [(_cupti(row, usual_us), row) for row in long]
    apart = [(abs(share - 1), row) for share, row in found if share is not None]
    what = f"over {_LONG_US} µs, CUPTI within {_MOST_APART:.0%} of events less {usual_us:.2f} µs, the usual"
    if usual_us > (empty_us := _middle([row.empty_us for row in rows]) or usual_us):
        yield f"{what}: NOT MET, an empty kernel takes {empty_us:.2f} µs"
        return
    yield _worst(what, apart, _MOST_APART)


def _usual_around_us(rows: Sequence[Row]) -> float:
    """Return what starting and ending a kernel adds between events, by short ones: 0.1 % of a long one is more."""
    return _middle([row.around_us for row in rows if row.baseline_us < _SHORT_US]) or 0.0


def _cupti(row: Row, off_us: float) -> float | None:
    """Return the time by CUPTI over that by events less what they add."""
    return None if row.around_us is None else (row.baseline_us - row.around_us) / (row.baseline_us - off_us)


def _worst(what: str, apart: Sequence[tuple[float, Row]], most: float) -> str:
    if not apart:
        return f"{what}: nothing to tell it by"
    off, row = max(apart, key=lambda one: one[0])
    within = _of([one <= most for one, _ in apart])
    return f"{what}: {_met(off <= most)}, {within}, {row.problem} at most {off:.2%}"


def _met(is_met: bool) -> str:
    return "met" if is_met else "NOT MET"


def _holds(row: Row, which: str) -> bool:
    """Say whether the interval holds 1; 'both': whether both do. A control that wasn't measured says nothing."""
    intervals = {"solution": [row.solution], "control": [row.control], "both": [row.solution, row.control]}[which]
    return all(low <= 1 <= high for _, low, high in (one for one in intervals if one))


def _of(claims: Sequence[bool]) -> str:
    return f"{sum(claims)} of {len(claims)}"


def _middle(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return median(known) if known else None


def _share(value: float | None) -> str:
    return "—" if value is None else f"{value:.3f}"


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--problem", action="append", default=[], help="repeatable; default: all, and the small ones")
    parser.add_argument("--config", default=None)
    parser.add_argument("--json", type=Path, default=None)
    return parser.parse_args()


if __name__ == "__main__":
    main()
