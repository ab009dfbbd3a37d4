"""Which evaluations of a finished run count for a gate, and what else is to be known of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from harness.gate.judgement import missing
from harness.gate.measurement import Evaluations, add, subject_of
from harness.model.config import Config
from harness.model.evaluation import Evaluation
from harness.model.gate import Judged
from harness.workspace.problem import Problem
from harness.workspace.selection import Task


@dataclass(frozen=True)
class Finished:
    """What a run says of the tasks: the evaluations that count, tasks without one, and remarks."""

    found: Evaluations
    lost: list[Judged]
    remarks: list[str]


def from_run(tasks: Sequence[Task], evaluations: Iterable[Evaluation]) -> Finished:
    """An evaluation doesn't count that was made of other sources than the workspace has now, or not on all cases."""
    of_run: Evaluations = {}
    add(of_run, evaluations)
    found: Evaluations = {}
    lost, remarks = [], []
    for task in tasks:
        key = task.problem.name, task.solution.name
        refused: dict[str, None] = {}
        for evaluation in of_run.get(key, ()):
            if why := _why_not(evaluation, task):
                refused[why] = None
            else:
                add(found, [evaluation])
        if key in found:
            remarks += [f"a result of {'/'.join(key)} doesn't count: {why}" for why in refused]
        else:
            why = "; ".join(refused) or "the run holds no result of it"
            lost.append(missing(subject_of(task), why, "evaluate it with all its cases, and judge that run"))
    return Finished(found, lost, remarks)


def left_out(evaluation: Evaluation, problem: Problem) -> str | None:
    """Says on which of the problem's cases an evaluation wasn't made; None where it was on all."""
    if missed := [name for name in problem.cases if name not in evaluation.cases]:
        return f"it was evaluated on {', '.join(evaluation.cases)} alone, without {', '.join(missed)}"
    return None


def other_settings(evaluations: Iterable[Evaluation], config: Config, with_timing: bool) -> list[str]:
    """Remarks on evaluations that were made in another way than the config says: with fewer seeds, without timing."""
    untimed, differing = 0, dict[str, None]()
    here = _settings(config)
    for evaluation in evaluations:
        there = _settings(evaluation.config)
        untimed += evaluation.environment.backend == "cuda" and not evaluation.config.timing.enabled
        names = [n for n in here if (with_timing and evaluation.config.timing.enabled) or n.startswith("correctness")]
        differing.update((f"{n} {there[n]} there, {here[n]} here", None) for n in names if there[n] != here[n])
    remarks = [f"the run was made with other settings: {'; '.join(differing)}"] if differing else []
    return remarks + ([f"{untimed} results of the run were not timed"] if untimed and with_timing else [])


def _settings(config: Config) -> dict[str, object]:
    """Where another case was timed or other baselines, no speed is compared; so these need no remark."""
    timing = {
        name: value for name, value in vars(config.timing).items() if name not in ("enabled", "case", "baselines")
    }
    parts = {"correctness": vars(config.correctness), "timing": timing}
    return {f"{part}.{name}": value for part, values in parts.items() for name, value in values.items()}


def _why_not(evaluation: Evaluation, task: Task) -> str | None:
    if (evaluation.problem.sha256, evaluation.solution.sha256) != (task.problem.sha256, task.solution.sha256):
        return "it was edited after it was evaluated"
    return left_out(evaluation, task.problem)
