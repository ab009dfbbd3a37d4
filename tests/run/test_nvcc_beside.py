"""nvcc beside a run on the simulator: what waits for it, and what doesn't. Builds, lane and nvcc by a script."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from harness.builder.build import BuildOutcome, CompilerRefused
from harness.builder.nvcc_check import Opinion
from harness.builder.workers import Workers
from harness.devices.environment import Nvcc
from harness.model.build import ExtensionBuild, NvccCheck
from harness.model.config import Config
from harness.model.evaluation import Evaluation
from harness.model.verdict import Verdict
from harness.referee.job import Job
from harness.run import local
from harness.run.lane import Assignment
from harness.run.local import Evaluating, Lanes, run_tasks
from harness.run.threads import Shape
from harness.sandbox.wire.extension_text import ExtensionText
from harness.sandbox.wire.messages import ExtensionReport
from harness.store.journal import Journal, read_journals
from harness.workspace.selection import select_tasks
from tests.examples import passed, sim_environment
from tests.run.test_local import ScriptedLane
from tests.workspace.made import made_workspace
from tests.workspace.test_problem import SOURCE

KEY = "ab" * 16
BUILD = ExtensionBuild("pool", KEY, False, 3.0, "log")


class Machine(ScriptedLane):
    """Solutions are named for what their builds and nvcc come to; `order` is what happened."""

    def __init__(self) -> None:
        super().__init__()
        self.order: list[str] = []
        self.is_judged = threading.Event()

    def build(self, job: Job, workers: Workers, wanted: Sequence[ExtensionText]) -> BuildOutcome:
        name = job.solution.name
        failed = None
        if name.startswith("gap"):
            report = ExtensionReport("pool", KEY, False, False, 2.0)
            failed = CompilerRefused(Verdict.UNSUPPORTED, report, "inline PTX (asm) at line 3", Path("log"), True)
        return BuildOutcome((BUILD,), failed, 1.0, {KEY: Path("calls")})

    def ask(
        self, nvcc: Nvcc, workers: Workers, config: object, built: object, folder: Path, _: Any
    ) -> dict[str, Opinion]:
        name = folder.name
        if not name.startswith("gap"):
            assert self.is_judged.wait(30)  # it is judged meanwhile
        self.order.append(f"nvcc {name}")
        outcome, words = ("refused", "cuda.cu(9): error: bad") if "refused" in name else ("accepted", "")
        return {KEY: Opinion(NvccCheck(outcome, nvcc.version, ("sm_90",), 9.5, False, words))}  # type: ignore[arg-type]

    def evaluate(self, assignment: Assignment, notify: Any) -> Evaluation:
        name = assignment.job.solution.name
        self.order.append(f"judge {name}")
        self.judged.append(name)
        self.is_judged.set()
        return passed(name, id=name, environment=sim_environment(), builds=(BUILD,))


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    scripted = Machine()
    monkeypatch.setattr(local, "build_job", scripted.build)
    monkeypatch.setattr(local, "ask_nvcc", scripted.ask)
    monkeypatch.setattr(local, "find_nvcc", lambda: Nvcc("/cuda/bin/nvcc", "13.0.88"))
    return scripted


def run(
    machine: Machine, tmp_path: Path, *names: str, config: Config = Config(), backend: str = "sim"
) -> dict[str, Any]:
    workspace = made_workspace(tmp_path, "pool", SOURCE, dict.fromkeys(names, "class ModelNew: ..."))
    host: Any = SimpleNamespace(name=backend)
    lanes = Lanes({"only": machine}, Workers(host, tmp_path), None, sim_environment())
    journal = Journal(tmp_path / "results", "run")
    stages = Evaluating(lanes, "run", config, 1, lambda job, what: None, journal)
    found = {one.solution.name: one for one in run_tasks(select_tasks(workspace), stages, Shape(1, 1, 4))}
    kept = {one.solution.name: one.verdict for one in read_journals(tmp_path / "results")}
    assert kept == {name: one.verdict for name, one in found.items()}
    return found


def test_nvcc_compiles_while_the_solution_is_judged(machine: Machine, tmp_path: Path) -> None:
    (evaluation,) = run(machine, tmp_path, "good").values()
    assert evaluation.verdict is Verdict.PASSED
    assert evaluation.builds[0].nvcc.outcome == "accepted"
    assert machine.order == ["judge good", "nvcc good"]


def test_what_nvcc_refuses_does_not_pass(machine: Machine, tmp_path: Path) -> None:
    (evaluation,) = run(machine, tmp_path, "refused").values()
    assert evaluation.verdict is Verdict.COMPILE_ERROR


def test_what_the_simulator_lacks_waits_for_nvcc_alone(machine: Machine, tmp_path: Path) -> None:
    found = run(machine, tmp_path, "gap_good", "gap_refused")
    assert {name: one.verdict for name, one in found.items()} == {
        "gap_good": Verdict.UNSUPPORTED,
        "gap_refused": Verdict.COMPILE_ERROR,
    }
    assert "nvcc 13.0.88 compiles" in found["gap_good"].failure.reason
    assert found["gap_good"].stages_s == {"build": 1.0, "nvcc": 9.5}
    assert machine.order == ["nvcc gap_good", "nvcc gap_refused"]


@pytest.mark.parametrize("is_missing", [True, False])
def test_without_nvcc_the_simulator_s_word_stands(
    machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_missing: bool
) -> None:
    if is_missing:
        monkeypatch.setattr(local, "find_nvcc", lambda: None)
    config = Config() if is_missing else Config().but("nvcc", enabled=False)
    found = run(machine, tmp_path, "good", "gap_good", config=config)
    assert {name: one.verdict.value for name, one in found.items()} == {
        "good": "passed",
        "gap_good": "unsupported",
    }
    assert found["good"].builds[0].nvcc is None
    assert machine.order == ["judge good"]


def test_on_a_gpu_nobody_asks(machine: Machine, tmp_path: Path) -> None:
    (evaluation,) = run(machine, tmp_path, "refused", backend="cuda").values()
    assert evaluation.verdict is Verdict.PASSED
    assert machine.order == ["judge refused"]


def test_config_of_a_run_without_nvcc_is_another_question() -> None:
    assert Config().but("nvcc", enabled=False).identity != Config().identity
    assert "nvcc" not in Config().identity
    assert replace(Config(), nvcc=Config().nvcc) == Config()
