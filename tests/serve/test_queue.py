"""The queue: what is accepted stays, in its order, and is begun and finished once."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from harness.errors import MachineError, UsageError
from harness.serve.messages import Submission
from harness.serve.queue import BegunJob, Conflict, JobQueue


def asked(solution: str = "x", **facts: Any) -> Submission:
    return Submission(problem="relu", solution=solution, **facts)


def begin(queue: JobQueue, config: str = "", in_company: bool = False) -> BegunJob | None:
    return queue.take(config, threading.Event(), in_company)


def begun(queue: JobQueue) -> BegunJob:
    job = begin(queue)
    assert job is not None
    return job


def test_higher_priorities_come_first_and_equals_in_their_order(queue: JobQueue) -> None:
    jobs = queue.accept("ada", [asked("1"), asked("2", priority=5), asked("3"), asked("4", priority=5)])
    taken = [begin(queue) for _ in range(5)]
    assert [one and one.id for one in taken] == [jobs[1].id, jobs[3].id, jobs[0].id, jobs[2].id, None]
    assert taken[0] is not None
    assert (taken[0].asked.solution, taken[0].owner, taken[0].attempts) == ("2", "ada", 1)


def test_the_next_job_says_which_configs_turn_it_is(queue: JobQueue) -> None:
    queue.accept("ada", [asked(config="quick"), asked()])
    assert (queue.next_config(), begin(queue, "")) == ("quick", None)
    assert begin(queue, "quick") is not None
    assert (queue.next_config(), begin(queue, "quick")) == ("", None)
    assert begun(queue).attempts == 1
    assert queue.next_config() is None


def test_owners_take_turns_however_many_jobs_one_has(queue: JobQueue) -> None:
    queue.accept("ada", [asked(f"a{number}", priority=50) for number in range(4)])
    queue.accept("bob", [asked("b0"), asked("b1", priority=9)])
    assert [begun(queue).asked.solution for _ in range(6)] == ["a0", "b1", "a1", "b0", "a2", "a3"]


def test_a_session_stays_with_its_config_for_a_while(queue: JobQueue) -> None:
    queue.accept("ada", [asked("a0", config="quick"), asked("a1")])
    queue.accept("bob", [asked("b0")])
    assert queue.next_config() == "quick"
    staying = queue.take("", threading.Event(), False, stays=True)
    assert staying is not None
    assert staying.asked.solution == "b0"
    assert queue.take("", threading.Event(), False, stays=True) is None  # ada's own order stays


def test_what_ended_long_ago_is_forgotten_once_it_is_kept(queue: JobQueue) -> None:
    done, unkept, cancelled, waiting = queue.accept("ada", [asked(str(number)) for number in range(4)])
    for _ in (done, unkept):
        queue.finish(begun(queue), "id", "passed", "{}")
    queue.keep(done.id)
    queue.cancel("ada", cancelled.id)
    assert queue.prune(before=0.0) == 0
    assert queue.prune(before=4e9) == 2
    assert {job.id for job in queue.jobs("ada", None, 10)} == {unkept.id, waiting.id}
    left = queue.events("ada", 0)
    assert {event["job"] for event in left} == {unkept.id, waiting.id, cancelled.id}  # the newest stays
    queue.accept("ada", [asked()])
    assert len(queue.events("ada", left[-1]["number"])) == 1  # a follower misses nothing


def test_an_owner_hears_of_its_own_changes_alone(queue: JobQueue) -> None:
    heard: list[str] = []
    with queue.bell.waking(lambda: heard.append("ada"), "ada"), queue.bell.waking(lambda: heard.append("any")):
        queue.accept("bob", [asked()])
        assert heard == ["any"]
        queue.accept("ada", [asked()])
    queue.accept("ada", [asked()])
    assert sorted(heard) == ["ada", "any", "any"]


def test_a_session_that_has_ended_begins_nothing(queue: JobQueue) -> None:
    queue.accept("ada", [asked()])
    ended = threading.Event()
    ended.set()
    assert queue.take("", ended, False) is None
    assert queue.counts() == {"queued": 1}


def test_what_was_begun_before_is_begun_alone(queue: JobQueue) -> None:
    queue.accept("ada", [asked()])
    queue.give_back(begun(queue))
    assert begin(queue, in_company=True) is None
    assert begun(queue).attempts == 2


def test_an_attempt_that_was_ended_changes_nothing_later(queue: JobQueue) -> None:
    queue.accept("ada", [asked()])
    first = begun(queue)
    queue.requeue()
    second = begun(queue)
    queue.give_back(first)
    queue.fail(first, "too late")
    assert queue.job("ada", first.id).state == "running"
    queue.finish(second, "20261125T1", "passed", "{}")
    queue.finish(second, "20261125T2", "passed", "{}")
    assert queue.job("ada", first.id).evaluation == "20261125T1"


def test_a_job_that_ends_the_server_again_and_again_is_given_up(queue: JobQueue) -> None:
    (job,) = queue.accept("ada", [asked()])
    while (one := begin(queue)) is not None:
        queue.requeue()
    assert one is None
    found = queue.job("ada", job.id)
    assert (found.state, found.attempts, "20 times" in str(found.error)) == ("failed", 20, True)


def test_who_submits_again_under_a_key_gets_the_job_that_there_is(queue: JobQueue) -> None:
    first = queue.accept("ada", [asked(key="step 1"), asked(key="step 2")])
    assert queue.accept("ada", [asked(key="step 2"), asked(key="step 1")]) == first[::-1]
    assert queue.accept("bob", [asked(key="step 1")])[0].id not in {job.id for job in first}
    with pytest.raises(Conflict, match=first[0].id):
        queue.accept("ada", [asked("another"), asked("other", key="step 1")])
    assert sum(queue.counts().values()) == 3  # of those that are refused none is kept


def test_a_full_queue_takes_all_or_none(queue: JobQueue) -> None:
    queue.accept("ada", [asked(str(n)) for n in range(48)])
    with pytest.raises(MachineError, match=r"48 jobs .* 50"):
        queue.accept("ada", [asked(str(n)) for n in range(3)])
    queue.accept("ada", [asked(), asked()])
    assert queue.counts() == {"queued": 50}


def test_nothing_of_one_is_seen_by_another(queue: JobQueue) -> None:
    (job,) = queue.accept("ada", [asked()])
    for ask in (queue.job, queue.cancel, queue.record):
        with pytest.raises(UsageError, match="no job"):
            ask("bob", job.id)
    assert (queue.jobs("bob", None, 10), queue.events("bob", 0)) == ([], [])


def test_what_waits_can_be_cancelled_and_what_was_begun_can_not(queue: JobQueue) -> None:
    first, second = queue.accept("ada", [asked("1"), asked("2")])
    begin(queue)
    assert [queue.cancel("ada", second.id).state for _ in range(2)] == ["cancelled"] * 2
    with pytest.raises(Conflict, match="running"):
        queue.cancel("ada", first.id)
    assert begin(queue) is None


def test_a_killed_server_finds_its_jobs_again(tmp_path: Path) -> None:
    path = tmp_path / "queue.sqlite"
    with JobQueue(path) as queue:
        done, under_way, waiting = queue.accept("ada", [asked("1"), asked("2"), asked("3")])
        queue.finish(begun(queue), "20261125T1", "passed", '{"a": 1}')
        begin(queue)
    with JobQueue(path) as queue:
        assert queue.counts() == {"done": 1, "queued": 2}
        assert queue.job("ada", done.id).verdict == "passed"
        assert queue.record("ada", done.id) == '{"a": 1}'
        again = begun(queue)
        assert (again.id, again.attempts) == (under_way.id, 2)
        assert queue.unkept() == [(done.id, '{"a": 1}')]
        queue.keep(done.id)
        assert queue.unkept() == []
        assert queue.job("ada", waiting.id).state == "queued"


def test_two_servers_cant_have_one_queue(queue: JobQueue, tmp_path: Path) -> None:
    with pytest.raises(MachineError, match="another server"):
        JobQueue(tmp_path / "queue.sqlite")


def test_a_file_that_is_no_queue_is_named(tmp_path: Path) -> None:
    (tmp_path / "queue.sqlite").write_text("no database, " * 100)
    for path in (tmp_path / "queue.sqlite", tmp_path, Path("/proc/nowhere/queue.sqlite")):
        with pytest.raises(MachineError, match="--queue"):
            JobQueue(path)


def test_events_are_read_on_from_any_number(queue: JobQueue) -> None:
    queue.accept("ada", [asked()])
    queue.finish(begun(queue), "20261125T1", "passed", "{}")
    events = queue.events("ada", 0)
    assert [(event["state"], event["verdict"]) for event in events] == [
        ("queued", None),
        ("running", None),
        ("done", "passed"),
    ]
    assert queue.events("ada", events[1]["number"]) == events[2:]


def test_a_failed_job_says_why_it_has_no_record(queue: JobQueue) -> None:
    queue.accept("ada", [asked("1")])
    queue.fail(job := begun(queue), "no such case")
    assert queue.job("ada", job.id).state == "failed"
    with pytest.raises(Conflict, match="no such case"):
        queue.record("ada", job.id)


@pytest.mark.parametrize("name", ["a?b.sqlite", "a#b%20.sqlite"])
def test_the_file_may_have_any_name(tmp_path: Path, name: str) -> None:
    with JobQueue(tmp_path / name) as queue:
        queue.accept("ada", [asked()])
    assert {path.name for path in tmp_path.iterdir()} == {name, f"{name}.lock"}


def test_many_threads_begin_each_job_once(tmp_path: Path) -> None:
    with JobQueue(tmp_path / "queue.sqlite") as queue, ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: queue.accept("ada", [asked(str(n)) for _ in range(10)]), range(20)))
        taken = list(pool.map(lambda _: begin(queue), range(220)))
    ids = [one.id for one in taken if one is not None]
    assert (len(ids), len(set(ids))) == (200, 200)
