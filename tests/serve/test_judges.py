"""Judge: from the queue through a session into the journal, whatever happens on the way."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from harness.errors import InvalidFile, MachineError
from harness.model.evaluation import Evaluation
from harness.model.verdict import Verdict
from harness.serve import JobQueue, Judge
from harness.serve import judges as judges_module
from harness.serve.messages import Submission
from harness.store.journal import read_journals
from tests.examples import failed, passed

Judged = Callable[[str], Evaluation | Exception]


class Scripted:
    """An Evaluator without a session: what it finds is told by the solution's text."""

    says: dict[str, list[Any]]
    closed = 0

    def __init__(self, **settings: Any) -> None:
        self.settings = settings

    def __enter__(self) -> Scripted:
        return self

    def __exit__(self, *_: object) -> None: ...

    def task(self, problem: str, solution: str, *, cases: Any, name: str) -> Any:
        if solution == "broken":
            raise InvalidFile("problem.py:3: broken")
        if solution == "bomb":
            raise MemoryError
        return SimpleNamespace(name=name, text=solution)

    def discard(self, task: Any) -> None: ...

    def close(self) -> None:
        Scripted.closed += 1

    def iter_tasks(self, tasks: Iterator[Any], observe: Any) -> Iterator[Evaluation]:
        for number, task in enumerate(tasks):
            observe(task.name, "building")
            said = self.says.get(task.text, [])
            found = said.pop(0) if said else passed()
            if isinstance(found, BaseException):
                raise found
            yield replace(found, id=f"{task.name}-{number}", solution=replace(found.solution, name=task.name))


@pytest.fixture
def judged(queue: JobQueue, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[Any]]:
    """Judge solutions by what is scripted for them; the jobs when all have ended."""
    monkeypatch.setattr(judges_module, "Evaluator", Scripted)
    monkeypatch.setattr(judges_module, "_PAUSE_S", 0.05)

    def judge(*solutions: str, **says: list[Any]) -> list[Any]:
        Scripted.says = says
        jobs = queue.accept("ada", [Submission(problem="relu", solution=one, name="mine") for one in solutions])
        with Judge(queue, tmp_path, tmp_path / "results"):
            until = time.monotonic() + 20
            while any(one.state in ("queued", "running") for one in queue.jobs("ada", None, 100)):
                assert time.monotonic() < until
                time.sleep(0.02)
        return [queue.job("ada", job.id) for job in jobs]

    return judge


def test_records_have_the_submitted_name_and_the_token_s_owner(judged: Any, tmp_path: Path) -> None:
    (job,) = judged("right")
    (record,) = read_journals(tmp_path / "results")
    assert (record.solution.name, record.solution.author, record.id) == ("mine", "ada", job.evaluation)
    assert (job.state, job.verdict, job.attempts) == ("done", "passed", 1)


def test_what_is_done_is_told_until_it_is_over(
    queue: JobQueue, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard: list[tuple[str, str]] = []
    observe = Judge._observe
    monkeypatch.setattr(judges_module, "Evaluator", Scripted)
    monkeypatch.setattr(Judge, "_observe", lambda self, *told: (heard.append(told), observe(self, *told)))
    Scripted.says = {}
    with Judge(queue, tmp_path, tmp_path / "results") as judge:
        (job,) = queue.accept("ada", [Submission(problem="relu", solution="x")])
        until = time.monotonic() + 20
        while queue.job("ada", job.id).state != "done" and time.monotonic() < until:
            time.sleep(0.02)
        assert heard == [(job.id, "building")]
    assert judge.doing == {}


def test_a_stop_that_comes_while_old_jobs_are_forgotten_is_heard(queue: JobQueue, tmp_path: Path) -> None:
    judge = Judge(queue, tmp_path, tmp_path / "results")

    def stopped() -> None:
        judge._stop.set()
        judge._woken.set()

    judge._prune = stopped  # type: ignore[method-assign]
    thread = threading.Thread(target=judge._run_until_stopped, daemon=True)
    thread.start()
    thread.join(10)
    assert not thread.is_alive()


def test_a_job_that_cant_be_loaded_fails_alone(judged: Any) -> None:
    broken, right = judged("broken", "right")
    assert (broken.state, broken.error) == ("failed", "problem.py:3: broken")
    assert right.state == "done"


def test_a_fault_of_the_machines_is_tried_once_more(judged: Any) -> None:
    fault = failed("x", Verdict.HARNESS_ERROR)
    first, second = judged("once", "twice", once=[fault], twice=[fault, fault, fault])
    assert (first.verdict, first.attempts) == ("passed", 2)
    assert (second.verdict, second.attempts) == ("harness_error", 2)


def test_a_session_that_ends_costs_no_job(judged: Any, tmp_path: Path) -> None:
    jobs = judged("1", "2", "3", **{"2": [MachineError("the GPU is gone")]})
    assert [(job.state, job.verdict) for job in jobs] == [("done", "passed")] * 3
    assert len(list(read_journals(tmp_path / "results"))) == 3


def test_who_ends_two_sessions_is_to_blame_alone(judged: Any) -> None:
    bad = [KeyboardInterrupt("mine")] * 9
    jobs = judged("1", "2", "bad", "3", "4", bad=bad)
    assert [job.state for job in jobs] == ["done", "done", "failed", "done", "done"]
    assert "mine" in jobs[2].error
    assert max(job.attempts for job in jobs) == 2


def test_a_text_that_breaks_a_parser_fails_alone(judged: Any) -> None:
    bomb, right = judged("bomb", "right")
    assert (bomb.state, bomb.error, right.state) == ("failed", "MemoryError", "done")


def test_what_a_killed_server_had_finished_comes_into_the_journal_once(queue: JobQueue, tmp_path: Path) -> None:
    from harness.store.line import to_line

    jobs = queue.accept("ada", [Submission(problem="relu", solution="x")] * 2)
    assert len(jobs) == 2
    for identifier in ("20261125T000000-aa", "20261125T000000-bb"):
        job = queue.take("", threading.Event(), False)
        assert job is not None
        queue.finish(job, identifier, "passed", to_line(replace(passed(), id=identifier)))
    for _ in range(2):
        Judge(queue, tmp_path, tmp_path / "results")
    assert [one.id for one in read_journals(tmp_path / "results")] == ["20261125T000000-aa", "20261125T000000-bb"]
    assert queue.unkept() == []
