"""The command that repeats an evaluation: same inputs, same cases, same settings."""

from __future__ import annotations

import dataclasses
import json
import shlex
from collections.abc import Collection
from dataclasses import dataclass

from harness.records.config import Config
from harness.records.evaluation import Evaluation

_CONFIG_FILE = "repeat.yaml"


@dataclass(frozen=True)
class Repetition:
    """`config` is what `config_file` must hold where the settings weren't the defaults; None where they were."""

    command: str
    config: str | None
    config_file: str = _CONFIG_FILE


def repetition(evaluation: Evaluation, all_cases: Collection[str]) -> Repetition:
    """`all_cases`: those of the problem; where the evaluation had them all, none is named."""
    settings = changed_settings(evaluation.config)
    words = ["harness", "run", "--problem", evaluation.problem.name, "--solution", evaluation.solution.name]
    words += ["--backend", evaluation.environment.backend, "--seed", str(evaluation.seed)]
    if set(evaluation.cases) != set(all_cases):
        words += [word for case in evaluation.cases for word in ("--case", case)]
    if settings:
        words += ["--config", _CONFIG_FILE]
    return Repetition(shlex.join(words), settings)


def changed_settings(config: Config) -> str | None:
    """The settings that aren't the defaults, as a config file's YAML; None where all are."""
    defaults, lines = Config(), []
    for section in dataclasses.fields(config):
        own, usual = getattr(config, section.name), getattr(defaults, section.name)
        values = [(f.name, getattr(own, f.name)) for f in dataclasses.fields(own)]
        changed = [(name, value) for name, value in values if value != getattr(usual, name)]
        if changed:
            lines.append(f"{section.name}:")
            lines += [f"  {name}: {json.dumps(value)}" for name, value in changed]
    return "\n".join(lines) or None
