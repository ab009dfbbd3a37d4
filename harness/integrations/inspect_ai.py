"""Inspect (inspect-ai): a scorer of kernels, and the problems of a workspace as a dataset."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from inspect_ai.dataset import Sample
from inspect_ai.scorer import Score, Scorer, Target, mean, scorer, stderr
from inspect_ai.solver import TaskState

from harness.integrations.answers import AnswerJudge, code_in, reward_of, task_text
from harness.reports import feedback_text


def kernel_samples(problems: Sequence[str], workspace: Path | None = None) -> list[Sample]:
    """A sample for each problem: its task, with the problem's name as id. Raises: UsageError, InvalidFile."""
    return [Sample(input=task_text(one, workspace), target=one, id=one) for one in problems]


@scorer(metrics=[{"passed": [mean(), stderr()], "reward": [mean(), stderr()]}])
def kernel_scorer(server: str | None = None, token_variable: str | None = None, **settings: Any) -> Scorer:
    """Score the last answer of a sample, whose target is a problem's name. The arguments are those of AnswerJudge.

    What says nothing of the solution, such as `unsupported`, is left unscored.
    """
    judge = AnswerJudge(server, token_variable, **settings)

    async def score(state: TaskState, target: Target) -> Score:
        answer = state.output.completion
        evaluation = await asyncio.wrap_future(judge.submit(target.text, answer))
        facts = {"verdict": evaluation.verdict.value, "evaluation": evaluation.id}
        said: dict[str, Any] = {"answer": code_in(answer), "explanation": feedback_text(evaluation), "metadata": facts}
        reward = reward_of(evaluation)
        if reward is None:
            return Score.unscored(reason="scoring_failed", **said)
        return Score(value={"passed": float(evaluation.verdict.passed), "reward": reward}, **said)

    return score
