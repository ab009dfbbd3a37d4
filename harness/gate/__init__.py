"""May this change be merged? Decisions over evaluations, a snapshot and a policy; nothing here runs a kernel.

Other rooms may use what is named here. A name is imported when it is first used: some of them import pydantic.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from harness.gate.acceptance import accept_run as accept_run
    from harness.gate.decision import GateRequest as GateRequest
    from harness.gate.decision import Opener as Opener
    from harness.gate.decision import decide as decide
    from harness.gate.policy import Policy as Policy
    from harness.gate.snapshot import SNAPSHOT_FILE as SNAPSHOT_FILE
    from harness.gate.snapshot import open_snapshot as open_snapshot
    from harness.gate.snapshot import render as render

_HOMES = {
    "acceptance": "accept_run",
    "decision": "GateRequest Opener decide",
    "policy": "Policy",
    "snapshot": "SNAPSHOT_FILE open_snapshot render",
}


if not TYPE_CHECKING:  # a type checker that saw it would let every name pass

    def __getattr__(name: str) -> Any:
        for home, names in _HOMES.items():
            if name in names.split():
                return getattr(importlib.import_module(f"harness.gate.{home}"), name)
        raise AttributeError(f"module 'harness.gate' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted(" ".join(_HOMES.values()).split())
