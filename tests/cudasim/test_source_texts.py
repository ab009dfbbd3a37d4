"""A source's text, written as C++ that no macro of the source can change."""

from __future__ import annotations

from pathlib import Path

from harness.cudasim.source_texts import registrations


def test_text_is_written_in_octal_but_for_letters_and_digits() -> None:
    assert registrations({Path("/b/cuda.cu"): 'a("ü\\n");\n'}).splitlines() == [
        "",
        'static const bool sim_source_is_known_0 = sim_add_source("\\057b\\057cuda\\056cu",',
        '"a\\050\\042\\303\\274\\134n\\042\\051\\073\\012");',
    ]


def test_long_text_is_cut_into_several_literals() -> None:
    assert registrations({Path("c"): "x" * 20_000}).count('\n"x') == 3


def test_a_source_and_its_headers_are_known_apart() -> None:
    text = registrations({Path("a.cu"): "x", Path("b.cuh"): "y"})
    assert "sim_source_is_known_0" in text
    assert "sim_source_is_known_1" in text
