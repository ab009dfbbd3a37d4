"""Ctrl-C ends everything at once and loses nothing that was obtained."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from harness.model.verdict import Verdict
from harness.sandbox.family import has_ended, start_of
from harness.store.journal import read_journals
from harness.store.line import from_line
from tests.machine import ROOT

FAULTS = ROOT / "tests" / "faults"


def _descendants(pid: int) -> dict[int, int | None]:
    """Numbers and starts of all that live below a process: fork servers, workers and what these have started."""
    found = {pid: start_of(pid)}
    parents = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            parents[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
    while new := {child for child, parent in parents.items() if parent in found and child not in found}:
        found |= {child: start_of(child) for child in new}
    del found[pid]
    return found


def _require_gone(processes: dict[int, int | None]) -> None:
    assert len(processes) >= 2  # a server and a worker
    deadline = time.monotonic() + 20
    while alive := [pid for pid, start in processes.items() if start_of(pid) == start and not has_ended(pid)]:
        assert time.monotonic() < deadline, alive
        time.sleep(0.05)


def _harness(results: Path, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "harness", "-C", str(FAULTS), *arguments,
         "--config", "one_by_one", "--backend", "sim", "--results", str(results)],
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        preexec_fn=_heed_interrupts,
    )  # fmt: skip


def _heed_interrupts() -> None:
    """Shells start what runs in the background with SIGINT ignored, nohup with SIGHUP, and children inherit that."""
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def _read_until(process: subprocess.Popen[str], *wanted: str) -> None:
    assert process.stderr is not None
    seen = ""
    while not all(words in seen for words in wanted):
        line = process.stderr.readline()
        assert line, seen
        seen += line


@pytest.mark.sim
def test_killed_comparison_is_resumed_where_it_was(tmp_path: Path) -> None:
    with _harness(tmp_path, "compare", "-s", "chatty", "-s", "hangs") as process:
        _read_until(process, "chatty: passed", "hangs: checking")
        started = _descendants(process.pid)
        process.kill()
        process.communicate(timeout=60)
    _require_gone(started)
    assert [e.solution.name for e in read_journals(tmp_path)] == ["chatty"]
    with _harness(tmp_path, "compare", "-s", "chatty", "-s", "wrong_shape", "--resume", "--json") as process:
        stdout, stderr = process.communicate(timeout=120)
    assert process.returncode == 0, stderr  # wrong_shape is expected
    _, kept, after = stderr.partition("1 of 2 ")
    assert kept
    assert "chatty" not in after
    assert [from_line(line).solution.name for line in stdout.splitlines()] == ["chatty", "wrong_shape"]
    assert [e.solution.name for e in read_journals(tmp_path)] == ["chatty", "wrong_shape"]


@pytest.mark.sim
@pytest.mark.parametrize(
    "number", [signal.SIGINT, *(pytest.param(one, marks=pytest.mark.heavy) for one in (signal.SIGTERM, signal.SIGHUP))]
)
def test_interrupted_run_keeps_its_results_and_leaves_no_worker(number: signal.Signals, tmp_path: Path) -> None:
    with _harness(tmp_path, "run", "-p", "double", "-s", "honest", "-s", "hangs") as process:
        _read_until(process, "honest: passed", "hangs: checking")
        started = _descendants(process.pid)
        process.send_signal(number)
        stdout, rest = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "interrupted" in rest
    assert [(e.solution.name, e.verdict) for e in read_journals(tmp_path)] == [("honest", Verdict.PASSED)]
    _require_gone(started)
    assert "honest" in stdout


@pytest.mark.sim
def test_a_second_interrupt_waits_for_nothing(tmp_path: Path) -> None:
    """The reference sleeps within harness itself, where nothing else can end it."""
    for folder in ("problems/double", "solutions/double/honest", "configs"):
        shutil.copytree(FAULTS / folder, tmp_path / folder)
    problem = tmp_path / "problems" / "double" / "problem.py"
    text = problem.read_text()
    assert text.count("return x * 2") == 1
    problem.write_text(text.replace("return x * 2", "print('asleep') or __import__('time').sleep(600)"))
    with _harness(tmp_path / "results", "-C", str(tmp_path), "run", "-p", "double") as process:
        _read_until(process, "asleep")
        process.send_signal(signal.SIGINT)
        _read_until(process, "harness: waiting for what is under way in this process")
        process.send_signal(signal.SIGINT)
        _, rest = process.communicate(timeout=20)
    assert process.returncode == 130
    assert rest.endswith("harness: ended at once; results so far are kept\n")
