"""What a shell is offered after a Tab, asked for as a shell asks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from harness.model.verdict import Verdict
from harness.store.journal import Journal
from tests.cli.shell import Shell, python
from tests.examples import failed, passed

OTHERS = ("compile-max-autotune", "cudnn-benchmark", "channels-last")
Offered = Callable[[str], list[str]]


@pytest.fixture
def offered(harness: Shell, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> Offered:
    """Bash's side of the completion: the words of the line, the cursor in the last."""

    def complete(line: str) -> list[str]:
        words = line.split(" ")
        monkeypatch.setenv("_HARNESS_COMPLETE", "complete_bash")
        monkeypatch.setenv("COMP_WORDS", line)
        monkeypatch.setenv("COMP_CWORD", str(len(words) - 1))
        outcome = harness()
        monkeypatch.delenv("_HARNESS_COMPLETE")
        return outcome.out.split()

    return complete


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("harness run ", ["maxpool2d", "relu"]),
        ("harness run maxpool2d ", ["plain", "shared_tile"]),
        ("harness run maxpool2d --case s", ["small"]),
        ("harness run --problem ", ["maxpool2d", "relu"]),
        ("harness run -p max", ["maxpool2d"]),
        ("harness run --problem maxpool2d --solution ", ["plain", "shared_tile"]),
        ("harness run --problem relu --solution ", []),
        ("harness run --solution sh", ["shared_tile"]),
        ("harness run --problem maxpool2d --case ", ["full", "small"]),
        ("harness run --problem relu --case ", ["full"]),
        ("harness run --config ", ["quick"]),
        ("harness run --backend c", ["cuda"]),
        ("harness run --baseline c", ["compile", "compile-max-autotune", "cudnn-benchmark", "channels-last"]),
        ("harness compare -b compile,eager,c", [f"compile,eager,{name}" for name in OTHERS]),
        ("harness compare --problem r", ["relu"]),
        ("harness gate --problem max", ["maxpool2d"]),
        ("harness gate --problem maxpool2d --solution ", ["plain", "shared_tile"]),
        ("harness leaderboard --problem ", ["maxpool2d", "relu"]),
        ("harness snapshot accept --solution sh", ["shared_tile"]),
        ("harness history ", ["maxpool2d", "relu"]),
        ("harness watch ma", ["maxpool2d"]),
        ("harness watch maxpool2d ", ["plain", "shared_tile"]),
        ("harness new solution ", ["maxpool2d", "relu"]),
        ("harness new solution maxpool2d mine --from p", ["plain"]),
        ("harness wat", ["watch"]),
        ("harness check-problem re", ["relu"]),
        ("harness explain wal", ["wall_clock"]),
    ],
)
def test_names_are_offered(offered: Offered, line: str, expected: list[str]) -> None:
    assert offered(line) == expected


def test_the_named_workspace_is_looked_into(offered: Offered, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir("/")
    assert offered(f"harness -C {workspace} run --problem r") == ["relu"]


def test_outside_a_workspace_nothing_is_offered(offered: Offered, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir("/")
    assert offered("harness run --problem ") == []
    assert offered("harness run --case ") == []


def test_a_broken_problem_hides_no_other_name(offered: Offered, workspace: Path) -> None:
    (workspace / "problems" / "relu" / "problem.yaml").write_text("tolerence: exact")
    assert offered("harness run --case ") == ["full", "small"]


def test_evaluations_are_offered_newest_first_with_what_they_were(workspace: Path) -> None:
    import typer

    from harness.cli import completion

    journal = Journal(workspace / "results", "run-1")
    journal.append(passed("plain", id="20261121-a", started_at="2026-11-21T03:10:40.780+00:00"))
    journal.append(failed("tiled", Verdict.TIMEOUT, id="20261121-b", started_at="2026-11-21T04:10:40.780+00:00"))
    journal.append(passed("plain", id="20251121-c", started_at="2025-11-21T03:10:40.780+00:00"))
    context = typer.Context(typer.main.get_command(typer.Typer(callback=lambda: None)))  # type: ignore[arg-type]
    assert completion.evaluations(context, "2026") == [
        ("20261121-b", "maxpool2d/tiled timeout"),
        ("20261121-a", "maxpool2d/plain passed"),
    ]
    assert completion.runs(context, "run") == ["run-1"]


def test_completion_needs_no_torch(workspace: Path) -> None:
    code = "import sys; sys.modules['torch'] = sys.modules['rich'] = None; from harness.cli.app import main; main()"
    variables = {"_HARNESS_COMPLETE": "complete_bash", "COMP_WORDS": "harness run --case ", "COMP_CWORD": "3"}
    assert python("-c", code, cwd=workspace, **variables).stdout.split() == ["full", "small"]
