"""A source's text, written as C++ that no macro of the source can change."""

from __future__ import annotations

from harness.backends.sim.source_texts import registration


def test_text_is_written_in_octal_but_for_letters_and_digits() -> None:
    assert registration("/b/cuda.cu", 'a("ü\\n");\n').splitlines() == [
        "",
        'static const bool sim_source_is_known = sim_add_source("\\057b\\057cuda\\056cu",',
        '"a\\050\\042\\303\\274\\134n\\042\\051\\073\\012");',
    ]


def test_long_text_is_cut_into_several_literals() -> None:
    assert registration("c", "x" * 20_000).count('\n"x') == 3
