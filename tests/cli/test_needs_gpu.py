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
    source.write_text(text.replace("__global__", '__device__ void nothing() { asm volatile(""); }\n\n__global__', 1))
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


def test_who_is_judged_all_the_same_must_pass(harness: Shell, solution: Path) -> None:
    say(solution)
    source = solution / "solution.py"
    right = source.read_text().replace('asm volatile("");', "")
    source.write_text(right)
    assert harness(*RUN).code == 0
    source.write_text(right.replace("x < 0.0f", "x < 0.5f"))
    assert harness(*RUN).code == 1


def test_the_gate_lets_it_through_and_accepts_nothing_of_it(harness: Shell, solution: Path, tmp_path: Path) -> None:
    say(solution)
    outcome = harness(*GATE)
    assert outcome.code == 0
    (one,) = json.loads(outcome.out)["judged"]
    assert (one["findings"], one["attempts"][0]["verdict"]) == ([], "unsupported")
    accepted = harness("snapshot", "accept")
    assert (accepted.code, accepted.out.startswith("accepted 0 of run")) == (0, True)
    assert (tmp_path / "snapshot.jsonl").read_text() == ""
