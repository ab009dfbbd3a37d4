"""A board of more solutions than a page can show whole."""

from __future__ import annotations

import json
import re

import pytest

from harness.reports.leaderboard.authors import authors
from harness.reports.leaderboard.page import shown_in_full
from tests.reports.leaderboard.samples import board, brief_page, broken, hostile, html_page, many, solution, timed

BOARD = board(*many())
PAGE = brief_page(*many())


def test_winners_alone_are_shown_in_full() -> None:
    shown = shown_in_full(BOARD)
    assert 20 <= len(shown) <= 40
    assert {one.rank for one in shown} == {1}
    speedups = [one.entry.speedup or 0 for one in shown]
    assert speedups == sorted(speedups, reverse=True)
    small = board(*many(problems=2))
    assert shown_in_full(small) == list(small.standings)


def test_every_solution_is_in_the_page_once() -> None:
    rows = re.findall(r'<tr data-kind="\w+" data-class', PAGE)
    (more,) = re.findall(r'<script type="application/json" id="more">(.*?)</script>', PAGE)
    found = json.loads(more)
    assert (len(rows), len(found)) == (300, 100)
    columns = re.search(r'id="board".*?</thead>', PAGE, re.DOTALL)[0].count('scope="col"')  # type: ignore[index]
    assert {len(one[10]) for one in found} == {columns - len(["solution", "problem", "class", "verdict", "date"])}
    assert len(PAGE) < 3_000_000


def test_what_strangers_write_ends_no_script() -> None:
    rest = [timed("zz", f"s{n}", solution=solution(f"s{n}", author="</script><b>&")) for n in range(400)]
    (more,) = re.findall(r'id="more">(.*?)</script>', brief_page(hostile(), *rest))
    assert not set("<>&") & set(more)
    assert json.loads(more)[0][2] == "</script><b>&"


def test_authors_are_set_beside_each_other_by_level() -> None:
    found = {(one.author, one.level): one for one in authors(BOARD)}
    assert found.keys() == {(who, level) for who in ("ada", "bob") for level in (None, 1, 2)}
    ada = found["ada", None]
    assert (ada.problems, ada.samples) == (25, 200)
    assert ada.passed == found["ada", 1].passed + found["ada", 2].passed
    assert ada.pass_at_k[1] == pytest.approx(ada.passed / ada.samples)
    assert ada.pass_at_k[5] > ada.pass_at_k[1]
    assert ada.share_above(2) < ada.share_above(1) < ada.share_above(0) == ada.passed / ada.samples
    assert ada.mean is not None
    assert "Authors" in PAGE


def test_one_author_is_compared_with_nobody() -> None:
    assert authors(board(timed(), broken())) == ()
    assert "Authors" not in html_page(timed(), broken())


def test_winners_stand_before_everything_else() -> None:
    page = html_page(timed("relu", "slow", 1.5), timed("relu", "fast", 3.0), timed("softmax", "only", 0.5))
    winners = page[page.index('id="winners"') : page.index('id="matrix"')]
    assert re.findall(r'class="of">(\w+)<', winners) == ["relu", "softmax"]
    assert "slow" not in winners


def test_names_of_operations_are_no_levels() -> None:
    both = [
        timed(name, who, solution=solution(who, author=who)) for name in ("l1_norm", "l2_norm") for who in ("a", "b")
    ]
    assert {one.level for one in authors(board(*both))} == {None}


def test_pass_at_5_wants_five_samples() -> None:
    both = [timed("relu", who, solution=solution(who, author=who)) for who in ("a", "b")]
    assert {tuple(one.pass_at_k.values()) for one in authors(board(*both))} == {(1.0, None)}


def test_an_authors_name_is_harmless_and_short_everywhere() -> None:
    names = {"a": "x\u202ey\x1b\ud800" * 1000, "b": "bob"}
    page = html_page(*(timed("relu", who, solution=solution(who, author=name)) for who, name in names.items()))
    page.encode()
    assert not {"\u202e", "\x1b"} & set(page)
    assert len(page) < 400_000
