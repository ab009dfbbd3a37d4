"""Lanes in processes of their own: they judge as this process does, end with it, and their own end is recorded."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from harness.model.verdict import Verdict
from harness.run.lane import ProcessLane
from harness.run.session import Session, open_session
from harness.workspace.selection import select_tasks
from harness.workspace.workspace import Workspace
from tests.machine import ROOT

FAULTS = ROOT / "tests" / "faults"

pytestmark = pytest.mark.sim


@contextmanager
def two_lanes(results: Path) -> Iterator[Session]:
    config = Workspace(FAULTS).config("one_by_one")
    with open_session("sim", FAULTS, results, config, 7, lambda what: None, lanes=2) as session:
        yield session


def pids(session: Session) -> list[int]:
    lanes = session.lanes.by_name.values()
    return [lane._process.pid for lane in lanes if isinstance(lane, ProcessLane) and lane._process]


def test_two_lanes_judge_side_by_side(tmp_path: Path) -> None:
    tasks = select_tasks(Workspace(FAULTS), solutions=["honest", "wrong_values", "segfault"])
    lanes: set[str] = set()
    with two_lanes(tmp_path) as session:

        def observe(job: object, what: str) -> None:
            lanes.update(name for name in ("lane 0", "lane 1") if what.endswith(name))

        found = {e.solution.name: e.verdict for e in session.evaluate(tasks, observe, jobs=2)}
        assert found == {
            "honest": Verdict.PASSED,
            "wrong_values": Verdict.WRONG_VALUES,
            "segfault": Verdict.CRASHED,
        }
        assert lanes == {"lane 0", "lane 1"}
        assert pids(session) == []


@pytest.mark.parametrize(("kills", "verdict"), [(1, Verdict.PASSED), (2, Verdict.HARNESS_ERROR)])
def test_a_lane_that_is_killed_is_an_error_of_ours_and_the_next_goes_on(
    tmp_path: Path, kills: int, verdict: Verdict
) -> None:
    tasks = select_tasks(Workspace(FAULTS), solutions=["honest", "wrong_shape"])
    with two_lanes(tmp_path) as session:
        killed: list[str] = []

        def observe(job: object, what: str) -> None:
            if what.startswith("loading") and len(killed) < kills:
                killed.append(job.solution.name)  # type: ignore[attr-defined]
                for pid in pids(session):
                    os.kill(pid, signal.SIGKILL)

        (found,) = session.evaluate(tasks[:1], observe)
        assert killed == ["honest"] * kills
        assert found.verdict is verdict
        (remark,) = [one for one in found.remarks if "tried again" in one]
        assert "exit code -9" in remark
        assert kills == 1 or (found.failure is not None and "exit code -9" in found.failure.reason)
        (after,) = session.evaluate(tasks[1:], lambda job, what: None)
        assert after.verdict is Verdict.WRONG_SHAPE


def test_who_stops_reading_ends_the_lanes(tmp_path: Path) -> None:
    tasks = select_tasks(Workspace(FAULTS), solutions=["honest", "hangs"])
    with two_lanes(tmp_path) as session:
        evaluations = session.evaluate(tasks, lambda job, what: None)
        assert next(evaluations).solution.name == "honest"
        running = pids(session)
        assert running
        evaluations.close()
        assert [pid for pid in running if Path(f"/proc/{pid}").exists()] == []


def test_a_process_that_cannot_be_started_early_is_met_again_when_it_is_wanted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError("no more processes")

    with two_lanes(tmp_path) as session:
        lane = next(iter(session.lanes.by_name.values()))
        lane.open(session.config, session.environment)
        assert len(pids(session)) == 1
        lane.open(session.config, session.environment)
        (first,) = pids(session)
        lane.close()
        assert not Path(f"/proc/{first}").exists()
        monkeypatch.setattr(subprocess, "Popen", refuse)
        lane.open(session.config, session.environment)
        assert pids(session) == []
