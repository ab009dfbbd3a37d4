"""Every door by which a kernel comes to be judged: each takes texts of solutions and gives their verdicts."""

from __future__ import annotations

import asyncio
import gc
import json
import re
import warnings
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import harness
from harness.integrations import AnswerJudge, reward_of
from tests.cli.shell import python
from tests.machine import ROOT
from tests.serve.test_serving import serving

FAULTS = ROOT / "tests" / "faults"
PROBLEM, CONFIG = "double", "patient"
SETTINGS: dict[str, Any] = {"backend": "sim", "config": CONFIG, "workspace": FAULTS}
Texts = dict[str, str]
"""The texts of solutions by name."""
Verdicts = dict[str, str]


def api(texts: Texts, kept: Path) -> Verdicts:
    with harness.Evaluator(**SETTINGS) as evaluator:
        found = evaluator.evaluate_many(PROBLEM, texts.values())
        return {name: one.verdict.value for name, one in zip(texts, found, strict=True)}


def cli(texts: Texts, kept: Path) -> Verdicts:
    options = ["--backend", "sim", "--config", CONFIG, "--results", str(kept), "--json", "--quiet"]
    ended = python("-m", "harness", "-C", str(FAULTS), "run", PROBLEM, *texts, *options)
    records = map(json.loads, ended.stdout.splitlines())
    return {one["solution"]["name"]: one["verdict"] for one in records}


def serve(texts: Texts, kept: Path) -> Verdicts:
    pytest.importorskip("fastapi")
    pytest.importorskip("sqlalchemy")
    with (
        serving(FAULTS, "--config", CONFIG, "--results", str(kept)) as (address, _),
        harness.connect(address) as client,
    ):
        found = client.evaluate_many(PROBLEM, texts.values())
        return {name: one.verdict.value for name, one in zip(texts, found, strict=True)}


def mcp(texts: Texts, kept: Path) -> Verdicts:
    pytest.importorskip("mcp.server.mcpserver")
    from mcp import Client

    from harness.integrations import KernelTools, create_server
    from harness.workspace.workspace import Workspace

    async def ask(tools: KernelTools) -> Verdicts:
        async with Client(create_server(tools)) as client:
            found = {}
            for name, text in texts.items():
                answer: Any = await client.call_tool("run", {"problem": PROBLEM, "code": text})
                row = re.search(r"^source-\w+ +(\w+)", answer.content[0].text, re.MULTILINE)
                found[name] = row[1] if row else answer.content[0].text
            return found

    with KernelTools(Workspace(FAULTS), kept, "sim", CONFIG) as tools:
        return asyncio.run(ask(tools))


def answers(texts: Texts, kept: Path) -> Verdicts:
    """What the adapters share, asked for all at once."""
    with closing(AnswerJudge(**SETTINGS)) as judge:
        asked = {name: judge.submit(PROBLEM, fenced(text)) for name, text in texts.items()}
        return {name: rewarded(one.result().verdict.value, reward_of(one.result())) for name, one in asked.items()}


def inspect_ai(texts: Texts, kept: Path) -> Verdicts:
    pytest.importorskip("inspect_ai")
    import inspect_ai as inspect
    from inspect_ai.model import ModelOutput
    from inspect_ai.solver import Generate, Solver, TaskState, solver

    from harness.integrations.inspect_ai import kernel_samples, kernel_scorer

    @solver
    def remembering() -> Solver:
        """A model would count tokens with a table from the network."""

        async def solve(state: TaskState, generate: Generate) -> TaskState:
            state.output = ModelOutput.from_content("none", fenced(texts[str(state.sample_id)]))
            return state

        return solve

    (sample,) = kernel_samples([PROBLEM], FAULTS)
    samples = [sample.model_copy(update={"id": name}) for name in texts]
    task = inspect.Task(dataset=samples, solver=remembering(), scorer=kernel_scorer(**SETTINGS))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # Inspect leaves streams open
        (log,) = inspect.eval(task, model="mockllm/model", log_dir=str(kept), display="none")
        gc.collect()
    assert log.samples is not None, log.error
    found = {str(one.id): one.scores["kernel_scorer"] for one in log.samples if one.scores}
    return {name: rewarded(one.metadata["verdict"], one.value["reward"]) for name, one in found.items()}


def verifiers(texts: Texts, kept: Path) -> Verdicts:
    pytest.importorskip("verifiers.v1")
    import verifiers.v1 as vf

    from harness.integrations.verifiers import KernelTaskConfig, KernelTaskset, KernelTasksetConfig

    config = KernelTasksetConfig(problems=(PROBLEM,), task=KernelTaskConfig(**SETTINGS))
    (task,) = KernelTaskset(config)

    async def score(text: str) -> str:
        reply = vf.MessageNode(message=vf.AssistantMessage(content=fenced(text)), sampled=True)
        agent = vf.AgentInfo(config=vf.AgentConfig())
        trace: Any = vf.Trace(task=vf.TraceTask(type="KernelTask", data=task.data), agent=agent, nodes=[reply])
        await task.score(trace)
        return rewarded(trace.info["harness"]["verdict"], trace.reward)

    return {name: asyncio.run(score(text)) for name, text in texts.items()}


def openenv(texts: Texts, kept: Path) -> Verdicts:
    pytest.importorskip("openenv.core")
    from harness.integrations.openenv import AnswerAction, KernelEnvironment

    with closing(AnswerJudge(**SETTINGS)) as judge:
        environment = KernelEnvironment(judge, PROBLEM, workspace=FAULTS)
        found = {}
        for name, text in texts.items():
            assert "class Model(" in environment.reset().text
            seen = environment.step(AnswerAction(answer=fenced(text)))
            assert seen.done
            found[name] = rewarded(str(seen.verdict), seen.reward)
        return found


DOORS: list[Callable[[Texts, Path], Verdicts]] = [api, cli, serve, mcp, answers, inspect_ai, verifiers, openenv]


def fenced(text: str) -> str:
    """A model's answer with the text in it."""
    return f"Here is a faster kernel.\n\n```python\n{text}\n```\n"


def rewarded(verdict: str, reward: float | None) -> str:
    """The verdict, where the reward is that of an untimed solution that ended so."""
    rewards = {"passed": 1.0, "compile_error": -1.0}
    assert reward == rewards.get(verdict, -0.5), verdict
    return verdict
