"""One loaded solution on the simulator: sampled where a case is too large, shrunk where it is the only one."""

from __future__ import annotations

import contextlib
import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import replace

from harness.devices.base import Host
from harness.errors import MachineError
from harness.model.check import Check
from harness.model.config import Config
from harness.model.verdict import Verdict
from harness.referee.answers.invalid_problem import InvalidProblem, TellsNothing
from harness.referee.answers.rows import claimed_rows, is_floating, tensors_in
from harness.referee.audit.custom import TracedCase, no_custom_kernel
from harness.referee.buffers.buffers import open_buffers
from harness.referee.buffers.case_turns import CaseTurns, stamped
from harness.referee.buffers.slots import Capacity
from harness.referee.inputs.draws import Drawn, draw_variants
from harness.referee.inputs.structure import structure_of
from harness.referee.judgement import UnfairVariant
from harness.referee.sampling import is_oracle_cheap
from harness.referee.setting import Setting, prepare_setting
from harness.referee.shrinking import SHRUNK, describe_shrunk, with_bearable_case, with_fitting_case, with_shrunk_case
from harness.referee.trial import Trial
from harness.sandbox.outcome import SolutionFailed, TooMuchWork
from harness.sandbox.process import WorkerProcess
from harness.workspace.problem import FULL, Problem


class SimulatedTrial(Trial):
    """Judges on the simulator, where nothing is timed and a turn of every case is traced, since that costs nothing."""

    _shrunk: Iterator[Problem] = iter(())
    """The problem with ever smaller cases of the referee's making."""

    def require_effect(self) -> None:
        """Require that some case's values depend on the solution's own kernels. Where the framework computed nothing,
        they do.

        Raises: SolutionFailed.
        """
        if any(not _has_framework(one) for one in self._own_work):
            return
        host, config = self.workers.host, self.job.config
        whole = [one for one in self._own_work if one.case not in self._sampled]
        for one in whole or self._own_work:
            if not is_right_without_launches(self._prepare(one.case), host, self._worker, config):
                return
        if self._own_work:
            one = self._own_work[-1]
            self.found.trace = one.trace
            failed = no_custom_kernel("without what the solution's own kernels do, all values stay right")
            raise stamped(failed, one.case)

    def _check_untimed(self, case: str) -> list[TracedCase]:
        """Check a case whole where the simulator can, else by a few blocks of the true launch; with a small case of the
        referee's making beside it where the problem has its full shape alone.

        Raises: SolutionFailed.
        """
        setting = self._prepare(case)
        is_alone = list(self.job.problem.cases) == [FULL]
        if case not in self._sampled:
            try:
                return self._check_case(setting)
            except TooMuchWork as error:
                self.found.remarks.append(f"{case}: sampled, since {error}")
                self._sampled.add(case)
                self._load_anew()
            except SolutionFailed as error:
                if error.verdict is Verdict.TIMEOUT and is_alone and self._shrink(with_shrunk_case(setting)):
                    raise self._confirmed(error) from None
                raise
        if is_alone and self._shrink(with_shrunk_case(setting)):
            return self._check_full_then_shrunk(self._with_rows(replace(setting, problem=self.job.problem)))
        traced = self._check_case(setting)
        if is_alone and not self.found.checks and self._shrink(with_bearable_case(setting)):
            return self._then_shrunk(traced, setting)
        if case != FULL and not any(one.is_compared for one in traced):
            raise SolutionFailed(
                Verdict.UNSUPPORTED,
                f"{case}: more than the simulator can bear, and after a few of its blocks no value can be compared",
                next_step="make the case smaller, or run it on a GPU",
            )
        return traced

    def _check_case(self, setting: Setting, is_traced: bool = True) -> list[TracedCase]:
        """Check a case; values that are wrong by a race are told as such. Raises: SolutionFailed."""
        try:
            return super()._check_case(setting, is_traced)
        except SolutionFailed as error:
            is_whole = error.verdict is Verdict.WRONG_VALUES and setting.case not in self._sampled
            if is_whole and self._is_right_in_reverse(setting):
                raise stamped(_race(error), setting.case) from error
            raise

    def _is_right_in_reverse(self, setting: Setting) -> bool:
        """Say so; False also where that can't be found out."""
        with contextlib.suppress(SolutionFailed, InvalidProblem, MachineError, MemoryError):
            return is_right_in_reverse(setting, self.workers.host, self._load_anew(), self.job.config)
        return False

    def _check_full_then_shrunk(self, full: Setting) -> list[TracedCase]:
        """A failure in the shrunk case alone blames nobody: the full shape decides, where its values were compared, and
        the solution is marked as fragile. Nor does the shrunk case acquit: a full shape that can't be judged is
        unsupported, and so is one that a few blocks can't acquit of values that nobody wrote. Where rows were compared
        that nobody claims, on inputs that are stretched from small ones, both cases must agree.

        Raises: SolutionFailed.
        """
        try:
            traced = self._check_full(full)
        except TooMuchWork as error:
            raise self._confirmed(error) from None
        except SolutionFailed as error:
            if error.verdict is Verdict.WRONG_VALUES:
                raise self._beside_shrunk(error, full.has_found_items) from None
            raise
        return self._then_shrunk(traced, full)

    def _then_shrunk(self, traced: list[TracedCase], full: Setting) -> list[TracedCase]:
        """Check the shrunk case after the full one. Raises: SolutionFailed."""
        compared = list(self.found.checks)
        try:
            traced += self._check_shrunk() if compared else self._check_shrunk_or_fitting(full)
        except (SolutionFailed, InvalidProblem) as error:  # the problem's author didn't write this case either
            if isinstance(error, SolutionFailed) and error.verdict in (Verdict.CHEATING, Verdict.UNSUPPORTED):
                raise
            wrong = [one for one in self.found.checks[len(compared) :] if not one.passed][-1:]
            self.found.fragile += wrong
            self.found.checks[:] = compared
            is_sampled = any(one.scope != "complete" for one in compared)
            tells_nothing = isinstance(error, TellsNothing) and self.found.is_constant
            if not compared or full.has_found_items or tells_nothing or (is_sampled and _has_unwritten(wrong)):
                raise _undecided(error) from error
            self.found.remarks.append(f"{SHRUNK}: {'fragile: ' if wrong else ''}{error}")
            self._load_anew()
            return traced
        accused = traced[-1].accused
        if accused and not compared and not any(one.accused for one in traced[:-1]):
            raise _undecided(accused)  # its own kernels are made for the full shape, which nobody could compare
        return traced

    def _check_full(self, full: Setting) -> list[TracedCase]:
        """Check the full shape, by rows unless the reference can't take what inputs are stretched to."""
        if full.has_found_items:
            try:
                return self._check_case(full)
            except InvalidProblem:
                self._load_anew()
        return self._check_case(replace(full, has_found_items=False))

    def _beside_shrunk(self, failed: SolutionFailed, has_found_items: bool) -> SolutionFailed:
        """Tell wrong values at the full shape beside the shrunk case, whose whole calls and variants show in what
        precision a kernel computes. Stretched inputs may lack what every draw has."""
        before = {name: list(value) if isinstance(value, list) else value for name, value in vars(self.found).items()}
        advice = "look at what depends on sizes, such as limits or 32-bit indices"
        why: Exception | None = None
        try:
            self._load_anew()
            self._check_shrunk()
        except SolutionFailed as error:
            why, advice = error, f"{error.failure.next_step} (in the shrunk case: {error.failure.reason})"
        except InvalidProblem as error:
            why, advice = error, failed.failure.next_step
        vars(self.found).update(before)
        if isinstance(why, SolutionFailed) and why.verdict is Verdict.CHEATING:
            return why
        is_wrong_too = isinstance(why, SolutionFailed) and why.verdict is Verdict.WRONG_VALUES
        if has_found_items and not is_wrong_too:
            reason = f"at the full shape, with inputs stretched from small ones: {failed.failure.reason}"
            reason += f"; in the shrunk case: {why or 'right'}"
            return SolutionFailed(Verdict.UNSUPPORTED, reason, failed.failure.details, f"run it on a GPU; {advice}")
        if why is None:
            advice = f"it is right in the shrunk case: {advice}"
        if why is None or is_wrong_too:
            failed.failure = replace(failed.failure, next_step=advice)
        return failed

    def _with_rows(self, full: Setting) -> Setting:
        """The full shape. Its rows are compared one by one where those of the shrunk case don't depend on each other,
        and its inputs have no structure, such as zeros, which stretching would take from them."""
        if full.meta_inputs is None or not claimed_rows(full.meta_inputs, full.spec) or is_oracle_cheap(full):
            return full
        with contextlib.suppress(InvalidProblem):
            small = prepare_setting(full.problem, SHRUNK, full.master_seed, "cpu")
            inputs = small.reference.make_inputs(small.seed("rows"))
            tensors = tensors_in(inputs)
            is_plain = all(map(is_floating, tensors)) and not any(map(structure_of, tensors))
            if is_plain and small.oracle.has_independent_items(inputs):
                return replace(full, has_found_items=True)
        return full

    def _check_shrunk(self) -> list[TracedCase]:
        """Check the largest of the shrunk cases that can be run whole. Raises: SolutionFailed, InvalidProblem."""
        while True:
            try:
                return self._check_case(self._prepare(SHRUNK))
            except TooMuchWork:
                if not self._shrink():
                    raise
                self._load_anew()

    def _check_shrunk_or_fitting(self, full: Setting) -> list[TracedCase]:
        """Check the shrunk case, of which all depends. If it fails, one that the solution's kernels may be made for
        decides, and the solution is marked as fragile. Raises: SolutionFailed, InvalidProblem."""
        try:
            return self._check_shrunk()
        except SolutionFailed as error:
            wrong = [one for one in self.found.checks if not one.passed]
            is_final = error.verdict in (Verdict.CHEATING, Verdict.UNSUPPORTED)
            if is_final or not self._shrink(with_fitting_case(full, self.job.solution_ref.files.values())):
                raise
            self.found.fragile += wrong
            self.found.remarks.append(f"{SHRUNK}: fragile: {error}")
            self._load_anew()
            return self._check_shrunk()

    def _confirmed(self, late: SolutionFailed) -> SolutionFailed:
        """A turn at the full shape that took too long: no fault unless one of the shrunk case does, too, since a block
        may be long, or endless."""
        self._load_anew()
        try:
            self._check_shrunk()
        except SolutionFailed as error:
            if error.verdict is Verdict.TIMEOUT:
                return error
        except InvalidProblem:
            pass
        reason = f"more than the simulator can bear at the full shape, without which nothing is decided: {late}"
        return SolutionFailed(Verdict.UNSUPPORTED, reason, next_step="run it on a GPU")

    def _shrink(self, shrunk: Iterator[Problem] | None = None) -> bool:
        """Give the problem the first small case of these of the referee's making, else a smaller one than it has.
        Return False where there is none."""
        if shrunk is not None:
            self._shrunk = shrunk
        problem = next(self._shrunk, None)
        if problem is None:
            return False
        self.job = replace(self.job, problem=problem)
        self.found.checks[:] = [check for check in self.found.checks if check.case != SHRUNK]
        self.found.remarks.append(describe_shrunk(problem))
        return True


def _undecided(shrunk: SolutionFailed | InvalidProblem) -> SolutionFailed:
    """Return the failure for what went wrong in the shrunk case, where the full shape can't say whose fault it is."""
    if isinstance(shrunk, InvalidProblem):
        reason = f"the full shape can't be judged here, and the shrunk case tells nothing: {shrunk}"
        return SolutionFailed(Verdict.UNSUPPORTED, reason, next_step="run it on a GPU")
    return SolutionFailed(
        Verdict.UNSUPPORTED,
        f"in the shrunk case: {shrunk}; a kernel made for the full shape may fail so, and that can't be judged here",
        shrunk.failure.details,
        f"run it on a GPU; if it is to work at any shape: {shrunk.failure.next_step}",
    )


def _race(wrong: SolutionFailed) -> SolutionFailed:
    return SolutionFailed(
        Verdict.NONDETERMINISTIC,
        f"{wrong}; a race explains it: values are right where each block begins with its last thread, so threads read "
        "and write the same place without a barrier between, as where all read the first element of a sum, and one "
        "goes on to write it",
        wrong.failure.details,
        "'--backend sim --sanitize' names the two lines: put __syncthreads() between them",
    )


def _has_unwritten(checks: Sequence[Check]) -> bool:
    """Say whether values may be missing: outputs are NaN before a call."""
    return any(math.isinf(output.max_abs_error) for check in checks for output in check.outputs)


def _has_framework(one: TracedCase) -> bool:
    return one.trace is not None and any(kernel.origin == "framework" for kernel in one.trace.kernels)


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


def is_right_in_reverse(setting: Setting, host: Host, worker: WorkerProcess, config: Config) -> bool:
    """Say whether a case's values are right where each block begins with its last thread, and on the same inputs wrong
    where it begins with its first."""
    try:
        with open_buffers(setting, host, Capacity()) as buffers:
            case = CaseTurns(setting, buffers, worker, config)
            case.construct()
            drawn = [Drawn(next(setting.seeds("in reverse")))]
            found = [case.judge(case.turn(drawn, in_reverse=one), 0, "complete").passed for one in (False, True)]
            return found == [False, True]
    except (SolutionFailed, UnfairVariant):
        return False


def _draws(case: CaseTurns) -> Iterator[Drawn]:
    """The variants are tried out only if they are asked for, since that takes longest."""
    seeds = case.setting.seeds("without launches")
    yield Drawn(next(seeds))
    rng = random.Random(case.setting.seed("without launches"))  # a seed gives the same inputs to all solutions
    yield from draw_variants(case.setting, seeds, rng).drawn


def _is_right(case: CaseTurns, drawn: Drawn) -> bool:
    try:
        return case.judge(case.turn([drawn], launches=False), 0, "complete").passed
    except UnfairVariant:
        return True
