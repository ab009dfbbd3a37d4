"""`harness watch`: what it does at each save, with a scripted session and scripted saves."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from harness.errors import Interrupted
from harness.model.config import Config
from harness.model.evaluation import Evaluation
from harness.model.verdict import Verdict
from harness.workspace.selection import Task
from tests.cli.shell import Outcome, Shell
from tests.examples import failed, passed, sim_environment

pytestmark = pytest.mark.usefixtures("workspace")


Answer = Evaluation | BaseException | Callable[[], object]


class FakeSession:
    """Answers with one evaluation after another, and remembers what it was asked."""

    def __init__(self, *answers: Answer) -> None:
        self._answers = list(answers)
        self.tasks: list[Task] = []
        self.opened_with: tuple[Any, ...] = ()
        self.stop = threading.Event()

    def evaluate(self, tasks: Sequence[Task], observe: object) -> Iterator[Evaluation]:
        self.tasks += tasks
        answer = self._answers.pop(0)
        if callable(answer):  # a save; then it is interrupted
            answer()
            assert self.stop.wait(30)
            raise Interrupted
        if isinstance(answer, BaseException):
            raise answer
        yield answer

    def __enter__(self) -> FakeSession:
        return self

    def __exit__(self, *error: object) -> None: ...


Watched = Callable[..., tuple[Outcome, FakeSession]]


@pytest.fixture
def watch(harness: Shell, monkeypatch: pytest.MonkeyPatch) -> Watched:
    """Watches maxpool2d/plain in a session that gives these answers. Each wait for a save carries out the next action;
    after the last, Ctrl-C is pressed."""

    def run(
        *answers: Answer, saves: Sequence[Callable[[], object]] = (), options: str = ""
    ) -> tuple[Outcome, FakeSession]:
        session, left = FakeSession(*answers), list(saves)

        def open_session(*arguments: Any) -> FakeSession:
            session.opened_with = arguments
            return session

        def wait(watcher: object) -> None:
            if not left:
                raise KeyboardInterrupt
            left.pop(0)()

        monkeypatch.setattr("harness.run.session.open_session", open_session)
        monkeypatch.setattr("harness.workspace.watcher.Watcher.wait", wait)
        return harness("watch", "maxpool2d", "plain", *options.split()), session

    return run


RIGHT = passed("plain", environment=sim_environment())
WRONG = failed("plain", Verdict.WRONG_VALUES, environment=sim_environment())
FOLDER = Path("solutions/maxpool2d/plain")


def test_it_checks_now_and_after_each_save_until_ctrl_c(watch: Watched) -> None:
    outcome, session = watch(WRONG, RIGHT, saves=[lambda: None], options="--case small")
    assert outcome.code == 0
    assert outcome.err.startswith("… getting ready")
    assert outcome.out.index("wrong_values") < outcome.out.index("passed")
    assert outcome.out.count("Ctrl-C ends") == 2
    assert [(task.solution.name, task.cases) for task in session.tasks] == [("plain", ("small",))] * 2
    assert "\x1b" not in outcome.out


def test_a_save_during_a_check_starts_it_anew(watch: Watched) -> None:
    outcome, session = watch(lambda: (FOLDER / "solution.py").write_text("class ModelNew: 'another'"), RIGHT)
    assert outcome.code == 0
    assert "saved meanwhile" in outcome.err
    assert outcome.out.count("Ctrl-C ends") == 1
    assert len(session.tasks) == 2


def test_a_file_broken_by_a_save_is_shown_and_waited_out(watch: Watched) -> None:
    settings = FOLDER / "solution.yaml"
    outcome, _ = watch(RIGHT, RIGHT, saves=[lambda: settings.write_text("autor: me"), settings.unlink])
    assert outcome.code == 0
    assert "'autor'" in outcome.out
    assert "'author'?" in outcome.out
    assert outcome.out.count("Ctrl-C ends") == 3


def test_ctrl_c_during_a_check_is_an_interruption(watch: Watched) -> None:
    assert watch(KeyboardInterrupt())[0].code == 130


def test_options_reach_the_session(workspace: Path, watch: Watched) -> None:
    outcome, session = watch(RIGHT, options="--backend sim --config quick --seed 7 --results kept")
    assert outcome.code == 0
    backend, root, results, config, seed = session.opened_with[:5]
    assert (backend, root, results, seed) == ("sim", workspace, Path("kept"), 7)
    assert isinstance(config, Config)
    assert (config.timing.blocks, config.timing.enabled) == (6, False)
