"""A worker ends with everything it started, and what it printed is kept in part."""

from __future__ import annotations

import itertools
import os
import platform
import signal
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from harness.builder.workers import Workers, bring
from harness.devices.choice import open_host
from harness.devices.environment import FLAGS
from harness.errors import MachineError
from harness.model.verdict import Verdict
from harness.run.cache import cache_folder
from harness.run.cores import keep_thread_to
from harness.sandbox import process
from harness.sandbox.family import has_ended
from harness.sandbox.outcome import SolutionFailed, WorkerKilled
from harness.sandbox.process import Made, SolutionRaised, WorkerProcess
from harness.sandbox.wire.messages import Construct, Describe, Load, Raised, TakeTurn
from tests.fork_servers import OwnForkServers

pytestmark = pytest.mark.sim


@pytest.fixture
def workers(tmp_path: Path) -> Iterator[Workers]:
    with Workers(open_host("sim", cache_folder(), lambda what: None), tmp_path / "cache") as made:
        yield made


def load(worker: WorkerProcess, folder: Path, text: str, timeout_s: float = 60) -> None:
    """Have the worker import a solution of this text."""
    (folder / "solution").mkdir(exist_ok=True)
    (folder / "solution" / "solution.py").write_text(text)
    worker.ask(Load(bring(worker, folder / "solution"), "ModelNew", FLAGS), timeout_s)


def test_child_processes_end_with_their_worker(workers: Workers, tmp_path: Path) -> None:
    text = "import subprocess\nprint(subprocess.Popen(['sleep', '1000']).pid)\nclass ModelNew: pass\n"
    with workers.start() as worker:
        load(worker, tmp_path, text)
    child = Path("/proc") / worker.output
    assert not child.exists() or "(sleep) Z" in (child / "stat").read_text()
    assert worker.leftovers.remark is None


def test_a_worker_that_builds_gives_way_to_other_sessions(workers: Workers) -> None:
    """Linux gives each session its share, in which a process's own priority counts among that session's alone."""
    priorities = []

    def start() -> None:
        keep_thread_to(None, is_background=True)
        with workers.start(for_build=True) as worker:
            worker.await_start()
            priorities.append(os.getpriority(os.PRIO_PROCESS, worker.pid))
            priorities.append(int(Path(f"/proc/{worker.pid}/autogroup").read_text().split()[-1]))

    if os.getuid() != 0 or not Path("/proc/self/autogroup").exists():
        pytest.skip("sessions have no shares here, or all users a common limit")
    thread = threading.Thread(target=start)
    thread.start()
    thread.join()
    assert priorities == [10, 10]


ORPHANING = """
import os
reader, writer = os.pipe()
for lives_s in (0, 1000):
    if os.fork() == 0:
        if os.fork() == 0:
            os.setsid()
            os.write(writer, f"{os.getpid()} ".encode())
            os.execvp("sleep", ["sleep", str(lives_s)])
        os._exit(0)
    os.wait()
os.close(writer)
print(os.getppid(), (os.read(reader, 40) + os.read(reader, 40)).decode())
class ModelNew: pass
"""


def test_orphans_are_children_of_the_fork_server_and_reaped(workers: Workers, tmp_path: Path) -> None:
    with workers.start() as worker:
        load(worker, tmp_path, ORPHANING)
        deadline = time.monotonic() + 20
        while len(worker.output.split()) < 3 and time.monotonic() < deadline:  # a thread reads it in its own time
            time.sleep(0.01)
        server, *orphans = map(int, worker.output.split())
        assert parent_of(orphans[1]) == server
    with workers.start():
        pass
    assert {parent_of(one) for one in orphans} == {None}


def parent_of(pid: int) -> int | None:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return None


def test_output_keeps_its_beginning_and_its_end(workers: Workers, tmp_path: Path) -> None:
    text = "import os\nprint('first words')\nprint('y' * 10_000_000)\nprint('last words')\nos._exit(3)\n"
    with workers.start() as worker:
        with pytest.raises(SolutionFailed) as caught:
            load(worker, tmp_path, text)
        output = worker.output
    assert caught.value.verdict is Verdict.CRASHED
    assert "exit code 3 during the import" in str(caught.value)
    assert output.startswith("first words")
    assert output.endswith("last words")
    assert len(output) < 50_000


def test_worker_that_cannot_start_is_the_machines_fault(
    workers: Workers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "torch.py").write_text("raise ImportError('torch is broken here')\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("PYTHONSAFEPATH", "")
    with pytest.raises(MachineError, match="didn't start"):
        workers.start()


def test_worker_that_dies_between_questions_crashed(workers: Workers, tmp_path: Path) -> None:
    text = "import os, threading\nthreading.Timer(0.1, os._exit, (7,)).start()\nclass ModelNew: pass\n"
    with workers.start() as worker:
        load(worker, tmp_path, text)
        worker._started.process.wait(timeout=60)
        with pytest.raises(SolutionFailed, match="exit code 7") as caught:
            worker.ask(Load("solution.py", "ModelNew", FLAGS), 60)
    assert caught.value.verdict is Verdict.CRASHED


@pytest.mark.parametrize(
    ("request_", "stage"),
    [(Construct([], 1), "construction"), (TakeTurn(()), "call of the module"), (Describe(), "outside")],
)
def test_a_crash_is_told_by_the_stage_and_not_by_a_message(
    workers: Workers, tmp_path: Path, request_: Construct | TakeTurn | Describe, stage: str
) -> None:
    with workers.start() as worker:
        load(worker, tmp_path, FINE)
        os.kill(worker.pid, signal.SIGABRT)
        with pytest.raises(SolutionFailed, match="SIGABRT") as caught:
            worker.ask(request_, 60)
    assert stage in str(caught.value)
    assert type(request_).__name__ not in str(caught.value)


FINE = "class ModelNew: pass\n"
HALF_DEAD = """
import ctypes, os, threading, time
threading.Thread(target=time.sleep, args=(30,)).start()
os.closerange(3, 64)
ctypes.CDLL(None).syscall(60, 0)  # of the main thread alone: the process looks like a zombie and can't be reaped
"""


def test_a_process_that_ends_by_half_holds_nobody_up(
    workers: Workers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("harness.sandbox.process._ENDING_S", 1)
    if platform.machine() != "x86_64":
        pytest.skip("exit(2) has another number here")
    with workers.start() as bystander, workers.start() as worker:
        load(bystander, tmp_path, FINE)
        with pytest.raises(SolutionFailed) as caught:
            load(worker, tmp_path, HALF_DEAD, 3)
        assert caught.value.verdict in (Verdict.TIMEOUT, Verdict.CHEATING)
        with workers.start() as third:
            load(third, tmp_path, FINE)
        assert bystander._started.process.poll() is None


def test_a_worker_that_ends_with_its_server_did_nothing_wrong(workers: Workers, tmp_path: Path) -> None:
    servers = OwnForkServers()
    with replace(workers, servers=servers).start() as worker:
        load(worker, tmp_path, FINE)
        servers.close()
        with pytest.raises(MachineError, match=r"forked .*ended"):
            worker.ask(Load("solution.py", "ModelNew", FLAGS), 60)


def test_an_untouched_worker_says_whether_it_can_be_traced(workers: Workers, tmp_path: Path) -> None:
    with workers.start() as worker:
        assert worker.can_trace is None
        worker.try_trace(60)
        assert worker.can_trace is True
        load(worker, tmp_path, FINE)


def test_a_worker_that_ends_before_it_was_given_anything_is_the_machines_fault(workers: Workers) -> None:
    with workers.start() as worker:
        worker.ask(Describe(), 60)
        worker.kill()
        with pytest.raises(MachineError, match="SIGKILL"):
            worker.try_trace(60)


def test_workers_started_ahead_are_taken_once_each_if_they_live(workers: Workers, tmp_path: Path) -> None:
    workers.start_ahead(2)
    workers.await_idle()
    gone, other = workers.idle
    os.killpg(gone.pid, signal.SIGKILL)
    while not has_ended(gone.pid):
        time.sleep(0.01)
    with workers.start() as second, workers.start() as third:
        assert second is other
        load(second, tmp_path, "class ModelNew: pass\n")
        assert third not in (gone, other)
        assert not workers.idle


def test_a_worker_that_was_lent_stays_with_what_it_has_made_or_unused(workers: Workers, tmp_path: Path) -> None:
    with workers.lend(("a",)) as used, workers.lend(("b",)) as unused:
        load(used, tmp_path, "class ModelNew: pass\n")
        used.made = Made(("a",), (None, 0), 8.0)
    assert set(workers.idle) == {used, unused}
    with workers.lend(("c",)) as other:
        assert other is unused
        load(other, tmp_path, "class ModelNew: pass\n")
    assert has_ended(other.pid)
    with workers.lend(("a",)) as again:
        assert again is used
        again.ask(Describe(), 10)
        again.made = Made(("b",), (None, 0), None)
    workers.end_others([("a",)])
    assert has_ended(used.pid)
    assert not workers.idle


def test_a_reference_is_loaded_anew_where_another_text_of_it_was(workers: Workers) -> None:
    with workers.start() as worker:
        for name in ("First", "Second"):
            worker.ask(Load(worker.bring_text("problem.py", f"class {name}: pass\n"), name, {}), 60)


def test_a_worker_that_does_not_come_up_is_nobody_s(workers: Workers, monkeypatch: pytest.MonkeyPatch) -> None:
    workers.start_ahead(2)
    broken, other = workers.idle

    def hear() -> None:
        raise TimeoutError

    monkeypatch.setattr(broken._conversation, "hear", hear)
    workers.await_idle()
    assert workers.idle == [other]
    assert has_ended(broken.pid)


def test_a_worker_started_ahead_ends_with_its_run(workers: Workers) -> None:
    workers.start_ahead(1)
    (unused,) = workers.idle
    assert workers.start(for_build=True).close() is None
    assert workers.idle == [unused]
    workers.close()
    assert has_ended(unused.pid)


@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGTERM])
def test_who_was_ended_by_a_signal_that_others_send_may_have_done_nothing(
    workers: Workers, tmp_path: Path, sent: signal.Signals
) -> None:
    with workers.start() as worker:
        load(worker, tmp_path, FINE)
        os.kill(worker.pid, sent)
        with pytest.raises(WorkerKilled, match=sent.name) as caught:
            worker.ask(Describe(), 60)
    assert caught.value.failed is not None
    assert caught.value.failed.verdict is Verdict.CRASHED


@pytest.mark.parametrize(("available", "verdict"), [(2**50, Verdict.OUT_OF_MEMORY), (0, None)])
def test_when_memory_ran_out_it_is_to_blame_whose_end_makes_room(
    workers: Workers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, available: int, verdict: Verdict | None
) -> None:
    monkeypatch.setattr(process, "oom_kills", iter(range(9)).__next__)
    with workers.start() as worker:
        load(worker, tmp_path, FINE)
        monkeypatch.setattr(process, "available_bytes", lambda: available)
        os.kill(worker.pid, signal.SIGKILL)
        with pytest.raises(WorkerKilled, match="memory ran out") as caught:
            worker.ask(Describe(), 60)
        assert not worker._started.family.members()
    assert (caught.value.failed and caught.value.failed.verdict) is verdict


GRABS = "import time\nheld = b'x' * 2**28\ntime.sleep(60)\nclass ModelNew: pass"


@pytest.mark.parametrize(
    ("later", "error"), [(10**9, WorkerKilled), (10**8, SolutionFailed)], ids=["others had it", "it has it"]
)
def test_a_limit_that_is_low_since_others_held_memory_convicts_nobody(
    workers: Workers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, later: int, error: type[Exception]
) -> None:
    left = itertools.chain([10**8] * 2, itertools.repeat(later))  # at its start, before it takes any, at its end
    monkeypatch.setattr(process, "available_bytes", left.__next__)
    with workers.start() as worker, pytest.raises(error, match="host memory") as caught:
        load(worker, tmp_path, GRABS)
    if isinstance(caught.value, SolutionFailed):
        assert caught.value.verdict is Verdict.OUT_OF_MEMORY


TALKS = """
import gc, socket, time
for one in gc.get_objects():
    if isinstance(one, socket.socket):
        one.sendall(b"seven..")
class ModelNew: pass
"""


def test_who_speaks_out_of_turn_is_quoted_in_numbers(workers: Workers, tmp_path: Path) -> None:
    with workers.start() as worker:
        worker.ask(Describe(), 60)
        with pytest.raises(SolutionFailed) as caught:
            load(worker, tmp_path, TALKS)
    (evidence,) = caught.value.failure.evidence
    assert (evidence.check, evidence.numbers) == ("private_socket", {"answers": 1})


def test_the_words_of_an_exception_are_cut() -> None:
    raised = SolutionRaised(Raised("ValueError", "begins" + "a" * 10**6, "b" * 10**6 + "ends")).raised
    assert (len(raised.message), len(raised.traceback)) == (20_000, 20_000)
    assert (raised.message[:6], raised.traceback[-4:]) == ("begins", "ends")
