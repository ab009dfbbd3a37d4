"""A timing for people and for programs, from records alone."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from typing import Any

import pytest

from harness.model.config import Config
from harness.model.timing import GpuState, TimerOverhead, Timing, Turn
from harness.reports.export import timings_csv
from harness.reports.run import run_report
from harness.reports.terminal import Report
from harness.reports.timing import arm_numbers, timing_blocks, timing_json
from tests.examples import failed, measured, passed, timing
from tests.reports.printed import printed as shown
from tests.wording import tells


def printed(renderable: Any, width: int = 80) -> list[str]:
    return [" ".join(line.split()) for line in shown(renderable, width)]


def of_timing(timing: Timing) -> Report:
    return Report(timing_blocks(passed(timing=timing)))


def test_every_metric_has_its_arms() -> None:
    lines = printed(of_timing(measured()))
    assert lines[:13] == [
        "arm time [95 %] quartiles MAD far out calls",
        "gpu_cold, ms",
        "eager 3.001 [2.999, 3.002] 2.999 to 3.002 0.06 % 0 48",
        "control 3.000 [2.999, 3.001] 2.999 to 3.002 0.06 % 0 48",
        "solution 0.9998 [0.9995, 1.001] 0.9990 to 1.001 0.07 % 0 48",
        "gpu_warm, ms",
        "eager 2.399 [2.398, 2.401] 2.397 to 2.400 0.05 % 0 24",
        "control 2.400 [2.398, 2.402] 2.398 to 2.401 0.08 % 0 24",
        "solution 0.7999 [0.7993, 0.8002] 0.7992 to 0.8003 0.07 % 0 24",
        "launch, µs",
        "eager 60.50 [60.50, 60.50] 60.00 to 61.00 0.83 % 0 48",
        "control 60.50 [60.50, 60.50] 60.00 to 61.00 0.83 % 0 48",
        "solution 30.50 [30.50, 30.50] 30.00 to 31.00 1.64 % 0 48",
    ]


def test_every_metric_has_its_ratio_and_the_headline_its_word() -> None:
    lines = printed(of_timing(measured()))
    start = lines.index("metric ratio ratio [95 %]")
    assert lines[start + 1 : start + 6] == [
        "gpu_cold eager / solution 3.0009× [2.9913, 3.0105] faster",
        "gpu_cold eager / control (A/A) 1.0001× [0.9970, 1.0032]",
        "gpu_warm eager / solution 2.9992× [2.9899, 3.0084]",
        "gpu_warm eager / control (A/A) 0.9993× [0.9962, 1.0027]",
        "launch eager / solution 1.9836× [1.9777, 1.9896]",
    ]


@pytest.mark.parametrize("fresh_at", [(), (6,), (4, 8)])
def test_several_processes_are_told(fresh_at: tuple[int, ...]) -> None:
    lines = printed(of_timing(measured(fresh_at=fresh_at)))
    assert "metric ratio ratio [95 %]" in lines
    told = [line for line in lines if "processes" in line]
    assert [tells(line, f"{1 + len(fresh_at)} processes") for line in told] == [True] * bool(fresh_at)


def test_the_circumstances_are_told() -> None:
    equal, workers, overhead, eager, solution, clocks = printed(of_timing(measured()))[-6:]
    assert tells(equal, "equal", "1.0 %")
    assert tells(workers, "workers", "0.30 %")
    assert tells(overhead, "timer", "1.50 µs", "2.40 µs", "empty kernel")
    assert tells(eager, "memory", "eager", "64.0 MB", "torch", "71.0 MB")
    assert tells(solution, "memory", "solution", "1.0 MB", "torch")
    assert "process" not in solution
    assert tells(clocks, "1755", "1980 MHz", "memory", "2619 MHz", "412 W", "48 °C")


def test_the_floor_of_the_hosts_clock_is_told_where_it_was_measured() -> None:
    lines = printed(of_timing(measured(floors=TimerOverhead(1_500.0, 2_400.0, idle_ns=7_250.0))), width=120)
    floors = next(line for line in lines if line.startswith("timer overhead"))
    assert tells(floors, "2.40 µs", "empty kernel", "7.25 µs", "host's")


def test_what_is_unknown_is_left_out() -> None:
    text = "\n".join(printed(of_timing(timing())))
    assert [word for word in ("overhead", "memory", "MHz", "launch", "A/A", "mean") if word in text] == []


def test_a_gpu_of_which_little_is_known_is_told_as_far() -> None:
    known = GpuState(temperature_c=48)
    assert "48 °C" in printed(of_timing(measured(turns=lambda turn: replace(turn, gpu=known))))


def noisy() -> Timing:
    hot = GpuState(throttled=("hw thermal slowdown", "sw power cap"), other_processes=1)
    return measured(turns=lambda turn: replace(turn, gpu=hot))


def test_show_names_every_reason() -> None:
    text = " ".join(printed(of_timing(noisy())))
    assert tells(text, "noisy: clocks", "hw thermal slowdown", "noisy: another program")


def test_a_run_names_the_first_reason_and_counts_the_others() -> None:
    text = (
        "\n".join(
            shown(run_report([passed(timing=noisy()), passed("calm", timing=measured()), failed()], verbose=False), 200)
        )
        + "\n"
    )
    (noise,) = [line for line in text.splitlines() if "noisy" in line]
    assert tells(noise, "tiled: noisy: clocks", "1 more", "'harness show'")
    assert text.count("noisy") == 1


def test_a_run_tells_who_is_faster_and_who_is_not() -> None:
    slow, unsure = passed("slow", timing=timing(3_000_000, 9_000_000)), passed("unsure", timing=timing(blocks=5))
    quick = passed("quick", timing=timing(solution_ns=500_000))
    text = "\n".join(shown(run_report([passed(timing=measured()), slow, unsure, quick, failed()], False), 200))
    assert tells(text, "faster", "eager: quick, tiled;", "slower", "eager: slow")
    assert "inconclusive: unsure" in text
    assert "speed-up" in text
    assert "than eager" not in "".join(printed(run_report([failed()], False)))


def test_programs_get_everything_that_is_derived() -> None:
    timing = measured(fresh_at=(0, 4, 8))
    data = timing_json(passed(timing=timing))
    assert (data["speed"], data["delta"], data["noise"], data["processes"]) == ("faster", 0.01, [], 3)
    assert data["control"]["low"] < 1 < data["control"]["high"]
    assert data["floors"] == {"events_ns": 1500.0, "kernel_ns": 2400.0, "fill_ns": None, "idle_ns": None}
    assert [row["metric"] for row in data["arms"]] == ["gpu_cold"] * 3 + ["gpu_warm"] * 3 + ["launch"] * 3
    first = data["arms"][0]
    assert (first["arm"], first["calls"], first["blocks"], first["speed"]) == ("eager", 48, 12, "faster")
    assert first["typical_ns"]["low"] <= first["median_ns"] <= first["typical_ns"]["high"]
    assert data["peak_memory"][1] == {"arm": "solution", "torch_bytes": 1_000_000, "process_bytes": None}


def test_programs_get_what_an_interval_misses_and_what_other_baselines_suffer_from() -> None:
    alone = measured()
    compiled = tuple(replace(t, arm="compile", queued=(False, True)) for t in alone.turns if t.arm == "eager")
    timing = replace(alone, baselines=("eager", "compile"), turns=(*alone.turns, *compiled), rows=())
    config = replace(Config(), timing=replace(Config().timing, precision=0.0038, blocks=12))
    data = timing_json(passed(timing=timing, config=config))
    assert data["precision"]["asked"] == 0.0038
    assert data["precision"]["missed"] is None
    assert data["between_workers"] == pytest.approx(0.003, rel=0.01)
    assert tells(data["noise_over"]["compile"][0], "compile", "waited")
    assert (data["fastest_baseline"]["baseline"], data["share_of_light"]) == ("eager", None)


def test_calls_that_are_left_out_of_means_are_counted() -> None:
    def short(turn: Turn) -> Turn:
        held_up = turn.arm == "eager" and turn.block == 3
        ns = (12_000,) * 5 + (90_000 if held_up else 12_000,)
        return replace(turn, call_ns=ns, tail_ns=(), launch_ns=(), queued=())

    averaged = measured(turns=short)
    assert averaged.held_up("eager") == 1  # of the two in the block, the mean leaves out a tenth
    assert "(1 of eager, 0 of control, 0 of solution)" in " ".join(printed(of_timing(averaged)))
    assert [row.held_up for row in arm_numbers(averaged)[:3]] == [1, 0, 0]
    assert measured().held_up("eager") == 0


def test_every_row_of_the_csv_has_every_cell() -> None:
    rows = list(csv.DictReader(io.StringIO("".join(timings_csv([passed(timing=measured()), failed()])))))
    assert len(rows) == 9
    eager, control, solution = rows[:3]
    assert (eager["case"], eager["metric"], eager["arm"], eager["speed"]) == ("full", "gpu_cold", "eager", "faster")
    assert float(eager["ratio_low"]) < float(eager["ratio"]) < float(eager["ratio_high"])
    assert float(control["ratio"]) == pytest.approx(1, abs=0.001)
    assert (control["speed"], solution["ratio"], solution["outliers"]) == ("", "", "0")
    assert {None} & {value for row in rows for value in (*row, *row.values())} == set()


def test_too_few_blocks_leave_the_intervals_empty() -> None:
    row = arm_numbers(timing(blocks=5))[0]
    assert (row.typical_ns, row.ratio, row.speed) == (None, None, "inconclusive")
    assert printed(of_timing(timing(blocks=5)))[2] == "eager 3.000 3.000 to 3.000 0.00 % 0 20"


def test_launches_that_are_claimed_to_take_no_time_are_told() -> None:
    timing = measured()
    claimed = replace(timing, turns=tuple(replace(turn, launch_ns=(0,) * len(turn.launch_ns)) for turn in timing.turns))
    assert "solution 0 [0, 0] 0 to 0 — 0 48" in printed(of_timing(claimed))
