"""A whole audit over scripted turns."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from harness.devices import EVICT, STRIDED_COPY
from harness.model.arms import ArmName
from harness.model.evaluation import Work
from harness.model.verdict import Verdict
from harness.referee.audit.auditor import Auditor
from harness.referee.audit.kernels import Origins
from harness.referee.audit.observed import Facts
from harness.referee.audit.traced_turn import OutputSize
from harness.sandbox.outcome import SolutionFailed
from harness.sandbox.wire.device import KernelRun
from harness.sandbox.wire.messages import CallTaken, OutputForm, TurnTaken
from tests.examples import ceilings
from tests.referee.audit.traces import LARGE, OUTPUTS, call_of, kernel, marked
from tests.wording import tells

US = 1_000
FACTS = Facts(origins=Origins({"own_kernel"}), outputs=OUTPUTS)
FORM = OutputForm(None, "float32", (1024,), "cuda")


def reply(
    calls: int,
    us: int = 0,
    tail_us: int = 3,
    kernels: tuple[KernelRun, ...] | None = None,
    patched: tuple[str, ...] = (),
) -> TurnTaken:
    taken = CallTaken("tensor", (FORM,), us * US or None, tail_us * US if us else None)
    return TurnTaken((taken,) * calls, (), 0, (), kernels, patched)


def play(auditor: Auditor, arm: ArmName, us: int, hidden_us: int = 0, tail_us: int = 3) -> None:
    """Turns of 1, 3 and 5 calls; a call costs 400 µs besides."""
    for calls in (1, 5, 3, 1, 3, 5, 5, 3, 1):
        auditor.turn(arm, calls, reply(calls, us, tail_us), (800 + calls * (us + 400 + hidden_us)) * US)
        auditor.rest(93 * US, after=arm)


def played(us: int = 200, hidden_us: int = 0, tail_us: int = 3, eager_us: int = 1_000, **facts: Any) -> Auditor:
    """After the timed turns, of which none is traced."""
    auditor = Auditor("full", "eager", replace(FACTS, **facts))
    play(auditor, "eager", eager_us)
    play(auditor, "solution", us, hidden_us, tail_us)
    return auditor


def accusers(auditor: Auditor, took_ns: int | None = 200 * US, match: str | None = None) -> list[str]:
    """The checks whose evidence ends the audit."""
    with pytest.raises(SolutionFailed, match=match) as caught:
        auditor.finish(took_ns)
    return [evidence.check for evidence in caught.value.failure.evidence]


def audited(own: list[KernelRun], hidden_us: int = 0, tail_us: int = 3, **facts: Any) -> Auditor:
    """Eager takes 1,000 µs a call, the solution 200."""
    auditor = played(200, hidden_us, tail_us, **facts)
    eager = [*marked(2_000, 1_000), kernel(2_000, 990, "_ZN2at6native3addEv")]
    auditor.trace("eager", 1, reply(1, 1_000, kernels=tuple(eager)), 10_000 * US)
    auditor.trace("solution", 1, reply(1, 200, kernels=(*marked(2_000, 200), *own)), 10_000 * US)
    return auditor


def test_an_honest_solution_passes_with_its_trace() -> None:
    found = audited([kernel(2_001, 198)]).finish(200 * US)
    assert found.remarks == ()
    assert found.trace is not None
    assert [(row.name, row.origin, row.launches) for row in found.trace.kernels] == [("own_kernel", "own", 1)]
    assert found.trace.own_share == 1.0


def test_the_kernels_of_a_call_are_counted_for_each_traced_arm() -> None:
    auditor = Auditor("full", "eager", FACTS)
    assert auditor.kernels == {}
    rows = (*marked(2_000, 1_000), *(kernel(2_000 + 300 * place, 290, f"eager{place}") for place in range(3)))
    auditor.trace("eager", 1, reply(1, 1_000, kernels=rows), 10_000 * US)
    assert auditor.kernels == {"eager": 3}
    assert audited([kernel(2_001, 198)]).kernels == {"eager": 1, "solution": 1}


def test_hidden_work_is_found_by_several_checks() -> None:
    auditor = audited([kernel(2_001, 198), kernel(2_300, 900, stream=13)], hidden_us=900, tail_us=850)
    assert accusers(auditor) == ["trace", "wall_clock", "tail"]
    assert auditor.found is not None  # kept for the record


@pytest.mark.parametrize("name", [EVICT, STRIDED_COPY, "my_kernel"])
def test_work_between_calls_is_hidden_under_no_name(name: str) -> None:
    """800 µs for each call, in every turn: neither the trace nor the wall clock lets it pass."""
    auditor = played(hidden_us=800)
    for calls in (5, 3):
        rows: list[KernelRun] = []
        for at in range(2_000, 2_000 + calls * 3_000, 3_000):
            rows += [*marked(at, 200), kernel(at + 1, 198), kernel(at + 1_500, 800, name)]
        auditor.trace("solution", calls, reply(calls, 200, kernels=tuple(rows)), 100_000 * US)
    assert accusers(auditor) == ["trace", "wall_clock"]


def test_output_sizes_another_layout_may_take_their_time() -> None:
    """The device stores them element by element, which the referee's clock sees and no claim explains."""
    auditor = played(hidden_us=450, outputs=(LARGE,), ceilings=H100)
    rows = [row for at in (2_000, 5_000, 8_000) for row in (*call_of(at, 200, 450), kernel(at + 1, 198))]
    auditor.trace("solution", 3, reply(3, 200, kernels=tuple(rows)), 100_000 * US)
    assert auditor.finish(200 * US).remarks == ()


@pytest.mark.parametrize(
    ("us", "tail_us", "check"),
    [(100, 3, "phases"), (200, 90, "tail")],
)
def test_what_only_an_idle_device_shows_is_found(us: int, tail_us: int, check: str) -> None:
    """Held, it does its work within the call; idle, half of it after: who doesn't wait for his own stream."""
    auditor = audited([kernel(2_001, 198)])
    auditor.check(reply(3, us, tail_us), 10_000 * US, is_traced=False)
    assert accusers(auditor) == [check]


def test_an_honest_call_on_an_idle_device_passes() -> None:
    auditor = audited([kernel(2_001, 198)])
    auditor.check(reply(3, 240, 10), 10_000 * US, is_traced=False)
    assert auditor.finish(200 * US).remarks == ()


def test_a_solution_that_behaves_while_traced_only_is_found() -> None:
    auditor = played(20)
    auditor.trace("solution", 1, reply(1, 400, kernels=(*marked(2_000, 400), kernel(2_001, 398))), 10_000 * US)
    assert accusers(auditor, 20 * US) == ["phases"]


def test_a_start_recorded_anew_is_found_in_the_traced_turn() -> None:
    """The solution's kernel takes 900 µs, of which it claims 200, traced or not; its wall clock was forged as well."""
    auditor = played()
    auditor.trace("solution", 1, reply(1, 200, kernels=(*marked(2_000, 900), kernel(2_700, 198))), 10_000 * US)
    assert accusers(auditor, match=r"200 µs .* 900 µs") == ["trace"]


def test_by_the_hosts_clock_a_call_lasts_from_its_first_row_to_its_last() -> None:
    """The host waits between the marks as well, for milliseconds where a trace has only begun."""
    auditor = played()
    rows = (*marked(2_000, 4_000), kernel(5_700, 100), kernel(5_850, 48))
    auditor.trace("solution", 1, reply(1, 200, kernels=rows), 10_000 * US, by_host=True)
    assert auditor.finish(200 * US).remarks == ()
    rows = (*marked(2_000, 4_000), kernel(5_000, 100), kernel(5_850, 48))
    auditor.trace("solution", 1, reply(1, 200, kernels=rows), 10_000 * US, by_host=True)
    auditor.trace("solution", 1, reply(1, 200, kernels=rows), 10_000 * US, by_host=True)
    assert accusers(auditor, match=r"200 µs .* 898 µs") == ["trace"]


def test_a_call_that_takes_long_in_a_turn_that_is_not_timed_takes_nobodys_work() -> None:
    auditor = audited([kernel(2_001, 198)])
    rows = (*marked(2_000, 200), *marked(50_000, 9_000), kernel(2_001, 198), kernel(50_001, 8_900))
    auditor.check(reply(2, 200, kernels=rows), 90_000 * US, is_traced=True)
    assert auditor.finish(200 * US).remarks == ()


def test_where_the_baseline_is_interrupted_as_often_it_is_a_remark() -> None:
    auditor = played()
    eager = (*marked(2_000, 3_000), kernel(2_000, 990, "_ZN2at6native3addEv"))
    auditor.trace("eager", 1, reply(1, 1_000, kernels=eager), 10_000 * US)
    auditor.trace("solution", 1, reply(1, 200, kernels=(*marked(2_000, 900), kernel(2_001, 198))), 10_000 * US)
    (remark,) = auditor.finish(200 * US).remarks
    assert tells(remark, "full: 1 of 1", "lasted longer")


def test_a_gpu_that_others_use_is_a_remark_and_no_accusation() -> None:
    auditor = audited([kernel(2_001, 198)])
    for _ in range(20):
        auditor.rest(2_400 * US)
        auditor.rest(2_300 * US, after="eager")
    (remark,) = auditor.finish(200 * US).remarks
    assert tells(remark, "full:", "shared", "another process")


H100 = ceilings(
    cache_bytes=50_000_000,
    copy_bytes_per_s=3.0e12,
    read_bytes_per_s=3.0e12,
    write_bytes_per_s=3.0e12,
    matrix_operations_per_s={"float32": 51e12, "bfloat16": 800e12, "int8": 1400e12},
)


@pytest.mark.parametrize(("eager_us", "is_accused"), [(1_000, True), (300, False)])
def test_speeds_are_impossible_unless_the_baseline_reaches_them_too(eager_us: int, is_accused: bool) -> None:
    """3 GB in 200 µs; eager takes 1,000 or 300."""
    work = Work(3_000_000_000, None)
    outputs = (OutputSize(10**9 // 4, 4),)
    auditor = played(eager_us=eager_us, work=work, ceilings=H100, outputs=outputs, inputs_that_matter=lambda: 2e9)
    if is_accused:
        assert accusers(auditor) == ["roofline"]
    else:
        (remark,) = auditor.finish(200 * US).remarks
        assert tells(remark, "full: 200.0 µs", "3000.0 MB", "15.00 TB/s", "baseline", "300.0 µs")


def test_the_frameworks_kernels_alone_are_no_custom_kernel() -> None:
    with pytest.raises(SolutionFailed) as caught:
        audited([kernel(2_001, 198, "_ZN2at6native3mulEv")]).finish(200 * US)
    assert caught.value.verdict is Verdict.NO_CUSTOM_KERNEL


@pytest.mark.parametrize(("patched", "word"), [((), "waited"), (("time.time_ns",), r"time\.time_ns")])
def test_an_impossible_traced_turn_ends_the_audit_at_once(patched: tuple[str, ...], word: str) -> None:
    """Timed turns are held to the same before the auditor takes note of them."""
    with pytest.raises(SolutionFailed, match=word):
        Auditor("full").trace("solution", 2, reply(2, 100, patched=patched), 150 * US)


def test_a_trace_that_only_the_solution_lacks_was_switched_off() -> None:
    auditor = Auditor("full", "eager", FACTS)
    auditor.trace("eager", 1, reply(1, 100, kernels=(*marked(2_000, 100), kernel(2_010, 80))), 900 * US)
    auditor.trace("solution", 1, reply(1, 100), 900 * US)
    with pytest.raises(SolutionFailed, match="switched off"):
        auditor.finish()


def test_without_any_trace_the_record_says_so() -> None:
    """On a machine without CUPTI, where the baseline has none and an untouched worker had none."""
    auditor = Auditor("full")
    auditor.trace("eager", 1, reply(1, 100), 900 * US)
    auditor.trace("solution", 1, reply(1, 100), 900 * US)
    (remark,) = auditor.finish().remarks
    assert tells(remark, "full: no trace")


def test_traces_that_are_left_out_are_counted_by_turn() -> None:
    """One honest trace is no excuse for the turns after it."""
    auditor = audited([kernel(2_001, 198)])
    auditor.check(reply(1, 200, kernels=(*marked(2_000, 200), kernel(2_001, 198))), 10_000 * US, is_traced=True)
    auditor.trace("solution", 1, reply(1, 200), 10_000 * US)
    auditor.trace("solution", 1, reply(1, 200), 10_000 * US)
    with pytest.raises(SolutionFailed, match=r"no trace .*2 of the 4") as caught:
        auditor.finish(200 * US)
    (evidence,) = caught.value.failure.evidence
    assert (evidence.check, evidence.numbers) == ("trace", {"traced_turns": 4, "turns_without": 2})


@pytest.mark.parametrize("facts", [Facts(on_gpu=False), Facts(can_trace=True)])
def test_a_trace_that_is_left_out_where_an_untouched_worker_has_one_is_cheating(facts: Facts) -> None:
    """As on the simulator, which always has one; no baseline is there to show it."""
    auditor = Auditor("full", facts=facts)
    auditor.check(reply(3, 100 if facts.on_gpu else 0), 900 * US, is_traced=True)
    assert accusers(auditor, None, r"no trace .*1 of the 1") == ["trace"]


@pytest.mark.parametrize("kernels", [(), (KernelRun("own_kernel", 0, 0, 0, "kernel"),)])
def test_rows_without_times_are_no_trace_of_a_gpu(kernels: tuple[KernelRun, ...]) -> None:
    auditor = audited([kernel(2_001, 198)])
    with pytest.raises(SolutionFailed, match="tampered with"):
        auditor.trace("solution", 1, reply(1, 200, kernels=kernels), 10_000 * US)


def tailless(calls: int, us: int) -> TurnTaken:
    whole = reply(calls, us)
    return replace(whole, calls=tuple(replace(call, tail_ns=None) for call in whole.calls))


def test_tails_that_are_left_out_are_evidence() -> None:
    auditor = audited([kernel(2_001, 198)])
    auditor.turn("solution", 5, tailless(5, 200), 3_800 * US)
    auditor.check(tailless(2, 200), 3_800 * US, is_traced=False)
    with pytest.raises(SolutionFailed, match="7 of 34") as caught:
        auditor.finish(200 * US)
    (evidence,) = caught.value.failure.evidence
    assert (evidence.check, evidence.numbers) == ("tail", {"calls": 34, "calls_without": 7})


def test_times_that_are_left_out_on_an_idle_device_end_the_audit_at_once() -> None:
    with pytest.raises(SolutionFailed, match=r"0 times .* 2"):
        Auditor("full").check(reply(2), 900 * US, is_traced=False)


def test_a_gpu_kept_busy_between_turns_is_found() -> None:
    auditor = audited([kernel(2_001, 198)])
    for _ in range(9):
        auditor.rest(2_400 * US)
    assert accusers(auditor) == ["idle_gpu"]


def test_the_simulators_rows_count_launches_alone() -> None:
    rows = tuple(KernelRun(name, 0, 0, 0, "kernel") for name in ("aten::empty", "pool<float>", "pool<float>"))
    auditor = Auditor("small", facts=Facts(on_gpu=False))
    auditor.trace("solution", 1, reply(1, kernels=rows), 900 * US)
    found = auditor.finish()
    assert found.trace is not None
    assert [(row.origin, row.launches) for row in found.trace.kernels] == [("own", 2), ("move", 1)]
    assert found.trace.own_share is None


def test_a_kernel_that_is_called_as_torchs_is_own_by_the_solutions_text_alone() -> None:
    name = "_bmm_outer_product_kernel"
    rows = [kernel(2_001, 198, name)]
    its_own = audited(rows, is_compiled_by_torch=name.__eq__).judge(200 * US)
    (remark,) = its_own.remarks
    assert tells(remark, "full: torch", "same name", name)
    assert its_own.accused is None
    torchs = audited(rows, is_compiled_by_torch=name.__eq__, origins=Origins(by_torch=name.__eq__)).judge(200 * US)
    assert tells(str(torchs.accused), "framework's:", name)


def test_on_the_simulator_torch_alone_is_no_custom_kernel() -> None:
    auditor = Auditor("small", facts=Facts(on_gpu=False))
    auditor.trace("solution", 1, reply(1, kernels=(KernelRun("aten::max_pool2d", 0, 0, 0, "kernel"),)), 900 * US)
    with pytest.raises(SolutionFailed, match="framework's: aten::max_pool2d"):
        auditor.finish()
