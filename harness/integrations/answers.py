"""A model's answer: the code in it, its evaluation, its reward."""

from __future__ import annotations

import atexit
import math
import os
import re
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import harness
from harness.model.evaluation import Evaluation
from harness.model.verdict import Verdict
from harness.reports import prompt_text

_BLOCK = re.compile(r"^```[\w+-]*[ \t]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
_AT_ONCE = 32
"""Jobs that wait for a server at the same time."""


def task_text(problem: str, workspace: Path | None = None) -> str:
    """A problem as a task for a model, as `harness prompt` prints it. Raises: UsageError, InvalidFile."""
    return task_of(harness.load_problem(problem, workspace=workspace))


def task_of(found: harness.Problem) -> str:
    """A problem as a task for a model."""
    return prompt_text(
        *(found.title, found.source, found.precision, found.changes, found.description),
        *(found.backward, found.state),
    )


def code_in(answer: str) -> str:
    """The last fenced block that has ModelNew in it, else the last block, else the whole answer; never empty."""
    blocks: list[str] = _BLOCK.findall(answer) or [answer]
    with_model = [block for block in blocks if "ModelNew" in block]
    return f"{(with_model or blocks)[-1].rstrip()}\n"


def reward_of(evaluation: Evaluation) -> float | None:
    """1 for a right answer, more or less by the log of its speed-up's lower bound; -0.5 for a wrong one, -1 for one
    that doesn't compile; None where the solution isn't to blame."""
    if evaluation.verdict.passed:
        speedup = evaluation.speedup
        return 1.0 if speedup is None else 1.0 + max(-1.0, min(3.0, math.log(speedup.low)))
    if not evaluation.verdict.blames_solution:
        return None
    return -1.0 if evaluation.verdict is Verdict.COMPILE_ERROR else -0.5


class AnswerJudge:
    """Judges answers on this machine, one at a time, or asks a server, many at once. Any thread may use it.

    server: the address of `harness serve`; None judges here.
    token_variable: the environment variable with the server's token. Frameworks write arguments into their logs.
    settings: those of harness.Evaluator, such as backend, config and workspace; a server has its own.
    """

    def __init__(self, server: str | None = None, token_variable: str | None = None, **settings: Any) -> None:
        self._server = server
        self._token_variable = token_variable
        self._settings = settings
        self._threads = ThreadPoolExecutor(_AT_ONCE if server else 1, thread_name_prefix="answers")
        self._evaluator: harness.Evaluator | None = None
        atexit.register(self.close)  # frameworks have no end for a scorer

    def submit(self, problem: str, answer: str) -> Future[Evaluation]:
        """Begin to judge the code in an answer. The future raises what Evaluator.evaluate() or Client.evaluate() do."""
        return self._threads.submit(self._evaluate, problem, code_in(answer))

    def close(self) -> None:
        """Wait for what is under way, and end the workers."""
        atexit.unregister(self.close)
        self._threads.shutdown()
        if self._evaluator is not None:
            self._evaluator.close()

    def _evaluate(self, problem: str, code: str) -> Evaluation:
        if self._server is not None:
            token = os.environ.get(self._token_variable) if self._token_variable else None
            with harness.connect(self._server, token) as client:
                return client.evaluate(problem, code)
        if self._evaluator is None:  # one thread comes here
            self._evaluator = harness.Evaluator(**self._settings)
        return self._evaluator.evaluate(problem, code)
