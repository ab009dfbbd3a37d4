"""The board as a picture."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from harness.errors import UsageError
from harness.reports.leaderboard.forms import save_leaderboard_plot
from tests.reports.leaderboard.samples import board, hostile, simulated, solution, timed

MADE = board(timed("relu", "$fast$", 3.0), timed("softmax", "slow", 0.5, solution=solution("slow", precision="tf32")))


def test_an_svg_names_every_ranked_solution(tmp_path: Path) -> None:
    save_leaderboard_plot(MADE, tmp_path / "board.svg")
    text = " ".join("".join(ElementTree.parse(tmp_path / "board.svg").getroot().itertext()).split())
    for said in ("1 $fast$", "1 slow", "relu, strict float32", "softmax, tf32", "speed-up over eager"):
        assert said in text


def test_a_problem_that_was_measured_end_to_end_says_so(tmp_path: Path) -> None:
    waiting = timed("sync", "waits")
    assert waiting.timing is not None
    made = board(timed("relu"), replace(waiting, timing=replace(waiting.timing, metric="end_to_end")))
    save_leaderboard_plot(made, tmp_path / "board.svg")
    text = " ".join("".join(ElementTree.parse(tmp_path / "board.svg").getroot().itertext()).split())
    assert "sync, strict float32, end to end" in text
    assert "relu, strict float32, end to end" not in text


def test_hostile_names_are_drawn(tmp_path: Path) -> None:
    save_leaderboard_plot(board(hostile()), tmp_path / "board.svg")
    ElementTree.parse(tmp_path / "board.svg")


def test_a_board_without_ranks_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="ranked"):
        save_leaderboard_plot(board(simulated()), tmp_path / "board.png")
