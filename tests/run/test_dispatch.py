"""What a run does with executors of a cluster that die, with scripted executors and no cluster."""

from __future__ import annotations

import random
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

import pytest

from harness.errors import Interrupted, MachineError, UsageError
from harness.model.evaluation import Evaluation
from harness.model.verdict import Verdict
from harness.run import dispatch as dispatch_module
from harness.run.dispatch import MOST_ATTEMPTS, Bounds, dispatch
from harness.run.executor import Answer, Office, Ticket, UnfitExecutor
from tests.examples import failed, passed

Script = Callable[[str, int], Answer | Exception]
"""What comes of the n-th call for a solution of this name."""


def verdict(name: str, nth: int) -> Answer:
    return Answer(evaluation=passed(name, id=name))


def build(name: str, nth: int) -> Answer:
    return Answer(built=f"library of {name}")


class Lost(Exception):
    """A machine is gone."""


@dataclass
class ScriptedExecutor:
    """Answers in a thread of its own, as `script` says; an exception ends it, and it opens again."""

    name: str
    script: Script = verdict
    is_lane: bool = True
    builds: bool = False
    slots: int = 1
    opening_errors: list[Exception] = field(default_factory=list)
    calls: list[Ticket] = field(default_factory=list)
    opened_times: int = 0
    is_ended: bool = False
    never_opens_again: bool = False

    def __post_init__(self) -> None:
        self._pool = ThreadPoolExecutor(4)

    def opened(self) -> Future[None]:
        self.opened_times += 1
        future: Future[None] = Future()
        if self.never_opens_again and self.opened_times > 1:
            return future
        if self.opening_errors:
            future.set_exception(self.opening_errors.pop(0))
        else:
            future.set_result(None)
        return future

    def begin(self, ticket: Ticket) -> Future[Answer]:
        self.calls.append(ticket)
        return self._pool.submit(self._answer, ticket.job.solution.name, len(self.calls))

    def _answer(self, name: str, nth: int) -> Answer:
        answer = self.script(name, nth)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def reopen(self) -> None:
        """Open again when it is asked to."""

    def end(self) -> None:
        self.is_ended = True


class ScriptedOffice(Office):
    def __init__(self) -> None:
        self.kept: list[str] = []
        self.said: list[str] = []
        self.observed: list[tuple[str, str]] = []

    def keep(self, evaluations: Sequence[Evaluation]) -> None:
        self.kept += [one.solution.name for one in evaluations]

    def give_up(self, ticket: Ticket, why: str) -> Evaluation:
        return failed(ticket.job.solution.name, Verdict.HARNESS_ERROR, checks=(), remarks=(why,))

    def observe(self, job: Any, what: str) -> None:
        self.observed.append((job.solution.name, what))

    def say(self, what: str) -> None:
        self.said.append(what)


@dataclass(frozen=True)
class JobOfName:
    solution: Any
    outages: tuple[str, ...] = ()
    tries: int = 0


def tickets(*names: str) -> list[Ticket]:
    jobs: Any = [JobOfName(SimpleNamespace(name=name)) for name in names]
    return [Ticket(job) for job in jobs]


def judged(
    given: list[Ticket], *executors: ScriptedExecutor, office: ScriptedOffice | None = None, patience_s: float = 5
) -> dict[str, Evaluation]:
    """The evaluations by name; each is there once, and was kept before."""
    office = office or ScriptedOffice()
    found = []
    for evaluation in dispatch(given, executors, office, threading.Event(), Bounds(patience_s=patience_s)):
        assert evaluation.solution.name in office.kept
        found.append(evaluation)
    names = [one.solution.name for one in found]
    assert sorted(names) == sorted(ticket.job.solution.name for ticket in given)
    assert sorted(office.kept) == sorted(names)
    return {one.solution.name: one for one in found}


def once(error: Exception | Answer, otherwise: Script = verdict) -> Script:
    return lambda name, nth: error if nth == 1 else otherwise(name, nth)


@pytest.mark.parametrize(("most", "order"), [(9, "a1 a2 a3 b1 b2"), (1, "a1 a2 b1 b2 a3")])
def test_a_lane_goes_on_with_the_problem_that_it_knows_as_long_as_others_can_wait(
    monkeypatch: pytest.MonkeyPatch, most: int, order: str
) -> None:
    monkeypatch.setattr(dispatch_module, "_MOST_ALIKE", most)
    all_built = threading.Event()

    def script(name: str, nth: int) -> Answer:
        assert all_built.wait(10)
        return verdict(name, nth)

    def built(name: str, nth: int) -> Answer:
        if nth == 5:
            threading.Timer(0.2, all_built.set).start()
        return build(name, nth)

    builder, lane = ScriptedExecutor("cpu", built, is_lane=False), ScriptedExecutor("gpu", script)
    judged(
        [replace(one, problem=one.job.solution.name[0]) for one in tickets("a1", "b1", "a2", "b2", "a3")], builder, lane
    )
    assert " ".join(one.job.solution.name for one in lane.calls) == order


def test_a_job_is_built_by_a_builder_and_judged_on_a_lane() -> None:
    builder, lane = ScriptedExecutor("cpu", build, is_lane=False, slots=2), ScriptedExecutor("gpu")
    office = ScriptedOffice()
    judged(tickets("a", "b", "c"), builder, lane, office=office)
    assert sorted(one.built for one in lane.calls) == ["library of a", "library of b", "library of c"]
    assert [what for name, what in office.observed if name == "a"] == ["building on cpu", "built", "judging on gpu"]


def test_what_a_builder_finds_to_be_wrong_needs_no_lane() -> None:
    def refuse(name: str, nth: int) -> Answer:
        return Answer(evaluation=failed(name, Verdict.COMPILE_ERROR, checks=()))

    lane = ScriptedExecutor("gpu")
    found = judged(tickets("a"), ScriptedExecutor("cpu", refuse, is_lane=False), lane)
    assert found["a"].verdict is Verdict.COMPILE_ERROR
    assert lane.calls == []


def test_without_builders_a_lane_builds() -> None:
    lane = ScriptedExecutor("gpu")
    judged(tickets("a", "b"), lane)
    assert [one.built for one in lane.calls] == [None, None]


def test_a_lane_with_other_compilers_takes_no_builds() -> None:
    builder, lane = ScriptedExecutor("cpu", build, is_lane=False), ScriptedExecutor("gpu", builds=True)
    judged(tickets("a", "b", "c"), builder, lane)
    assert {one.built for one in lane.calls} == {None}


def test_extensions_that_come_up_while_judging_are_built_and_the_job_judged_again() -> None:
    text: Any = "relu"
    builder = ScriptedExecutor("cpu", build, is_lane=False)
    judged(tickets("a"), builder, ScriptedExecutor("gpu", once(Answer(wanted=(text,)))))
    assert [(one.wanted, one.returns) for one in builder.calls] == [((), 0), (("relu",), 1)]


def test_a_job_whose_machine_dies_is_judged_elsewhere_and_its_record_counts() -> None:
    office = ScriptedOffice()
    mortal = ScriptedExecutor("gpu 1", once(Lost("node died")), never_opens_again=True)
    found = judged(tickets("a", "b"), mortal, ScriptedExecutor("gpu 2"), office=office)
    assert len(mortal.calls) == 1
    died = mortal.calls[0].job.solution.name
    assert found[died].verdict is Verdict.PASSED
    (remark,) = found[died].remarks
    assert remark.startswith("attempt 2")
    assert "gpu 1: node died" in remark
    assert found["a" if died == "b" else "b"].remarks == ()
    assert office.said == ["lost: gpu 1: node died"]


def test_a_lane_that_opens_again_goes_on() -> None:
    lane = ScriptedExecutor("gpu", lambda name, nth: Lost("killed") if nth % 3 == 0 else verdict(name, nth))
    judged(tickets(*"abcdefghijkl"), lane)
    assert lane.opened_times > 3
    assert not lane.is_ended


def test_a_job_that_ends_every_machine_is_given_up() -> None:
    def script(name: str, nth: int) -> Answer | Exception:
        return Lost("killed") if name == "bad" else verdict(name, nth)

    lane = ScriptedExecutor("gpu", script)
    found = judged(tickets("bad", "good", "fine"), lane)
    assert found["bad"].verdict is Verdict.HARNESS_ERROR
    assert found["bad"].remarks[0].startswith(f"{MOST_ATTEMPTS} attempts")
    assert [one.job.solution.name for one in lane.calls].count("bad") == MOST_ATTEMPTS
    assert found["good"].verdict is found["fine"].verdict is Verdict.PASSED


def test_a_builder_that_dies_with_several_builds_is_opened_once() -> None:
    gate = threading.Barrier(2, timeout=5)

    def script(name: str, nth: int) -> Answer | Exception:
        if nth <= 2:
            gate.wait()
            return Lost("killed")
        return build(name, nth)

    builder = ScriptedExecutor("cpu", script, is_lane=False, slots=2)
    judged(tickets("a", "b"), builder, ScriptedExecutor("gpu"))
    assert builder.opened_times == 2


def test_a_verdict_counts_although_its_gpu_is_stuck_afterwards() -> None:
    stuck = Answer(evaluation=passed("a"), trouble="the GPU didn't finish a small kernel")
    lane = ScriptedExecutor("gpu", once(stuck))
    found = judged(tickets("a", "b"), lane)
    assert found["a"].remarks == ()
    assert [one.job.solution.name for one in lane.calls] == ["a", "b"]
    assert lane.opened_times == 2


def test_a_place_that_fails_again_and_again_is_given_up_and_others_go_on() -> None:
    office = ScriptedOffice()
    broken = ScriptedExecutor("gpu 1", opening_errors=[MachineError("no driver")] * 9)
    judged(tickets(*map(str, range(50))), broken, ScriptedExecutor("gpu 2"), office=office)
    assert broken.calls == []
    assert broken.is_ended
    assert broken.opened_times == 4
    assert office.said[-1] == "given up: gpu 1: no driver"


def test_a_builder_that_is_unfit_is_given_up_at_once_and_lanes_build() -> None:
    builder = ScriptedExecutor("cpu", build, is_lane=False, opening_errors=[UnfitExecutor("another torch")])
    lane = ScriptedExecutor("gpu")
    judged(tickets("a", "b"), builder, lane)
    assert builder.opened_times == 1
    assert [one.built for one in lane.calls] == [None, None]


def test_a_build_that_is_gone_is_built_again_and_the_lane_stays() -> None:
    gone = Answer(trouble="what was built is gone with its machine", spares_executor=True)
    builder, lane = ScriptedExecutor("cpu", build, is_lane=False), ScriptedExecutor("gpu", once(gone))
    judged(tickets("a"), builder, lane)
    assert (len(builder.calls), len(lane.calls), lane.opened_times) == (2, 2, 1)


def test_a_run_without_any_lane_left_ends() -> None:
    office = ScriptedOffice()
    broken = ScriptedExecutor("gpu", opening_errors=[MachineError("no driver")] * 9)
    with pytest.raises(MachineError, match="no driver"):
        list(dispatch(tickets("a"), [broken], office, threading.Event()))
    assert broken.is_ended
    assert office.said[-1] == "given up: gpu: no driver"


def test_a_run_waits_for_a_lane_for_some_time() -> None:
    gone = ScriptedExecutor("gpu", once(Lost("node died")), never_opens_again=True)
    with pytest.raises(MachineError, match="node died"):
        list(dispatch(tickets("a"), [gone], ScriptedOffice(), threading.Event(), Bounds(patience_s=0.0)))


def test_a_wrong_wish_ends_the_run() -> None:
    with pytest.raises(UsageError, match="no such clock"):
        judged(tickets("a"), ScriptedExecutor("gpu", once(Answer(fatal=UsageError("no such clock")))))
    with pytest.raises(UsageError, match="no such clock"):
        judged(tickets("a"), ScriptedExecutor("gpu", opening_errors=[UsageError("no such clock")]))


def test_tickets_that_break_end_the_run_when_what_was_found_is_read() -> None:
    def breaking() -> Iterator[Ticket]:
        yield from tickets("a")
        raise UsageError("no such file")

    office = ScriptedOffice()
    with pytest.raises(UsageError, match="no such file"):
        list(dispatch(breaking(), [ScriptedExecutor("gpu")], office, threading.Event()))


def test_tickets_are_read_some_way_ahead_only() -> None:
    read: list[int] = []

    def endless() -> Iterator[Ticket]:
        for number in range(10_000):
            read.append(number)
            yield from tickets(str(number))

    stop = threading.Event()
    found = dispatch(endless(), [ScriptedExecutor("gpu")], ScriptedOffice(), stop)
    for _ in range(5):
        next(found)
    found.close()
    assert len(read) < 40
    assert stop.is_set()


def test_a_run_that_is_told_to_stop_keeps_what_it_has() -> None:
    stop, office = threading.Event(), ScriptedOffice()
    found = dispatch(tickets(*map(str, range(500))), [ScriptedExecutor("gpu")], office, stop)
    seen = [next(found).solution.name]
    stop.set()
    with pytest.raises(Interrupted):
        seen.extend(one.solution.name for one in found)
    assert seen == office.kept


def test_among_machines_that_die_at_random_no_job_is_lost_or_judged_twice() -> None:
    chance = random.Random(5)

    def dying(script: Script) -> Script:
        return lambda name, nth: Lost("killed") if chance.random() < 0.05 else script(name, nth)

    lanes = [ScriptedExecutor(f"gpu {number}", dying(verdict)) for number in range(6)]
    builders = [ScriptedExecutor(f"cpu {number}", dying(build), is_lane=False, slots=3) for number in range(2)]
    found = judged(tickets(*map(str, range(600))), *lanes, *builders)
    counts = Counter(one.verdict for one in found.values())
    assert counts[Verdict.PASSED] + counts[Verdict.HARNESS_ERROR] == 600
    assert counts[Verdict.PASSED] > 590
    assert any(one.remarks for one in found.values())


def test_the_remark_is_all_that_changes() -> None:
    found = judged(tickets("a"), ScriptedExecutor("gpu", once(Lost("killed"))))
    assert replace(found["a"], remarks=()) == passed("a", id="a")


def test_a_harness_error_is_tried_elsewhere_and_its_last_record_is_kept() -> None:
    def ours(name: str, nth: int) -> Answer:
        return Answer(evaluation=failed(name, Verdict.HARNESS_ERROR, id=f"{nth}", checks=()))

    lane = ScriptedExecutor("gpu", ours)
    found = judged(tickets("a"), lane)
    assert (found["a"].verdict, found["a"].id) == (Verdict.HARNESS_ERROR, str(MOST_ATTEMPTS))
    assert found["a"].remarks[0].startswith(f"attempt {MOST_ATTEMPTS}")
    assert lane.opened_times == 1
    better = ScriptedExecutor("gpu", lambda name, nth: ours(name, nth) if nth == 1 else verdict(name, nth))
    assert judged(tickets("a"), better)["a"].verdict is Verdict.PASSED


def test_a_job_that_a_machine_may_have_ended_is_tried_again_with_what_the_machine_did() -> None:
    def script(name: str, nth: int) -> Answer:
        return Answer(outages=("no memory",)) if nth == 1 else verdict(name, nth)

    lane = ScriptedExecutor("lane", script, builds=True)
    job: Any = JobOfName(SimpleNamespace(name="a"))
    assert judged([Ticket(job)], lane)["a"].verdict is Verdict.PASSED
    assert [(call.job.outages, call.job.tries) for call in lane.calls] == [((), 0), (("no memory",), 1)]


def test_lanes_build_where_no_builder_ever_opens() -> None:
    builder = ScriptedExecutor("builder", build, is_lane=False)
    builder.opened = Future  # type: ignore[method-assign]
    lane = ScriptedExecutor("lane")
    assert judged(tickets("a"), builder, lane, patience_s=0.2)["a"].verdict is Verdict.PASSED
    assert [call.built for call in lane.calls] == [None]


def test_a_stuck_gpu_is_given_up_after_an_outage_too() -> None:
    stuck = ScriptedExecutor("stuck", lambda name, nth: Answer(outages=("stuck",), trouble="it hangs"), builds=True)
    other = ScriptedExecutor("other", builds=True, never_opens_again=True)
    job: Any = JobOfName(SimpleNamespace(name="a"))
    assert judged([Ticket(job)], stuck, other)["a"].verdict is Verdict.PASSED
    assert stuck.opened_times == 1 + len(stuck.calls)
