"""A case made ready for judging: reference, oracle, tolerances and the form of its outputs.

All of its random numbers derive from one master seed, which is secret until the record is written: afterwards anyone
can repeat the evaluation.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import itertools
import math
import secrets
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import torch

from harness.model.check import Check, DerivedTolerance, OracleKind, OutputComparison, Scope, Tolerance
from harness.referee.answers.invalid_problem import InvalidProblem
from harness.referee.answers.kept import KeptRuns, times_out_of_memory
from harness.referee.answers.oracle import FoundRows, Oracle, Piece
from harness.referee.answers.output_spec import OutputSpec, dtype_name, tensor_bytes
from harness.referee.answers.reference import Reference
from harness.referee.tolerance import ErrorEvidence, gather_evidence
from harness.workspace.problem import Problem

_EXAMINED = {"cuda": 2**24, "cpu": 2**16}
"""Elements of each output from which a tolerance is derived, where rows are independent: more are more of the same."""

_KEPT_BYTES = 2**28
"""The size of outputs above which an excuse isn't kept for them."""


def draw_master_seed() -> int:
    """Draw the 63-bit seed of an evaluation."""
    return secrets.randbits(63)


def derive(master: int, *purpose: object) -> int:
    """Return the 63-bit seed for one purpose; it reveals nothing about the seeds for others."""
    text = repr((master, *purpose)).encode()
    return int.from_bytes(hashlib.sha256(text).digest()[:8], "big") >> 1


@dataclass
class Lessons:
    """The lessons of a case under a seed, taught by runs of the reference alone: they hold for every solution."""

    varied_for: str | None = None
    """The wrong kernel that would pass with parameters as the problem makes them, so that they are varied."""
    draw: int = 0
    """The number of the draw of parameters: with those of earlier draws a wrong kernel would pass."""
    can_not_tell: str | None = None
    """The reason for which nobody is judged, where no wrong kernel shows to be one."""
    evidence: tuple[ErrorEvidence, ...] | None = None
    """The evidence for the tolerances; None where nobody has asked yet."""
    variants: dict[int, Any] = field(default_factory=dict)
    """The variants that the reference bears, by a setting's `repeat` (inputs.draws)."""
    oracle: tuple[OracleKind, str | None] | None = None
    """The oracle's kind, and why it isn't in float64."""
    rows: FoundRows = field(default_factory=FoundRows)
    runs: KeptRuns = field(default_factory=KeptRuns)
    call_s: float | None = None
    """Setting.call_s, where that has been asked for."""
    is_short: bool = False
    """True where memory was short, perhaps by a solution's doing: then they are for none but that one."""

    @contextlib.contextmanager
    def learning(self) -> Iterator[None]:
        """Find out meanwhile whether memory is short, also where that is overcome."""
        before = times_out_of_memory()
        try:
            yield
        finally:
            self.is_short |= times_out_of_memory() > before


class BesideChoices:
    """The last outputs of which some values lay beside choices of the reference's, and what was `left_out` of comparing
    them: a turn that is repeated gives the same."""

    def __init__(self) -> None:
        self.left_out: tuple[torch.Tensor, ...] = ()
        self._asked: tuple[int, tuple[Tolerance, ...]] | None = None
        self._bytes: list[torch.Tensor] = []

    def keep(
        self,
        seed: int | None,
        held_to: Sequence[Tolerance],
        got: Sequence[torch.Tensor],
        left_out: tuple[torch.Tensor, ...],
    ) -> None:
        """Keep outputs for inputs of a seed on the host, unless they are large."""
        if seed is not None and sum(one.nbytes for one in got) <= _KEPT_BYTES:
            self._asked, self._bytes, self.left_out = (seed, tuple(held_to)), _bytes_of(got), left_out

    def is_for(self, seed: int | None, held_to: Sequence[Tolerance], got: Sequence[torch.Tensor]) -> bool:
        """Say whether these outputs, to the last bit, were given for the same inputs."""
        return self._asked == (seed, tuple(held_to)) and all(map(torch.equal, self._bytes, _bytes_of(got)))


def _bytes_of(outputs: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    return [one.to("cpu", copy=True).contiguous().reshape(-1).view(torch.uint8) for one in outputs]


@dataclass(frozen=True)
class Setting:
    """A case made ready for judging.

    `precision` is the problem's, or that of its tensors where problem.yaml names none. `meta_inputs` is None on a GPU,
    and where get_inputs() needs real memory. `call_bytes` is the most that an eager call allocates on a GPU, outputs
    included, and `input_bytes` what its inputs take; 0 without a GPU. `repeat` counts earlier measurements: each has
    fresh workers, other inputs and the same weights; so does `tries`, which names this try of the solution.
    `has_found_items`: rows of dimension 0 don't depend on each other in a smaller case, which nobody claims.
    """

    problem: Problem
    case: str
    master_seed: int
    reference: Reference
    model: torch.nn.Module
    oracle: Oracle
    spec: OutputSpec
    precision: str
    meta_inputs: list[Any] | None
    repeat: int = 0
    tries: tuple[int | str, ...] = ()
    call_bytes: int = 0
    input_bytes: int = 0
    has_found_items: bool = False
    lessons: Lessons = field(default_factory=Lessons)

    @property
    def varied_for(self) -> str | None:
        """The wrong kernel for which parameters are varied, by name; None where they aren't."""
        return self.lessons.varied_for

    @property
    def drawn(self) -> tuple[str | None, int]:
        """All that decides how parameters are drawn, beside the seed."""
        return self.lessons.varied_for, self.lessons.draw

    @property
    def evidence(self) -> tuple[ErrorEvidence, ...]:
        """The evidence from which the tolerance of each output is derived; empty where problem.yaml names a tolerance.

        Raises: InvalidProblem where nothing can be derived.
        """
        if self.lessons.evidence is None:
            with self.lessons.learning():
                self.lessons.evidence = self._gathered()
            self.lessons.oracle = self.oracle.kind, self.oracle.why_float32
        return self.lessons.evidence

    def _gathered(self) -> tuple[ErrorEvidence, ...]:
        if self.problem.tolerance is not None:
            return ()
        seed = derive(self.master_seed, self.problem.name, self.case, "tolerance")
        inputs = self.inputs_with_rows(seed)
        return self.evidence_on(self.examined_rows(inputs))

    @functools.cached_property
    def state(self) -> frozenset[int]:
        """The inputs of problem.yaml's `state`, by their positions. Raises: InvalidProblem where there is no such."""
        if not self.problem.state:
            return frozenset()
        places = self.reference.positions(len(self.meta_inputs or self.reference.make_inputs(0)))
        if unknown := next((name for name in self.problem.state if name not in places), None):
            raise InvalidProblem(f"state: forward() has no argument '{unknown}', but {', '.join(places) or 'none'}")
        return frozenset(place for name in self.problem.state for place in places[name])

    def inputs_with_rows(self, seed: int) -> list[Any]:
        """Make inputs, and have it found out which of their rows are independent, by a run that may change them."""
        inputs = self.reference.make_inputs(seed)
        with self.lessons.learning():
            has_run = self.oracle.find_rows(inputs)
        return self.reference.make_inputs(seed) if has_run else inputs

    def evidence_on(self, inputs: Sequence[Any]) -> tuple[ErrorEvidence, ...]:
        """Measure the reference's errors on these inputs. Raises: InvalidProblem where it fails or overflows."""
        return self.answer_with_evidence(inputs)[1]

    def answer_with_evidence(
        self,
        inputs: Sequence[Any],
        look: Callable[[Sequence[torch.Tensor]], None] = lambda native: None,
    ) -> tuple[tuple[torch.Tensor, ...], tuple[ErrorEvidence, ...]]:
        """The oracle's answer, on the host where the device's memory is too short, and evidence_on(). `look` is shown
        the reference's own answer first, and may raise."""
        return gather_evidence(
            self.oracle,
            inputs,
            self.problem.precision,
            look,
            lambda: self.lessons.runs.take(inputs, "answer", lambda: self.oracle.answer_if_room(inputs)),
        )

    def whole_answer(self, inputs: Sequence[Any]) -> tuple[torch.Tensor, ...]:
        """The oracle's answer in one piece. Raises: torch.OutOfMemoryError."""
        return self.lessons.runs.take(inputs, "answer", lambda: self.oracle.answer_anywhere(inputs))

    def pieces(self, inputs: Sequence[Any]) -> Iterator[Piece]:
        """The oracle's answer piece by piece, as it can be had."""
        if self.oracle.rows(inputs) is None:
            return iter([(slice(None), self.whole_answer(inputs))])
        return self.oracle.pieces(inputs)

    def parts(self, inputs: Sequence[Any]) -> Iterator[tuple[slice, Sequence[Any]]]:
        """The inputs of some rows after the other, as many as the oracle takes in one piece; all where rows depend on
        each other."""
        rows = self.oracle.rows(inputs)
        if rows is None:
            yield slice(None), inputs
            return
        step = self.oracle.rows_of_a_piece(inputs, rows)
        for start in range(0, rows.count, step):
            part = slice(start, min(start + step, rows.count))
            yield part, rows.of(inputs, part)

    @property
    def call_s(self) -> float:
        """The seconds of one processor's that a call of the reference and one of the oracle take here, which may take
        ten times as long: of a convolution in float64. Infinite where memory is short. Raises: InvalidProblem."""
        if self.lessons.call_s is None:
            inputs, threads = self.reference.make_inputs(0), torch.get_num_threads()
            torch.set_num_threads(1)  # of several, some spin while they wait
            started = time.thread_time()  # whoever else is at work has no part in it
            try:
                self.oracle.answer(inputs)
                self.oracle.native(inputs)
                self.lessons.call_s = time.thread_time() - started
            except (torch.OutOfMemoryError, MemoryError):
                self.lessons.call_s = math.inf
            finally:
                torch.set_num_threads(threads)
        return self.lessons.call_s

    @property
    def tolerances(self) -> tuple[Tolerance, ...]:
        """The tolerance of each output, for inputs as get_inputs() draws them. Raises: InvalidProblem."""
        if self.problem.tolerance is not None:
            return (self.problem.tolerance,) * len(self.spec.dtypes)
        return tuple(one.tolerance for one in self.evidence)

    @cached_property
    def excused(self) -> dict[tuple[Tolerance, ...], tuple[Tolerance, ...]]:
        """Tolerances, and what evidence on outputs themselves has loosened them to, for all draws."""
        return {}

    @cached_property
    def beside_choices(self) -> BesideChoices:
        return BesideChoices()

    def require_shapes(self, answers: Sequence[torch.Tensor]) -> None:
        """Require the shapes of the first answer, whatever inputs hold; of some rows those of a row. Raises:
        InvalidProblem."""
        first = 1 if self.oracle.has_rows else 0
        for answer, shape in zip(answers, self.spec.shapes, strict=True):
            if tuple(answer.shape[first:]) != shape[first:]:
                was, becomes = ("×".join(map(str, one)) for one in (shape, answer.shape))
                raise InvalidProblem(
                    f"Model.forward() returns {was}, then {becomes}: an output's shape may not depend on inputs' values"
                )

    def rounded(self, answers: Sequence[torch.Tensor]) -> tuple[torch.Tensor, ...]:
        """The oracle's answers in the dtypes of the reference's outputs, contiguous. Raises: InvalidProblem where their
        shapes are others."""
        self.require_shapes(answers)
        return tuple(answer.to(dtype).contiguous() for answer, dtype in zip(answers, self.spec.dtypes, strict=True))

    def derived(self) -> tuple[DerivedTolerance, ...]:
        """The derived tolerances, for the record. Raises: InvalidProblem."""
        numbered = enumerate(self.evidence)
        return tuple(DerivedTolerance(self.case, n, one.share, one.least, one.errors) for n, one in numbered)

    def examined_rows(self, inputs: Sequence[Any]) -> list[Any]:
        """The inputs of as many rows as a tolerance is derived from."""
        return self.some_rows(inputs, _EXAMINED[self.reference.device])

    def some_rows(self, inputs: Sequence[Any], elements: int, wanted_row: int = 0) -> list[Any]:
        """The inputs of so many rows that each output has `elements`, as far as the oracle takes them in one piece, but
        two at least: of one alone the mean is the answer. The first rows, or those from `wanted_row` on; all where rows
        depend on each other."""
        rows = self.oracle.rows(inputs)
        if rows is None:
            return list(inputs)
        fewest = min(math.prod(shape) for shape in self.spec.shapes) // rows.count
        wanted = min(-(-elements // max(1, fewest)), self.oracle.rows_of_a_piece(inputs, rows))
        count = min(max(2, wanted), rows.count)
        start = min(wanted_row, rows.count - count)
        return rows.of(inputs, slice(start, start + count))

    @property
    def on_gpu(self) -> bool:
        return self.reference.on_gpu

    @property
    def is_tight(self) -> bool:
        """True where right answers, which aren't computed in pieces, find no room on the GPU beside the buffers for a
        call's inputs and outputs."""
        if not self.on_gpu or self.oracle.has_rows:
            return False
        buffers, exact = self.input_bytes + self.spec.nbytes, 2 * (self.input_bytes + self.call_bytes)
        free = torch.cuda.mem_get_info()[0] + torch.cuda.memory_reserved() - torch.cuda.memory_allocated()
        return buffers + self.input_bytes + exact > free

    @property
    def construction_seed(self) -> int:
        return _construction_seed(self.master_seed, self.problem, self.case, self.lessons)

    def seed(self, *purpose: object) -> int:
        again: tuple[object, ...] = ("repeat", self.repeat) if self.repeat else ()
        again += ("try", *self.tries) if any(self.tries) else ()
        return derive(self.master_seed, self.problem.name, self.case, *purpose, *again)

    def seeds(self, *purpose: object) -> Iterator[int]:
        """Seeds of inputs without end, all of them following from the master seed."""
        return (self.seed("inputs", *purpose, number) for number in itertools.count())

    def check(
        self, seed: int, scope: Scope, outputs: tuple[OutputComparison, ...], variant: str | None = None
    ) -> Check:
        return Check(self.case, seed, scope, self.oracle.kind, outputs, variant)


def prepare_setting(
    problem: Problem,
    case: str,
    master_seed: int,
    device: str,
    repeat: int = 0,
    lessons: Lessons | None = None,
    tries: tuple[int | str, ...] = (),
) -> Setting:
    """Run the reference of a case once and gather what judging needs. `lessons`: an earlier setting's of the same.
    Raises: InvalidProblem."""
    lessons = lessons or Lessons()
    reference = Reference(problem, case, device)
    seed = _construction_seed(master_seed, problem, case, lessons)
    model = reference.construct(seed, varies=lessons.varied_for is not None)
    meta_inputs = None
    if not reference.on_gpu:
        with contextlib.suppress(InvalidProblem):
            meta_inputs = reference.input_specs()
    inputs = meta_inputs if meta_inputs is not None else reference.make_inputs(0)
    before = _allocated_anew(reference)
    spec = reference.output_spec(model, inputs)
    call_bytes = torch.cuda.max_memory_allocated() - before if reference.on_gpu else 0
    is_claimed = problem.independent_batch and not problem.backward  # parameters' gradients are sums over all rows
    oracle = Oracle(reference, model, spec, is_claimed, lessons.rows)
    if lessons.oracle is not None:
        oracle.kind, oracle.why_float32 = lessons.oracle
    return Setting(
        problem=problem,
        case=case,
        master_seed=master_seed,
        reference=reference,
        model=model,
        oracle=oracle,
        spec=spec,
        precision=problem.precision or _usual_precision(inputs, spec),
        meta_inputs=meta_inputs,
        repeat=repeat,
        tries=tries,
        call_bytes=call_bytes,
        input_bytes=tensor_bytes(inputs) if reference.on_gpu else 0,
        lessons=lessons,
    )


def _construction_seed(master_seed: int, problem: Problem, case: str, lessons: Lessons) -> int:
    return derive(master_seed, problem.name, case, "construct", *([lessons.draw] if lessons.draw else []))


def _usual_precision(inputs: Sequence[Any], spec: OutputSpec) -> str:
    """The floating dtype of most elements of inputs and outputs; float32 where they have none of 16 bits or more."""
    elements = Counter({torch.float32: 0})
    for value in inputs:
        if isinstance(value, torch.Tensor):
            elements[value.dtype] += value.numel()
    for dtype, shape in zip(spec.dtypes, spec.shapes, strict=True):
        elements[dtype] += math.prod(shape)
    usual = max((one for one in elements if one.is_floating_point and one.itemsize > 1), key=elements.__getitem__)
    return dtype_name(usual)


def _allocated_anew(reference: Reference) -> int:
    """Reset the allocator's peak and return the bytes that are allocated now; 0 without a GPU."""
    if not reference.on_gpu:
        return 0
    torch.cuda.reset_peak_memory_stats()
    return int(torch.cuda.memory_allocated())
