"""Workers started ahead: taken once, alike in everything, and gone in the end. No GPU is needed: they only start."""

from __future__ import annotations

import os
import select
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.protocol.exchange import READY, open_envelope
from harness.protocol.frames import receive_frame
from harness.protocol.messages import REPLIES
from harness.referee.worker_start import Launch, Spares, StartedWorker, make_launch, surroundings_of


@pytest.fixture
def spares() -> Iterator[Spares]:
    made = Spares()
    yield made
    made.close()


def launch_of(cache: Path, visible: str = "") -> Launch:
    """Made in a test's body: pytest keeps the phase of a test in an environment variable."""
    return make_launch("cuda", cache, [], {"CUDA_VISIBLE_DEVICES": visible})


def test_each_spare_is_taken_once(spares: Spares, tmp_path: Path) -> None:
    spares.keep(launch_of(tmp_path), 1)
    taken = spares.take(launch_of(tmp_path))
    assert taken is not None
    assert spares.take(launch_of(tmp_path)) is None
    taken.close()
    assert taken.process.returncode == -signal.SIGKILL


def test_no_more_are_started_than_lack(spares: Spares, tmp_path: Path) -> None:
    spares.keep(launch_of(tmp_path), 1)
    spares.keep(launch_of(tmp_path), 1)
    taken = spares.take(launch_of(tmp_path))
    assert taken is not None
    taken.close()
    assert spares.take(launch_of(tmp_path)) is None


def test_another_launch_takes_nothing(spares: Spares, tmp_path: Path) -> None:
    spares.keep(launch_of(tmp_path), 1)
    assert spares.take(launch_of(tmp_path, "1")) is None
    assert spares.take(launch_of(tmp_path / "other")) is None


def test_who_builds_is_no_spare_for_who_is_measured(spares: Spares, tmp_path: Path) -> None:
    spares.keep(make_launch("cuda", tmp_path, [], {}, for_build=True), 1)
    assert spares.take(make_launch("cuda", tmp_path, [], {}, for_build=False)) is None


def test_a_worker_for_builds_is_told_so_and_imports_torch(spares: Spares, tmp_path: Path) -> None:
    launch = make_launch("cuda", tmp_path, [], {"CUDA_VISIBLE_DEVICES": ""}, for_build=True)
    spares.keep(launch, 1)
    spares.settle(120)
    taken = spares.take(launch)
    assert taken is not None
    told = Path(f"/proc/{taken.process.pid}/cmdline").read_bytes()
    frame, _ = receive_frame(taken.socket)
    taken.close()
    assert b'"for_build": true' in told
    assert open_envelope(frame, REPLIES)[0] == READY


def test_changed_environment_takes_nothing(spares: Spares, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spares.keep(launch_of(tmp_path), 1)
    monkeypatch.setenv("CXX", "another-compiler")
    assert spares.take(launch_of(tmp_path)) is None


def test_what_torch_sets_in_this_process_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = launch_of(tmp_path)
    monkeypatch.setenv("CUDA_MODULE_LOADING", "LAZY")
    assert launch_of(tmp_path) == before


def test_dead_spare_is_passed_over(spares: Spares, tmp_path: Path) -> None:
    spares.keep(launch_of(tmp_path), 2)
    first = spares._waiting[0][1]
    first.process.kill()
    os.waitid(os.P_PID, first.process.pid, os.WEXITED | os.WNOWAIT)
    taken = spares.take(launch_of(tmp_path))
    assert taken is not None
    assert taken is not first
    assert taken.process.poll() is None
    taken.close()


def test_settled_spares_have_said_that_they_are_ready(spares: Spares, tmp_path: Path) -> None:
    spares.keep(launch_of(tmp_path), 1)
    spares.settle(120)
    taken = spares.take(launch_of(tmp_path))
    assert taken is not None
    assert select.select([taken.socket], [], [], 0)[0]
    frame, _ = receive_frame(taken.socket)
    taken.close()
    assert open_envelope(frame, REPLIES)[0] == READY


def test_taken_spare_moves_to_the_takers_cpus(spares: Spares, tmp_path: Path) -> None:
    cpus = os.sched_getaffinity(0)
    if len(cpus) < 2:
        pytest.skip("one CPU only")
    spares.keep(launch_of(tmp_path), 1)
    found: list[set[int]] = []

    def take() -> None:
        os.sched_setaffinity(0, {min(cpus)})  # of this thread alone
        taken = spares.take(launch_of(tmp_path))
        assert taken is not None
        found.append(os.sched_getaffinity(taken.process.pid))
        taken.close()

    thread = threading.Thread(target=take)
    thread.start()
    thread.join()
    assert found == [{min(cpus)}]


@pytest.mark.parametrize("python_path", [None, "", ".", ":"])
def test_modules_where_the_user_stands_are_never_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, python_path: str | None
) -> None:
    """As in a folder of solutions: the baseline's worker would import them too."""
    for name in ("random", "queue", "socket", "ctypes", "torch", "harness"):
        (tmp_path / f"{name}.py").write_text("import os\nos._exit(77)\n")
    monkeypatch.chdir(tmp_path)
    if python_path is None:
        monkeypatch.delenv("PYTHONPATH", raising=False)
    else:
        monkeypatch.setenv("PYTHONPATH", python_path)
    if python_path == ".":  # asked for: only the harness itself stays ours
        for name in ("random", "queue", "socket", "ctypes", "torch"):
            (tmp_path / f"{name}.py").unlink()
    worker = StartedWorker(launch_of(tmp_path / "cache"))
    try:
        assert select.select([worker.socket], [], [], 120)[0]
        frame, _ = receive_frame(worker.socket)
        assert open_envelope(frame, REPLIES)[0] == READY
    finally:
        worker.close()


def test_workers_stand_in_empty_folders_of_their_own_that_go_with_them(tmp_path: Path) -> None:
    one, other = StartedWorker(launch_of(tmp_path)), StartedWorker(launch_of(tmp_path))
    folders = [Path(os.readlink(f"/proc/{worker.process.pid}/cwd")) for worker in (one, other)]
    assert len({*folders, Path.cwd()}) == 3
    assert [list(folder.iterdir()) for folder in folders] == [[], []]
    (folders[0] / "left").touch()
    one.close()
    other.close()
    assert [folder.exists() for folder in folders] == [False, False]


def test_a_run_hides_the_workspace_the_cache_and_temporary_folders(tmp_path: Path) -> None:
    around = surroundings_of(tmp_path / "kernels", tmp_path / "kept", ())
    hidden = make_launch("cuda", tmp_path / "cache", [], {}, around).hidden
    names = ("problems", "solutions", "results", "tests", ".git")
    wanted = {str(tmp_path / "kernels" / name) for name in names}
    assert set(hidden) >= wanted | {str(tmp_path / "kept"), str(tmp_path / "cache"), "/tmp"}


def test_what_the_user_lets_through_makes_another_launch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUTLASS_PATH", "/opt/cutlass")
    passing = make_launch("cuda", tmp_path, [], {}, surroundings_of(tmp_path, tmp_path, ("CUTLASS_PATH",)))
    assert ("CUTLASS_PATH", "/opt/cutlass") in passing.environment
    assert passing != make_launch("cuda", tmp_path, [], {}, surroundings_of(tmp_path, tmp_path, ()))


def test_closing_ends_what_waits(spares: Spares, tmp_path: Path) -> None:
    spares.keep(launch_of(tmp_path), 2)
    processes = [worker.process for _, worker in spares._waiting]
    spares.close()
    assert [process.returncode for process in processes] == [-signal.SIGKILL] * 2
    assert spares.take(launch_of(tmp_path)) is None
