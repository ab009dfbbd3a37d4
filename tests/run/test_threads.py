"""How builds and measurements on this machine are scheduled, with functions that wait for each other instead of taking
time. Jobs are numbers here, evaluations texts."""

from __future__ import annotations

import queue
import threading
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, cast
from unittest.mock import patch

import pytest

from harness.run.executor import Answer, Ticket
from harness.run.threads import Shape, Threads, run_threads

PATIENCE_S = 20
"""After which a wait that should end at once has failed."""


@dataclass(frozen=True)
class Numbered:
    number: int
    outages: tuple[str, ...] = ()
    tries: int = 0


Prepare = Callable[[int], Any]
Measure = Callable[[int], Any]


def finished(evaluation: Any) -> Answer:
    return Answer(evaluation=evaluation)


def run_scripted(
    tasks: Iterable[int],
    shape: Shape,
    prepare: Prepare = int,
    measure: Measure = lambda item: f"measured {item}",
    stop: threading.Event | None = None,
) -> Generator[Any, None, None]:
    """`prepare` and `measure` give what is built and judged, or an answer of another kind."""

    def build(ticket: Ticket) -> Answer:
        made = prepare(cast(Any, ticket.job).number)
        return made if isinstance(made, Answer) else Answer(built=(made,))

    def judge(ticket: Ticket) -> Answer:
        made = measure(ticket.built[0])
        return made if isinstance(made, Answer) else finished(made)

    def enter() -> None:
        pass

    executors = [Threads(False, shape.builders, enter, build)]
    executors += [Threads(True, 1, enter, judge) for _ in range(shape.lanes)]
    tickets = (Ticket(cast(Any, Numbered(task))) for task in tasks)
    return run_threads(tickets, executors, shape, stop or threading.Event())


def run(tasks: Iterable[int], shape: Shape, **given: Any) -> list[Any]:
    return list(run_scripted(tasks, shape, **given))


def wait(event: threading.Event) -> None:
    assert event.wait(PATIENCE_S), "what should go on at the same time doesn't"


def threads_of_the_run() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("harness-")]


@pytest.mark.parametrize("shape", [Shape(1, 1, 1), Shape(4, 2, 4), Shape(2, 3, 16), Shape(3, 2, 4, alternates=True)])
def test_every_task_gives_one_result(shape: Shape) -> None:
    assert Counter(run(range(50), shape)) == Counter(f"measured {number}" for number in range(50))
    assert threads_of_the_run() == []


def test_one_builder_and_one_lane_keep_the_order() -> None:
    assert run(range(5), Shape(1, 1, 3)) == [f"measured {number}" for number in range(5)]


@pytest.mark.parametrize("shape", [Shape(1, 1, 1), Shape(4, 2, 4), Shape(3, 2, 4, alternates=True)])
def test_a_task_that_is_given_back_is_prepared_again(shape: Shape) -> None:
    prepared: list[int] = []
    text: Any = "relu"

    def prepare(task: int) -> int:
        prepared.append(task)
        return task

    def measure(item: int) -> str | Answer:
        return Answer(wanted=(text,)) if item % 5 == 0 and prepared.count(item) == 1 else str(item)

    found = run(range(20), shape, prepare=prepare, measure=measure)
    assert sorted(map(int, found)) == list(range(20))
    assert len(prepared) == 24
    assert threads_of_the_run() == []


def test_no_tasks_give_no_results() -> None:
    assert run(range(0), Shape(2, 2, 4)) == []


def test_the_next_is_built_while_one_is_measured() -> None:
    second_is_building = threading.Event()

    def prepare(task: int) -> int:
        if task == 1:
            second_is_building.set()
        return task

    def measure(item: int) -> str:
        wait(second_is_building)
        return str(item)

    assert run(range(2), Shape(1, 1, 2), prepare=prepare, measure=measure) == ["0", "1"]


def test_builds_go_on_side_by_side() -> None:
    all_there = threading.Barrier(3)

    def prepare(task: int) -> int:
        all_there.wait(PATIENCE_S)
        return task

    assert len(run(range(3), Shape(3, 1, 3), prepare=prepare)) == 3


def test_lanes_measure_side_by_side_and_each_one_at_a_time() -> None:
    both_there = threading.Barrier(2)
    busy: Counter[int] = Counter()
    most: Counter[int] = Counter()

    def measure(item: int) -> str:
        lane = threading.get_ident()
        busy[lane] += 1
        most[lane] = max(most[lane], busy[lane])
        both_there.wait(PATIENCE_S)
        busy[lane] -= 1
        return str(item)

    assert len(run(range(8), Shape(2, 2, 4), measure=measure)) == 8
    assert set(most.values()) == {1}


def test_where_cores_are_few_nothing_is_built_while_something_is_measured() -> None:
    lock, busy, met = threading.Lock(), Counter[str](), []

    def enter(kind: str, other: str) -> None:
        with lock:
            busy[kind] += 1
            met.append(busy[other])

    def leave(kind: str) -> None:
        with lock:
            busy[kind] -= 1

    def prepare(task: int) -> int | Answer:
        enter("build", "measure")
        leave("build")
        return finished("refused") if task % 7 == 0 else task

    def measure(item: int) -> str:
        enter("measure", "build")
        leave("measure")
        return "measured"

    found = run(range(50), Shape(3, 2, 4, alternates=True), prepare=prepare, measure=measure)
    assert Counter(found) == {"measured": 42, "refused": 8}
    assert set(met) == {0}


def test_what_does_not_build_waits_for_no_device() -> None:
    refusal_was_read = threading.Event()

    def measure(item: int) -> str:
        wait(refusal_was_read)
        return "measured"

    found = []
    for result in run_scripted(
        range(2), Shape(1, 1, 4), lambda task: finished("refused") if task == 1 else task, measure
    ):
        found.append(result)
        if result == "refused":
            refusal_was_read.set()
    assert found == ["refused", "measured"]


@pytest.mark.parametrize("shape", [Shape(1, 1, 1), Shape(8, 1, 8), Shape(3, 2, 16)])
def test_builds_do_not_run_ahead_without_bound(shape: Shape) -> None:
    lock, taken, measured, lead = threading.Lock(), 0, 0, 0

    def tasks() -> Iterator[int]:
        nonlocal taken, lead
        for task in range(300):
            with lock:
                taken += 1
                lead = max(lead, taken - measured)
            yield task

    def measure(item: int) -> str:
        nonlocal measured
        with lock:
            measured += 1
        return str(item)

    assert len(run(tasks(), shape, measure=measure)) == 300
    assert lead <= shape.ahead + shape.lanes


def test_refusals_that_nobody_reads_do_not_pile_up() -> None:
    taken = 0

    def tasks() -> Iterator[int]:
        nonlocal taken
        for task in range(1000):
            taken += 1
            yield task

    results = run_scripted(tasks(), Shape(2, 1, 5), lambda task: finished(str(task)))
    for read, _ in enumerate(results, 1):
        assert taken <= read + 2 * 5


@pytest.mark.parametrize("stage", ["prepare", "measure"])
def test_an_error_of_a_stage_ends_the_run_and_is_told(stage: str) -> None:
    def prepare(task: int) -> int:
        if stage == "prepare" and task == 3:
            raise OSError("no space")
        return task

    def measure(item: int) -> str:
        if stage == "measure" and item == 3:
            raise OSError("no space")
        return str(item)

    stop = threading.Event()
    with pytest.raises(OSError, match="no space"):
        run(range(1000), Shape(2, 2, 4), prepare=prepare, measure=measure, stop=stop)
    assert stop.is_set()
    assert threads_of_the_run() == []


def test_a_reader_who_has_had_enough_stops_everything() -> None:
    stop = threading.Event()

    def measure(item: int) -> str:
        if item > 0:
            wait(stop)  # as a wait for a worker does
        return str(item)

    results = run_scripted(range(1000), Shape(2, 1, 4), int, measure, stop)
    assert next(results) == "0"
    results.close()
    assert stop.is_set()
    assert threads_of_the_run() == []


def test_a_run_that_went_well_stops_nobody() -> None:
    stop = threading.Event()
    run(range(3), Shape(1, 1, 2), stop=stop)
    assert not stop.is_set()


@pytest.mark.parametrize("alternates", [False, True])
def test_tasks_may_wait_for_the_results_of_those_before(alternates: bool) -> None:
    """A training loop: the next attempt is made of the answer to the last one."""
    answered: queue.SimpleQueue[str] = queue.SimpleQueue()

    def attempts() -> Iterator[int]:
        for number in range(5):
            yield number
            assert answered.get(timeout=PATIENCE_S) == f"measured {number}"

    found = []
    for result in run_scripted(attempts(), Shape(3, 1, 16, alternates)):
        found.append(result)
        answered.put(result)
    assert found == [f"measured {number}" for number in range(5)]


def test_a_reader_may_leave_while_the_tasks_are_waited_for() -> None:
    never = threading.Event()

    def tasks() -> Iterator[int]:
        yield 0
        never.wait()

    results = run_scripted(tasks(), Shape(2, 1, 4), stop=never)
    assert next(results) == "measured 0"
    closing = threading.Thread(target=results.close, daemon=True)
    with patch.object(never, "set"):  # the tasks don't hear of it
        closing.start()
        closing.join(PATIENCE_S)
    assert not closing.is_alive()
    assert threads_of_the_run() == []
    never.set()


def test_what_was_found_is_handed_on_before_an_error() -> None:
    def measure(item: int) -> Answer:
        return Answer(evaluation="right", fatal=OSError("no space"))  # type: ignore[arg-type]

    results = run_scripted(range(9), Shape(2, 1, 4), measure=measure)
    assert next(results) == "right"
    with pytest.raises(OSError, match="no space"):
        next(results)
