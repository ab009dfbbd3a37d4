"""gate.yaml: what a gate demands, of all problems and of some, and what is waived for how long."""

from __future__ import annotations

from dataclasses import field, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from harness.errors import UsageError
from harness.gate.git import file_at
from harness.model.gate import Waiver
from harness.model.record import SETTINGS
from harness.workspace.yaml_file import parse_yaml, read_yaml

POLICY_FILE = "gate.yaml"

Share = Annotated[float, Field(ge=0, le=1)]
Speedup = Annotated[float, Field(gt=0, lt=1e6)]


@dataclass(frozen=True, config=SETTINGS)
class ProblemDemands:
    """A policy's demands on the problems that a pattern names; None: the same as for all."""

    least_speedup: Speedup | None = None
    """The least speed-up, for these problems."""
    largest_slowdown: Share | None = None
    """The share by which a solution may take longer than in the snapshot, for these problems."""
    correctness_only: bool | None = None
    """Don't judge performance, for these problems."""


@dataclass(frozen=True, config=SETTINGS)
class Policy:
    """gate.yaml as it is written. Of patterns that name the same problem the last one that says a thing decides it."""

    least_speedup: Speedup | None = None
    """The least speed-up, the baseline's time over the solution's."""
    largest_slowdown: Share = 0.05
    """The share by which a solution may take longer than in the snapshot: 0.05 for 5 %."""
    correctness_only: bool = False
    """Don't judge performance."""
    remeasure: Annotated[int, Field(ge=0, le=10)] = 2
    """The number of repeated measurements of a suspect before it fails."""
    inconclusive: Literal["allow", "forbid"] = "allow"
    """The rule for performance that couldn't be judged: 'forbid' ends the gate with exit code 4."""
    unsupported: Literal["allow", "forbid"] = "forbid"
    """The rule for what the backend can't run: 'allow' lets it through."""
    other_environment: Literal["refuse", "allow"] = "refuse"
    """The rule for a snapshot of another environment: 'allow' compares with it."""
    problems: dict[str, ProblemDemands] = field(default_factory=dict)
    """Demands by the pattern of the problems' names; the last that says a thing decides it."""
    waivers: tuple[Waiver, ...] = ()
    """Exceptions that are let through: what, why, by whom, and how long."""

    def demands(self, problem: str) -> Policy:
        """Return the policy as it holds for the problem."""
        found = self
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
        path = workspace / POLICY_FILE
        return read_yaml(Policy, path) if path.exists() else Policy()
    kind, _, ref = named.partition(":")
    if kind == "git":
        return parse_yaml(Policy, file_at(workspace, ref, POLICY_FILE), f"{ref}:{POLICY_FILE}")
    for path in (Path(named), workspace / named):
        if path.is_file():
            return read_yaml(Policy, path)
    raise UsageError(f"--policy {named}: no such file")
