"""OpenEnv: a problem as an environment. An action is a model's answer; the observation is what harness makes of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from openenv.core.env_server.interfaces import Environment
from openenv.core.env_server.types import Action, Observation, State

from harness.integrations.answers import AnswerJudge, reward_of, task_text
from harness.reports import feedback_text


class AnswerAction(Action):
    """A model's answer: text with the code in a fenced block, or the code alone."""

    answer: str


class KernelObservation(Observation):
    """The task after a reset, the feedback after a step. `verdict` is None before the first answer; `reward` is None,
    too, where a verdict says nothing of the solution."""

    text: str
    verdict: str | None = None


class KernelEnvironment(Environment[AnswerAction, KernelObservation, State]):
    """Up to `attempts` answers to one problem; an episode ends with the first that passes."""

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self, judge: AnswerJudge, problem: str, attempts: int = 1, workspace: Path | None = None) -> None:
        super().__init__()
        self._judge = judge
        self._problem = problem
        self._attempts = attempts
        self._task = task_text(problem, workspace)
        self._state = State()

    def reset(self, seed: int | None = None, episode_id: str | None = None, **_: Any) -> KernelObservation:
        """Begin an episode. The seed is left unused: no solution may know its inputs."""
        self._state = State(episode_id=episode_id)
        return KernelObservation(text=self._task)

    def step(self, action: AnswerAction, timeout_s: float | None = None, **_: Any) -> KernelObservation:
        """Judge an answer. Raises: TimeoutError."""
        evaluation = self._judge.submit(self._problem, action.answer).result(timeout_s)
        self._state.step_count += 1
        done = evaluation.verdict.passed or self._state.step_count >= self._attempts
        text, verdict = feedback_text(evaluation), evaluation.verdict.value
        return KernelObservation(text=text, verdict=verdict, reward=reward_of(evaluation), done=done)

    @property
    def state(self) -> State:
        return self._state
