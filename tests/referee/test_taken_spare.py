"""A spare that is taken: not before does it touch the device, and one that has died is replaced. No GPU is needed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from harness.errors import MachineError
from harness.protocol.messages import Load, Loaded
from harness.referee.environment import FLAGS
from harness.referee.worker_process import WorkerProcess
from harness.referee.workers import Workers

HIDDEN = {"CUDA_VISIBLE_DEVICES": ""}


@pytest.fixture
def workers(tmp_path: Path) -> Iterator[Workers]:
    host: Any = SimpleNamespace(
        name="cuda", worker_arguments=lambda: [], worker_environment=lambda for_build: dict(HIDDEN)
    )
    (tmp_path / "solution").mkdir()
    (tmp_path / "solution" / "solution.py").write_text("class ModelNew: ...\n")
    with Workers(host, tmp_path / "cache", ahead=1) as made:
        yield made


def load(worker: WorkerProcess, folder: Path) -> object:
    return worker.ask(Load(worker.bring(folder / "solution", "solution.py"), "ModelNew", FLAGS), 60)


def end(worker: WorkerProcess) -> None:
    worker._process.kill()
    worker._process.wait()


def test_a_spare_that_died_before_its_first_answer_is_replaced(workers: Workers, tmp_path: Path) -> None:
    workers.replenish()
    with workers.start() as worker:
        first = worker._process
        end(worker)
        assert load(worker, tmp_path) == Loaded(())
        assert worker._process is not first
    assert worker._process.returncode is not None


def test_a_new_process_that_dies_is_an_error(workers: Workers, tmp_path: Path) -> None:
    with workers.start() as worker:
        end(worker)
        with pytest.raises(MachineError, match="a worker didn't start"):
            load(worker, tmp_path)
