"""The simulator skips what own kernels do: a solution whose outputs stay right then has the framework do the work."""

from __future__ import annotations

from collections.abc import Iterator

from harness.devices.base import Host
from harness.model.config import Config
from harness.referee.buffers.buffers import open_buffers
from harness.referee.buffers.case_turns import CaseTurns, seeds_of
from harness.referee.buffers.slots import Capacity
from harness.referee.inputs.draws import Drawn, draw_variants
from harness.referee.setting import Setting
from harness.sandbox.outcome import SolutionFailed
from harness.sandbox.process import WorkerProcess


def is_right_without_launches(setting: Setting, host: Host, worker: WorkerProcess, config: Config) -> bool:
    """Say whether all values of a case are right although no kernel of the solution's does anything, with the variants
    of its inputs, too: a kernel that cuts off at zero changes nothing of positive ones. The worker may be of no use
    afterwards, since code that waits for a kernel's result can hang or crash."""
    try:
        with open_buffers(setting, host, Capacity()) as buffers:
            case = CaseTurns(setting, buffers, worker, config)
            case.construct()
            return all(_is_right(case, drawn) for drawn in _draws(case))
    except SolutionFailed:
        return False


def _draws(case: CaseTurns) -> Iterator[Drawn]:
    """The variants are tried out only if they are asked for, since that takes longest."""
    next_seed = seeds_of(case.setting, "without launches")
    yield Drawn(next_seed())
    yield from draw_variants(case.setting, iter(next_seed, None), case.rng).drawn


def _is_right(case: CaseTurns, drawn: Drawn) -> bool:
    return case.judge(case.turn([drawn], launches=False), 0, "complete").passed
