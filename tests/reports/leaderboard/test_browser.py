"""The page in a real browser: nothing is fetched, nothing of a stranger's runs, everything works by hand and by key."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from harness.model.evaluation import Evaluation
from harness.model.verdict import Verdict
from harness.reports.leaderboard.page import leaderboard_html
from harness.reports.leaderboard.rules import Wanted
from tests.reports.leaderboard.chromium import Chromium
from tests.reports.leaderboard.samples import (
    board,
    brief_page,
    broken,
    hostile,
    html_page,
    large_journal,
    many,
    simulated,
    solution,
    timed,
)

pytestmark = pytest.mark.browser

ENTER, TAB, BACKSPACE = "\ue007", "\ue004", "\ue003"


def written(folder: Path, evaluations: Sequence[Evaluation]) -> Path:
    path = folder / "leaderboard.html"
    path.write_text(html_page(*evaluations), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three ranked solutions, one failed, one simulated."""
    evaluations = [
        timed("relu", "tiled", 3.0),
        timed("relu", "plain", 0.5),
        timed("softmax", "warp", 1.5, solution=solution("warp", author="ada", precision="tf32")),
        broken("softmax", "bad", Verdict.TIMEOUT),
        simulated("softmax", "dry"),
    ]
    return written(tmp_path_factory.mktemp("page"), evaluations)


@pytest.fixture(scope="module")
def hostile_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(tmp_path_factory.mktemp("hostile"), [hostile()])


@pytest.fixture(scope="module")
def large_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(tmp_path_factory.mktemp("large"), large_journal())


def names(chromium: Chromium) -> list[str]:
    """Solutions of the visible rows, from the top."""
    rows = "Array.from(document.querySelectorAll('#board tbody tr')).filter(row => !row.hidden)"
    return chromium.run(f"return {rows}.map(row => row.cells[0].firstElementChild.textContent)")  # type: ignore[no-any-return]


def sorting(chromium: Chromium) -> dict[str, str]:
    """aria-sort of the columns that are sorted."""
    script = """return Object.fromEntries(Array.from(document.querySelectorAll('#board th[aria-sort]'))
        .filter(th => th.getAttribute('aria-sort') !== 'none')
        .map(th => [th.textContent, th.getAttribute('aria-sort')]))"""
    return chromium.run(script)  # type: ignore[no-any-return]


def background(chromium: Chromium) -> str:
    return chromium.run("return getComputedStyle(document.body).backgroundColor")  # type: ignore[no-any-return]


def heading(chromium: Chromium, name: str) -> Any:
    return next(
        button
        for button in chromium.driver.find_elements("css selector", "#board th button")
        if button.text.startswith(name)
    )


def test_nothing_is_fetched_and_the_console_is_silent(chromium: Chromium, page: Path) -> None:
    chromium.open(page)
    chromium.run("for (const details of document.querySelectorAll('details')) details.open = true")
    chromium.run("return new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    assert chromium.requests() == [page.as_uri()]
    assert chromium.complaints() == []


def test_the_policy_keeps_out_what_isnt_ours(chromium: Chromium, page: Path) -> None:
    chromium.open(page)
    injected = """const script = document.createElement('script'); script.textContent = 'window.owned = 1';
        document.body.append(script); document.body.setAttribute('onclick', 'window.owned = 1');
        document.body.click(); const image = new Image(); image.src = 'https://example.invalid/x.png';
        return window.owned === undefined"""
    assert chromium.run(injected) is True
    assert len([c for c in chromium.complaints() if "Content Security Policy" in c]) >= 2


def test_a_click_sorts_and_another_reverses(chromium: Chromium, page: Path) -> None:
    chromium.open(page)
    heading(chromium, "Speed-up").click()
    assert names(chromium) == ["tiled", "warp", "plain", "dry", "bad"]
    assert sorting(chromium) == {"Speed-up [95\u00a0%]": "descending"}
    heading(chromium, "Speed-up").click()
    assert names(chromium) == ["plain", "warp", "tiled", "dry", "bad"]
    assert sorting(chromium) == {"Speed-up [95\u00a0%]": "ascending"}


def test_keys_sort_too(chromium: Chromium, page: Path) -> None:
    chromium.open(page)
    chromium.run("document.querySelector('#board th button').focus()")
    chromium.press(ENTER)
    assert names(chromium) == ["bad", "dry", "plain", "tiled", "warp"]
    chromium.press(TAB)
    chromium.press(ENTER)
    assert sorting(chromium) == {"Problem": "ascending"}


def test_words_and_choices_filter(chromium: Chromium, page: Path) -> None:
    chromium.open(page)
    chromium.find("#find").send_keys("soft ADA")
    assert names(chromium) == ["warp"]
    assert chromium.find("#matches").text == "1 of 5"
    chromium.find("#find").send_keys(BACKSPACE * len("soft ADA"))
    chromium.find("#show option[value=failed]").click()
    assert names(chromium) == ["bad"]
    chromium.find("#show option[value='']").click()
    chromium.find("#class option:last-child").click()
    assert names(chromium) == ["warp"]


def test_colours_follow_the_system_until_the_reader_chooses(chromium: Chromium, page: Path) -> None:
    chromium.open(page)
    chromium.run("localStorage.clear()")
    chromium.open(page)
    assert background(chromium) == "rgb(255, 255, 255)"
    chromium.open(page, dark=True)
    assert background(chromium) == "rgb(21, 23, 26)"
    chromium.find("#theme").click()
    assert (background(chromium), chromium.find("#theme").get_attribute("aria-label")) == (
        "rgb(255, 255, 255)",
        "Use dark colours",
    )
    chromium.open(page, dark=True)
    assert background(chromium) == "rgb(255, 255, 255)"
    chromium.run("localStorage.clear()")


def test_a_link_opens_its_solution(chromium: Chromium, page: Path) -> None:
    chromium.open(page, anchor="relu--tiled")
    assert chromium.find("#relu--tiled").get_attribute("open") is not None
    assert chromium.find("#relu--plain").get_attribute("open") is None
    chromium.run("location.hash = 'relu--plain'; return new Promise(done => setTimeout(done, 0))")
    assert chromium.find("#relu--plain").get_attribute("open") is not None


def test_an_opened_source_is_coloured_and_keeps_its_text(chromium: Chromium, page: Path) -> None:
    chromium.open(page, anchor="relu--tiled")
    text = "document.querySelector('#relu--tiled details.source code').textContent"
    before = chromium.run(f"return {text}")
    chromium.find("#relu--tiled details.source summary").click()
    chromium.run("return new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    spans = "Array.from(document.querySelectorAll('#relu--tiled details.source code .k')).map(s => s.textContent)"
    assert "__global__" in chromium.run(f"return {spans}")
    assert chromium.run(f"return {text}") == before


def test_the_first_tab_offers_to_skip_to_the_content(chromium: Chromium, page: Path) -> None:
    chromium.open(page)
    chromium.find("body").send_keys(TAB)
    focused = chromium.driver.switch_to.active_element
    assert (focused.text, focused.rect["x"] >= 0) == ("Skip to the content", True)
    chromium.press(ENTER)
    assert chromium.run("return document.activeElement.id") == "main"


def test_everything_that_scrolls_can_be_reached_by_key(chromium: Chromium, large_page: Path) -> None:
    chromium.open(large_page, width=390)
    script = """return Array.from(document.querySelectorAll('main *')).filter(e =>
        ['auto', 'scroll'].includes(getComputedStyle(e).overflowX) && e.tabIndex !== 0).map(e => e.className)"""
    assert chromium.run(script) == []


@pytest.mark.parametrize("width", [320, 390, 768, 1280])
def test_no_page_is_wider_than_its_window(
    chromium: Chromium, large_page: Path, hostile_page: Path, page: Path, width: int
) -> None:
    for one in (large_page, hostile_page, page):
        chromium.open(one, width=width)
        chromium.run("for (const details of document.querySelectorAll('details')) details.open = true")
        assert chromium.run("return document.documentElement.scrollWidth <= window.innerWidth") is True
        assert chromium.run("return window.innerWidth") == width


@pytest.mark.parametrize("dark", [False, True])
def test_every_text_has_contrast(chromium: Chromium, page: Path, dark: bool) -> None:
    chromium.open(page, dark=dark)
    chromium.run("for (const details of document.querySelectorAll('details')) details.open = true")
    chromium.run("return new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    assert chromium.run(LOW_CONTRAST) == []


def test_nothing_hostile_runs_or_hides(chromium: Chromium, hostile_page: Path) -> None:
    chromium.open(hostile_page)
    chromium.run("for (const details of document.querySelectorAll('details')) details.open = true")
    chromium.run("return new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    assert chromium.run("return window.owned === undefined") is True
    assert chromium.run("return document.querySelectorAll('img, iframe, main script').length") == 0
    assert chromium.run("return document.scripts.length") == 1
    assert chromium.run("return document.body.getBoundingClientRect().height > 100") is True
    text = chromium.run("return document.body.textContent")
    assert "</script><script>window.owned = 1</script><img src=x" in text
    assert "49" not in chromium.run("return document.querySelector('#board th[scope=row]').textContent")
    assert [mark for mark in "\u202e\x1b\x00" if mark in text] == []
    assert chromium.requests() == [hostile_page.as_uri()]
    assert chromium.complaints() == []


def test_a_hostile_source_of_thousands_of_lines_is_shown_whole(chromium: Chromium, hostile_page: Path) -> None:
    chromium.open(hostile_page)
    script = "return Array.from(document.querySelectorAll('details.source code')).map(code => code.textContent)"
    assert any("a_4999 = '</script>" in text for text in chromium.run(script))


LOW_CONTRAST = """
const parse = (colour) => colour.match(/[\\d.]+/g).map(Number);
const linear = (v) => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
const luminance = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
const behind = (e) => {
  for (; e; e = e.parentElement) {
    const colour = parse(getComputedStyle(e).backgroundColor);
    if (colour.length < 4 || colour[3] > 0) return colour;
  }
  return [255, 255, 255];
};
const poor = [];
for (const e of document.querySelectorAll('body *')) {
  const own = Array.from(e.childNodes).some(n => n.nodeType === 3 && n.textContent.trim());
  if (!own || !e.checkVisibility() || e.closest('script, title, option')) continue;
  const style = getComputedStyle(e);
  const ink = parse(e.namespaceURI.includes('svg') ? style.fill : style.color);
  const [a, b] = [luminance(ink), luminance(behind(e))].sort((x, y) => y - x);
  const ratio = (a + 0.05) / (b + 0.05);
  if (ratio < 4.5) poor.push(`${e.tagName} ${e.getAttribute('class')} ${ratio.toFixed(2)}`);
}
return poor;
"""


@pytest.fixture(scope="module")
def brief(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """400 solutions of 25 problems, of which the table has 300 rows from the start."""
    path = tmp_path_factory.mktemp("brief") / "leaderboard.html"
    path.write_text(brief_page(*many()), encoding="utf-8")
    return path


def matches(chromium: Chromium) -> str:
    return str(chromium.find("#matches").text)


def test_of_many_solutions_the_first_are_shown_and_all_are_found(chromium: Chromium, brief: Path) -> None:
    chromium.open(brief)
    assert len(names(chromium)) == 300
    assert matches(chromium) == "400 of 400, the first 300 shown"
    chromium.find("#find").send_keys("level2_9_ ADA")
    assert set(names(chromium)) == {f"solution_{s:02d}" for s in range(0, 16, 2)}
    assert matches(chromium) == "8 of 400"
    assert chromium.complaints() == []


def test_all_of_many_solutions_are_sorted(chromium: Chromium, brief: Path) -> None:
    chromium.open(brief)
    heading(chromium, "Speed-up").click()
    script = "return Array.from(document.querySelectorAll('#board tbody tr'), row => row.cells[4].textContent)"
    texts = [text.split()[0] for text in chromium.run(script)]
    speedups = [float(text.rstrip("×")) for text in texts if text != "—"]
    assert speedups == sorted(speedups, reverse=True)
    assert speedups[0] > 3.4


def test_a_row_that_is_made_looks_like_one_that_was_there(chromium: Chromium, brief: Path) -> None:
    chromium.open(brief)
    script = """return Array.from(document.querySelector(arguments[0]).cells,
        cell => [cell.tagName, cell.className, cell.children.length ? cell.firstElementChild.className : ''])"""
    first = chromium.run(script, "#board tbody tr")
    chromium.find("#find").send_keys("level2_9_ solution")
    assert [cell[:2] for cell in chromium.run(script, "#board tbody tr")] == [cell[:2] for cell in first]


def test_an_empty_board_works(chromium: Chromium, tmp_path: Path) -> None:
    path = tmp_path / "leaderboard.html"
    made = board(timed(), wanted=Wanted(precision="half"))
    path.write_text(leaderboard_html(made, {}, lambda of: []), encoding="utf-8")
    chromium.open(path)
    assert matches(chromium) == "0 of 0"
    assert chromium.complaints() == []


def test_more_winners_of_a_class_are_found_by_a_click_the_fastest_first(chromium: Chromium, brief: Path) -> None:
    chromium.open(brief)
    chromium.run("document.querySelector('a[data-class]').click()")
    assert int(matches(chromium).split()[0]) < 400
    assert sorting(chromium) == {"Speed-up [95\u00a0%]": "descending"}
    assert chromium.run("return document.getElementById('show').value") == "ranked"


def test_what_is_left_out_of_a_problem_is_found_by_a_click(chromium: Chromium, brief: Path) -> None:
    chromium.open(brief)
    chromium.run("document.querySelector('a[data-find=level1_0_problem]').click()")
    assert matches(chromium) == "16 of 400"
