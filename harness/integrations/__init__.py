"""Doors for others' programs: tools for agents (MCP), rewards and scores for training and evaluation frameworks.

An adapter is a module named like its framework, which it imports: `harness.integrations.verifiers`, `.openenv`,
`.inspect_ai`. What they share is named here, imported when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.face import lazy

if TYPE_CHECKING:
    from harness.integrations.answers import AnswerJudge as AnswerJudge
    from harness.integrations.answers import code_in as code_in
    from harness.integrations.answers import reward_of as reward_of
    from harness.integrations.answers import task_of as task_of
    from harness.integrations.answers import task_text as task_text
    from harness.integrations.mcp_server import KernelTools as KernelTools
    from harness.integrations.mcp_server import create_server as create_server
else:  # a type checker that saw it would let every name pass
    __getattr__, __dir__ = lazy(__name__, __file__)
