"""What ends a worker from outside is no verdict on the solution that it held."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from harness.model.verdict import Verdict
from harness.run.session import Session, open_session
from harness.workspace.selection import select_tasks
from harness.workspace.workspace import Workspace
from tests.fork_servers import OwnForkServers
from tests.machine import ROOT

FAULTS = ROOT / "tests" / "faults"

pytestmark = pytest.mark.sim


def servers(session: Session) -> list[int]:
    return [server._process.pid for server in session.lanes.builders.servers._servers.values() if server.is_alive]


def workers(session: Session) -> list[int]:
    texts = [Path(f"/proc/{pid}/task/{pid}/children").read_text() for pid in servers(session)]
    return [int(word) for text in texts for word in text.split()]


@pytest.mark.parametrize("whose", [servers, workers])
def test_who_is_killed_from_outside_is_tried_again(tmp_path: Path, whose: object) -> None:
    tasks = select_tasks(Workspace(FAULTS), solutions=["honest"])
    config, own = Workspace(FAULTS).config("patient"), OwnForkServers()
    with open_session("sim", FAULTS, tmp_path, config, 7, lambda what: None, servers=own) as session:
        killed: list[int] = []

        def observe(job: object, what: str) -> None:
            if what.startswith("checking") and not killed:
                killed.extend(whose(session))  # type: ignore[operator]
                for pid in killed:
                    os.kill(pid, signal.SIGKILL)

        (found,) = session.evaluate(tasks, observe)
    assert killed
    assert found.verdict is Verdict.PASSED
    assert [one for one in found.remarks if one.startswith("try 1 ended so")] != []
