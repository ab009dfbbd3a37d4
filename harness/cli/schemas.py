"""The schemas of the YAML files of a workspace, and where they lie in it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from harness.cli import settings, tree
from harness.cli.tree import SettableOption
from harness.errors import UsageError

FOLDER = Path(".harness", "schemas")
"""In a workspace; the first line of each scaffolded YAML file points there."""

_DESCRIPTIONS = {
    "ProblemFile.title": "One line for tables and pages. Default: the folder's name.",
    "ProblemFile.description": "What is computed.",
    "ProblemFile.tags": "Words to find it by.",
    "ProblemFile.precision": "The arithmetic that outputs are held to.",
    "ProblemFile.tolerance": "exact, or atol and rtol of |got - want| <= atol + rtol * |want|. Default: derived.",
    "ProblemFile.independent_batch": "Rows along dimension 0 don't depend on each other; verified before it is used.",
    "ProblemFile.cases": "Settings of the problem besides 'full', the file as written.",
    "ProblemFile.work": "What a call can't do without, where counting tells it wrong; its speed of light.",
    "Case.constants": "Other values for constants of problem.py.",
    "Case.init_inputs": "Arguments of the constructor, instead of get_init_inputs().",
    "NamedTolerance.atol": "Largest absolute error where the right value is 0.",
    "NamedTolerance.rtol": "Further error allowed, as a share of the right value.",
    "SolutionFile.author": "Who wrote it.",
    "SolutionFile.explanation": "The approach, why, and what bounds it.",
    "SolutionFile.language": "What its kernels are written in.",
    "SolutionFile.precision": "What it computes in.",
    "SolutionFile.expected_verdict": "How it is expected to end; a gallery of known failures names something else.",
    "SolutionFile.needs_gpu": "Whether it uses what the simulator doesn't have; there it is to be unsupported.",
    "SolutionFile.compute_capability": "'9.0': GPUs of that compute capability alone; '8.0+': newer ones as well.",
    "Config.correctness": "How outputs are checked.",
    "Config.timing": "How speed is measured.",
    "Config.limits": "When a worker is given up.",
    "CorrectnessConfig.seeds": "Turns per case, each with inputs of its own, drawn at run time.",
    "CorrectnessConfig.sanitize": "Simulator: look at every access of a kernel, as --sanitize does.",
    "CorrectnessConfig.min_own_share": "On a GPU: how much of its time own kernels must take, from 0 to 1.",
    "TimingConfig.enabled": "Measure speed after correctness.",
    "TimingConfig.case": "The case that is timed.",
    "TimingConfig.control": "Measure the first baseline twice: what differs between the two is no speed-up.",
    "TimingConfig.metrics": "What is measured besides gpu_cold, in six blocks each.",
    "TimingConfig.processes": "How often workers are started anew and measured again.",
    "TimingConfig.warmup_turns": "Turns before the first that counts, at least; they go on until times settle.",
    "TimingConfig.blocks": "Blocks of turns to measure in each process, there and back; six at least.",
    "TimingConfig.calls_per_turn": "Calls that one turn times.",
    "TimingConfig.precision": "Half the speed-up's 95 % interval at which measuring ends, 0.01 for ±1 %; null: never.",
    "TimingConfig.lock_sm_mhz": "Lock the SM clock while a solution is on the GPU, in MHz; needs root. null: don't.",
    "TimingConfig.budget_s": "Seconds after which no further block begins.",
    "LimitsConfig.build_s": "Seconds for compiling a solution's extensions.",
    "LimitsConfig.load_s": "Seconds for importing and constructing.",
    "LimitsConfig.turn_s": "Seconds for one turn; ten times as long with correctness.sanitize.",
    "Policy.least_speedup": "The least speed-up, the baseline's time over the solution's.",
    "Policy.largest_slowdown": "How much longer than in the snapshot a solution may take: 0.05 for 5 %.",
    "Policy.correctness_only": "Don't judge performance.",
    "Policy.remeasure": "How often a suspect is measured again before it fails.",
    "Policy.inconclusive": "Whether performance that couldn't be judged ends the gate with exit code 4.",
    "Policy.unsupported": "Whether what the backend can't run is let through.",
    "Policy.other_environment": "Whether a snapshot of another environment is compared with.",
    "Policy.problems": "By the pattern of the problems' names; the last that says a thing decides it.",
    "Policy.waivers": "What is let through, why, by whom, and how long.",
    "ProblemDemands.least_speedup": "As above, for these problems.",
    "ProblemDemands.largest_slowdown": "As above, for these problems.",
    "ProblemDemands.correctness_only": "As above, for these problems.",
    "WaiverEntry.problem": "A name or a pattern.",
    "WaiverEntry.solution": "A name or a pattern.",
    "WaiverEntry.what": "What is waived.",
    "WaiverEntry.reason": "Why.",
    "WaiverEntry.owner": "Who sees to it.",
    "WaiverEntry.expires": "The last day, as 2026-12-31.",
}


def schema_texts() -> dict[str, str]:
    """File names and their JSON, as `harness config schema` writes them."""
    from harness.cli.app import app
    from harness.gate.policy import Policy
    from harness.records.config import Config
    from harness.workspace.problem import ProblemFile
    from harness.workspace.schema import file_schema
    from harness.workspace.solution import SolutionFile

    files = {
        "problem": file_schema(ProblemFile, "problem.yaml of a harness workspace", _DESCRIPTIONS),
        "solution": file_schema(SolutionFile, "solution.yaml of a harness workspace", _DESCRIPTIONS),
        "config": file_schema(Config, "A file in configs/ of a harness workspace", _DESCRIPTIONS),
        "gate": file_schema(Policy, "gate.yaml: what a gate demands", _DESCRIPTIONS),
        "harness": _settings_schema(tree.settable_options(app, tree.prepare(app, {}))),
    }
    return {f"{name}.schema.json": json.dumps(schema, indent=2) + "\n" for name, schema in files.items()}


def write_schemas(root: Path) -> list[Path]:
    """Into a workspace, where they aren't yet; returns what was written. Raises: UsageError."""
    written = []
    try:
        for name, text in schema_texts().items():
            path = root / FOLDER / name
            if not path.exists():
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
                written.append(path)
    except OSError as error:
        raise UsageError(f"can't write the schemas for editors into {root / FOLDER}: {error.strerror}") from None
    return written


def _settings_schema(options: settings.Options) -> dict[str, Any]:
    """harness.yaml: a section per command, and `defaults` with every option."""
    top = _section()
    every = {name: option for of_command in options.values() for name, option in of_command.items()}
    top["properties"][settings.DEFAULTS] = _section(every) | {
        "description": "For every command that has the option; a command's own section is stronger."
    }
    for path, of_command in options.items():
        place = top
        for word in path:
            place = place["properties"].setdefault(word, _section())
        place["properties"].update(_section(of_command)["properties"])
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "harness.yaml: what the command line's options are set to",
        **top,
    }


def _section(options: Mapping[str, SettableOption] | None = None) -> dict[str, Any]:
    properties = {name: _option_schema(option) for name, option in sorted((options or {}).items())}
    return {"type": "object", "additionalProperties": False, "properties": properties}


def _option_schema(option: SettableOption) -> dict[str, Any]:
    from harness.workspace.schema import type_schema

    kind = {"type": "string"} if option.hint is Path else type_schema(option.hint)
    schema = {"anyOf": [kind, {"type": "array", "items": kind}]} if option.is_list else kind
    return {**schema, "description": option.help}
