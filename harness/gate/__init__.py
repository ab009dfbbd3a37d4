"""Decisions over evaluations, a snapshot and a policy: may this change be merged? Nothing here runs a kernel.

Other rooms may use what is named here. A name is imported when it is first used: some of them import pydantic.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.face import lazy

if TYPE_CHECKING:
    from harness.gate.decision import GateRequest, TaskEvaluator, decide
    from harness.gate.policy import Policy, load_policy
    from harness.gate.snapshot import SNAPSHOT_FILE, accept_run, open_snapshot, render
else:  # a type checker that saw it would let every name pass
    __getattr__, __dir__ = lazy(__name__, __file__)
