"""Reports as Markdown."""

from __future__ import annotations

from harness.reports.blocks import Column, Line, Pairs, Prose, Section, Span, Table, number
from harness.reports.markdown import code_span, fenced, rendered


def test_code_that_holds_backticks_is_fenced_by_more() -> None:
    assert fenced("a ```` b", "text") == "`````text\na ```` b\n`````"
    assert fenced("a\n") == "```\na\n```"
    assert code_span("a``b") == "``` a``b ```"
    assert code_span("a`|b\n<img>") == "`` a`¦b <img> ``"
    assert code_span("") == "` `"


def test_every_kind_of_block_is_written() -> None:
    table = Table((Column("who", is_name=True), number("ms")), [("x|y", "1.5"), (("z", Span(" (old)")), "2")])
    blocks = [Section(("of ", Span("a b", "name")), [table, Pairs([("gone", ""), ("kept", "1")]), Prose("log\n`")])]
    assert rendered(blocks, level=2) == (
        "## of `a b`\n\n| who | ms |\n|---|---:|\n| `x¦y` | 1.5 |\n| `z` (old) | 2 |\n\n"
        "- kept: 1\n\n```text\nlog\n`\n```\n"
    )


def test_lines_that_follow_each_other_are_a_list() -> None:
    assert rendered([Line("alone"), Section("x", [Line("one"), Line("two")])]) == "alone\n\n# x\n\n- one\n- two\n"


def test_a_strangers_words_make_no_markup() -> None:
    hostile = "<img> @you [a](http://b) [c][d] &amp; \x1b[2J|"
    assert rendered([Line(hostile)]) == ("&lt;img> &#64;you [a&#93;(http://b) [c&#93;[d] &amp;amp; \ufffd[2J&#124;\n")
