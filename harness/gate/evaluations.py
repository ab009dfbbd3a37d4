"""Evaluations for a gate: every solution once and suspects again, or those of a finished run that count."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from harness.gate.ruling import Terms, missing, needs_another_measurement
from harness.gate.runs import left_out
from harness.model.config import Config
from harness.model.evaluation import Evaluation
from harness.model.gate import Judged
from harness.workspace.selection import Task

Evaluations = dict[tuple[str, str], list[Evaluation]]
"""Evaluations by the names of problem and solution, in the order of time."""


def measure(
    tasks: Sequence[Task],
    evaluate: Callable[[Sequence[Task]], Iterable[Evaluation]],
    terms: Terms,
    say: Callable[[str], None],
) -> Evaluations:
    """Evaluate every task, and those whose speed is in doubt up to `remeasure` times more; `say` is told of these."""
    found: Evaluations = {}
    _add(found, evaluate(tasks))
    for _ in range(terms.policy.remeasure):
        known = ((task, found.get((task.problem.name, task.solution.name), [])) for task in tasks)
        suspects = [task for task, own in known if needs_another_measurement(subject_of(task), own, terms)]
        if not suspects:
            break
        names = ", ".join(f"{task.problem.name}/{task.solution.name}" for task in suspects)
        say(f"slower or unclear, so measured again: {names}")
        _add(found, evaluate(suspects))
    return found


def from_run(tasks: Sequence[Task], evaluations: Iterable[Evaluation]) -> tuple[Evaluations, list[Judged], list[str]]:
    """Choose what counts: not what was made of other sources than the workspace has now, or not on all cases.

    The evaluations come with the tasks that have none, and remarks.
    """
    of_run: Evaluations = {}
    _add(of_run, evaluations)
    found: Evaluations = {}
    lost, remarks = [], []
    for task in tasks:
        key = task.problem.name, task.solution.name
        refused: dict[str, None] = {}
        for evaluation in of_run.get(key, ()):
            if why := _why_not(evaluation, task):
                refused[why] = None
            else:
                _add(found, [evaluation])
        if key in found:
            remarks += [f"a result of {'/'.join(key)} doesn't count: {why}" for why in refused]
        else:
            why = "; ".join(refused) or "the run holds no result of it"
            lost.append(missing(subject_of(task), why, "evaluate it with all its cases, and judge that run"))
    return found, lost, remarks


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


def subject_of(task: Task) -> Judged:
    """The task's solution, not judged yet."""
    return Judged(task.problem.name, task.solution.name, task.solution.about.expected_verdict)


def _add(found: Evaluations, evaluations: Iterable[Evaluation]) -> None:
    for evaluation in evaluations:
        found.setdefault((evaluation.problem.name, evaluation.solution.name), []).append(evaluation)


def _settings(config: Config) -> dict[str, object]:
    """Settings by name. Left out: what a gate chooses by the backend, and, since no speed is compared where another
    case or other baselines were timed, these."""
    timing = {
        name: value for name, value in vars(config.timing).items() if name not in ("enabled", "case", "baselines")
    }
    correctness = {name: value for name, value in vars(config.correctness).items() if name != "sanitize"}
    parts = {"correctness": correctness, "timing": timing}
    return {f"{part}.{name}": value for part, values in parts.items() for name, value in values.items()}


def _why_not(evaluation: Evaluation, task: Task) -> str | None:
    if (evaluation.problem.sha256, evaluation.solution.sha256) != (task.problem.sha256, task.solution.sha256):
        return "it was edited after it was evaluated"
    return left_out(evaluation, task.problem)
