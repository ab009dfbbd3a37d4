"""`harness compare` and what `harness run` shares with it, with a session that answers from a script."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.cli.exit_codes import INTERRUPTED
from harness.errors import UsageError
from harness.model.verdict import Verdict
from harness.run import early_start
from harness.run import engine as engine_module
from harness.run import session as session_module
from harness.run.engine import Engine
from harness.sandbox.fork_server import ForkServers
from harness.store.journal import read_journals
from harness.store.line import from_line
from tests.cli.sessions import Ending, ScriptedSession
from tests.cli.shell import Shell
from tests.examples import environment

pytestmark = pytest.mark.usefixtures("workspace", "session")


ENDINGS: dict[str, Verdict] = {"wrong": Verdict.WRONG_VALUES, "ours": Verdict.HARNESS_ERROR}
"""Solutions whose names begin so end so; one of 'stop…' interrupts, others pass."""


def ending_of(name: str) -> Ending:
    if name.startswith("stop"):
        raise KeyboardInterrupt
    return next((ending for beginning, ending in ENDINGS.items() if name.startswith(beginning)), 1_000_000)


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch) -> ScriptedSession:
    scripted = ScriptedSession(ending_of)
    monkeypatch.setattr(session_module, "open_session", scripted.open)
    monkeypatch.setattr(early_start, "start_early", lambda backend, around, sanitizes: ForkServers())
    monkeypatch.setattr(session_module, "environment_of", lambda backend, workspace: environment())
    return scripted


@pytest.fixture
def add(workspace: Path) -> Callable[..., None]:
    """Puts solutions into the workspace, named 'problem/solution'."""

    def put(*names: str, yaml: str = "") -> None:
        for name in names:
            folder = workspace / "solutions" / name
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "solution.py").write_text(f"class ModelNew: '{name}'")
            (folder / "solution.yaml").write_text(yaml or "author: somebody")

    return put


GPU = ("--backend", "cuda", "--results", "out")
COMMANDS = (["run", "-p", "maxpool2d"], ["compare"])


def test_all_solutions_of_all_problems_are_compared(harness: Shell, add: Callable[..., None]) -> None:
    add("relu/fast")
    outcome = harness("compare", *GPU)
    assert outcome.code == 0
    assert "maxpool2d on NVIDIA" in outcome.out
    assert "relu on NVIDIA" in outcome.out
    assert ": 3 passed" in outcome.out
    assert "2/3  maxpool2d/shared_tile: passed" in outcome.err
    assert "\x1b" not in outcome.out + outcome.err


def test_patterns_choose(harness: Shell, add: Callable[..., None]) -> None:
    add("relu/fast", "relu/faster", "relu/slow", "relu/slower")
    outcome = harness("compare", "-p", "re*", "-s", "fast*", "-s", "?lower", "--json", *GPU)
    assert [from_line(line).solution.name for line in outcome.out.splitlines()] == ["fast", "faster", "slower"]


def test_options_reach_the_session(harness: Shell, session: ScriptedSession) -> None:
    arguments = ["--baseline", "compile", "-b", "eager", "--seed", "7", "--jobs", "3", "--config", "quick", "-q"]
    outcome = harness("compare", *arguments, *GPU)
    (opened,) = session.opened
    assert opened.config.timing.baselines == ("compile", "eager")
    assert opened.config.timing.blocks == 6
    assert (opened.seed, session.jobs, opened.results) == (7, 3, Path("out"))
    assert outcome.err == ""


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    ("options", "part", "expected"),
    [
        ("", "timing", {"lock_sm_mhz": None, "enabled": True}),
        ("--lock-clocks 1410", "timing", {"lock_sm_mhz": 1410}),
        ("--no-timing", "timing", {"enabled": False}),
        ("--baseline compile,eager,channels-last", "timing", {"baselines": ("compile", "eager", "channels-last")}),
        ("-b compile -b 'eager, compile,eager'", "timing", {"baselines": ("compile", "eager")}),
        ("--config two", "timing", {"baselines": ("compile", "eager")}),
        ("--backend sim", "correctness", {"sanitize": False}),
        ("--backend sim --sanitize", "correctness", {"sanitize": True}),
    ],
)
def test_what_is_asked_for_reaches_the_session(
    harness: Shell,
    workspace: Path,
    session: ScriptedSession,
    command: list[str],
    options: str,
    part: str,
    expected: Any,
) -> None:
    (workspace / "configs" / "two.yaml").write_text("timing: {baselines: [compile, eager]}")
    assert harness(*command, *GPU, *shlex.split(options)).code == 0
    settings = vars(getattr(session.opened[0].config, part))
    assert {name: settings[name] for name in expected} == expected


@pytest.mark.parametrize("command", COMMANDS)
def test_records_without_source_hold_no_text_of_the_solution(
    harness: Shell, workspace: Path, session: ScriptedSession, command: list[str]
) -> None:
    outcome = harness(*command, "--no-source", "--json", *GPU)
    assert "class ModelNew" not in outcome.out
    (journal,) = (workspace / "out").glob("*/*.jsonl")
    assert journal.read_text() == outcome.out
    assert [one.solution.files for one in read_journals(workspace / "out")] == [{}, {}]
    assert harness(*command, "--no-source", "--resume", *GPU).code == 0
    assert len(session.opened) == 1


@pytest.mark.parametrize("command", COMMANDS)
def test_a_gpu_has_a_sanitizer_of_its_own(harness: Shell, session: ScriptedSession, command: list[str]) -> None:
    outcome = harness(*command, "--sanitize", "--backend", "cuda")
    assert (outcome.code, session.opened) == (2, [])
    assert "--backend sim" in outcome.err
    assert "'harness sanitize PROBLEM SOLUTION'" in outcome.err


def test_baselines_of_a_settings_file(harness: Shell, workspace: Path, session: ScriptedSession) -> None:
    (workspace / "harness.yaml").write_text("run: {baseline: [eager, 'compile,channels-last']}")
    harness("run", "-p", "maxpool2d", *GPU)
    assert session.opened[0].config.timing.baselines == ("eager", "compile", "channels-last")
    (workspace / "harness.yaml").write_text("run: {baseline: egaer}")
    outcome = harness("run", "-p", "maxpool2d", *GPU)
    assert outcome.code == 2
    assert "run.baseline: " in outcome.err
    assert "'egaer'" in outcome.err
    assert "'eager'?" in outcome.err


@pytest.mark.parametrize(
    ("solutions", "code"),
    [(["wrong"], 1), (["wrong", "ours"], 1), (["ours"], 3), (["fine"], 0)],
)
def test_exit_codes_are_those_of_run(harness: Shell, add: Callable[..., None], solutions: list[str], code: int) -> None:
    add(*(f"relu/{name}" for name in solutions))
    assert harness("compare", "-p", "relu", *GPU).code == code


def test_resume_keeps_what_has_a_result_and_prints_it_too(harness: Shell, add: Callable[..., None]) -> None:
    harness("compare", *GPU)
    add("maxpool2d/plain", "relu/new")  # one edited, one added
    outcome = harness("compare", "--resume", "--json", *GPU)
    assert "1 of 3" in outcome.err
    printed = [from_line(line) for line in outcome.out.splitlines()]
    assert [f"{e.problem.name}/{e.solution.name}" for e in printed] == [
        "maxpool2d/shared_tile", "maxpool2d/plain", "relu/new"
    ]  # fmt: skip
    assert len(list(read_journals(Path("out")))) == 4


def test_a_resumed_report_says_what_was_kept(harness: Shell) -> None:
    harness("run", "-p", "maxpool2d", "-s", "plain", *GPU)
    outcome = harness("compare", "--resume", *GPU)
    rows = {line.split()[1]: line.split()[-1] for line in outcome.out.splitlines() if line.startswith("1=")}
    assert rows == {"plain": "kept", "shared_tile": "faster"}
    assert ": 2 passed; 1 kept" in outcome.out


def test_when_everything_is_kept_no_session_is_opened(
    harness: Shell, add: Callable[..., None], session: ScriptedSession
) -> None:
    add("maxpool2d/wrong")
    harness("compare", *GPU)
    outcome = harness("compare", "--resume", *GPU)
    assert len(session.opened) == 1
    assert (outcome.code, "3 kept" in outcome.out) == (1, True)


def test_our_own_errors_are_evaluated_again(harness: Shell, add: Callable[..., None]) -> None:
    add("relu/ours")
    harness("compare", "-p", "relu", *GPU)
    assert "0 of 1" in harness("compare", "-p", "relu", "--resume", *GPU).err


def test_the_number_of_jobs_is_no_other_question(harness: Shell) -> None:
    harness("compare", "--jobs", "1", *GPU)
    assert "2 of 2" in harness("compare", "--resume", "--jobs", "5", *GPU).err


def test_only_what_failed_last(harness: Shell, add: Callable[..., None]) -> None:
    add("maxpool2d/wrong", "relu/ours")
    add("relu/wrong_as_known", yaml="expected_verdict: wrong_values")
    harness("compare", *GPU)
    outcome = harness("compare", "--last-failed", "--json", *GPU)
    assert "2 of 5" in outcome.err
    assert [from_line(line).solution.name for line in outcome.out.splitlines()] == ["wrong", "ours"]


def test_nothing_failed_last(harness: Shell) -> None:
    harness("compare", *GPU)
    outcome = harness("compare", "--last-failed", *GPU)
    assert (outcome.code, outcome.out) == (0, "")
    assert "0 of 2" in outcome.err


def test_enough_failures_end_the_run(harness: Shell, add: Callable[..., None], session: ScriptedSession) -> None:
    add("relu/wrong_1", "relu/wrong_2", "relu/wrong_3", "relu/fine")
    outcome = harness("compare", "-p", "relu", "--max-failures", "2", "--json", *GPU)
    assert [from_line(line).solution.name for line in outcome.out.splitlines()] == ["fine", "wrong_1", "wrong_2"]
    assert "2 failures" in outcome.err
    assert "--resume" in outcome.err
    assert outcome.code == 1
    assert session.was_closed


def test_expected_failures_do_not_count(harness: Shell, add: Callable[..., None]) -> None:
    add("relu/wrong_1", "relu/wrong_2", yaml="expected_verdict: wrong_values")
    add("relu/zero")
    outcome = harness("compare", "-p", "relu", "--max-failures", "1", "--json", *GPU)
    assert len(outcome.out.splitlines()) == 3


def test_a_dry_run_lists_and_leaves(harness: Shell, session: ScriptedSession) -> None:
    harness("run", "-p", "maxpool2d", "-s", "plain", *GPU)
    assert harness("compare", "--dry-run", *GPU).out == (
        "maxpool2d/plain: evaluate (--resume keeps passed, maxpool2d-plain-0)\n"
        "maxpool2d/shared_tile: evaluate\n"
        "2 to evaluate, 0 kept\n"
    )
    assert harness("compare", "--dry-run", "--resume", *GPU).out == (
        "maxpool2d/plain: kept: passed, maxpool2d-plain-0\nmaxpool2d/shared_tile: evaluate\n1 to evaluate, 1 kept\n"
    )
    rows = [json.loads(line) for line in harness("compare", "--dry-run", "--resume", "--json", *GPU).out.splitlines()]
    assert [(row["solution"], row["result"], row["kept"]) for row in rows] == [
        ("plain", "maxpool2d-plain-0", True),
        ("shared_tile", None, False),
    ]
    assert len(session.opened) == 1


def test_a_dry_run_writes_nothing(harness: Shell, session: ScriptedSession) -> None:
    harness("compare", "--dry-run", *GPU)
    assert session.opened == []
    assert not list(Path("out").glob("*/*.jsonl"))


def test_an_interrupted_comparison_shows_what_it_has(harness: Shell, add: Callable[..., None]) -> None:
    add("relu/fast", "relu/stop")
    outcome = harness("compare", "-p", "relu", *GPU)
    assert outcome.code == INTERRUPTED
    assert ": 1 passed" in outcome.out
    assert "kept" in outcome.err


def test_run_has_the_same_ways_to_do_less(harness: Shell, session: ScriptedSession) -> None:
    harness("run", "-p", "maxpool2d", "-s", "plain", *GPU)
    outcome = harness("run", "-p", "maxpool2d", "--resume", "--json", "--jobs", "2", *GPU)
    assert "1 of 2" in outcome.err
    assert [from_line(line).solution.name for line in outcome.out.splitlines()] == ["plain", "shared_tile"]
    assert session.jobs == 2


def test_the_engine_is_asked_for_its_session_and_its_environments(
    harness: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []

    def refuse(engine: Engine, *given: Any, **more: Any) -> None:
        asked.append((engine, more.get("jobs")))
        raise UsageError("no cluster")

    monkeypatch.setattr(engine_module, "open_session", refuse)
    outcome = harness("compare", "--engine", "ray", "--ray-address", "a:1", "--ray-gpu", "A100", "-j", "4", *GPU)
    assert outcome.code == 2
    assert "no cluster" in outcome.err
    assert asked == [(Engine("ray", "a:1", "A100"), 4)]
