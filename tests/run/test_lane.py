"""Lanes in processes of their own: they judge as this process does, end with it, and their own end is recorded."""

from __future__ import annotations

import itertools
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
def two_lanes(results: Path, jobs: int | None = None) -> Iterator[Session]:
    config = Workspace(FAULTS).config("one_by_one")
    with open_session("sim", FAULTS, results, config, 7, lambda what: None, lanes=2, jobs=jobs) as session:
        yield session


def pids(session: Session) -> dict[str, int]:
    """By name of a lane that has one, its process."""
    lanes = session.lanes.by_name.items()
    return {name: lane._process.pid for name, lane in lanes if isinstance(lane, ProcessLane) and lane._process}


def test_two_lanes_judge_side_by_side_and_end_with_who_reads(tmp_path: Path) -> None:
    tasks = select_tasks(Workspace(FAULTS), solutions=["honest", "wrong_values", "segfault", "hangs"])
    lanes: set[str] = set()
    with two_lanes(tmp_path, jobs=2) as session:

        def observe(job: object, what: str) -> None:
            lanes.update(name for name in ("lane 0", "lane 1") if what.endswith(name))

        evaluations = session.evaluate(tasks, observe)
        assert {one.solution.name: one.verdict for one in itertools.islice(evaluations, 3)} == {
            "honest": Verdict.PASSED,
            "wrong_values": Verdict.WRONG_VALUES,
            "segfault": Verdict.CRASHED,
        }
        assert lanes == {"lane 0", "lane 1"}
        running = pids(session)
        assert running
        evaluations.close()
        assert pids(session) == {}
        assert [pid for pid in running.values() if Path(f"/proc/{pid}").exists()] == []


def test_a_lane_that_is_killed_is_an_error_of_ours_and_the_next_goes_on(tmp_path: Path) -> None:
    kills = {"honest": 1, "wrong_values": 2, "wrong_shape": 0}
    killed = dict.fromkeys(kills, 0)
    with two_lanes(tmp_path) as session:

        def observe(job: object, what: str) -> None:
            name = job.solution.name  # type: ignore[attr-defined]
            if what.startswith("loading on ") and killed[name] < kills[name]:
                killed[name] += 1
                os.kill(pids(session)[what.removeprefix("loading on ")], signal.SIGKILL)

        tasks = select_tasks(Workspace(FAULTS), solutions=list(kills))
        found = {one.solution.name: one for one in session.evaluate(tasks, observe)}
        assert pids(session) == {}
    assert killed == kills
    assert {name: one.verdict for name, one in found.items()} == {
        "honest": Verdict.PASSED,
        "wrong_values": Verdict.HARNESS_ERROR,
        "wrong_shape": Verdict.WRONG_SHAPE,
    }
    remarks = {name: [remark for remark in one.remarks if "tried again" in remark] for name, one in found.items()}
    assert remarks["wrong_shape"] == []
    for name in ("honest", "wrong_values"):
        (remark,) = remarks[name]
        assert "exit code -9" in remark
    failure = found["wrong_values"].failure
    assert failure is not None
    assert "exit code -9" in failure.reason


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
        (first,) = pids(session).values()
        lane.close()
        assert not Path(f"/proc/{first}").exists()
        monkeypatch.setattr(subprocess, "Popen", refuse)
        lane.open(session.config, session.environment)
        assert pids(session) == {}
