"""The blame for the GPU's memory having run out.

A solution may hold so much of it that nothing is left for the reference or the referee, and would get away with a
verdict that blames the problem or the harness; or these hold so much that an honest solution finds too little. So what
failed is done again with the reference in the solution's place.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import traceback
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from types import FrameType

import torch

from harness.builder.workers import Workers
from harness.errors import Interrupted
from harness.model.arms import ReferenceArm
from harness.model.verdict import Verdict
from harness.referee.answers.invalid_problem import lacks_memory
from harness.referee.answers.oracle import piece_bytes
from harness.referee.buffers.buffers import open_buffers
from harness.referee.buffers.case_turns import CaseTurns
from harness.referee.buffers.slots import Capacity
from harness.referee.inputs.draws import Drawn, fair_variants
from harness.referee.job import Job
from harness.referee.memory import need_of, too_little
from harness.referee.mutants.telling import untold
from harness.referee.setting import prepare_setting
from harness.referee.timing.references import References, references_of
from harness.sandbox.outcome import SolutionFailed

_RESUMABLE = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
"""Frames that may yet go on: clearing one ends it."""
_TRIES = 3
_TURNS = 2
"""Turns of a repetition: the memory that torch's allocator keeps of one call may not do for the next."""
_CLEANING_S = 1.0
"""The driver may clean up after a process for a while when that has ended already."""


def is_shortage(error: Exception) -> bool:
    """Say whether memory ran out for the referee or a baseline, or for the solution by its worker's own word."""
    if isinstance(error, SolutionFailed):
        return _is_shortage(error)
    return any(map(_is_shortage, _causes(error)))


def judge_shortage(error: Exception, job: Job, case: str, is_timed: bool, workers: Workers) -> SolutionFailed:
    """The verdict where memory ran out, for whomever, while a case was judged or timed: the solution's where the
    reference in its place has enough, else nobody's: `unsupported`. The workers have ended.

    Raises: Interrupted.
    """
    let_go(error)
    workers.end_idle()
    repeat = functools.partial(_repeat, job, case, is_timed, workers)
    if not any(_works(repeat, workers, is_last=number == _TRIES) for number in range(1, _TRIES + 1)):
        present = torch.cuda.mem_get_info()[0] / 2**30
        need = need_of(job.problem, case)
        needed = f"{need.least_bytes(piece_bytes('cuda')) / 2**30:.1f} GiB at least" if need else "more"
        return too_little(
            case, f"needs {needed}, and {present:.1f} GiB are there: the reference has too little as well"
        )
    if isinstance(error, SolutionFailed):
        return error
    return SolutionFailed(
        Verdict.OUT_OF_MEMORY, f"it holds so much of the GPU's memory that too little is left for the others: {error}"
    )


def let_go(error: BaseException) -> None:
    """Free what the frames of a failure hold: inputs, models and the oracle's answers. A failure that was returned
    before it was raised also has the frames that it was returned through."""
    for cause in _causes(error):
        for own, _ in traceback.walk_tb(cause.__traceback__):
            frame: FrameType | None = own
            with contextlib.suppress(RuntimeError):  # of a frame that still runs, as all those have that called it
                while frame is not None and not frame.f_code.co_flags & _RESUMABLE:
                    frame.clear()
                    frame = frame.f_back


def _works(repeat: Callable[[], None], workers: Workers, is_last: bool) -> bool:
    torch.cuda.empty_cache()
    try:
        repeat()
    except Interrupted:
        raise
    except Exception:  # whatever it is, it isn't the solution
        if not is_last and workers.stop.wait(_CLEANING_S):
            raise Interrupted from None
        return False
    finally:
        torch.cuda.empty_cache()
    return True


def _repeat(job: Job, case: str, is_timed: bool, workers: Workers) -> None:
    """Repeat as much of judging, and perhaps timing, as takes memory, with the reference in the solution's place."""
    setting = prepare_setting(job.problem, case, job.seed, workers.host.torch_device)
    setting.derived()  # as a trial does, before the buffers take the memory
    untold(setting)
    timing = job.config.timing
    first = timing.baselines[0]
    arms: tuple[ReferenceArm, ...] = (first, "control") if is_timed else (first,)
    with ExitStack() as stack:
        started = {arm: stack.enter_context(workers.start()) for arm in arms}
        capacity = Capacity(timing.calls_per_turn, references_of(timing)) if is_timed else Capacity()
        buffers = stack.enter_context(open_buffers(setting, workers.host, capacity))
        references = References(setting, buffers, started, job.config, lambda what: None)
        references.make_ready(arms)
        if references.remarks:
            raise MemoryError(references.remarks[0])
        turns = CaseTurns(setting, buffers, started[first], job.config)
        for number in range(_TURNS):
            taken = turns.take(turns.worker, turns.lay([Drawn(setting.seed("inputs", number))] * buffers.slots))
            turns.judge(taken, 0, "complete")
        fair_variants(setting)


def _causes(error: BaseException) -> Iterator[BaseException]:
    current: BaseException | None = error
    while current is not None:
        yield current
        current = current.__cause__ or current.__context__


def _is_shortage(error: BaseException) -> bool:
    if isinstance(error, SolutionFailed):
        return error.verdict is Verdict.OUT_OF_MEMORY
    return lacks_memory(error)
