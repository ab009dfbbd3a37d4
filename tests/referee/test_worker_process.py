"""A worker ends with everything it started, and what it printed is kept in part."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.backends.choice import open_host
from harness.errors import MachineError
from harness.executors.cache import cache_folder
from harness.protocol.messages import Load
from harness.records.verdict import Verdict
from harness.referee.environment import FLAGS
from harness.referee.outcome import SolutionFailed
from harness.referee.worker_process import Workers

pytestmark = pytest.mark.sim


@pytest.fixture
def workers(tmp_path: Path) -> Workers:
    return Workers(open_host("sim", cache_folder(), lambda what: None), tmp_path / "cache")


def test_child_processes_end_with_their_worker(workers: Workers, tmp_path: Path) -> None:
    path, pid_file = tmp_path / "solution.py", tmp_path / "pid"
    path.write_text(
        "import subprocess\n"
        "child = subprocess.Popen(['sleep', '1000'])\n"
        f"open({str(pid_file)!r}, 'w').write(str(child.pid))\n"
        "class ModelNew: pass\n"
    )
    with workers.start() as worker:
        worker.ask(Load(str(path), "ModelNew", FLAGS), 60)
    child = Path("/proc") / pid_file.read_text()
    assert not child.exists() or "(sleep) Z" in (child / "stat").read_text()


def test_output_keeps_its_beginning_and_its_end(workers: Workers, tmp_path: Path) -> None:
    path = tmp_path / "solution.py"
    path.write_text("import os\nprint('first words')\nprint('y' * 10_000_000)\nprint('last words')\nos._exit(3)\n")
    with workers.start() as worker:
        with pytest.raises(SolutionFailed) as caught:
            worker.ask(Load(str(path), "ModelNew", FLAGS), 60)
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
    path = tmp_path / "solution.py"
    path.write_text("import os, threading\nthreading.Timer(0.1, os._exit, (7,)).start()\nclass ModelNew: pass\n")
    with workers.start() as worker:
        worker.ask(Load(str(path), "ModelNew", FLAGS), 60)
        worker._process.wait(timeout=60)
        with pytest.raises(SolutionFailed, match="exit code 7") as caught:
            worker.ask(Load(str(path), "ModelNew", FLAGS), 60)
    assert caught.value.verdict is Verdict.CRASHED
