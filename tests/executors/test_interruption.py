"""Ctrl-C ends everything at once and loses nothing that was obtained."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from harness.records.journal import read_journals
from harness.records.verdict import Verdict
from tests.machine import ROOT

FAULTS = ROOT / "tests" / "faults"


def _processes_of_session(pid: int) -> list[str]:
    """Command lines of live workers whose parent is, or was, the given process."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes().split(b"\0")
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
        except (OSError, ValueError):
            continue
        if b"harness.worker" in words and parent == pid:
            found.append(" ".join(word.decode() for word in words))
    return found


@pytest.mark.sim
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_run_keeps_its_results_and_leaves_no_worker(number: signal.Signals, tmp_path: Path) -> None:
    options = ["-s", "honest", "-s", "hangs", "--config", "one_by_one", "--results", str(tmp_path)]
    with subprocess.Popen(
        [sys.executable, "-m", "harness", "-C", str(FAULTS), "run", "-p", "double", "--backend", "sim", *options],
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    ) as process:
        assert process.stderr is not None
        seen = ""
        while not ("honest: passed" in seen and "hangs: checking" in seen):
            line = process.stderr.readline()
            assert line, seen
            seen += line
        process.send_signal(number)
        stdout, rest = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "interrupted" in rest
    assert [(e.solution.name, e.verdict) for e in read_journals(tmp_path)] == [("honest", Verdict.PASSED)]
    assert _processes_of_session(process.pid) == []
    assert "honest" in stdout
