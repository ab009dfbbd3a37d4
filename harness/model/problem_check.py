"""The result of judging a problem: which wrong answers its inputs and its tolerance would let pass."""

from __future__ import annotations

from dataclasses import dataclass, field

from harness.model.check import DerivedTolerance, Tolerance
from harness.model.evaluation import SpeedOfLight, Work


@dataclass(frozen=True)
class Draw:
    """Inputs that were tried: a case's as get_inputs() draws them, or one of its variants.

    Of a large case the first `examined` of `rows` along dimension 0 were; both are None where the case was taken whole.
    `reference_worst` is the native reference's largest error against the oracle, as a multiple of the tolerance.
    """

    case: str
    variant: str | None
    tolerances: tuple[Tolerance, ...]
    """The tolerance per output, as this draw is judged."""
    rms: tuple[float, ...]
    """Root mean square of each output's finite values."""
    reference_worst: float
    repeats: bool
    """The reference gave the very same outputs twice."""
    rows: int | None = None
    examined: int | None = None

    @property
    def label(self) -> str:
        """A label such as 'small' or 'small, negative'."""
        return self.case if self.variant is None else f"{self.case}, {self.variant}"


@dataclass(frozen=True)
class MutantTrial:
    """A mutant on one draw, compared as a solution would be. `worst` above 1 is outside the tolerance: caught."""

    case: str
    variant: str | None
    worst: float
    is_identical: bool
    """True where no element differs from the right answer."""

    @property
    def caught(self) -> bool:
        return self.worst > 1

    @property
    def label(self) -> str:
        return self.case if self.variant is None else f"{self.case}, {self.variant}"


@dataclass(frozen=True)
class MutantResult:
    """A wrong answer, given to every draw that it fits. `harmless`: why it is right here, None where it is wrong."""

    name: str
    what: str
    """The behaviour of a solution that cheats or errs like this."""
    output: int
    trials: tuple[MutantTrial, ...]
    harmless: str | None = None
    advice: str | None = None
    """The change that the problem needs; there is advice where the mutant is let pass."""

    def __post_init__(self) -> None:
        if self.is_let_pass != (self.advice is not None):
            raise ValueError("exactly for a mutant that is let pass there is advice")

    @property
    def is_let_pass(self) -> bool:
        return bool(self.trials) and self.harmless is None and not any(trial.caught for trial in self.trials)

    @property
    def caught_by(self) -> tuple[str, ...]:
        return tuple(trial.label for trial in self.trials if trial.caught)

    @property
    def missed_by(self) -> tuple[str, ...]:
        return tuple(trial.label for trial in self.trials if not trial.caught)

    @property
    def worst(self) -> float | None:
        """The error in the draw that sees it most clearly; None where it was never tried."""
        return max((trial.worst for trial in self.trials), default=None)


@dataclass(frozen=True)
class ProblemCheck:
    """A problem, judged. `skipped`: draws that were not examined, with the reason."""

    problem: str
    sha256: str
    device: str
    seed: int
    draws: tuple[Draw, ...] = ()
    skipped: dict[str, str] = field(default_factory=dict)
    mutants: tuple[MutantResult, ...] = ()
    complaints: tuple[str, ...] = ()
    """Other faults that make this problem no judge: a reference that contradicts itself, inputs that no seed
    changes."""
    derived: tuple[DerivedTolerance, ...] = ()
    """Tolerances of every case, where problem.yaml names none."""
    remarks: tuple[str, ...] = ()
    duration_s: float = 0.0
    works: dict[str, Work] = field(default_factory=dict)
    """The work that a call can't do without, by case."""
    lights: dict[str, SpeedOfLight] = field(default_factory=dict)
    """The least time of a call on the device by case, in the problem's own precision; empty where no ceilings of a
    device are known."""

    @property
    def let_pass(self) -> tuple[MutantResult, ...]:
        return tuple(mutant for mutant in self.mutants if mutant.is_let_pass)

    @property
    def was_examined(self) -> bool:
        return bool(self.draws)

    @property
    def is_sound(self) -> bool:
        return self.was_examined and not self.let_pass and not self.complaints
