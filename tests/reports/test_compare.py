"""What a comparison prints, made from records alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from harness.model.build import CompiledBaseline
from harness.model.config import Config
from harness.model.evaluation import Evaluation, Failure, ProblemRef, SolutionRef
from harness.model.ranking import rank
from harness.model.timing import Timing
from harness.model.verdict import Verdict
from harness.reports.compare import compare_report, rank_labels
from tests.examples import environment, failed, far_out, measured, passed, sim_environment, timing
from tests.model.test_fastest import repeated
from tests.reports.printed import printed
from tests.wording import tells


def report(evaluations: Sequence[Evaluation], kept: Sequence[str] = (), verbose: bool = False, width: int = 80) -> str:
    return "\n".join(printed(compare_report(evaluations, frozenset(kept), verbose), width))


def spread(low_ns: int, high_ns: int) -> Timing:
    """Speed-ups over an eager of 6 ms that spread between two solution times."""
    return repeated(eager=(6_000_000,), solution=(high_ns, low_ns))


def several_baselines(**times_ns: int) -> Timing:
    return repeated(**{name.replace("_", "-"): (ns,) for name, ns in times_ns.items()})


def test_overlapping_intervals_share_a_rank() -> None:
    ranked = rank(
        [
            passed("slow", timing=spread(4_000_000, 4_000_000)),
            passed("first", timing=spread(1_000_000, 1_000_000)),
            passed("tied_a", timing=spread(2_000_000, 2_200_000)),
            passed("tied_b", timing=spread(2_100_000, 2_300_000)),
            passed("untimed"),
            failed("broken"),
        ]
    )
    assert [one.evaluation.solution.name for one in ranked] == [
        "first", "tied_a", "tied_b", "slow", "untimed", "broken"
    ]  # fmt: skip
    assert rank_labels(ranked) == ["1", "2=", "2=", "4", "", ""]


def test_a_timed_comparison() -> None:
    evaluations = [
        passed("plain", id="a", timing=timing(solution_ns=1_500_000)),
        passed("tiled", id="b", timing=timing(solution_ns=1_200_000)),
        failed("broken", id="c"),
        failed("known", id="d", solution=SolutionRef("known", "0" * 64, None, None, Verdict.WRONG_VALUES)),
        failed("lost", Verdict.HARNESS_ERROR, id="e", checks=()),
    ]
    assert report(evaluations, kept=["a"]) == (
        "maxpool2d on NVIDIA H100 80GB HBM3, torch 2.11.0+cu130\n"
        "eager: 3.000 ms; speed-up is eager over solution\n"
        "#  solution  verdict           ms           speed-up [95 %]\n"
        "1  tiled     passed         1.200  2.5000× [2.4925, 2.5075]  faster\n"
        "2  plain     passed         1.500  2.0000× [1.9940, 2.0060]  faster, kept\n"
        "   broken    wrong_values       —                         —\n"
        "   known     wrong_values       —                         —  as expected\n"
        "   lost      harness_error      —                         —\n"
        "\n"
        "maxpool2d/broken wrong_values: 1 of 4 values are outside the tolerance\n"
        "maxpool2d/known wrong_values: 1 of 4 values are outside the tolerance\n"
        "maxpool2d/lost harness_error: 1 of 4 values are outside the tolerance\n"
        "--verbose tells more; 'harness show PROBLEM SOLUTION' shows one whole\n"
        "\n"
        "5 solutions of 1 problem: 2 passed, 2 wrong_values, 1 harness_error; 1 kept from\n"
        "earlier runs\n"
        "geometric mean: 2.2361× [2.2313, 2.2408]\n"
        "over 2 speed-ups (eager over solution), of 5 evaluated\n"
        "fast_p, the share of 4 samples right and over p times as fast:\n"
        "    p     0  0.25   0.5  0.75     1  1.25   1.5     2    3    5   10\n"
        "share  50 %  50 %  50 %  50 %  50 %  50 %  50 %  25 %  0 %  0 %  0 %\n"
        "count     2     2     2     2     2     2     2     1    0    0    0"
    )


def test_several_problems_are_ranked_apart_and_summed_up_together() -> None:
    evaluations = [
        passed("tiled", timing=timing(solution_ns=1_000_000)),
        passed("simple", problem=ProblemRef("avgpool2d", "0" * 64, "float32"), timing=timing(solution_ns=4_000_000)),
        failed("simple_too", problem=ProblemRef("relu", "0" * 64, "float32")),
    ]
    text = report(evaluations)
    assert [text.index(name) for name in ("avgpool2d on", "maxpool2d on", "relu on")] == sorted(
        text.index(name) for name in ("avgpool2d on", "maxpool2d on", "relu on")
    )
    assert [line.split()[:2] for line in text.splitlines() if line.startswith("1 ")] == [
        ["1", "simple"],
        ["1", "tiled"],
    ]
    assert tells(text, "3 solutions", "3 problems", "2 passed", "1 wrong_values")
    assert "geometric mean: 1.5000× [1.4968, 1.5032]\nover 2 speed-ups (eager over solution), of 3" in text
    assert tells(text, "best of each", "2", "of 3: 1.5000×")


def test_every_baseline_has_its_column_and_the_first_leads() -> None:
    timed = several_baselines(
        compile=2_000_000,
        eager=3_000_000,
        compile_max_autotune=1_500_000,
        cudnn_benchmark=2_500_000,
        channels_last=1_000_000,
        solution=1_000_000,
    )
    text = report([passed("tiled", timing=timed), failed("broken")])
    assert tells(text, "compile: 2.000 ms", "compile over solution")
    assert tells(text, "1 tiled passed", "1.000", "2.0000×")
    assert "over each baseline:" in text
    cells = [line.split() for line in text.splitlines()]
    assert ["solution", "compile", "eager", "compile-max-autotune", "cudnn-benchmark", "channels-last"] in cells
    assert ["tiled", "2.000×", "3.000×", "1.500×", "2.500×", "1.000×"] in cells
    assert "(compile over solution)" in text
    rows = [" ".join(line.split()) for line in text.splitlines()]
    assert "tiled channels-last 1.000 1.0000× [0.9970, 1.0030]" in rows
    assert any(tells(row, "fastest baseline", "1 solution: 1.0000×") for row in rows)


def test_a_ratio_over_a_further_baseline_that_is_not_to_be_quoted_says_so() -> None:
    both = several_baselines(eager=3_000_000, compile=2_000_000, solution=1_000_000)
    late = tuple(replace(turn, queued=(turn.arm != "compile",)) for turn in both.turns)
    text = " ".join(report([passed("a", timing=replace(both, turns=late))]).split())
    assert tells(text, "a over compile: noisy:", "6 of 6", "waited")
    assert "noisy" not in report([passed("a", timing=both)])


def test_an_interval_that_is_wider_than_was_asked_for_says_why() -> None:
    asked = replace(Config(), timing=replace(Config().timing, precision=0.01, blocks=6))
    text = " ".join(report([passed("a", timing=spread(980_000, 1_020_000), config=asked)]).split())
    assert tells(text, "1.00 %", "6 blocks")


def end_to_end(solution_ns: int) -> Timing:
    return replace(timing(solution_ns=solution_ns), metric="end_to_end")


def test_what_waits_for_the_device_is_not_compared_with_what_does_not() -> None:
    text = report([passed("plain", timing=timing()), passed("waits", timing=end_to_end(100_000)), failed("broken")])
    lines = text.splitlines()
    assert [line.split()[:2] for line in lines if " passed " in line] == [["1", "plain"], ["waits", "passed"]]
    assert any(tells(line, "not ranked: waits:", "end to end") for line in lines)
    assert "geometric mean: 3.0000× [2.9910, 3.0090]\nover 1 speed-up (eager over solution), of 3" in text
    assert tells(text, "fast_p", "2 samples")
    assert max(map(len, lines)) <= 80


def test_a_problem_whose_reference_waits_is_compared_within_itself_and_left_out_of_the_sums() -> None:
    sync = ProblemRef("sync", "0" * 64, "float32")
    waiting = [passed(name, problem=sync, timing=end_to_end(ns)) for name, ns in (("a", 100_000), ("b", 200_000))]
    text = report([passed("plain", timing=timing()), *waiting])
    assert [line.split()[:2] for line in text.splitlines() if " passed " in line] == [
        ["1", "plain"],
        ["1", "a"],
        ["2", "b"],
    ]
    assert "all measured end to end" in text
    assert tells(text, "left out", "fast_p", "gpu_cold: sync")
    assert tells(text, "fast_p", "1 sample")
    alone = report(waiting)
    assert tells(alone, "no speed-ups:", "gpu_cold")
    assert tells(alone, "left out", "gpu_cold: sync")


def test_compiling_is_summed_up_over_the_solutions_of_a_problem() -> None:
    both = several_baselines(eager=3_000_000, compile=2_000_000, solution=1_000_000)
    took = [(CompiledBaseline("compile", seconds, 1, 0, 0),) for seconds in (4.04, 5.13)]
    text = report([passed(name, timing=both, compiled=one) for name, one in zip("ab", took, strict=True)])
    assert tells(text, "compile:", "4.0", "5.1 s", "1 graph", "no graph breaks", "no recompilations")


def test_one_baseline_alone_is_no_fastest_one() -> None:
    assert "fastest" not in report([passed("a", timing=timing()), failed()])


def test_a_baseline_that_was_left_out_has_a_dash() -> None:
    both = several_baselines(eager=3_000_000, channels_last=2_000_000, solution=1_000_000)
    text = report(
        [passed("a", timing=both), passed("b", timing=several_baselines(eager=6_000_000, solution=1_000_000))]
    )
    rows = [line.split() for line in text.splitlines()]
    assert ["a", "3.000×", "2.000×"] in rows
    assert ["b", "6.000×", "—"] in rows


def test_a_noisy_timing_is_marked_and_says_why() -> None:
    text = report([passed("wild", timing=spread(1_000_000, 2_000_000)), passed("calm", timing=timing())])
    (row,) = [line for line in text.splitlines() if line.split()[1:2] == ["wild"]]
    assert row.endswith(", noisy")
    (reason,) = [line for line in text.splitlines() if "noisy:" in line]
    assert tells(reason, "wild: noisy:", "interval")


def test_a_fragile_solution_is_marked() -> None:
    text = report([passed("brittle", fragile=(far_out(),)), passed("sound")])
    marked = [line for line in text.splitlines() if line.endswith("fragile")]
    assert [line.split()[0] for line in marked] == ["brittle"]


def test_of_many_noisy_timings_some_say_why() -> None:
    lines = report([passed(f"s{n}", timing=spread(1_000_000, 2_000_000)) for n in range(23)]).splitlines()
    assert len([line for line in lines if "noisy:" in line]) == 20
    assert any(tells(line, "3 more", "'harness show PROBLEM SOLUTION'") for line in lines)


def test_a_pass_that_was_not_expected_is_marked() -> None:
    about = SolutionRef("mended", "0" * 64, None, None, Verdict.WRONG_VALUES)
    text = report([passed("mended", solution=about)])
    assert "expected wrong_values" in text
    assert tells(text, "maxpool2d/mended", "passed", "expects", "wrong_values")


def test_a_simulated_comparison_has_no_times() -> None:
    text = report([passed(environment=sim_environment()), failed("broken", environment=sim_environment())])
    assert "solution  verdict\n" in text
    assert "simulated, not verified" in text
    assert "fast_p" not in text
    assert "geometric mean" not in text


def test_nothing_timed_is_said() -> None:
    assert tells(report([failed("broken")]), "no speed-ups:", "timed")


def test_wide_tables_fit_a_terminal() -> None:
    timed = several_baselines(
        eager=300_000_000,
        compile=200_000_000,
        compile_max_autotune=150_000_000,
        cudnn_benchmark=250_000_000,
        channels_last=100_000_000,
        solution=1_234_567,
    )
    evaluations = [passed("a_name_of_quite_some_length_indeed_and_more", timing=timed)]
    evaluations += [failed("wrong_and_long", verdict, checks=()) for verdict in (Verdict.WRONG_OUTPUT_TYPE,)]
    assert max(map(len, report(evaluations, kept=[e.id for e in evaluations]).splitlines())) <= 80


def test_a_solutions_words_do_not_steer_the_terminal() -> None:
    evil = Failure("\x1b[2Jgone\nand more", "next", details="\x1b]0;title\x07")
    for verbose in (False, True):
        assert "\x1b" not in report([failed("evil", failure=evil)], verbose=verbose)


def test_many_failures_are_listed_in_part() -> None:
    text = report([failed(f"broken_{number:03}") for number in range(50)])
    assert "maxpool2d/broken_019 wrong_values" in text
    assert "maxpool2d/broken_020 wrong_values" not in text
    assert "30 more" in text


def test_a_remark_of_many_is_said_once() -> None:
    text = report([passed(name, remarks=("judged against float32",)) for name in ("a", "b", "c")])
    assert text.count("judged against float32") == 1
    assert tells(text, "judged against float32", "3 solutions")


def test_two_gpus_of_one_model_are_told() -> None:
    ours, theirs = (passed(name, environment=environment(gpu_uuid=f"GPU-{name}"), timing=measured()) for name in "ab")
    assert "2 GPUs" in report([ours, theirs])
    assert "GPUs" not in report([ours, replace(theirs, environment=ours.environment)])
