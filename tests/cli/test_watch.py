"""`harness watch`: what it does at each save, with a scripted session and scripted saves."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from harness.errors import Interrupted
from harness.model.config import Config
from harness.model.evaluation import Evaluation
from harness.model.verdict import Verdict
from harness.workspace.selection import Task
from tests.cli.shell import Shell
from tests.examples import failed, passed, sim_environment

pytestmark = pytest.mark.usefixtures("workspace")


class FakeSession:
    """Answers with one evaluation after another, and remembers what it was asked."""

    def __init__(self, *answers: Evaluation | BaseException | Callable[[], object]) -> None:
        self._answers = list(answers)
        self.tasks: list[Task] = []
        self.opened_with: tuple[Any, ...] = ()
        self.workers = SimpleNamespace(stop=threading.Event())

    def evaluate(self, tasks: Sequence[Task], observe: object) -> Iterator[Evaluation]:
        self.tasks += tasks
        answer = self._answers.pop(0)
        if callable(answer):  # a save; then it is interrupted
            answer()
            assert self.workers.stop.wait(30)
            raise Interrupted
        if isinstance(answer, BaseException):
            raise answer
        yield answer

    def __enter__(self) -> FakeSession:
        return self

    def __exit__(self, *error: object) -> None: ...


@pytest.fixture
def saves(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Each wait for a save carries out the next of the given actions; after the last, Ctrl-C is pressed."""

    def script(*actions: Callable[[], object]) -> None:
        left = list(actions)

        def wait(watcher: object) -> None:
            if not left:
                raise KeyboardInterrupt
            left.pop(0)()

        monkeypatch.setattr("harness.workspace.watcher.Watcher.wait", wait)

    return script


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Callable[..., FakeSession]:
    def answering(*answers: Evaluation | BaseException | Callable[[], object]) -> FakeSession:
        session = FakeSession(*answers)

        def open_session(*arguments: Any) -> FakeSession:
            session.opened_with = arguments
            return session

        monkeypatch.setattr("harness.run.session.open_session", open_session)
        return session

    return answering


RIGHT = passed("plain", environment=sim_environment())
WRONG = failed("plain", Verdict.WRONG_VALUES, environment=sim_environment())


def nothing() -> None: ...


def test_it_checks_now_and_after_each_save_until_ctrl_c(
    harness: Shell, saves: Callable[..., None], opened: Callable[..., FakeSession]
) -> None:
    session = opened(WRONG, RIGHT)
    saves(nothing)
    outcome = harness("watch", "maxpool2d", "plain", "--case", "small")
    assert outcome.code == 0
    assert outcome.err.startswith("… getting ready")
    assert outcome.out.index("wrong_values") < outcome.out.index("passed")
    assert outcome.out.count("Ctrl-C ends") == 2
    assert [(task.solution.name, task.cases) for task in session.tasks] == [("plain", ("small",))] * 2
    assert "\x1b" not in outcome.out


def test_a_save_during_a_check_starts_it_anew(
    harness: Shell, workspace: Path, saves: Callable[..., None], opened: Callable[..., FakeSession]
) -> None:
    source = workspace / "solutions" / "maxpool2d" / "plain" / "solution.py"
    session = opened(lambda: source.write_text("class ModelNew: 'another'"), RIGHT)
    saves()
    outcome = harness("watch", "maxpool2d", "plain")
    assert outcome.code == 0
    assert "saved meanwhile" in outcome.err
    assert outcome.out.count("Ctrl-C ends") == 1
    assert len(session.tasks) == 2


def test_a_file_broken_by_a_save_is_shown_and_waited_out(
    harness: Shell, workspace: Path, saves: Callable[..., None], opened: Callable[..., FakeSession]
) -> None:
    opened(RIGHT, RIGHT)
    settings = workspace / "solutions" / "maxpool2d" / "plain" / "solution.yaml"
    saves(lambda: settings.write_text("autor: me"), settings.unlink)
    outcome = harness("watch", "maxpool2d", "plain")
    assert outcome.code == 0
    assert "'autor'" in outcome.out
    assert "'author'?" in outcome.out
    assert outcome.out.count("Ctrl-C ends") == 3


def test_ctrl_c_during_a_check_is_an_interruption(harness: Shell, opened: Callable[..., FakeSession]) -> None:
    opened(KeyboardInterrupt())
    assert harness("watch", "maxpool2d", "plain").code == 130


def test_options_reach_the_session(
    harness: Shell, workspace: Path, saves: Callable[..., None], opened: Callable[..., FakeSession]
) -> None:
    session = opened(RIGHT)
    saves()
    arguments = ["--backend", "sim", "--config", "quick", "--seed", "7", "--results", "kept"]
    assert harness("watch", "maxpool2d", "plain", *arguments).code == 0
    backend, root, results, config, seed = session.opened_with[:5]
    assert (backend, root, results, seed) == ("sim", workspace, Path("kept"), 7)
    assert isinstance(config, Config)
    assert (config.timing.blocks, config.timing.enabled) == (6, False)
