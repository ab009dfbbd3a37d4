"""OpenEnv's environment: its attempts, and its server."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any

import pytest

pytest.importorskip("openenv.core")

from openenv.core.env_server import create_fastapi_app
from starlette.testclient import TestClient

from harness.integrations.openenv import AnswerAction, KernelEnvironment, KernelObservation
from harness.model.evaluation import Evaluation
from tests.examples import failed, passed
from tests.integrations.doors import FAULTS


class ScriptedJudge:
    """Gives evaluations in turn, whatever it is asked."""

    def __init__(self, *evaluations: Evaluation) -> None:
        self._left = list(evaluations)

    def submit(self, problem: str, answer: str) -> Future[Evaluation]:
        future = Future[Evaluation]()
        future.set_result(self._left.pop(0))
        return future


def environment(*evaluations: Evaluation, attempts: int = 1) -> KernelEnvironment:
    judge: Any = ScriptedJudge(*evaluations)
    return KernelEnvironment(judge, "double", attempts, FAULTS)


def test_an_episode_ends_with_the_first_answer_that_passes() -> None:
    one = environment(failed(), passed(), attempts=3)
    assert "class Model(" in one.reset(episode_id="e").text
    seen = [one.step(AnswerAction(answer="x")) for _ in range(2)]
    assert [(step.verdict, step.reward, step.done) for step in seen] == [
        ("wrong_values", -0.5, False),
        ("passed", 1.0, True),
    ]
    assert "look at the borders" in seen[0].text
    assert (one.state.episode_id, one.state.step_count) == ("e", 2)


def test_an_episode_ends_with_its_attempts() -> None:
    one = environment(failed(), failed(), attempts=2)
    one.reset()
    assert [one.step(AnswerAction(answer="x")).done for _ in range(2)] == [False, True]


def test_its_server_answers() -> None:
    app = create_fastapi_app(lambda: environment(failed()), AnswerAction, KernelObservation)
    with TestClient(app) as client:
        assert "class Model(" in client.post("/reset", json={}).json()["observation"]["text"]
        step = client.post("/step", json={"action": {"answer": "x"}}).json()
        assert (step["reward"], step["done"], step["observation"]["verdict"]) == (-0.5, True, "wrong_values")
