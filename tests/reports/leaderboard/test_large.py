"""A board of more solutions than a page can show whole."""

from __future__ import annotations

import json
import re

import pytest

from harness.reports.leaderboard import page as page_module
from harness.reports.leaderboard.authors import authors
from harness.reports.leaderboard.board import Board
from harness.reports.leaderboard.page import shown_in_full
from tests.reports.leaderboard.samples import (
    board,
    brief_page,
    hostile,
    html_page,
    many,
    other_gpu,
    solution,
    timed,
)


@pytest.fixture(scope="module")
def large() -> Board:
    return board(*many())


@pytest.fixture(scope="module")
def html() -> str:
    return brief_page(*many())


def test_winners_alone_are_shown_in_full(large: Board) -> None:
    shown = shown_in_full(large)
    assert 20 <= len(shown) <= 40
    assert {one.rank for one in shown} == {1}
    speedups = [one.entry.estimate for one in shown]
    assert speedups == sorted(speedups, reverse=True)
    small = board(*many(problems=2))
    assert shown_in_full(small) == list(small.standings)


def test_every_solution_is_in_the_page_once(html: str) -> None:
    rows = re.findall(r'<tr data-kind="\w+" data-author', html)
    (more,) = re.findall(r'<script type="application/json" id="more">(.*?)</script>', html)
    words, found = json.loads(more)
    assert (len(rows), len(found), len(set(words))) == (300, 100, len(words))
    columns = re.search(r'id="board".*?</thead>', html, re.DOTALL)[0].count('scope="col"')  # type: ignore[index]
    named = ["solution", "problem", "class", "verdict", "err/tol", "date"]
    assert {len(one[-1]) for one in found} == {columns - len(named)}
    assert len(html) < 1_500_000


def test_problems_are_set_against_authors_where_solutions_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_module, "_MOST_CELLS", 10)
    page = brief_page(*many())
    assert 'id="matrix"' not in page
    matrix = page[page.index('id="by-author"') : page.index('id="failures"')]
    assert re.findall(r'<th scope="col">(\w+)</th>', matrix)[:3] == ["Problem", "ada", "bob"]
    assert len(re.findall(r"\d of 8 right", matrix)) == 2 * 25


def test_what_is_not_compared_is_counted_with_its_reasons() -> None:
    page = html_page(timed(), timed(solution_name="other", environment=other_gpu()))
    assert "<b>1</b> not compared" in page
    assert "Not compared: 1 from another environment." in page


def test_what_strangers_write_ends_no_script() -> None:
    rest = [timed("zz", f"s{n}", solution=solution(f"s{n}", author="</script><b>&")) for n in range(400)]
    (more,) = re.findall(r'id="more">(.*?)</script>', brief_page(hostile(), *rest))
    assert not set("<>&") & set(more)
    assert "</script><b>&" in json.loads(more)[0]


def test_authors_are_set_beside_each_other_by_level(large: Board, html: str) -> None:
    found = {(one.author, one.level): one for one in authors(large)}
    assert found.keys() == {(who, level) for who in ("ada", "bob") for level in (None, 1, 2)}
    ada = found["ada", None]
    assert (ada.problems, ada.samples) == (25, 200)
    assert ada.passed == found["ada", 1].passed + found["ada", 2].passed
    assert ada.pass_at_k[1] == pytest.approx(ada.passed / ada.samples)
    assert ada.pass_at_k[5] > ada.pass_at_k[1]
    assert ada.share_above(2) < ada.share_above(1) < ada.share_above(0) == ada.passed / ada.samples
    assert ada.mean is not None
    assert re.findall(r"<h4>(Level \d|All problems)</h4>", html) == ["Level 1", "Level 2"]


def test_where_nobody_is_named_there_are_no_authors() -> None:
    nobody = timed(solution=solution(author=None))
    assert authors(board(nobody)) == ()
    assert ["Authors" in html_page(one) for one in (nobody, timed())] == [False, True]


def test_each_solution_has_its_author_where_there_are_several(html: str) -> None:
    by = re.compile(r'<br><span class="why">(ada|bob|somebody)</span>')
    assert set(by.findall(html)) == {"ada", "bob"}
    assert by.findall(html_page(timed(), timed(solution_name="other"))) == []


def test_more_samples_never_pass_less_often() -> None:
    few = [timed("few", f"s{n}") for n in range(2)]
    (total,) = authors(board(*few, *(timed("many", f"s{n}") for n in range(5))))
    assert total.pass_at_k == {1: 1.0, 5: 1.0}


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
