"""Asking nvcc for its opinion: what is asked, what is kept, what leaves an extension unchecked. Workers by a script."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.builder.build import BuildOutcome
from harness.builder.nvcc_check import Opinion, ask_nvcc
from harness.devices.environment import Nvcc
from harness.errors import Interrupted, MachineError
from harness.model.build import ExtensionBuild
from harness.model.config import NvccConfig
from harness.model.verdict import Verdict
from harness.sandbox.outcome import SolutionFailed
from harness.sandbox.process import SolutionRaised
from harness.sandbox.wire.messages import CompiledForGpu, CompileForGpu, NvccRun, Raised
from harness.workspace.workspace import Workspace
from tests.machine import ROOT

NVCC = Nvcc("/cuda/bin/nvcc", "13.0.88")
KEYS = ("ab" * 16, "cd" * 16)
CALL = {
    "arguments": ["-c", "/harness-worker/scratch/cuda.cu"],
    "source": "/harness-worker/scratch/cuda.cu",
    "text": "…",
}
PTXAS = """ptxas info    : Compiling entry function 'k' for 'sm_90'
    16 bytes stack frame, 8 bytes spill stores, 4 bytes spill loads
ptxas info    : Used 40 registers, used 1 barriers, 1024 bytes smem
"""

Answer = Callable[[CompileForGpu, Path], CompiledForGpu]


class ScriptedWorkers:
    """Start workers that answer as they are told, and remember the questions."""

    def __init__(self, answer: Answer, folder: Path) -> None:
        self.asked: list[CompileForGpu] = []
        self.timeouts: list[float] = []
        self.for_build: list[bool] = []
        self.brought: list[Path] = []
        self.folder = folder
        self._answer = answer

    def start(self, for_build: bool = False) -> ScriptedWorkers:
        self.for_build.append(for_build)
        return self

    def bring(self, files: dict[str, bytes], place: Path) -> Path:
        self.brought.append(place)
        return place

    def ask(self, request: CompileForGpu, timeout_s: float) -> CompiledForGpu:
        self.asked.append(request)
        self.timeouts.append(timeout_s)
        return self._answer(request, self.folder)

    def __enter__(self) -> ScriptedWorkers:
        return self

    def __exit__(self, *_: object) -> None:
        pass


def accepts(request: CompileForGpu, folder: Path) -> CompiledForGpu:
    return CompiledForGpu((NvccRun("sm_90", 0, 9.5, PTXAS, constants={"k": 540}),))


def refuses(request: CompileForGpu, folder: Path) -> CompiledForGpu:
    return CompiledForGpu((NvccRun("sm_90", 1, 4.5, f'{folder}/scratch/cuda.cu(9): error: expected a ";"\n'),))


def subject(tmp_path: Path, *texts: str) -> BuildOutcome:
    calls = {}
    for key, text in zip(KEYS, texts, strict=False):
        calls[key] = tmp_path / "kept" / "calls" / f"{key}.json"
        calls[key].parent.mkdir(parents=True, exist_ok=True)
        calls[key].write_text(text)
    builds = tuple(ExtensionBuild("one", key, False, 3.0, "log") for key in calls)
    return BuildOutcome(builds, None, 1.0, calls)


def ask(workers: ScriptedWorkers, about: BuildOutcome, **settings: Any) -> dict[str, Opinion]:
    (solution,) = Workspace(ROOT).solutions("maxpool2d", ["plain"])
    return ask_nvcc(NVCC, workers, NvccConfig(**settings), about, solution.folder, None)  # type: ignore[arg-type]


def test_call_is_asked_in_the_worker_s_own_folder(tmp_path: Path) -> None:
    workers = ScriptedWorkers(accepts, Path("/tmp/w7"))
    about = subject(tmp_path, json.dumps([CALL]))
    opinion = ask(workers, about, architectures=("sm_80",), timeout_s=30)[KEYS[0]]
    (request,) = workers.asked
    assert (request.nvcc, request.architectures) == ("/cuda/bin/nvcc", ("sm_80",))
    assert request.calls[0].arguments == ("-c", "/tmp/w7/scratch/cuda.cu")
    assert request.calls[0].source == "/tmp/w7/scratch/cuda.cu"
    assert 29 < workers.timeouts[0] <= 30
    assert workers.for_build == [True]
    assert workers.brought == [Path("/tmp/w7/scratch/solutions/maxpool2d/plain")]
    (kernel,) = opinion.kernels
    assert (kernel.kernel, kernel.registers, kernel.shared_bytes, kernel.constant_bytes) == ("k", 40, 1024, 540)
    assert (kernel.stack_bytes, kernel.spill_store_bytes, kernel.spill_load_bytes) == (16, 8, 4)
    assert (opinion.check.outcome, opinion.check.architectures, opinion.check.seconds) == ("accepted", ("sm_90",), 9.5)


def test_answers_are_kept_and_asked_for_again_where_the_question_differs(tmp_path: Path) -> None:
    about = subject(tmp_path, json.dumps([CALL]))
    first = ask(ScriptedWorkers(refuses, Path("/tmp/w7")), about)[KEYS[0]].check
    assert (first.outcome, first.was_cached) == ("refused", False)
    assert first.words == 'cuda.cu(9): error: expected a ";"'
    assert "/tmp/w7" not in first.output
    nobody = ScriptedWorkers(accepts, Path("/tmp/w8"))
    again = ask(nobody, about)[KEYS[0]].check
    assert (again.outcome, again.words, again.was_cached) == ("refused", first.words, True)
    assert nobody.for_build == []
    assert ask(nobody, about, architectures=("sm_80",))[KEYS[0]].check.outcome == "accepted"
    assert ask(nobody, subject(tmp_path, json.dumps([{**CALL, "text": "!"}])))[KEYS[0]].check.outcome == "accepted"
    assert len(nobody.asked) == 2


def test_one_worker_serves_all_extensions_of_a_solution(tmp_path: Path) -> None:
    workers = ScriptedWorkers(accepts, Path("/tmp/w7"))
    assert set(ask(workers, subject(tmp_path, json.dumps([CALL]), json.dumps([CALL, CALL])))) == set(KEYS)
    assert (len(workers.for_build), [len(request.calls) for request in workers.asked]) == (1, [1, 2])


def test_extension_that_called_no_nvcc_is_not_asked_about(tmp_path: Path) -> None:
    workers = ScriptedWorkers(accepts, Path("/tmp/w7"))
    about = subject(tmp_path, "")
    assert ask(workers, about) == {}
    assert workers.for_build == []


@pytest.mark.parametrize(
    "text",
    ["nonsense", "{}", "[3]", '[{"arguments": []}]', "[" * 100_000, json.dumps([CALL] * 17),
     json.dumps([{**CALL, "source": ""}]), json.dumps([{**CALL, "arguments": ["a\0b"]}])],
)  # fmt: skip
def test_account_that_is_none_leaves_it_unchecked(tmp_path: Path, text: str) -> None:
    workers = ScriptedWorkers(accepts, Path("/tmp/w7"))
    check = ask(workers, subject(tmp_path, text))[KEYS[0]].check
    assert check.outcome == "unchecked"
    assert "no readable account" in check.words
    assert workers.asked == []


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (SolutionFailed(Verdict.TIMEOUT, "no answer within 30 s"), "no answer within 30 s"),
        (SolutionFailed(Verdict.OUT_OF_MEMORY, "the process took 9 GiB"), "the process took 9 GiB"),
        (SolutionRaised(Raised("OSError", "Exec format error", "")), "Exec format error"),
        (MachineError("a worker didn't start"), "a worker didn't start"),
    ],
)
def test_what_nvcc_could_not_finish_accuses_nobody_and_is_tried_again(
    tmp_path: Path, error: Exception, words: str
) -> None:
    def fails(request: CompileForGpu, folder: Path) -> CompiledForGpu:
        raise error

    about = subject(tmp_path, json.dumps([CALL]), json.dumps([CALL, CALL]))
    found = ask(ScriptedWorkers(fails, Path("/tmp/w7")), about)
    assert [(found[key].check.outcome, found[key].check.words) for key in KEYS] == [("unchecked", words)] * 2
    assert ask(ScriptedWorkers(accepts, Path("/tmp/w7")), about)[KEYS[0]].check.outcome == "accepted"


def test_being_told_to_stop_is_no_answer(tmp_path: Path) -> None:
    def stops(request: CompileForGpu, folder: Path) -> CompiledForGpu:
        raise Interrupted

    with pytest.raises(Interrupted):
        ask(ScriptedWorkers(stops, Path("/tmp/w7")), subject(tmp_path, json.dumps([CALL])))
