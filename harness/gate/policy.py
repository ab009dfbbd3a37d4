"""gate.yaml: what a gate demands, of all problems and of some, and what is waived for how long."""

from __future__ import annotations

import datetime
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Literal

from harness.errors import UsageError
from harness.gate.git import file_at
from harness.records.gate import Waiver, WaiverScope
from harness.workspace.yaml_file import parse_yaml, read_yaml

DEFAULT_FILE = "gate.yaml"


@dataclass(frozen=True)
class WaiverEntry:
    """A waiver as it is written; YAML makes a date of an unquoted 2026-12-31."""

    problem: str
    solution: str
    what: WaiverScope
    reason: str
    owner: str
    expires: datetime.date | str

    def __post_init__(self) -> None:
        for name in ("problem", "solution", "reason", "owner"):
            if not getattr(self, name).strip():
                raise ValueError(f"'{name}' must not be empty: a waiver says what, why, who and how long")
        _iso_date(self.expires)

    def waiver(self) -> Waiver:
        expires = _iso_date(self.expires)
        return Waiver(self.problem, self.solution, self.what, self.reason.strip(), self.owner.strip(), expires)


@dataclass(frozen=True)
class Demands:
    """What is asked of one problem's solutions.

    `least_speedup` is baseline's time over the solution's, `largest_slowdown` a share: with 0.05 a solution may take
    5 % longer than in the snapshot.
    """

    least_speedup: float | None = None
    largest_slowdown: float = 0.05
    correctness_only: bool = False


@dataclass(frozen=True)
class ProblemDemands:
    """What a policy says of the problems that a pattern names; None: as for all."""

    least_speedup: float | None = None
    largest_slowdown: float | None = None
    correctness_only: bool | None = None

    def __post_init__(self) -> None:
        _check_numbers(self.least_speedup, self.largest_slowdown)


@dataclass(frozen=True)
class Policy:
    """gate.yaml as it is written. Of patterns that name the same problem the last one that says a thing decides it."""

    least_speedup: float | None = None
    largest_slowdown: float = 0.05
    correctness_only: bool = False
    remeasure: int = 2
    inconclusive: Literal["allow", "forbid"] = "allow"
    unsupported: Literal["allow", "forbid"] = "forbid"
    other_environment: Literal["refuse", "allow"] = "refuse"
    problems: dict[str, ProblemDemands] = field(default_factory=dict)
    waivers: tuple[WaiverEntry, ...] = ()

    def __post_init__(self) -> None:
        _check_numbers(self.least_speedup, self.largest_slowdown)
        if not 0 <= self.remeasure <= 10:
            raise ValueError("remeasure must be 0 to 10")

    def demands(self, problem: str) -> Demands:
        found = Demands(self.least_speedup, self.largest_slowdown, self.correctness_only)
        for pattern, given in self.problems.items():
            if fnmatchcase(problem, pattern):
                said = {name: value for name, value in vars(given).items() if value is not None}
                found = replace(found, **said)
        return found


def load_policy(named: str | None, workspace: Path) -> Policy:
    """The named FILE, by its path from where the user stands or from the workspace; for git:REF the gate.yaml as of
    that commit; without a name gate.yaml of the workspace if there is one, else the defaults.

    Raises: UsageError where what is named is missing, InvalidFile where it breaks its rules.
    """
    if named is None:
        path = workspace / DEFAULT_FILE
        return read_yaml(Policy, path) if path.is_file() else Policy()
    kind, _, ref = named.partition(":")
    if kind == "git":
        return parse_yaml(Policy, file_at(workspace, ref, DEFAULT_FILE), f"{ref}:{DEFAULT_FILE}")
    for path in (Path(named), workspace / named):
        if path.is_file():
            return read_yaml(Policy, path)
    raise UsageError(f"--policy {named}: no such file")


def _check_numbers(least_speedup: float | None, largest_slowdown: float | None) -> None:
    if least_speedup is not None and not 0 < least_speedup < 1e6:
        raise ValueError("least_speedup must be above 0: the baseline's time over the solution's")
    if largest_slowdown is not None and not 0 <= largest_slowdown <= 1:
        raise ValueError("largest_slowdown is a share from 0 to 1: 0.05 for 5 %")


def _iso_date(value: datetime.date | str) -> str:
    try:
        day = datetime.date.fromisoformat(value) if isinstance(value, str) else value
    except ValueError:
        raise ValueError(f"expires: {value!r} is no date; write it as 2026-12-31") from None
    return day.strftime("%Y-%m-%d")
