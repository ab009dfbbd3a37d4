"""A solution that says it needs a GPU, on a machine without one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.shell import Shell

pytestmark = pytest.mark.sim

FAST = ("--backend", "sim", "--config", "fast", "--quiet")
RUN = ("run", "--problem", "relu", "--case", "small", *FAST)
GATE = ("gate", "--json", *FAST)


@pytest.fixture
def solution(harness: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The new workspace's only one, with inline PTX in its kernel."""
    monkeypatch.chdir(tmp_path)
    assert harness("init", ".").code == 0
    (tmp_path / "configs").mkdir(exist_ok=True)
    (tmp_path / "configs" / "fast.yaml").write_text("correctness: {seeds: 1}\nnvcc: {enabled: false}\n")
    folder = tmp_path / "solutions" / "relu" / "vectorized"
    source = folder / "solution.py"
    text = source.read_text()
    assert text.count("x < 0.0f") == 1
    source.write_text(
        text.replace("__global__", '__device__ void nothing() { asm volatile("exit;"); }\n\n__global__', 1)
    )
    return folder


def say(folder: Path) -> None:
    about = folder / "solution.yaml"
    about.write_text(about.read_text() + "needs_gpu: true\n")


def test_unsupported_is_no_failure_where_it_is_announced(harness: Shell, solution: Path) -> None:
    before = harness(*RUN)
    assert (before.code, "unsupported" in before.out) == (3, True)
    say(solution)
    after = harness(*RUN)
    assert (after.code, "unsupported" in after.out) == (0, True)


@pytest.mark.heavy
def test_who_is_judged_all_the_same_must_pass(harness: Shell, solution: Path) -> None:
    say(solution)
    source = solution / "solution.py"
    right = source.read_text().replace('asm volatile("exit;");', "")
    source.write_text(right)
    assert harness(*RUN).code == 0
    source.write_text(right.replace("x < 0.0f", "x < 0.5f"))
    assert harness(*RUN).code == 1


def test_the_gate_tolerates_it_and_accepts_nothing_of_it(harness: Shell, solution: Path, tmp_path: Path) -> None:
    say(solution)
    outcome = harness(*GATE)
    assert outcome.code == 0
    (one,) = json.loads(outcome.out)["judged"]
    (finding,) = one["findings"]
    assert (one["attempts"][0]["verdict"], finding["rule"], finding["level"]) == (
        *("unsupported", "unsupported"),
        "tolerated",
    )
    assert "needs a GPU" in finding["message"]
    assert "inline PTX (asm)" in finding["message"]
    accepted = harness("snapshot", "accept")
    assert (accepted.code, accepted.out.startswith("accepted 0")) == (0, True)
    assert (tmp_path / "snapshot.jsonl").read_text() == ""


def without_a_reason(folder: Path, raising: bool) -> None:
    """The solution in CUDA that the simulator has, which says in forward() that it hasn't, or says nothing."""
    source = folder / "solution.py"
    text = source.read_text().replace('__device__ void nothing() { asm volatile("exit;"); }\n\n', "")
    assert "asm" not in text
    assert text.count("        return ") == 1
    gap = '        raise NotImplementedError("harness-sim-unsupported: inline PTX")\n'
    source.write_text(text.replace("        return ", f"{gap}        return ") if raising else text)


def test_who_claims_a_gap_has_to_show_the_reason_in_his_files(harness: Shell, solution: Path) -> None:
    without_a_reason(solution, raising=True)
    say(solution)
    run = harness(*RUN)
    assert (run.code, "unsupported" in run.out) == (3, True)
    gate = harness(*GATE)
    assert gate.code == 4
    assert [finding["level"] for finding in json.loads(gate.out)["judged"][0]["findings"]] == ["inconclusive"]
    accepted = harness("snapshot", "accept")
    assert (accepted.code, "unsupported, expected passed" in accepted.err) == (2, True)


def test_what_passed_here_needs_no_gpu_all_at_once(harness: Shell, solution: Path, tmp_path: Path) -> None:
    with_ptx = (solution / "solution.py").read_text()
    without_a_reason(solution, raising=False)
    assert harness(*GATE).code == 0
    assert harness("snapshot", "accept").out.startswith("accepted 1")
    (solution / "solution.py").write_text(with_ptx)
    say(solution)
    gate = harness(*GATE)
    assert gate.code == 4
    (finding,) = json.loads(gate.out)["judged"][0]["findings"]
    assert "accepted" in finding["message"]
    accepted = harness("snapshot", "accept")
    assert accepted.out.startswith("accepted 0")
    assert "1 left it" in accepted.out
    assert (tmp_path / "snapshot.jsonl").read_text() == ""
    assert harness(*GATE).code == 0
