"""Marks as SVG and PNG, scales and ticks."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from harness.reports.pictures.axes import Scale, linear_ticks, log_ticks, plain_words, spread
from harness.reports.pictures.drawing import (
    MARKERS,
    Area,
    Box,
    Dots,
    Label,
    Picture,
    Stroke,
    file_svg,
    page_svg,
    save,
)

ALL = Picture(
    (
        Box((10, 10), (60, 30), "series1", 0.5),
        Stroke(((10, 40), (60, 40), (90, 20)), "grid", 2, (4, 3)),
        Area(((10, 50), (60, 50), (35, 90)), "series2"),
        *(Dots([(10 + 12 * n, 95)], f"series{n}", marker=marker) for n, marker in enumerate(MARKERS)),
        Dots([(50, 60)], "bad", is_hollow=True),
        Dots([(70, 60)], "bad", is_ringed=True),
        Label((50, 70), "$<b>&", tilt=30, has_halo=True, is_bold=True, anchor="end", shift=4),
    ),
    100,
    100,
    "all marks",
)
FEW = Picture((Stroke(((0, 0), (50, 5), (100, 0))), Dots([(50, 5)], "ink", about="<x>"), Label((1, 2), "a\"'<")), 10)


def test_a_log_scale_puts_equal_ratios_at_equal_distances() -> None:
    scale = Scale(0.1, 10, 0, 100, is_log=True)
    assert [round(scale(v), 6) for v in (0.1, 1, 10)] == [0, 50, 100]


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [
        (0.9, 3.3, [1.0, 1.5, 2.0, 3.0]),
        (0.015, 1.2, [0.02, 0.05, 0.1, 0.2, 0.5, 1.0]),
        (1.0, 1e6, [1, 10, 100, 1000, 10000, 100000, 1000000][::2]),
    ],
)
def test_ticks_of_a_log_axis_are_round_and_few(low: float, high: float, ticks: list[float]) -> None:
    assert log_ticks(low, high) == pytest.approx(ticks)


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [
        (7.0655, 7.1385, ["7.08", "7.10", "7.12"]),
        (-0.5, 317.5, ["0", "100", "200", "300"]),
        (0.0, 4.8e12, ["0", "1000000000000", "2000000000000", "3000000000000", "4000000000000"]),
    ],
)
def test_ticks_of_a_linear_axis_are_told_apart(low: float, high: float, words: list[str]) -> None:
    ticks = linear_ticks(low, high, 5)
    assert list(map(plain_words(ticks), ticks)) == words


def test_labels_keep_their_distance_within_the_limit() -> None:
    assert spread([10, 11, 50], gap=14, limit=100) == [10, 24, 50]
    assert spread([90, 95, 99], gap=14, limit=100) == [72, 86, 100]


def test_a_file_has_every_mark_in_pixels() -> None:
    tags = [one.tag.rpartition("}")[2] for one in ElementTree.fromstring(file_svg(ALL)).iter()]
    assert tags == ["svg", "style", "rect", "rect", "polyline", "polygon", *["path"] * 9, "text"]
    assert "%" not in file_svg(ALL)


def test_a_picture_of_the_page_stretches_and_says_what_it_shows() -> None:
    drawn = page_svg(FEW)
    assert [drawn.count(tag) for tag in ("<line ", "<circle ", "<title>&lt;x&gt;")] == [2, 1, 1]
    assert 'x2="50.00%"' in drawn
    assert "a&#34;&#39;&lt;</text>" in drawn
    assert "style=" not in drawn  # the page's policy forbids it
    assert 'aria-hidden="true"' in drawn
    assert 'aria-label="all marks"' in page_svg(ALL)


def test_an_area_is_stretched_as_a_whole() -> None:
    drawn = page_svg(Picture((Area(((0, 10), (100, 10), (50, 0)), "ink"),), 10))
    assert 'preserveAspectRatio="none"' in drawn
    assert "%" not in drawn


def test_a_png_has_the_size_of_the_picture(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="the extra 'plots' is not installed")
    save({tmp_path / "a.png": ALL})
    content = (tmp_path / "a.png").read_bytes()
    assert content[:8] == b"\x89PNG\r\n\x1a\n"
    assert [int.from_bytes(content[at : at + 4], "big") for at in (16, 20)] == [166, 166]  # 100 pixels at 160 of 96 dpi
