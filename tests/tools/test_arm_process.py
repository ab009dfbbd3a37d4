"""The process under a tool, for real but for its GPU: it computes on the CPU."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.sandbox.folder import make_folder, remove_folder
from harness.sandbox.wire.codec import decode, encode
from harness.sandbox.wire.layout import scratch_folder
from harness.sandbox.wire.sandbox import Sandbox
from harness.tools.arm_task import ArmReport, ArmTask, Calls, Mode
from harness.tools.chrome_trace import read_timeline
from tests.machine import ROOT
from tests.tools.fakes import WORKSPACE

ON_CPU = """
import functools, sys
import torch
import harness.devices
from harness.tools import arm_process
from harness.referee.answers import reference

class Cpu:
    torch_device = "cpu"
    def synchronize(self): ...
    def limit_launches(self, count=None, seed=0, seconds=None): ...

harness.devices.activate_worker = lambda name, options: Cpu()
torch.cuda.synchronize = lambda: None
on_gpu = reference.Reference
reference.Reference = lambda problem, case, device: on_gpu(problem, case, "cpu")
arm_process.main()
"""
NEEDED = ("read-only files", "filtered system calls", "no network")


class ArmProcess:
    """Runs a solution's text, or the reference, as the child of nobody's tool."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.code: int | None = None
        self.printed = ""

    def run(self, solution: str | None, mode: Mode = "plain", calls: int = 2) -> ArmReport:
        path = self.folder / "files" / "solution.py"
        if solution is not None:
            path.write_text(solution)
        sandbox = Sandbox(str(self.folder), (str(WORKSPACE),), str(self.folder / "home"), os.getpid())
        task = ArmTask(
            str(WORKSPACE), "double", "small", None if solution is None else str(path), Calls(mode, calls), sandbox
        )
        (self.folder / "task.json").write_text(json.dumps(encode(task)))
        done = subprocess.run(
            [sys.executable, "-c", ON_CPU, str(self.folder / "task.json")],
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(scratch_folder(self.folder) / "tmp")},
            cwd=scratch_folder(self.folder) / "work",
            timeout=120,
            check=False,
        )
        self.code, self.printed = done.returncode, done.stdout + done.stderr
        return decode(ArmReport, json.loads((scratch_folder(self.folder) / "report.json").read_text()))


@pytest.fixture
def process() -> Iterator[ArmProcess]:
    folder = make_folder()
    yield ArmProcess(folder)
    remove_folder(folder)


def solution(forward: str, before: str = "") -> str:
    return f"""
import socket
import torch
{before}

class ModelNew(torch.nn.Module):
    def forward(self, x):
        {forward}
        return 2 * x
"""


def test_an_arm_is_called_after_its_warm_up_and_traced(process: ArmProcess) -> None:
    report = process.run(solution("print('called', tuple(x.shape))"), mode="traced", calls=2)
    assert (process.code, report.stage, report.error) == (0, "end", None)
    assert [line for line in process.printed.splitlines() if "called" in line] == ["called (3, 100)"] * 3
    trace = (scratch_folder(process.folder) / "trace.json").read_bytes()
    assert trace.count(b'"aten::mul"') == 2  # not the warm-up's
    assert read_timeline(trace, calls=2).rows == ()  # of kernels: this is a CPU


def test_the_reference_is_called_too(process: ArmProcess) -> None:
    assert (process.run(None).stage, process.code) == ("end", 0)


def test_a_solution_that_raises_is_told_with_its_traceback(process: ArmProcess) -> None:
    report = process.run(solution("raise ValueError('odd')"))
    assert (process.code, report.stage) == (1, "call")
    assert (report.error or "").splitlines()[-1] == "ValueError: odd"


def test_a_solution_that_ends_the_process_leaves_word_of_how_far_it_came(process: ArmProcess) -> None:
    report = process.run(solution("pass", before="import os; os._exit(0)"))
    assert (report.stage, report.error) == ("load", None)


def test_a_solution_can_neither_write_beside_it_nor_read_the_problem(process: ArmProcess, tmp_path: Path) -> None:
    target, problem = tmp_path / "file", WORKSPACE / "problems" / "double" / "problem.py"
    attempts = f"""
        for what in (lambda: open({str(target)!r}, "w"), lambda: open({str(problem)!r}), socket.socket):
            try:
                what()
            except OSError as error:
                print(type(error).__name__)"""
    report = process.run(solution(attempts.strip()), calls=0)
    if missing := set(NEEDED) - set(report.protections):
        pytest.skip(f"this machine has no {', '.join(sorted(missing))}")
    assert report.stage == "end"
    assert process.printed.splitlines() == ["PermissionError"] * 3
    assert not target.exists()


def test_the_text_of_an_inline_extension_is_noted_before_it_is_built(process: ArmProcess) -> None:
    """Whatever becomes of the build: here there is nothing to build with."""
    before = """
from torch.utils import cpp_extension
cpp_extension.load_inline("first", "", cuda_sources=["// one", "// two"], functions=["f"])
"""
    report = process.run(solution("pass", before=before))
    assert [(source.text, source.lines_before) for source in report.sources] == [("// one\n// two", 3)]
