"""The decision on one solution."""

from __future__ import annotations

from dataclasses import replace

import pytest

from harness.gate.policy import ProblemDemands
from harness.gate.ruling import missing, waiver_remarks
from harness.model.evaluation import ProblemRef
from harness.model.gate import Judged
from harness.model.timing import Timing
from harness.model.verdict import Verdict
from tests.examples import environment, failed, passed, sim_environment
from tests.gate.builders import SUBJECT, TODAY, judged, levels, snapshot_of, terms, timed, timing, waiver
from tests.wording import tells

ACCEPTED = snapshot_of(timed(1_000_000))
NO_GPU = "no GPU"
UNCHANGED, REGRESSED = "passed, unchanged", "failed, regressed: regressed failed"
WRONG, CRASH = failed("tiled"), failed("tiled", Verdict.HARNESS_ERROR, checks=())
WAS_WRONG = snapshot_of(WRONG)
UNSUPPORTED = failed("tiled", Verdict.UNSUPPORTED, checks=(), environment=sim_environment())
GALLERY, CRASHING = (replace(SUBJECT, expected=verdict) for verdict in (Verdict.WRONG_VALUES, Verdict.HARNESS_ERROR))
NOISY = timed(1_000_000, spread=0.2)
OLD_GPU = replace(timed(2_000_000), environment=environment(gpu="NVIDIA T4"))
OF_RELU = replace(timed(1_000_000), problem=ProblemRef("relu", "aa" * 32, "float32"))
STRICT = {"max*": ProblemDemands(largest_slowdown=0.01)}
FORGIVEN = (waiver(what="correctness"),)
EVERYTHING = tuple(waiver(what=what) for what in ("correctness", "performance", "unsupported"))
PLAIN = timing(1_000_000).turns
COMPILED = tuple(replace(one, arm="compile", call_ns=(1_500_000,) * 2) for one in PLAIN if one.arm == "eager")
OVER_BOTH = timed(1_000_000, timing=Timing("full", (*PLAIN, *COMPILED), ("compile", "eager")))

RULINGS: dict[str, tuple[Judged, str]] = {
    "passes as expected": (judged(passed("tiled"), not_judged=NO_GPU), "passed"),
    "fails as expected": (judged(WRONG, subject=GALLERY), "passed"),
    "fails as it was accepted": (judged(WRONG, subject=GALLERY, snapshot=WAS_WRONG), "passed"),
    "an expected failure isn't timed": (judged(WRONG, subject=GALLERY, least_speedup=2.0), "passed"),
    "a crash of ours": (judged(CRASH), "broken: harness_error broken"),
    "one that is expected": (judged(CRASH, subject=CRASHING), "broken: harness_error broken"),
    "a broken problem": (judged(replace(CRASH, verdict=Verdict.INVALID_PROBLEM)), "failed: unexpected_verdict failed"),
    "unsupported": (judged(UNSUPPORTED, not_judged=NO_GPU), "inconclusive: unsupported inconclusive"),
    "unsupported, allowed": (judged(UNSUPPORTED, unsupported="allow"), "passed: unsupported tolerated"),
    "unsupported is no speed": (judged(UNSUPPORTED, inconclusive="allow"), "inconclusive: unsupported inconclusive"),
    "noisy, forbidden": (
        judged(NOISY, snapshot=ACCEPTED, inconclusive="forbid"),
        "inconclusive, inconclusive: inconclusive_speed inconclusive",
    ),
    "a little slower": (judged(timed(1_030_000), snapshot=ACCEPTED), UNCHANGED),
    "too slow here": (judged(timed(1_030_000), snapshot=ACCEPTED, problems=STRICT), REGRESSED),
    "faster": (judged(timed(800_000), snapshot=ACCEPTED), "passed, improved"),
    "below the least speed-up": (judged(timed(1_000_000), least_speedup=3.5), "failed: below_least_speedup failed"),
    "above it": (judged(timed(1_000_000), least_speedup=2.5), "passed"),
    "slow without a GPU": (judged(timed(2_000_000), snapshot=ACCEPTED, not_judged=NO_GPU), "passed"),
    "new": (judged(timed(1_000_000), snapshot=snapshot_of(OF_RELU)), "passed: no_comparison remark"),
    "known on two GPUs": (judged(timed(1_000_000), snapshot=snapshot_of(OLD_GPU, timed(1_000_000))), UNCHANGED),
    "the accepted baseline is another than the headline's": (judged(OVER_BOTH, snapshot=ACCEPTED), UNCHANGED),
    "mended": (
        judged(passed("tiled"), snapshot=WAS_WRONG, not_judged=NO_GPU),
        "passed: changed_expectation remark",
    ),
    "a waiver for wrong values": (judged(WRONG, waivers=FORGIVEN), "passed: unexpected_verdict waived"),
    "a waiver for a loosened expectation": (
        judged(WRONG, subject=GALLERY, snapshot=ACCEPTED, waivers=FORGIVEN),
        "passed: changed_expectation waived",
    ),
    "no waiver for a missing result": (judged(waivers=EVERYTHING), "failed: missing_result failed"),
    "no waiver for a crash of ours": (judged(CRASH, waivers=EVERYTHING), "broken: harness_error broken"),
    **{
        f"a waiver of another {name}": (
            judged(timed(1_200_000), snapshot=ACCEPTED, waivers=(waiver(**{name: other}),)),
            REGRESSED,
        )
        for name, other in (("what", "correctness"), ("problem", "relu"), ("solution", "plain"))
    },
}


def ruling(one: Judged) -> str:
    """The outcome, the speed, and each finding's rule and level."""
    findings = "".join(f": {rule} {level}" for rule, level in levels(one))
    return f"{one.outcome}{f', {one.speed}' if one.speed else ''}{findings}"


@pytest.mark.parametrize(("one", "decided"), RULINGS.values(), ids=RULINGS)
def test_what_is_decided(one: Judged, decided: str) -> None:
    assert ruling(one) == decided


NEEDS_GPU = replace(UNSUPPORTED, solution=replace(UNSUPPORTED.solution, expected_verdict=Verdict.UNSUPPORTED))
CHANGED = timed(2_000_000, problem=ProblemRef("maxpool2d", "beef" * 16, "float32"))
SMALL = timed(1_000_000, timing=timing(1_000_000, case="small"))
RENAMED = tuple(replace(one, arm="compile") if one.arm == "eager" else one for one in PLAIN)
OVER_COMPILED = timed(1_000_000, timing=Timing("full", RENAMED, ("compile",)))

REASONS: dict[str, tuple[Judged, str, tuple[str, ...]]] = {
    "a wrong result": (
        judged(WRONG, not_judged=NO_GPU),
        "failed: unexpected_verdict failed",
        ("wrong_values: 1 of 4", "(case small)"),
    ),
    "another failure than expected": (
        judged(WRONG, subject=replace(SUBJECT, expected=Verdict.TIMEOUT)),
        "failed: unexpected_verdict failed",
        ("wrong_values (expected: timeout):",),
    ),
    "no failure": (
        judged(passed("tiled"), subject=GALLERY),
        "failed: unexpected_pass failed",
        ("passed,", "wrong_values"),
    ),
    "a loosened expectation": (
        judged(WRONG, subject=GALLERY, snapshot=ACCEPTED, not_judged=NO_GPU),
        "failed: changed_expectation failed",
        ("passed,", "wrong_values"),
    ),
    "without a GPU": (judged(NEEDS_GPU, not_judged=NO_GPU), "passed: unsupported tolerated", ("needs a GPU:",)),
    "accepted on a GPU": (
        judged(NEEDS_GPU, not_judged=NO_GPU, snapshot=ACCEPTED),
        "passed: unsupported tolerated",
        ("needs a GPU:",),
    ),
    "on another GPU": (
        judged(replace(NEEDS_GPU, environment=environment())),
        "passed: unsupported tolerated",
        ("what this machine lacks:",),
    ),
    "noise": (
        judged(NOISY, snapshot=ACCEPTED),
        "passed, inconclusive: inconclusive_speed tolerated",
        ("interval", "±12.9 %"),
    ),
    "measurements that contradict each other": (
        judged(timed(1_100_000), timed(1_000_000), snapshot=ACCEPTED, inconclusive="forbid"),
        "inconclusive, inconclusive: inconclusive_speed inconclusive",
        ("(regressed, unchanged)",),
    ),
    "no times": (
        judged(passed("tiled"), snapshot=ACCEPTED),
        "passed, inconclusive: inconclusive_speed tolerated",
        ("not timed",),
    ),
    "a changed problem": (
        judged(CHANGED, snapshot=ACCEPTED, inconclusive="forbid"),
        "inconclusive: no_comparison inconclusive",
        ("files",),
    ),
    "another case": (
        judged(SMALL, snapshot=ACCEPTED),
        "passed: no_comparison tolerated",
        ("'small' was timed", "'full'"),
    ),
    "another baseline": (judged(OVER_COMPILED, snapshot=ACCEPTED), "passed: no_comparison tolerated", ("'eager'",)),
}


@pytest.mark.parametrize(("one", "decided", "because"), REASONS.values(), ids=REASONS)
def test_why_it_is_decided(one: Judged, decided: str, because: tuple[str, ...]) -> None:
    assert ruling(one) == decided
    assert tells(one.findings[0].message, *because)


def test_what_could_not_be_evaluated_fails() -> None:
    one = missing(SUBJECT, "the folder holds no solution.py", "add it")
    assert (one.outcome, one.verdict) == ("failed", None)


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


def test_a_waiver_that_nothing_needed_is_remarked() -> None:
    policy = terms(waivers=(waiver(),)).policy
    (remark,) = waiver_remarks([judged(timed(1_000_000), snapshot=ACCEPTED)], policy, TODAY)
    assert "not needed" in remark
    assert "maxpool2d/*" in remark
    assert waiver_remarks([judged(timed(1_200_000), snapshot=ACCEPTED, waivers=(waiver(),))], policy, TODAY) == []


@pytest.mark.parametrize(("uuid", "is_told"), [("GPU-2", True), ("GPU-1", False), (None, False)])
def test_a_regression_against_another_gpu_of_the_model_says_so(uuid: str | None, is_told: bool) -> None:
    accepted = snapshot_of(timed(1_000_000, environment=environment(gpu_uuid="GPU-1")))
    one = judged(timed(1_100_000, environment=environment(gpu_uuid=uuid)), snapshot=accepted)
    assert levels(one) == [("regressed", "failed")]
    assert ("2 GPUs of this model" in one.findings[0].message) is is_told
