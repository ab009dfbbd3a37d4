"""Ceilings and shares of the speed of light, as reports show them."""

from __future__ import annotations

import csv
import dataclasses
import io
import json

import pytest

from harness.model.evaluation import ProblemRef, SpeedOfLight, Work
from harness.reports.compare import compare_report
from harness.reports.evaluation import show_report
from harness.reports.export import to_csv
from harness.reports.leaderboard.forms import leaderboard_json, leaderboard_markdown, leaderboard_table
from harness.reports.machine import ceilings_json, ceilings_table
from harness.reports.numbers import format_share, light_note, light_words, work_words
from harness.reports.problem_check import problem_check_report
from harness.reports.run import run_report
from harness.store.entry import entry_of
from tests.examples import ceilings, failed, passed, timing, with_light
from tests.reports.leaderboard.samples import board, html_page, timed
from tests.reports.printed import printed
from tests.reports.test_problem_check import check
from tests.wording import tells

LIGHT = with_light(passed("light", timing=timing(solution_ns=1_500_000)))
OLD = passed("old", id="b", timing=timing(solution_ns=2_000_000))


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (None, "—"),
        (0.0004, "<0.1 %"),
        (0.0123, "1.2 %"),
        (0.0996, "10 %"),
        (0.934, "93 %"),
        (1.0, "100 %"),
        (1.17, "117 %"),
    ],
)
def test_shares_are_rounded_to_what_ceilings_support(share: float | None, text: str) -> None:
    assert format_share(share) == text


def test_a_table_says_once_whose_limit_it_is_and_names_the_exceptions() -> None:
    assert light_note([("a", 0.94, "theory"), ("b", None, None)]) == "SOL: of theory"
    mixed = [("a", 0.9, "theory"), ("b", 0.5, "measured"), ("c", 0.9, "theory")]
    assert light_note(mixed) == "SOL: of theory; b: of measured"  # type: ignore[arg-type]
    assert light_note([("a", None, None), ("b", None, "theory")]) is None


def test_every_ceiling_has_its_unit_and_memory_its_peak() -> None:
    lines = [
        line.rstrip()
        for line in printed(ceilings_table(ceilings(compute_capability="9.0", sm_mhz=1980), was_cached=True))
    ]
    assert lines == [
        "NVIDIA H100 80GB HBM3, driver 580.65.06",
        "measured 2026-11-21 15:30 UTC with torch 2.11.0+cu130; --again measures anew",
        "memory                         rate  of peak",
        "read                      3.09 TB/s     92 %",
        "write                     3.29 TB/s     98 %",
        "copy, read + written      3.03 TB/s     90 %",
        "peak: clock × bus width   3.35 TB/s",
        "copy within the L2 cache     5 TB/s",
        "size of the L2 cache         50 MiB",
        "",
        "arithmetic                                    measured     in theory",
        "matrix product, float32, no tensor cores  51.0 TFLOP/s  66.9 TFLOP/s",
        "matrix product, tf32                       350 TFLOP/s   535 TFLOP/s",
        "matrix product, bfloat16                   777 TFLOP/s  1071 TFLOP/s",
        "matrix product, int8                        1400 TOP/s             —",
        "multiply-adds in registers, float32       60.0 TFLOP/s",
        "in theory: 132 multiprocessors at 1980 MHz",
    ]


def test_what_was_not_told_or_measured_is_left_out() -> None:
    bare = ceilings(memory_peak_bytes_per_s=None, vector_operations_per_s=None)
    text = "\n".join(printed(ceilings_table(bare, was_cached=False)))
    assert "--again" not in text
    assert "peak:" not in text
    assert "multiply-adds" not in text
    assert "—" in text


def test_ceilings_as_json_have_units_in_their_names() -> None:
    data = json.loads(json.dumps(ceilings_json(ceilings(), True, "/cache/h100.json")))
    assert (data["was_cached"], data["file"]) == (True, "/cache/h100.json")
    assert data["ceilings"]["read_bytes_per_s"] == 3.09e12
    assert data["ceilings"]["matrix_operations_per_s"]["tf32"] == 350e12


def test_work_and_its_limit_in_words() -> None:
    assert tells(work_words(Work(4_290_000_000, None, 2_140_000_000)), "4.29 GB", "2.14 GB", "written", "no operations")
    counted = work_words(Work(4_290_000_000, 616_000_000_000))
    assert tells(counted, "4.29 GB", "616 GFLOP")
    assert "written" not in counted
    alone = light_words(SpeedOfLight(1_415_000.0, None, None, "theory"))
    assert tells(alone, "1.415 ms", "memory", "theory")
    assert "arithmetic" not in alone
    by_arithmetic = light_words(SpeedOfLight(255_000.0, 11_400_000.0, "float32"))
    assert tells(by_arithmetic, "11.40 ms", "float32", "measured", "memory", "measured", "0.2550 ms")
    by_memory = light_words(SpeedOfLight(2_980_000.0, 1_760_000.0, "tf32", "theory"))
    assert tells(by_memory, "2.980 ms", "memory", "theory", "tf32", "measured", "1.760 ms")


def test_a_run_shows_the_share_and_dashes_where_it_is_unknown() -> None:
    lines = printed(run_report([LIGHT, OLD, failed("broken")], False))
    assert max(map(len, lines)) <= 80
    assert lines[2].rstrip().endswith("SOL")
    assert [line.split()[-1 if "—" in line.split()[-1] else -2] for line in lines[3:6]] == ["85", "—", "—"]


def test_a_comparison_shows_the_share_and_dashes_where_it_is_unknown() -> None:
    lines = [line.rstrip() for line in printed(compare_report([LIGHT, OLD], frozenset(), False))]
    assert max(map(len, lines)) <= 80
    assert lines[2].rstrip().endswith("SOL")
    assert [line.split()[-3:] for line in lines[3:5]] == [["85", "%", "faster"], ["1.5045]", "—", "faster"]]


def test_records_without_ceilings_have_no_column() -> None:
    assert "SOL" not in "\n".join(printed(run_report([OLD], False)))
    assert "SOL" not in "\n".join(printed(compare_report([OLD], frozenset(), False)))


def test_one_evaluation_whole_tells_work_limit_and_what_each_arm_reaches() -> None:
    text = " ".join(" ".join(printed(show_report(LIGHT, ()), width=120)).split())
    assert tells(text, "speed of light", "4.29 GB", "2.14 GB", "no operations", "1.280 ms", "memory", "theory")
    assert tells(text, "reached: eager 43 %", "theory", "solution 85 %", "theory")


def test_one_evaluation_without_ceilings_says_so() -> None:
    text = " ".join(printed(show_report(passed(work=Work(8, None)), ()), width=120))
    assert "no ceilings" in text


def test_a_strict_solution_and_its_tf32_baseline_have_limits_of_their_own() -> None:
    strict = dataclasses.replace(passed().solution, precision="float32")
    made = passed(
        problem=ProblemRef("conv2d", "c004" * 16, "tf32"),
        solution=strict,
        timing=timing(eager_ns=3_520_000, solution_ns=24_156_862),
    )
    text = " ".join(printed(show_report(with_light(made, Work(10**9, 616_000_000_000, 10**8)), ()), width=120))
    assert tells(text, "10.27 ms", "float32", "measured")
    assert tells(text, "reached: eager 50 %", "measured", "solution 43 %", "measured")


def test_an_entry_and_its_row_hold_limit_and_share() -> None:
    entry = entry_of(LIGHT)
    assert entry.speed_of_light_ns == pytest.approx(1_279_833, abs=10)
    assert entry.share_of_light == pytest.approx(0.8532, abs=0.0001)
    assert entry_of(OLD).share_of_light is None
    first, second = csv.DictReader(io.StringIO(to_csv([entry, entry_of(OLD)])))
    assert float(first["share_of_light"]) == pytest.approx(0.8532, abs=0.0001)
    assert float(first["speed_of_light_ns"]) == pytest.approx(1_279_833, abs=10)
    assert (entry.light_source, first["light_source"], second["light_source"]) == ("theory", "theory", "")
    assert (second["share_of_light"], second["speed_of_light_ns"]) == ("", "")


def test_a_leaderboard_shows_the_share_in_every_form() -> None:
    made = (with_light(timed(solution_name="light")), timed(solution_name="old", speedup=1.5))
    assert "85 %" in "\n".join(printed(leaderboard_table(board(*made))))
    markdown = leaderboard_markdown(board(*made))
    assert (
        "| rank | solution | ms | eager ms | speed-up [95 %] | SOL | speed |\n"
        "|---:|---|---:|---:|---:|---:|---|" in markdown
    )
    rows = [row.split(" | ") for row in markdown.splitlines() if row.startswith(("| 1", "| 2"))]
    assert [row[5] for row in rows] == ["85 %", "—"]
    assert "SOL: of theory" in markdown
    assert "share of the solution's" in markdown
    first, second = json.loads(leaderboard_json(board(*made)))["problems"][0]["standings"]
    assert first["share_of_light"] == pytest.approx(0.85, abs=0.01)
    assert (second["share_of_light"], second["speed_of_light_ns"]) == (None, None)
    page = html_page(*made)
    assert "Speed of light</button>" in page
    assert ">85 %</td>" in page
    assert tells(page, "best", "1.280 ms", "memory", "theory")


def test_a_leaderboard_of_old_records_is_as_it_was() -> None:
    made = board(timed())
    assert "speed of light" not in leaderboard_markdown(made).lower()
    assert "SOL" not in "\n".join(printed(leaderboard_table(made)))
    assert "Speed of light" not in html_page(timed())


def test_a_judged_problem_tells_the_work_of_its_largest_case_and_its_limit() -> None:
    works = {"small": Work(96, None, 48), "full": Work(4_290_000_000, None, 2_140_000_000)}
    lights = {"full": SpeedOfLight(1_415_777.0, None, None, "theory")}
    one = check(works=works, lights=lights)
    text = [line.rstrip() for line in printed(problem_check_report(one, verbose=False), width=160)]
    assert tells(text[-1], "full", "4.29 GB", "2.14 GB", "no operations", "1.416 ms", "memory", "theory")
    verbose = [line.rstrip() for line in printed(problem_check_report(one, verbose=True), width=120)]
    assert tells(verbose[-1], "small", "96 B", "48 B", "no operations")
