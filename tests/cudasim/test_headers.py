"""A solution's own headers are translated with its sources, and the text of both travels in what is built."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.cudasim.translate import Translation, registrations
from harness.cudasim.unsupported import Unsupported


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "parts").mkdir()
    (tmp_path / "kernel.cu").write_text('#include <cmath>\n#include "parts/tile.cuh"\n#include <named.h>\n')
    (tmp_path / "parts/tile.cuh").write_text(
        '#pragma once\n#include "size.h"\n__global__ void k() { __shared__ float s[N]; }\nvoid f() { k<<<1, N>>>(); }\n'
    )
    (tmp_path / "parts/size.h").write_text('#pragma once\n#include "tile.cuh"\n#define N 32\n')
    return tmp_path


def test_headers_beside_the_source_are_translated(folder: Path) -> None:
    translation = Translation([], folder / "out")
    source = translation.translate(folder / "kernel.cu")
    copy = translation.copies[folder / "parts/tile.cuh"]
    assert source.split("\n")[1:4] == ["#include <cmath>", f'#include "{copy}"', "#include <named.h>"]
    text = copy.read_text()
    assert text.startswith(f'#line 1 "{folder}/parts/tile.cuh"\n#pragma once\n')
    assert "sim_shared_0" in text
    assert "<<<" not in text


def test_headers_may_include_each_other(folder: Path) -> None:
    translation = Translation([], folder / "out")
    translation.translate(folder / "kernel.cu")
    size = translation.copies[folder / "parts/size.h"].read_text()
    assert str(translation.copies[folder / "parts/tile.cuh"]) in size


def test_angle_brackets_look_in_the_user_s_folders_alone(folder: Path) -> None:
    (folder / "named.h").write_text("int named;\n")
    assert "#include <named.h>" in Translation([], folder / "out").translate(folder / "kernel.cu")
    translation = Translation([folder], folder / "out")
    assert str(translation.copies.get(folder / "named.h", "")) in translation.translate(folder / "kernel.cu")
    assert translation.copies[folder / "named.h"].read_text().endswith("int named;\n")


def test_unsupported_construct_names_its_header(folder: Path) -> None:
    (folder / "parts/size.h").write_text('\nasm("nop;");\n')
    with pytest.raises(Unsupported, match=r"PTX .*line 2 of size.h$"):
        Translation([], folder / "out").translate(folder / "kernel.cu")


def test_ninja_looks_at_the_originals(folder: Path) -> None:
    translation = Translation([], folder / "out")
    translation.translate(folder / "kernel.cu")
    depfile = folder / "kernel.d"
    depfile.write_text(f"kernel.o: {translation.copies[folder / 'parts/tile.cuh']}\n")
    translation.name_originals(depfile)
    assert depfile.read_text() == f"kernel.o: {folder}/parts/tile.cuh\n"


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
