"""A worker ends with everything it started, and what it printed is kept in part."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.backends.choice import open_host
from harness.errors import MachineError
from harness.executors.cache import cache_folder
from harness.protocol.messages import Load
from harness.records.verdict import Verdict
from harness.referee.environment import FLAGS
from harness.referee.outcome import SolutionFailed
from harness.referee.worker_process import WorkerProcess
from harness.referee.workers import Workers

pytestmark = pytest.mark.sim


@pytest.fixture
def workers(tmp_path: Path) -> Iterator[Workers]:
    with Workers(open_host("sim", cache_folder(), lambda what: None), tmp_path / "cache") as made:
        yield made


def load(worker: WorkerProcess, folder: Path, text: str) -> None:
    """Have the worker import a solution of this text."""
    (folder / "solution").mkdir()
    (folder / "solution" / "solution.py").write_text(text)
    worker.ask(Load(worker.bring(folder / "solution", "solution.py"), "ModelNew", FLAGS), 60)


def test_child_processes_end_with_their_worker(workers: Workers, tmp_path: Path) -> None:
    text = "import subprocess\nprint(subprocess.Popen(['sleep', '1000']).pid)\nclass ModelNew: pass\n"
    with workers.start() as worker:
        load(worker, tmp_path, text)
    child = Path("/proc") / worker.output
    assert not child.exists() or "(sleep) Z" in (child / "stat").read_text()
    assert worker.leftovers.remark is None


def test_output_keeps_its_beginning_and_its_end(workers: Workers, tmp_path: Path) -> None:
    text = "import os\nprint('first words')\nprint('y' * 10_000_000)\nprint('last words')\nos._exit(3)\n"
    with workers.start() as worker:
        with pytest.raises(SolutionFailed) as caught:
            load(worker, tmp_path, text)
        output = worker.output
    assert caught.value.verdict is Verdict.CRASHED
    assert "exit code 3" in str(caught.value)
    assert output.startswith("first words")
    assert output.endswith("last words")
    assert len(output) < 50_000


def test_worker_that_cannot_start_is_the_machines_fault(
    workers: Workers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "torch.py").write_text("raise ImportError('torch is broken here')\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("PYTHONSAFEPATH", "")
    with workers.start() as worker, pytest.raises(MachineError, match="a worker didn't start"):
        worker.ask(Load("solution.py", "ModelNew", FLAGS), 60)


def test_worker_that_dies_between_questions_crashed(workers: Workers, tmp_path: Path) -> None:
    text = "import os, threading\nthreading.Timer(0.1, os._exit, (7,)).start()\nclass ModelNew: pass\n"
    with workers.start() as worker:
        load(worker, tmp_path, text)
        worker._process.wait(timeout=60)
        with pytest.raises(SolutionFailed, match="exit code 7") as caught:
            worker.ask(Load("solution.py", "ModelNew", FLAGS), 60)
    assert caught.value.verdict is Verdict.CRASHED
