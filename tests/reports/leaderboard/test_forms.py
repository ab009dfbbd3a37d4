"""The board as a table, as Markdown and as JSON."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest

from harness.model.config import ConfinementLevel
from harness.model.verdict import Verdict
from harness.reports.leaderboard.board import Board
from harness.reports.leaderboard.forms import leaderboard_json, leaderboard_markdown, leaderboard_table
from tests.examples import environment, far_out, measured
from tests.examples import timing as even_timing
from tests.model.test_fastest import repeated
from tests.reports.leaderboard.samples import board, broken, hostile, simulated, solution, timed
from tests.reports.printed import printed
from tests.wording import tells

HEAD = f"{environment().label}, config 99020238"


def example() -> Board:
    return board(
        timed("relu", "fast", timing=even_timing(3_000_000, 1_000_000)),
        timed("relu", "slow", timing=even_timing(3_000_000, 6_000_000)),
        broken("relu", "bad", Verdict.TIMEOUT),
        timed("relu", "half", solution=solution("half", precision="float16"), timing=even_timing(3_000_000, 500_000)),
    )


def table(of: Board, width: int = 80) -> list[str]:
    return printed(leaderboard_table(of), width)


def test_the_table_ranks_by_class_and_names_what_isnt_ranked() -> None:
    lines = table(example())
    assert lines[0] == f"leaderboard {HEAD}"
    assert [" ".join(line.split()) for line in lines[3:14]] == [
        "relu",
        "strict float32",
        "rank solution ms eager ms speed-up [95 %] speed",
        "1 fast 1.000 3.000 3.0000× [2.9910, 3.0090] faster",
        "2 slow 6.000 3.000 0.5000× [0.4985, 0.5015] slower",
        "",
        "half (float16, bfloat16)",
        "rank solution ms eager ms speed-up [95 %] speed",
        "1 half 0.5000 3.000 6.000× [5.982, 6.018] faster",
        "",
        "not ranked",
    ]
    assert lines[14].split()[:2] == ["bad:", "timeout:"]
    totals = " ".join(lines[lines.index("totals") :])
    assert tells(
        totals, "strict float32: 3.0000× [2.9910, 3.0090]", "1 of 1", "half", "6.000× [5.982, 6.018]", "1 of 1"
    )


def against_two() -> Board:
    return board(
        timed("relu", "fast", timing=repeated(eager=(3_000_000,), compile=(2_000_000,), solution=(1_000_000,)))
    )


def test_the_fastest_of_several_baselines_is_told_in_every_form() -> None:
    rows = [" ".join(line.split()) for line in table(against_two())]
    assert "1 fast 1.000 3.000 3.0000× [2.9910, 3.0090] faster" in rows
    assert "fastest of several" in " ".join(rows)
    assert "fast compile 2.000 2.0000× [1.9940, 2.0060]" in rows
    assert "| `fast` | compile | 2.000 | 2.0000× [1.9940, 2.0060] |" in leaderboard_markdown(against_two()).splitlines()
    (standing,) = json.loads(leaderboard_json(against_two()))["problems"][0]["standings"]
    assert standing["speedup"]["estimate"] == pytest.approx(3)
    fastest = standing["fastest_baseline"]
    assert (fastest["baseline"], fastest["baseline_ns"], fastest["ties"]) == ("compile", 2_000_000, [])
    assert fastest["speedup"]["estimate"] == pytest.approx(2)


def test_the_reference_in_the_same_precision_is_told_in_every_form() -> None:
    times = {"eager": (1_000_000,), "eager-float32": (3_000_000,), "solution": (2_000_000,)}
    made = board(timed("relu", "strict", solution=solution("strict", precision="float32"), timing=repeated(**times)))
    rows = [" ".join(line.split()) for line in table(made)]
    assert "1 strict 2.000 1.000 0.5000× [0.4985, 0.5015] slower" in rows
    assert "strict eager-float32 3.000 1.5000× [1.4955, 1.5045]" in rows
    assert "| `strict` | eager-float32 | 3.000 | 1.5000× [1.4955, 1.5045] |" in leaderboard_markdown(made).splitlines()
    (standing,) = json.loads(leaderboard_json(made))["problems"][0]["standings"]
    assert (standing["like_baseline"]["baseline"], standing["fastest_baseline"]) == ("eager-float32", None)


def test_one_baseline_alone_is_no_fastest_one() -> None:
    assert "fastest" not in " ".join(table(example())) + leaderboard_markdown(example())
    standings = json.loads(leaderboard_json(example()))["problems"][0]["standings"]
    assert {standing["fastest_baseline"] for standing in standings} == {None}


def test_a_fragile_solution_is_marked_in_every_form() -> None:
    made = board(replace(timed(day=1, speedup=3.0, id="a"), fragile=(far_out(),)))
    assert any(line.endswith("faster, fragile") for line in table(made))
    assert "| faster, fragile |" in leaderboard_markdown(made)
    (standing,) = json.loads(leaderboard_json(made))["problems"][0]["standings"]
    assert standing["is_fragile"] is True


def test_an_unconfined_solution_is_marked_and_every_level_is_in_the_json() -> None:
    def made(level: ConfinementLevel) -> Board:
        return board(replace(timed(day=1, speedup=3.0, id="a"), confinement=level))

    assert any(line.endswith("faster, unconfined") for line in table(made("none")))
    assert not any("confined" in line for line in table(made("files")))
    (standing,) = json.loads(leaderboard_json(made("files")))["problems"][0]["standings"]
    assert standing["confinement"] == "files"


def test_the_table_of_simulated_runs_ranks_nothing_and_says_why() -> None:
    lines = table(board(simulated()))
    assert lines[3:7] == ["relu", "nothing ranked", "", "not ranked"]
    (reason,) = lines[7:]
    assert tells(reason, "plain: passed: simulated")


def test_a_former_source_is_marked_in_the_table_and_in_markdown() -> None:
    edited = broken("relu", "plain", day=2)
    made = board(timed(day=1, speedup=3.0, id="a"), replace(edited, solution=solution(version="22")))
    assert "former source" in " ".join(table(made, 200))
    (row,) = [line for line in leaderboard_markdown(made).splitlines() if line.startswith("| 1 | `plain`")]
    assert "former source" in row


def test_no_stranger_steers_the_terminal() -> None:
    text = "\n".join(table(board(hostile()), 400))
    assert re.findall(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\ud800-\udfff]", text) == []


def test_boards_tell_the_control_and_times_that_are_no_kernels() -> None:
    made = board(timed("relu", "waits", timing=measured(metric="end_to_end")))
    (standing,) = json.loads(leaderboard_json(made))["problems"][0]["standings"]
    assert standing["metric"] == "end_to_end"
    assert standing["control"]["low"] < 1 < standing["control"]["high"]
    assert "faster, end_to_end" in [line[-18:] for line in table(made, 100)]
    assert "| faster, end_to_end |" in leaderboard_markdown(made)


def test_markdown_has_a_table_for_each_class_and_the_rules() -> None:
    text = leaderboard_markdown(example())
    assert "## `relu`\n\n### strict float32\n\n| rank | solution | ms | eager ms | speed-up [95 %] | speed |" in text
    assert "| 1 | `fast` | 1.000 | 3.000 | 3.0000× [2.9910, 3.0090] | faster |\n| 2 | `slow` |" in text
    assert "### half" in text
    assert "### not ranked\n\n`bad`: timeout: " in text
    assert text.count("\n- ") > 9
    assert text.endswith(".\n")


def test_a_name_cant_leave_its_cell() -> None:
    rows = [line for line in leaderboard_markdown(board(hostile())).splitlines() if line.startswith("| 1 |")]
    assert [row.count("|") for row in rows] == [7]


def test_json_has_everything_a_program_needs() -> None:
    data = json.loads(leaderboard_json(example()))
    assert (data["baseline"], data["config"]["key"], data["environment"]["label"]) == (
        "eager",
        "99020238",
        environment().label,
    )
    first, second, bad, half = data["problems"][0]["standings"]
    assert (first["solution"], first["rank"], round(first["speedup"]["estimate"], 9), first["solution_ns"]) == (
        "fast",
        1,
        3.0,
        1_000_000,
    )
    assert (first["speed"], first["metric"], first["control"], first["noise"]) == ("faster", "gpu_cold", None, None)
    assert (second["rank"], half["rank"], half["class"]) == (2, 1, "half")
    assert (bad["rank"], bad["verdict"], bad["speedup"]) == (None, "timeout", None)
    assert "time limit" in bad["why_unranked"]
    assert [(t["class"], t["measured"], t["problems"]) for t in data["totals"]] == [("float32", 1, 1), ("half", 1, 1)]
    assert data["problems"][0]["cases"] == ["full", "small"]
