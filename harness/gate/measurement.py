"""Evaluations for the gate: every solution once, suspects again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from harness.gate.judgement import Subject, Terms, needs_another_measurement
from harness.model.evaluation import Evaluation
from harness.workspace.selection import Task

Evaluations = dict[tuple[str, str], list[Evaluation]]
"""By the names of problem and solution, in the order of time."""


def measure(
    tasks: Sequence[Task],
    evaluate: Callable[[Sequence[Task]], Iterable[Evaluation]],
    terms: Terms,
    say: Callable[[str], None] = lambda what: None,
) -> Evaluations:
    """Evaluate every task, and those whose speed is in doubt up to `remeasure` times more; `say` is told of these."""
    found: Evaluations = {}
    add(found, evaluate(tasks))
    for _ in range(terms.policy.remeasure):
        suspects = [task for task in tasks if _is_suspect(task, found, terms)]
        if not suspects:
            break
        names = ", ".join(f"{task.problem.name}/{task.solution.name}" for task in suspects)
        say(f"slower or unclear, so measured again: {names}")
        add(found, evaluate(suspects))
    return found


def subject_of(task: Task) -> Subject:
    return Subject(task.problem.name, task.solution.name, task.solution.about.expected_verdict)


def add(found: Evaluations, evaluations: Iterable[Evaluation]) -> None:
    for evaluation in evaluations:
        found.setdefault((evaluation.problem.name, evaluation.solution.name), []).append(evaluation)


def _is_suspect(task: Task, found: Evaluations, terms: Terms) -> bool:
    evaluations = found.get((task.problem.name, task.solution.name), [])
    return needs_another_measurement(subject_of(task), evaluations, terms)
