"""What a run prints, made from records alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from harness.model.arms import ArmName
from harness.model.config import Config, TimingConfig
from harness.model.environment import MachineFinding
from harness.model.evaluation import Evaluation, Failure, SolutionRef
from harness.model.timing import Timing, Turn
from harness.model.verdict import Verdict
from harness.reports.compare import compare_report
from harness.reports.evaluation import show_report
from harness.reports.machine import findings_table
from harness.reports.run import run_report
from harness.store.entry import entry_of
from tests.examples import build, cheated, check, comparison, failed, far_out, passed, sim_environment, timing
from tests.reports.printed import printed
from tests.wording import tells


def report(evaluations: Sequence[Evaluation], verbose: bool = False, width: int = 120) -> str:
    return "\n".join(printed(run_report(evaluations, verbose), width)) + "\n"


def test_a_timed_solution_has_its_times_and_speedup() -> None:
    lines = printed(run_report([passed(timing=timing(eager_ns=3_000_000, solution_ns=1_500_000))], False))
    assert tells(lines[0], "maxpool2d", "NVIDIA H100 80GB HBM3", "torch 2.11.0+cu130")
    assert tells(lines[1], "float32", "0.0001", "1e-05·|want|")
    assert lines[2].split() == ["solution", "verdict", "err/tol", "eager", "ms", "ms", "speed-up", "[95", "%]"]
    assert " ".join(lines[3].split()) == "tiled passed 0.12 3.000 1.500 2.0000× [1.9940, 2.0060]"


def test_the_baseline_that_was_asked_for_names_its_column() -> None:
    measured = Timing("full", tuple(Turn(a, b, (t,), t) for b in range(6) for a, t in COMPILED), ("compile",))
    config = Config(timing=TimingConfig(baselines=("compile",)))
    lines = printed(run_report([passed(timing=measured, config=config)], False))
    assert lines[2].split()[3:6] == ["compile", "ms", "ms"]
    assert " ".join(lines[3].split()) == "tiled passed 0.12 4.000 2.000 2.0000× [1.9940, 2.0060]"


COMPILED: tuple[tuple[ArmName, int], ...] = (("compile", 4_000_000), ("solution", 2_000_000))


def test_what_failed_has_dashes_and_comes_last() -> None:
    evaluations = [
        failed("a_broken"),
        passed("c_slow", timing=timing(solution_ns=2_000_000)),
        passed("b_fast", timing=timing(solution_ns=1_000_000)),
        failed("d_never_ran", Verdict.COMPILE_ERROR, checks=()),
    ]
    rows = [line.split() for line in printed(run_report(evaluations, False), width=100)[3:7]]
    assert [row[0] for row in rows] == ["b_fast", "c_slow", "a_broken", "d_never_ran"]
    assert rows[2][1:] == ["wrong_values", "30.00", "—", "—", "—"]
    assert rows[3][1:] == ["compile_error", "—", "—", "—", "—"]


@pytest.mark.parametrize(
    ("reason", "details"),
    [
        (
            "AttributeError in forward(): no 'frob'",
            "Traceback:\n  File \"solution.py\", line 4\nAttributeError: no 'frob'",
        ),
        ("extension 'x' doesn't compile: cuda.cu:12: error: no 'frob'", "cuda.cu:12: error: no 'frob'\n   frob();"),
        ("a kernel doesn't compile: cuda.cu:8: no 'frob', at: f()", "Traceback:\n  f()\nAttributeError: no 'frob'"),
    ],
)
def test_details_repeat_no_reason(reason: str, details: str) -> None:
    text = report([failed(verdict=Verdict.COMPILE_ERROR, failure=Failure(reason, "mend it", details=details))])
    assert text.count("no 'frob'") == 1
    assert all(line in text for line in details.splitlines() if "no 'frob'" not in line)


@pytest.mark.parametrize(("made", "ended"), [(passed, "passed"), (failed, "wrong_values"), (cheated, "cheating")])
def test_another_end_than_an_expected_failure_is_told(made: Callable[..., Evaluation], ended: str) -> None:
    found = made(solution=SolutionRef("mended", "0" * 64, None, None, Verdict.WRONG_VALUES))
    told = [line for line in report([found]).splitlines() if tells(line, "maxpool2d/mended", "expects", "wrong_values")]
    assert [tells(line, ended) for line in told] == ([] if ended == "wrong_values" else [True])


def test_what_passed_without_timing_has_dashes() -> None:
    assert printed(run_report([passed()], False))[3].split()[-3:] == ["—", "—", "—"]


def test_a_fragile_solution_is_marked() -> None:
    assert "passed, fragile" in printed(run_report([passed("brittle", fragile=(far_out(),))], False))[3]
    assert "fragile" not in "".join(printed(run_report([passed("sound")], False)))


def test_a_solution_that_keeps_its_output_is_marked_as_fragile() -> None:
    assert "passed, fragile" in printed(run_report([passed("keeping", keeps_output=True)], False))[3]
    assert entry_of(passed("keeping", keeps_output=True)).is_fragile


def test_only_what_passes_is_marked_as_fragile() -> None:
    """A wrong value in the simulator's own shrunk case leaves it open whose fault that is."""
    unsupported = failed("brittle", Verdict.UNSUPPORTED, fragile=(far_out(),))
    assert not unsupported.is_fragile
    assert not entry_of(unsupported).is_fragile
    run, show = run_report([unsupported], False), show_report(unsupported, ())
    for made in (run, show, compare_report([unsupported], frozenset(), False)):
        assert "fragile" not in "".join(printed(made))
    assert any(tells(line, "wrong far from the problem", "no verdict") for line in printed(show))


def test_a_simulated_run_has_no_columns_for_times() -> None:
    lines = printed(run_report([passed(environment=sim_environment())], False))
    assert tells(lines[0], "maxpool2d", "simulator", "torch 2.11.0+cu130")
    assert lines[2].split() == ["solution", "verdict", "err/tol"]


def test_the_table_fits_80_columns_with_everything_readable() -> None:
    evaluations = [
        passed("shared_memory_tile_v2", timing=timing(eager_ns=3_127_000, solution_ns=1_000_000)),
        failed("generic", Verdict.NO_CUSTOM_KERNEL, checks=(check(comparison(mismatches=1, worst=31_234.0)),)),
    ]
    lines = printed(run_report(evaluations, False))
    assert max(map(len, lines)) <= 80
    text = " ".join(" ".join(lines).split())
    for word in (
        "generic",
        "no_custom_kernel",
        "3.1e+04",
        "3.127",
        "3.1270× [3.1176, 3.1364]",
        "speed-up [95 %]",
    ):
        assert word in text


def test_a_fault_of_another_kind_has_no_error_beside_it() -> None:
    """Earlier cases may have passed exactly."""
    assert "exact" not in report([failed("late", Verdict.TIMEOUT, checks=(check(comparison()),))])


def test_brackets_in_a_name_are_no_markup() -> None:
    assert "[red]loud" in report([passed("[red]loud")])


def test_a_failure_says_why_where_and_what_next() -> None:
    text = report([failed()])
    assert tells(text, "broken: wrong_values", "small", "5692163613755307619")  # the seed that --seed takes
    assert tells(text, "1 of 4", "next: look at")


def test_details_of_some_verdicts_are_shown_only_when_asked_for() -> None:
    assert "[1, 0]: 2.5" in report([failed()])
    assert "[1, 0]: 2.5" not in report([failed(verdict=Verdict.TIMEOUT)])
    assert "[1, 0]: 2.5" in report([failed(verdict=Verdict.TIMEOUT)], verbose=True)


def test_a_failure_without_a_place_names_none() -> None:
    text = report([failed(verdict=Verdict.COMPILE_ERROR, failure=Failure("doesn't compile", "mend it"), checks=())])
    assert "broken: compile_error\n" in text


def test_a_simulated_run_is_said_to_be_one() -> None:
    assert tells(report([passed(environment=sim_environment())]), "simulated", "not verified", "races")
    assert "simulated" not in report([passed()])


def test_equal_remarks_are_printed_once() -> None:
    text = report([passed("a", remarks=("full: sampled",)), passed("b", remarks=("full: sampled", "other"))])
    assert text.count("remark: full: sampled") == 1
    assert "remark: b: other" in text


def test_a_remark_names_solutions_by_name_in_whatever_order_they_ended() -> None:
    text = report([passed("c", remarks=("late",)), passed("b"), passed("a", remarks=("late",))])
    assert "remark: a, c: late" in text


def test_a_pipe_gets_no_escape_codes() -> None:
    assert "\x1b" not in report([passed(timing=timing()), failed()])


def test_escape_codes_of_a_solution_do_not_reach_the_terminal() -> None:
    evil = Failure("ValueError: \x1b[2J\x1b[32mpassed", "mend it", details="\x1b]0;title\x07")
    assert "\x1b" not in report([failed(failure=evil)], verbose=True)


@pytest.mark.parametrize(("state", "remedy"), [("good", None), ("missing", "pip install ninja")])
def test_the_doctor_names_state_and_remedy(state: Any, remedy: str | None) -> None:
    lines = printed(findings_table([MachineFinding("ninja", state, "some detail", remedy)]))
    assert lines[1].split() == ["ninja", state, "some", "detail"]
    assert ("→ pip install ninja" in "".join(lines)) is (remedy is not None)


@pytest.mark.parametrize(
    ("built", "sanitize", "said", "unsaid"),
    [
        ([True], False, ("nor races looked for (--sanitize)",), ()),
        ([True, False], False, ("nor races looked for (--sanitize)",), ()),
        ([False], False, ("nor races looked for",), ("--sanitize",)),
        ([True], True, ("--sanitize",), ("races",)),
        ([True, False], True, ("--sanitize", "nor races looked for", "CUDA"), ()),
    ],
)
def test_races_that_nobody_looked_for_are_told(
    built: Sequence[bool], sanitize: bool, said: Sequence[str], unsaid: Sequence[str]
) -> None:
    config = Config().but("correctness", sanitize=sanitize)
    evaluations = [
        passed(environment=sim_environment(), config=config, builds=(build(),) if is_built else ())
        for is_built in built
    ]
    line = next(line for line in report(evaluations).splitlines() if line.startswith("simulated"))
    assert tells(line, *said)
    assert not any(words in line for words in unsaid)
