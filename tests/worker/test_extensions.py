"""The cache of extensions: a solution's files decide what it finds, and no killed build is waited for."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.builder.extension_cache import log_of
from harness.builder.workers import Workers, bring
from harness.devices.choice import open_host
from harness.devices.environment import FLAGS
from harness.errors import Interrupted
from harness.run.cache import cache_folder
from harness.sandbox.process import SolutionRaised
from harness.sandbox.wire.messages import ExtensionReport, Load, Loaded

pytestmark = pytest.mark.sim

BUILDING = "harness-worker-*/scratch/extensions/*.building/build.ninja"

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
    with Workers(host, tmp_path / "cache") as made:
        yield made
    shutil.rmtree(tmp_path, ignore_errors=True)


def _load(workers: Workers, path: Path) -> tuple[ExtensionReport, ...]:
    with workers.start() as worker:
        reply = worker.ask(Load(bring(worker, path.parent), "ModelNew", FLAGS), 120)
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


def test_killed_build_is_not_waited_for(workers: Workers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = _write(tmp_path / "solution" / "solution.py", 3)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    def stop_once_it_builds() -> None:
        deadline = time.monotonic() + 60
        while not list(tmp_path.glob(BUILDING)) and time.monotonic() < deadline:
            threading.Event().wait(0.01)
        found.extend(tmp_path.glob(BUILDING))
        workers.stop.set()

    found: list[Path] = []
    thread = threading.Thread(target=stop_once_it_builds)
    thread.start()
    with pytest.raises(Interrupted):
        _load(workers, path)
    thread.join()
    assert found
    with Workers(workers.host, workers.cache) as others:
        (report,) = _load(others, path)
    assert (report.succeeded, report.was_cached) == (True, False)
    assert list(tmp_path.glob("harness-worker-*")) == []


def test_refused_build_leaves_its_log_in_the_cache(workers: Workers, tmp_path: Path) -> None:
    path = tmp_path / "solution" / "solution.py"
    path.parent.mkdir()
    path.write_text(SOLUTION.format(number="no_such_name"))
    with workers.start() as worker:
        place = bring(worker, path.parent)
        with pytest.raises(SolutionRaised) as caught:
            worker.ask(Load(place, "ModelNew", FLAGS), 120)
        (report,) = caught.value.raised.extensions
        log = log_of(worker, report.key)
    assert not report.succeeded
    assert log.is_relative_to(tmp_path / "cache" / "extensions" / "sim")
    assert "no_such_name" in log.read_text()
    assert "harness-worker-" not in log.read_text() + caught.value.raised.traceback


def test_tracebacks_name_the_solutions_own_file(workers: Workers, tmp_path: Path) -> None:
    (tmp_path / "relu" / "mine").mkdir(parents=True)
    (tmp_path / "relu" / "mine" / "solution.py").write_text("x = 1\nraise ValueError(__file__)\n")
    with workers.start() as worker, pytest.raises(SolutionRaised) as caught:
        worker.ask(Load(bring(worker, tmp_path / "relu" / "mine"), "ModelNew", FLAGS), 120)
    assert caught.value.raised.message == "solutions/relu/mine/solution.py"
    assert 'File "solutions/relu/mine/solution.py", line 2' in caught.value.raised.traceback


@pytest.mark.heavy
def test_a_changed_solution_finds_nothing_of_its_former_self(workers: Workers, tmp_path: Path) -> None:
    """Whatever the former one may have laid into the cache: the very extension is built anew."""
    path = _write(tmp_path / "a" / "solution.py", 4)
    (first,) = _load(workers, path)
    path.write_text(path.read_text() + "# changed\n")
    (second,) = _load(workers, path)
    assert first.key == second.key
    assert (first.was_cached, second.was_cached) == (False, False)
