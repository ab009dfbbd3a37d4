"""verifiers (Prime Intellect): the problems of a workspace as a taskset, whose reward is harness's judgement."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import verifiers.v1 as vf

from harness.integrations.answers import AnswerJudge, reward_of, task_text


class KernelTaskConfig(vf.TaskConfig):
    """The judge: that of the server, or one on this machine with the other settings."""

    server: str | None = None
    token_variable: str | None = None
    backend: Literal["auto", "cuda", "sim"] = "auto"
    config: str | None = None
    workspace: Path | None = None


class KernelTasksetConfig(vf.TasksetConfig):
    """Problems by name; those of `task.workspace`, by default the one around the working folder."""

    problems: tuple[str, ...] = ()
    task: KernelTaskConfig = KernelTaskConfig()


class KernelTask(vf.Task[vf.TaskData, vf.State, KernelTaskConfig]):
    """One problem. What says nothing of the solution, such as `unsupported`, fails the rollout instead of scoring."""

    @vf.reward
    async def kernel(self, trace: vf.Trace) -> float:
        """Judge the last reply."""
        asked = self.config
        settings = {"backend": asked.backend, "config": asked.config, "workspace": asked.workspace}
        judge = _shared_judge(asked.server, asked.token_variable, **settings)
        evaluation = await asyncio.wrap_future(judge.submit(str(self.data.name), trace.last_reply))
        trace.info["harness"] = {"verdict": evaluation.verdict.value, "evaluation": evaluation.id}
        reward = reward_of(evaluation)
        if reward is None:
            raise RuntimeError(f"{evaluation.verdict.value}: it couldn't be judged")
        return reward


class KernelTaskset(vf.Taskset[KernelTask, KernelTasksetConfig]):
    def load(self) -> Iterator[KernelTask]:
        for name in self.config.problems:
            prompt = task_text(name, self.config.task.workspace)
            yield KernelTask(vf.TaskData(name=name, prompt=prompt), self.config.task)


_shared_judge = functools.cache(AnswerJudge)
"""One judge for all tasks of a process."""
