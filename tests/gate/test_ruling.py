"""The decision on one solution."""

from __future__ import annotations

from dataclasses import replace

import pytest

from harness.gate.policy import ProblemDemands
from harness.gate.ruling import judge, missing, waiver_remarks
from harness.model.evaluation import ProblemRef
from harness.model.gate import Judged
from harness.model.timing import Timing
from harness.model.verdict import Verdict
from tests.examples import environment, failed, passed, sim_environment
from tests.gate.builders import SUBJECT, TODAY, judged, levels, snapshot_of, terms, timed, timing, waiver

ACCEPTED = snapshot_of(timed(1_000_000))
NO_GPU = "no GPU"


def test_a_solution_that_passes_as_expected_is_green() -> None:
    one = judged(passed("tiled"), not_judged=NO_GPU)
    assert (one.outcome, one.findings, one.verdict) == ("passed", (), Verdict.PASSED)


def test_a_wrong_result_fails() -> None:
    one = judged(failed("tiled"), not_judged=NO_GPU)
    assert one.outcome == "failed"
    assert levels(one) == [("unexpected_verdict", "failed")]
    assert one.findings[0].message.startswith("wrong_values: 1 of 4 ")
    assert one.findings[0].message.endswith("(case small)")


def test_a_known_failure_that_fails_as_expected_is_green() -> None:
    gallery = Judged("maxpool2d", "broken", Verdict.WRONG_VALUES)
    assert judge(gallery, [failed()], terms()).outcome == "passed"


def test_another_failure_than_the_expected_one_fails() -> None:
    one = judge(Judged("maxpool2d", "broken", Verdict.TIMEOUT), [failed()], terms())
    assert one.outcome == "failed"
    assert one.findings[0].message.startswith("wrong_values (expected: timeout): ")


def test_an_expected_failure_that_passes_fails() -> None:
    one = judge(Judged("maxpool2d", "broken", Verdict.WRONG_VALUES), [passed("broken")], terms())
    assert levels(one) == [("unexpected_pass", "failed")]
    assert one.findings[0].message.startswith("passed, ")
    assert "wrong_values" in one.findings[0].message


def test_what_could_not_be_evaluated_fails() -> None:
    one = missing(SUBJECT, "the folder holds no solution.py", "add it")
    assert (one.outcome, one.verdict) == ("failed", None)


def test_a_crash_of_ours_is_broken_even_where_it_is_expected() -> None:
    crash = failed("tiled", Verdict.HARNESS_ERROR, checks=())
    assert judged(crash).outcome == "broken"
    expected = Judged("maxpool2d", "tiled", Verdict.HARNESS_ERROR)
    assert levels(judge(expected, [crash], terms())) == [("harness_error", "broken")]


def test_a_broken_problem_fails() -> None:
    assert judged(failed("tiled", Verdict.INVALID_PROBLEM, checks=())).outcome == "failed"


def test_unsupported_is_neither_green_nor_the_solutions_failure() -> None:
    one = judged(failed("tiled", Verdict.UNSUPPORTED, checks=(), environment=sim_environment()), not_judged=NO_GPU)
    assert one.outcome == "inconclusive"
    assert levels(one) == [("unsupported", "inconclusive")]


def test_a_policy_may_allow_unsupported() -> None:
    one = judged(failed("tiled", Verdict.UNSUPPORTED, checks=()), unsupported="allow")
    assert (one.outcome, levels(one)) == ("passed", [("unsupported", "tolerated")])


def test_allowing_inconclusive_speed_does_not_allow_unsupported() -> None:
    assert judged(failed("tiled", Verdict.UNSUPPORTED, checks=()), inconclusive="allow").outcome == "inconclusive"


NEEDS_GPU = failed("tiled", Verdict.UNSUPPORTED, checks=(), environment=sim_environment())
NEEDS_GPU = replace(NEEDS_GPU, solution=replace(NEEDS_GPU.solution, expected_verdict=Verdict.UNSUPPORTED))


def test_what_needs_a_gpu_is_tolerated_without_one_and_never_silently() -> None:
    on_a_gpu = snapshot_of(timed(1_000_000))
    for snapshot in (None, on_a_gpu):
        one = judged(NEEDS_GPU, not_judged=NO_GPU, snapshot=snapshot)
        assert (one.outcome, levels(one)) == ("passed", [("unsupported", "tolerated")])
        assert one.findings[0].message.partition(":")[0].endswith("a GPU")


def test_what_needs_another_gpu_is_tolerated_on_this_one() -> None:
    one = judged(replace(NEEDS_GPU, environment=environment()))
    assert (one.outcome, levels(one)) == ("passed", [("unsupported", "tolerated")])
    assert one.findings[0].message.partition(":")[0].endswith("lacks")


def test_what_passed_here_is_not_excused_by_needing_a_gpu_now() -> None:
    passed_here = snapshot_of(passed("tiled", environment=sim_environment()))
    one = judged(NEEDS_GPU, not_judged=NO_GPU, snapshot=passed_here)
    assert (one.outcome, levels(one)) == ("inconclusive", [("unsupported", "inconclusive")])
    assert one.findings[0].message.startswith("snapshot.jsonl accepted")
    assert "harness snapshot accept" in one.findings[0].next_step
    assert judged(NEEDS_GPU, snapshot=passed_here, unsupported="allow").outcome == "passed"


def test_one_wrong_result_among_repetitions_fails() -> None:
    one = judged(timed(1_000_000), failed("tiled"), timed(1_000_000), snapshot=ACCEPTED)
    assert (one.outcome, one.verdict) == ("failed", Verdict.WRONG_VALUES)
    assert one.findings[0].message.startswith("wrong_values in 1 of 3 ")


def test_a_regression_found_every_time_fails() -> None:
    one = judged(timed(1_100_000), timed(1_101_000), timed(1_099_000), snapshot=ACCEPTED)
    assert (one.outcome, one.speed) == ("failed", "regressed")
    assert levels(one) == [("regressed", "failed")]
    assert "3 times" in one.findings[0].message
    assert "5%" in one.findings[0].message
    assert [attempt.speed for attempt in one.attempts] == ["regressed"] * 3
    first = one.attempts[0].against_snapshot
    assert first is not None
    assert first.estimate == pytest.approx(1 / 1.1, rel=1e-3)


def test_measurements_that_contradict_each_other_are_inconclusive() -> None:
    one = judged(timed(1_100_000), timed(1_000_000), snapshot=ACCEPTED, inconclusive="forbid")
    assert (one.outcome, one.speed) == ("inconclusive", "inconclusive")
    assert "(regressed, unchanged)" in one.findings[0].message


def test_inconclusive_is_allowed_unless_it_is_forbidden() -> None:
    noisy = timed(1_000_000, spread=0.2)
    assert levels(judged(noisy, snapshot=ACCEPTED)) == [("inconclusive_speed", "tolerated")]
    assert judged(noisy, snapshot=ACCEPTED).outcome == "passed"
    assert judged(noisy, snapshot=ACCEPTED, inconclusive="forbid").outcome == "inconclusive"


def test_a_wide_interval_far_below_the_limit_is_a_regression() -> None:
    """On a busy machine a solution of half the speed passed, since nothing was certain to ±5 %."""
    wide = timed(2_000_000, spread=0.2)
    assert wide.timing is not None
    assert wide.timing.noises
    assert not wide.timing.is_doubtful
    assert judged(wide, wide, wide, snapshot=ACCEPTED).outcome == "failed"
    assert judged(timed(1_050_000, spread=0.2), snapshot=ACCEPTED).speed == "inconclusive"


def test_noise_of_another_kind_decides_nothing() -> None:
    slow = timed(2_000_000)
    assert slow.timing is not None
    turns = tuple(replace(turn, queued=(False,) * len(turn.call_ns)) for turn in slow.timing.turns)
    late = replace(slow, timing=replace(slow.timing, turns=turns))
    assert judged(late, late, late, snapshot=ACCEPTED).speed == "inconclusive"


def test_noise_is_named_as_the_reason() -> None:
    message = judged(timed(1_000_000, spread=0.2), snapshot=ACCEPTED).findings[0].message
    assert "interval" in message
    assert "±" in message


def test_within_the_allowed_slow_down_is_green() -> None:
    one = judged(timed(1_030_000), snapshot=ACCEPTED)
    assert (one.outcome, one.speed, one.findings) == ("passed", "unchanged", ())


def test_a_policy_may_be_stricter_for_one_problem() -> None:
    strict = {"max*": ProblemDemands(largest_slowdown=0.01)}
    assert judged(timed(1_030_000), snapshot=ACCEPTED, problems=strict).outcome == "failed"


def test_faster_is_improved() -> None:
    assert judged(timed(800_000), snapshot=ACCEPTED).speed == "improved"


def test_below_the_least_speed_up_fails_without_a_snapshot() -> None:
    one = judged(timed(1_000_000), least_speedup=3.5)
    assert levels(one) == [("below_least_speedup", "failed")]
    assert judged(timed(1_000_000), least_speedup=2.5).outcome == "passed"


def test_what_was_not_timed_is_inconclusive_where_speed_is_asked_for() -> None:
    one = judged(passed("tiled"), snapshot=ACCEPTED)
    assert levels(one) == [("inconclusive_speed", "tolerated")]
    assert "not timed" in one.findings[0].message


def test_speed_is_not_judged_without_a_gpu() -> None:
    assert judged(timed(2_000_000), snapshot=ACCEPTED, not_judged=NO_GPU).findings == ()


def test_a_solution_that_the_snapshot_does_not_know_is_new() -> None:
    other = snapshot_of(replace(timed(1_000_000), problem=ProblemRef("relu", "aa" * 32, "float32")))
    one = judged(timed(1_000_000), snapshot=other)
    assert (one.outcome, levels(one)) == ("passed", [("no_comparison", "remark")])


def test_a_changed_problem_is_not_compared() -> None:
    changed = timed(2_000_000, problem=ProblemRef("maxpool2d", "beef" * 16, "float32"))
    one = judged(changed, snapshot=ACCEPTED, inconclusive="forbid")
    assert one.outcome == "inconclusive"
    assert "files" in one.findings[0].message


def test_another_case_is_not_compared() -> None:
    small = timed(1_000_000, timing=timing(1_000_000, case="small"))
    (finding,) = judged(small, snapshot=ACCEPTED).findings
    assert (finding.rule, finding.level) == ("no_comparison", "tolerated")
    assert "'small' was timed" in finding.message
    assert "'full'" in finding.message


def test_a_baseline_that_was_not_measured_is_not_compared_with() -> None:
    plain = timing(1_000_000)
    turns = tuple(replace(turn, arm="compile") if turn.arm == "eager" else turn for turn in plain.turns)
    compiled = timed(1_000_000, timing=Timing("full", turns, ("compile",)))
    (finding,) = judged(compiled, snapshot=ACCEPTED).findings
    assert (finding.rule, finding.level) == ("no_comparison", "tolerated")
    assert "'eager'" in finding.message


def test_the_accepted_baseline_counts_whatever_the_headline_is() -> None:
    plain = timing(1_000_000)
    compiled = tuple(
        replace(turn, arm="compile", call_ns=(1_500_000,) * 2) for turn in plain.turns if turn.arm == "eager"
    )
    both = timed(1_000_000, timing=Timing("full", (*plain.turns, *compiled), ("compile", "eager")))
    assert judged(both, snapshot=ACCEPTED).speed == "unchanged"


def test_an_expected_failure_is_not_timed() -> None:
    subject = Judged("maxpool2d", "tiled", Verdict.WRONG_VALUES)
    one = judge(subject, [failed("tiled")], terms(least_speedup=2.0))
    assert (one.findings, one.speed) == ((), None)


def test_a_waiver_covers_a_regression_until_its_day() -> None:
    one = judged(timed(1_200_000), snapshot=ACCEPTED, waivers=(waiver(),))
    assert (one.outcome, levels(one)) == ("passed", [("regressed", "waived")])
    assert one.findings[0].waiver is not None
    assert one.findings[0].waiver.owner == "ann"


def test_a_waiver_holds_on_its_last_day_and_not_after() -> None:
    last_day, day_before = waiver(expires="2026-11-21"), waiver(expires="2026-11-20")
    assert judged(timed(1_200_000), snapshot=ACCEPTED, waivers=(last_day,)).outcome == "passed"
    expired = judged(timed(1_200_000), snapshot=ACCEPTED, waivers=(day_before,))
    assert expired.outcome == "failed"
    assert "expired on 2026-11-20" in waiver_remarks([expired], terms(waivers=(day_before,)).policy, TODAY)[0]


@pytest.mark.parametrize(
    "other", [{"what": "correctness"}, {"problem": "relu"}, {"solution": "plain"}], ids=["scope", "problem", "solution"]
)
def test_a_waiver_of_something_else_covers_nothing(other: dict[str, str]) -> None:
    assert judged(timed(1_200_000), snapshot=ACCEPTED, waivers=(waiver(**other),)).outcome == "failed"


def test_a_waiver_of_correctness_covers_a_wrong_result() -> None:
    assert judged(failed("tiled"), waivers=(waiver(what="correctness"),)).outcome == "passed"


def test_nothing_waives_a_missing_result_or_a_crash_of_ours() -> None:
    everything = tuple(waiver(what=what) for what in ("correctness", "performance", "unsupported"))
    assert judged(waivers=everything).outcome == "failed"
    assert judged(failed("tiled", Verdict.HARNESS_ERROR, checks=()), waivers=everything).outcome == "broken"


def test_a_waiver_that_nothing_needed_is_remarked() -> None:
    policy = terms(waivers=(waiver(),)).policy
    (remark,) = waiver_remarks([judged(timed(1_000_000), snapshot=ACCEPTED)], policy, TODAY)
    assert "not needed" in remark
    assert "maxpool2d/*" in remark
    assert waiver_remarks([judged(timed(1_200_000), snapshot=ACCEPTED, waivers=(waiver(),))], policy, TODAY) == []


def test_the_entry_of_the_same_gpu_is_compared_with() -> None:
    slow_gpu = replace(timed(2_000_000), environment=environment(gpu="NVIDIA T4"))
    one = judged(timed(1_000_000), snapshot=snapshot_of(slow_gpu, timed(1_000_000)))
    assert one.speed == "unchanged"


def test_an_expectation_that_was_loosened_fails() -> None:
    gallery = Judged("maxpool2d", "tiled", Verdict.WRONG_VALUES)
    one = judge(gallery, [failed("tiled")], terms(ACCEPTED, NO_GPU))
    assert (one.outcome, levels(one)) == ("failed", [("changed_expectation", "failed")])
    before, _, now = one.findings[0].message.partition(", ")
    assert "passed" in before
    assert "wrong_values" in now


def test_a_waiver_of_correctness_covers_a_loosened_expectation() -> None:
    gallery = Judged("maxpool2d", "tiled", Verdict.WRONG_VALUES)
    one = judge(gallery, [failed("tiled")], terms(ACCEPTED, waivers=(waiver(what="correctness"),)))
    assert (one.outcome, levels(one)) == ("passed", [("changed_expectation", "waived")])


def test_a_failure_that_is_mended_is_remarked() -> None:
    one = judged(passed("tiled"), snapshot=snapshot_of(failed("tiled")), not_judged=NO_GPU)
    assert (one.outcome, levels(one)) == ("passed", [("changed_expectation", "remark")])


def test_an_expectation_as_it_was_accepted_is_no_finding() -> None:
    gallery = Judged("maxpool2d", "broken", Verdict.WRONG_VALUES)
    assert judge(gallery, [failed()], terms(snapshot_of(failed()))).findings == ()


@pytest.mark.parametrize(("uuid", "is_told"), [("GPU-2", True), ("GPU-1", False), (None, False)])
def test_a_regression_against_another_gpu_of_the_model_says_so(uuid: str | None, is_told: bool) -> None:
    accepted = snapshot_of(timed(1_000_000, environment=environment(gpu_uuid="GPU-1")))
    one = judged(timed(1_100_000, environment=environment(gpu_uuid=uuid)), snapshot=accepted)
    assert levels(one) == [("regressed", "failed")]
    assert ("2 GPUs of this model" in one.findings[0].message) is is_told
