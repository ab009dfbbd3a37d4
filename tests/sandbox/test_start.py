"""Workers are children of a process that has imported torch: alike in everything, and each by itself. No GPU is
needed: they only start."""

from __future__ import annotations

import os
import resource
import select
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest

from harness.errors import Interrupted, MachineError
from harness.sandbox.family import has_ended
from harness.sandbox.fork_server import ForkServer, ForkServers
from harness.sandbox.start import Launch, StartedWorker, make_launch, surroundings_of
from harness.sandbox.wire.frames import envelope, open_envelope, receive_frame, send_frame
from harness.sandbox.wire.messages import REPLIES, Ready, WarmUp
from harness.sandbox.wire.sandbox import MARK
from tests.fork_servers import OwnForkServers
from tests.workspace.made import write_files


@pytest.fixture(scope="module")
def servers() -> Iterator[ForkServers]:
    with closing(ForkServers()) as made:
        yield made


@pytest.fixture
def own_servers() -> Iterator[OwnForkServers]:
    with closing(OwnForkServers()) as made:
        yield made


@pytest.fixture
def importing_torch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], object]:
    """Has a server's import of torch run this code."""
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "library"))
    return lambda code: write_files(tmp_path, {"library/torch/__init__.py": code})


def launch_of(cache: Path, visible: str = "") -> Launch:
    """Made in a test's body: pytest keeps the phase of a test in an environment variable."""
    return make_launch("cuda", cache, [], {"CUDA_VISIBLE_DEVICES": visible})


Start = Callable[..., StartedWorker]


@pytest.fixture
def start(servers: ForkServers, tmp_path: Path) -> Iterator[Start]:
    """Starts a worker, waits until it is ready, and closes it after the test."""
    with ExitStack() as stack:

        def started(launch: Launch | None = None, among: ForkServers = servers) -> StartedWorker:
            worker = StartedWorker(launch or launch_of(tmp_path), among, threading.Event())
            stack.callback(worker.close)
            send_frame(worker.socket, envelope("ab12", WarmUp()))
            assert select.select([worker.socket], [], [], 120)[0]
            frame, _ = receive_frame(worker.socket)
            assert isinstance(open_envelope(frame, REPLIES)[1], Ready)
            return worker

        yield started


def _facts(pid: int) -> dict[str, str]:
    text = Path(f"/proc/{pid}/status").read_text()
    return {key: value.strip() for key, _, value in (line.partition(":") for line in text.splitlines())}


def test_workers_share_a_parent_and_nothing_else(start: Start) -> None:
    pids = [start().process.pid for _ in range(2)]
    assert len({_facts(pid)["PPid"] for pid in pids}) == 1
    assert [os.getsid(pid) for pid in pids] == pids
    kept = [[os.readlink(link) for link in Path(f"/proc/{pid}/fd").iterdir()] for pid in pids]
    assert all(len(links) == 4 for links in kept)  # the standard three, and its socket
    assert {link for link in kept[0] if link in kept[1]} == {"/dev/null"}


def test_proc_shows_a_workers_own_mark(start: Start) -> None:
    """What the worker forks without starting a program has this environment."""
    marks = set()
    for _ in range(2):
        worker = start()
        shown = Path(f"/proc/{worker.process.pid}/environ").read_bytes().split(b"\0")
        (mark,) = [entry for entry in shown if entry.startswith(MARK.encode())]
        assert worker.family._mark == mark
        marks.add(mark)
    assert len(marks) == 2


def test_equal_launches_share_a_server_and_others_do_not(own_servers: OwnForkServers, tmp_path: Path) -> None:
    mine = own_servers.server(launch_of(tmp_path).kind)
    assert own_servers.server(launch_of(tmp_path).kind) is mine
    assert own_servers.server(launch_of(tmp_path, "1").kind) is not mine
    assert own_servers.server(launch_of(tmp_path / "elsewhere").kind) is not mine  # other places are hidden


def test_a_changed_environment_gets_another_server(
    servers: ForkServers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = servers.server(launch_of(tmp_path).kind)
    monkeypatch.setenv("CXX", "another-compiler")
    assert servers.server(launch_of(tmp_path).kind) is not before


def test_what_torch_sets_in_this_process_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = launch_of(tmp_path)
    monkeypatch.setenv("CUDA_MODULE_LOADING", "LAZY")
    assert launch_of(tmp_path) == before


@pytest.mark.parametrize("ending", ["kill", "leave"])
def test_the_exit_code_is_the_workers_own(start: Start, ending: str) -> None:
    worker = start()
    assert worker.process.poll() is None
    with pytest.raises(subprocess.TimeoutExpired):
        worker.process.wait(0.01)
    if ending == "kill":
        os.kill(worker.process.pid, signal.SIGKILL)
    else:
        worker.socket.close()
    assert worker.process.wait(20) == (-signal.SIGKILL if ending == "kill" else 0)


def test_a_server_that_was_killed_is_replaced_and_took_its_workers_along(
    start: Start, servers: ForkServers, tmp_path: Path
) -> None:
    launch = launch_of(tmp_path)
    orphan = start(launch)
    server = servers.server(launch.kind)  # asked for again once it is dead, there would be another
    server.kill()
    assert server._process.wait(20) == -signal.SIGKILL
    assert orphan.process.wait(20) == -signal.SIGKILL
    start(launch)


def test_a_server_that_cannot_import_torch_says_why(
    start: Start, own_servers: OwnForkServers, importing_torch: Callable[[str], object]
) -> None:
    importing_torch("raise ImportError('half of torch is missing')\n")
    with pytest.raises(MachineError, match="ImportError: half of torch"):
        start(among=own_servers)


def test_being_told_to_stop_ends_the_wait_for_an_import(
    own_servers: OwnForkServers, tmp_path: Path, importing_torch: Callable[[str], object]
) -> None:
    importing_torch("import time\ntime.sleep(600)\n")
    stop = threading.Event()
    stop.set()
    began = time.monotonic()
    with pytest.raises(Interrupted):
        StartedWorker(launch_of(tmp_path), own_servers, stop)
    assert time.monotonic() - began < 60


def test_a_machine_that_lets_no_process_be_born_fails_that_worker_alone(
    start: Start, servers: ForkServers, tmp_path: Path
) -> None:
    launch = launch_of(tmp_path)
    living = start(launch)
    server = servers.server(launch.kind)
    kept = resource.prlimit(server._process.pid, resource.RLIMIT_NOFILE)
    resource.prlimit(server._process.pid, resource.RLIMIT_NOFILE, (4, kept[1]))
    with pytest.raises(MachineError, match=r"start: .*descriptors"):
        start(launch)
    resource.prlimit(server._process.pid, resource.RLIMIT_NOFILE, kept)
    assert servers.server(launch.kind) is server
    assert living.process.poll() is None
    start(launch)


def test_workers_can_be_started_by_many_threads_at_once(start: Start, tmp_path: Path) -> None:
    launch = launch_of(tmp_path)
    with ThreadPoolExecutor(8) as pool:
        workers = list(pool.map(lambda number: start(launch), range(16)))
        assert len({worker.process.pid for worker in workers}) == 16
        list(pool.map(StartedWorker.close, workers))
    assert {worker.process.returncode for worker in workers} == {-signal.SIGKILL}


def test_workers_end_with_the_process_that_holds_their_server(
    start: Start, servers: ForkServers, tmp_path: Path
) -> None:
    worker = start()
    servers.server(launch_of(tmp_path).kind)._socket.close()  # as the kernel does when the referee is killed
    deadline = time.monotonic() + 20
    while not has_ended(worker.process.pid) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert has_ended(worker.process.pid)


def test_a_worker_starts_on_the_cpus_of_who_asked_for_it(start: Start, servers: ForkServers, tmp_path: Path) -> None:
    cpus = os.sched_getaffinity(0)
    if len(cpus) < 2:
        pytest.skip("one CPU only")
    servers.server(launch_of(tmp_path).kind)
    found: list[Any] = []

    def look() -> None:
        os.sched_setaffinity(0, {min(cpus)})  # of this thread alone
        found.append(os.sched_getaffinity(start().process.pid))

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    assert found == [{min(cpus)}]


@pytest.mark.parametrize("python_path", [None, "", ".", ":"])
def test_modules_where_the_user_stands_are_never_imported(
    start: Start, own_servers: OwnForkServers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, python_path: str | None
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
    start(launch_of(tmp_path / "cache"), own_servers)


def test_workers_stand_in_empty_folders_of_their_own_that_go_with_them(start: Start) -> None:
    one, other = (start() for _ in range(2))
    folders = [Path(os.readlink(f"/proc/{worker.process.pid}/cwd")) for worker in (one, other)]
    assert len({*folders, Path.cwd()}) == 3
    assert [list(folder.iterdir()) for folder in folders] == [[], []]
    (folders[0] / "left").touch()
    one.close()
    other.close()
    assert [folder.exists() for folder in folders] == [False, False]


def test_a_run_hides_the_workspace_the_cache_and_temporary_folders(tmp_path: Path) -> None:
    around = surroundings_of(tmp_path / "kernels", tmp_path / "kept", ())
    hidden = make_launch("cuda", tmp_path / "cache", [], {}, around).kind.sandbox.hidden
    names = ("problems", "solutions", "results", "tests", ".git")
    wanted = {str(tmp_path / "kernels" / name) for name in names}
    assert set(hidden) >= wanted | {str(tmp_path / "kept"), str(tmp_path / "cache"), "/tmp"}


def test_what_the_user_lets_through_makes_another_launch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUTLASS_PATH", "/opt/cutlass")
    passing = make_launch("cuda", tmp_path, [], {}, surroundings_of(tmp_path, tmp_path, ("CUTLASS_PATH",)))
    assert ("CUTLASS_PATH", "/opt/cutlass") in passing.kind.environment
    assert passing != make_launch("cuda", tmp_path, [], {}, surroundings_of(tmp_path, tmp_path, ()))


def test_closing_ends_servers_and_workers(start: Start, own_servers: OwnForkServers, tmp_path: Path) -> None:
    worker = start(among=own_servers)
    server: ForkServer = own_servers.server(launch_of(tmp_path).kind)
    own_servers.close()
    assert not server.is_alive
    assert worker.process.wait(20) == -signal.SIGKILL
