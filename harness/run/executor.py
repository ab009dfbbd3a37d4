"""An executor as a run sees it, a cluster's or threads of this process: what it is given, what it answers, and what
stays with the run."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from harness.errors import MachineError
from harness.model.evaluation import Evaluation
from harness.referee.job import Job
from harness.sandbox.wire.extension_text import ExtensionText

if TYPE_CHECKING:
    from harness.run.cascade import Simulated


@dataclass(frozen=True)
class Ticket:
    """A job on its way to its verdict. `wanted` are extensions that an earlier attempt came to, `returns` says how
    often; `built` is what a builder made of it, None where the lane builds. Its files are for other machines. `problem`
    is a hash: a lane judges the next solution of the same one in half the time."""

    job: Job
    problem: str = ""
    solution_files: dict[str, bytes] = field(default_factory=dict)
    problem_files: dict[str, bytes] = field(default_factory=dict)
    wanted: tuple[ExtensionText, ...] = ()
    returns: int = 0
    built: Any = None  # the executors' own
    simulated: Simulated | None = None
    lost: tuple[str, ...] = ()
    """The reasons for which earlier attempts came to nothing."""


@dataclass(frozen=True)
class Answer:
    """The answer of an executor to a ticket: a verdict, a build, or extensions to build first, or none of these and
    what the machine did (`outages`), after which the job is tried again.

    `trouble`: what is wrong with the machine, also where there is a verdict. `fatal` ends the run.
    """

    evaluation: Evaluation | None = None
    built: Any = None  # the executors' own
    simulated: Simulated | None = None
    wanted: tuple[ExtensionText, ...] = ()
    outages: tuple[str, ...] = ()
    trouble: str | None = None
    fatal: BaseException | None = None
    spares_executor: bool = False
    """True where the executor isn't to blame for the trouble, such as for a build that is gone with its machine."""


class UnfitExecutor(MachineError):
    """An executor can't be used for this run, however often it is opened."""


class Executor(Protocol):
    """A builder, or a lane. Its futures raise where the machine is lost."""

    name: str
    is_lane: bool
    slots: int
    """Tickets that it takes at once."""

    @property
    def builds(self) -> bool:
        """True for a lane that can't use what builders make."""

    def opened(self) -> Future[Any]:
        """Return a future that is done once it can take tickets."""

    def begin(self, ticket: Ticket) -> Future[Answer]:
        """Begin a ticket."""

    def reopen(self) -> None:
        """End what is there, and ask for another like it."""

    def end(self) -> None:
        """End what is there."""


class Office:
    """The part of a run that no executor does. This one does nothing, for executors that lose nothing and tell all."""

    def keep(self, evaluations: Sequence[Evaluation]) -> None:
        """Save results before they can be read."""

    def give_up(self, ticket: Ticket, why: str) -> Evaluation:
        """Make the record of a job that no machine could judge."""
        raise MachineError(why)

    def observe(self, job: Job, what: str) -> None:
        """Hear what is done with a job."""

    def say(self, what: str) -> None:
        """Hear what happens to an executor."""
