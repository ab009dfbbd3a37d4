"""A worker is stopped, looked at and ended without harm to what is measured. No GPU is needed: none is used."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from harness.builder import extension_cache
from harness.builder.workers import Workers, bring
from harness.devices.environment import FLAGS
from harness.model.verdict import Verdict
from harness.sandbox import conversation
from harness.sandbox.family import Family
from harness.sandbox.outcome import SolutionFailed
from harness.sandbox.process import WorkerProcess
from harness.sandbox.usage import ExceededLimit
from harness.sandbox.wire.messages import Detach, Done, Load

STRAY = """
import subprocess
stray = subprocess.Popen(["sleep", "1000"], start_new_session=True)
print(stray.pid, flush=True)
class ModelNew: ...
"""


class Looks:
    """Stands for the usage, with what it will find, and counts how often it was looked at."""

    def __init__(self, found: ExceededLimit | None = None) -> None:
        self.count = 0
        self.memory_bytes = 2**60
        self._found = found

    def excess(self, family: Family, scratch: Path) -> ExceededLimit | None:
        self.count += 1
        return self._found


@pytest.fixture
def worker(tmp_path: Path) -> Iterator[WorkerProcess]:
    host: Any = SimpleNamespace(
        name="cuda", worker_arguments=lambda: [], worker_environment=lambda for_build: {"CUDA_VISIBLE_DEVICES": ""}
    )
    with Workers(host, tmp_path / "cache") as workers, workers.start() as started:
        assert started.ask(Detach(()), 60) == Done()
        yield started


def load(worker: WorkerProcess, folder: Path, text: str, usage: Any = None) -> None:
    """Have it import a solution of this text, under the eyes of `usage` from then on."""
    (folder / "solution").mkdir()
    (folder / "solution" / "solution.py").write_text(text)
    path = bring(worker, folder / "solution")
    worker._usage = usage or worker._usage
    worker.ask(Load(path, "ModelNew", FLAGS), 60)


def state_of(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def await_state(pid: int, is_stopped: bool) -> None:
    while (state_of(pid) == "T") != is_stopped:
        os.sched_yield()


def test_a_thorough_pause_stops_strays_also_after_a_quick_one(worker: WorkerProcess, tmp_path: Path) -> None:
    load(worker, tmp_path, STRAY)
    while not worker.output:  # it is read in the background
        os.sched_yield()
    stray, leader = int(worker.output), worker.pid
    worker.pause(thoroughly=False)
    await_state(leader, is_stopped=True)
    assert state_of(stray) != "T"
    worker.pause()
    await_state(stray, is_stopped=True)
    worker.pause(thoroughly=False)
    assert [state_of(leader), state_of(stray)] == ["T", "T"]
    worker.resume()
    await_state(leader, is_stopped=False)
    await_state(stray, is_stopped=False)


@pytest.mark.parametrize("thoroughly", [True, False])
def test_a_question_wakes_who_stands_still(worker: WorkerProcess, thoroughly: bool) -> None:
    worker.pause(thoroughly)
    await_state(worker.pid, is_stopped=True)
    assert worker.ask(Detach(()), 60) == Done()


def test_nothing_is_looked_at_while_a_quick_answer_is_awaited(
    worker: WorkerProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Looking at a thousand processes lasts 0.15 s, and would be taken for the turn's own time."""
    monkeypatch.setattr(conversation, "_POLL_S", 30.0)
    looks: Any = Looks()
    worker._usage = looks
    assert worker.ask(Detach(()), 60) == Done()
    assert looks.count == 0
    worker.pause()
    assert looks.count == 1


def test_who_keeps_the_referee_waiting_is_looked_at(worker: WorkerProcess, tmp_path: Path) -> None:
    looks: Any = Looks(ExceededLimit(Verdict.OUT_OF_MEMORY, "took more than 1.0 GiB of host memory"))
    with pytest.raises(SolutionFailed, match="took more than") as caught:
        load(worker, tmp_path, "import time\ntime.sleep(1000)\n", looks)
    assert caught.value.verdict is Verdict.OUT_OF_MEMORY


def test_what_quick_turns_take_is_said_at_the_next_question(worker: WorkerProcess) -> None:
    looks: Any = Looks(ExceededLimit(Verdict.RUNTIME_ERROR, "started more than 1,024 processes"))
    worker._usage = looks
    worker.pause()
    with pytest.raises(SolutionFailed, match="1,024 processes"):
        worker.ask(Detach(()), 60)


def test_a_folder_goes_also_where_keeping_builds_fails(
    worker: WorkerProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*folders: object) -> None:
        raise KeyboardInterrupt

    load(worker, tmp_path, "class ModelNew: ...\n")
    monkeypatch.setattr(extension_cache, "keep_builds", fail)
    with pytest.raises(KeyboardInterrupt):
        worker.close()
    assert not worker.folder.exists()
    monkeypatch.undo()
