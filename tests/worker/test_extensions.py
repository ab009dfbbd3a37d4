"""The cache of extensions: content decides, and no killed build is waited for."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.backends.choice import open_host
from harness.executors.cache import cache_folder
from harness.protocol.layout import extension_log
from harness.protocol.messages import ExtensionReport, Load, Loaded
from harness.referee.environment import FLAGS
from harness.referee.worker_process import Interrupted, SolutionRaised, Workers

pytestmark = pytest.mark.sim

SOLUTION = """
from torch.utils.cpp_extension import load_inline

CUDA = '''
#include <torch/extension.h>
int64_t answer() {{ return {number}; }}
'''
extension = load_inline("same_name", "int64_t answer();", CUDA, functions=["answer"])
assert extension.answer() == {number}, extension.answer()


class ModelNew:
    pass
"""


@pytest.fixture
def workers(tmp_path: Path) -> Iterator[Workers]:
    """Workers with the machine's toolkit and an extension cache of the test's own."""
    host = open_host("sim", cache_folder(), lambda what: None)
    yield Workers(host, tmp_path / "cache")
    shutil.rmtree(tmp_path, ignore_errors=True)


def _load(workers: Workers, path: Path) -> tuple[ExtensionReport, ...]:
    with workers.start() as worker:
        reply = worker.ask(Load(str(path), "ModelNew", FLAGS), 120)
    assert isinstance(reply, Loaded)
    return reply.extensions


def _write(path: Path, number: int) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(SOLUTION.format(number=number))
    return path


def test_content_decides_which_extension_is_found(workers: Workers, tmp_path: Path) -> None:
    (first,) = _load(workers, _write(tmp_path / "a" / "solution.py", 1))
    (second,) = _load(workers, _write(tmp_path / "b" / "solution.py", 2))
    (again,) = _load(workers, _write(tmp_path / "c" / "solution.py", 1))
    assert first.key != second.key
    assert (first.was_cached, second.was_cached, again.was_cached) == (False, False, True)
    assert again.key == first.key


def test_killed_build_is_not_waited_for(workers: Workers, tmp_path: Path) -> None:
    path = _write(tmp_path / "solution.py", 3)
    staging = tmp_path / "cache" / "extensions" / "sim" / "staging"

    def stop_once_it_builds() -> None:
        deadline = time.monotonic() + 60
        while not list(staging.glob("*/build.ninja")) and time.monotonic() < deadline:
            threading.Event().wait(0.01)
        workers.stop.set()

    thread = threading.Thread(target=stop_once_it_builds)
    thread.start()
    with pytest.raises(Interrupted):
        _load(workers, path)
    thread.join()
    assert list(staging.glob("*/build.ninja"))
    (report,) = _load(Workers(workers.host, workers.cache), path)
    assert report.succeeded
    assert not report.was_cached
    assert list(staging.iterdir()) == []


def test_refused_build_reports_its_log(workers: Workers, tmp_path: Path) -> None:
    path = tmp_path / "solution.py"
    path.write_text(SOLUTION.format(number="no_such_name"))
    with pytest.raises(SolutionRaised) as caught:
        _load(workers, path)
    (report,) = caught.value.raised.extensions
    assert not report.succeeded
    assert "no_such_name" in extension_log(workers.cache, "sim", report.key).read_text()
