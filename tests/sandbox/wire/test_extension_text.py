"""Which calls may be built once for all: what could run a program, or read a file of somebody's, has no text."""

from __future__ import annotations

from typing import Any

import pytest

from harness.sandbox.wire.codec import decode, encode
from harness.sandbox.wire.extension_text import ExtensionText, text_of

CALL: dict[str, Any] = {"name": "relu", "cpp_sources": "int relu();", "functions": ["relu"]}


@pytest.mark.parametrize(
    ("kind", "flags"),
    [
        ("extra_cflags", ["", "-O3", "-march=native", "-DN=4", "-Wall", "-std=c++17", "-ffast-math"]),
        ("extra_cuda_cflags", ["-O3", "--use_fast_math", "-lineinfo", "--expt-relaxed-constexpr", "-lcublas"]),
        ("extra_cuda_cflags", ["-arch=sm_90a", "-gencode", "arch=compute_90a,code=sm_90a", "-Xptxas", "-v,-O3"]),
        ("extra_cuda_cflags", ["--offload-arch=gfx942:sramecc+:xnack-"]),
        ("extra_cuda_cflags", ["-Xcompiler", "-fPIC,-O3", "--maxrregcount=64", "-U__CUDA_NO_HALF_OPERATORS__"]),
        ("extra_ldflags", ["", "-lcublas"]),
    ],
)
def test_usual_flags_are_shared(kind: str, flags: list[str]) -> None:
    text = text_of({**CALL, kind: flags})
    assert text is not None
    assert text.arguments()[kind] == flags


SM_90A = "-gencode=arch=compute_90a,code=sm_90a"


@pytest.mark.parametrize(
    ("own", "flags", "becomes"),
    [
        ("9.0a", ["-O3"], ["-O3", SM_90A]),
        ("8.0;9.0a", [], ["-gencode=arch=compute_80,code=sm_80", SM_90A]),
        ("9.0a", ["-arch=sm_80"], ["-arch=sm_80"]),
        (None, ["-O3"], ["-O3"]),
    ],
)
def test_architectures_of_the_solutions_own_are_flags(own: str | None, flags: list[str], becomes: list[str]) -> None:
    text = text_of({**CALL, "extra_cuda_cflags": flags}, own)
    assert text is not None
    assert (text.arguments()["extra_cuda_cflags"] or []) == becomes


@pytest.mark.parametrize("own", ["Hopper", "9.0+PTX", "", "9.0a;$(touch x)"])
def test_architectures_by_other_names_have_no_text(own: str) -> None:
    assert text_of({**CALL, "extra_cuda_cflags": ["-O3"]}, own) is None


@pytest.mark.parametrize(
    ("kind", "flag"),
    [
        ("extra_cuda_cflags", "-ccbin=/x"),
        ("extra_cuda_cflags", "--compiler-bindir=/x"),
        ("extra_cuda_cflags", "-Xcompiler=-fplugin=/x.so"),
        ("extra_cuda_cflags", "-Xcompiler=-O3,-wrapper,/bin/sh"),
        ("extra_cuda_cflags", "--options-file=x"),
        ("extra_cuda_cflags", "-optf=x"),
        ("extra_cuda_cflags", "-Xptxas=-o,x"),
        ("extra_cuda_cflags", "-Xptxas"),
        ("extra_cflags", "-fplugin=/x.so"),
        ("extra_cflags", "-wrapper"),
        ("extra_cflags", "-B/x"),
        ("extra_cflags", "-specs=/x"),
        ("extra_cflags", "@/x"),
        ("extra_cflags", "-I/x"),
        ("extra_cflags", "-include/x"),
        ("extra_cflags", "-Wp,-include,/x"),
        ("extra_cflags", "-O3; touch /tmp/x"),
        ("extra_cflags", "-DX=$(id)"),
        ("extra_cflags", "-DX=`id`"),
        ("extra_cflags", "-O3\n"),
        ("extra_ldflags", "-L/x"),
        ("extra_ldflags", "-Wl,-rpath,/x"),
        ("extra_ldflags", "/x.o"),
        ("extra_ldflags", "-fuse-ld=x"),
    ],
)
def test_a_flag_that_is_not_on_the_list_stays_private(kind: str, flag: str) -> None:
    assert text_of({**CALL, kind: ["-lm" if kind == "extra_ldflags" else "-O3", flag]}) is None


@pytest.mark.parametrize(
    "source",
    [
        '#include <cuda_fp16.h>\n# include "cuda_runtime.h"\n// include what is needed\n',
        "#define X(a) #a\nX(include)\n",
        "__global__ void __launch_bounds__(256) k(const float* __restrict__ x) { /* as many as fit */ }",
    ],
)
def test_headers_of_the_machine_are_shared(source: str) -> None:
    text = text_of({**CALL, "cuda_sources": source})
    assert text is not None
    assert text.is_shared


@pytest.mark.parametrize(
    "source",
    [
        'asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" :: "n"(240));',
        'asm(".incbin \\"/x\\"");',
        'asm("\\x2eincbin \\"/x\\"");',
        '#define REST "bin"\nasm(".inc" REST " \\"/x\\"");',
        '__asm__(".macro m a\\n.\\\\a\\()bin \\"/x\\"\\n.endm\\nm inc");',
        '#define JOINED(a, b) a##b\nJOINED(as, m)(".incbin");',
        "#define JOINED(a, b) a%:%:b\nJOINED(as, m)();",
        'as\\\nm("nop");',
        'int x __attribute__((section(".data\\n.incbin \\"/x\\"\\n#")));',
        '[[gnu::section("x")]] int x;',
        '__annotate__(section("x")) int x;',
        "int __REDIRECT(f, (), x);",
    ],
)
def test_what_can_reach_the_assembler_is_built_for_its_solution_alone(source: str) -> None:
    for sources in ({"cpp_sources": source}, {"cuda_sources": source}):
        text = text_of({**CALL, **sources})
        assert text is not None
        assert not text.is_shared


def test_a_flag_can_spell_it_too() -> None:
    text = text_of({**CALL, "extra_cflags": ["-DSAY=asm"]})
    assert text is not None
    assert not text.is_shared


@pytest.mark.parametrize(
    "source",
    [
        '#include "/dev/shm/x.h"',
        "#include </dev/shm/x.h>",
        '#include "../x.h"',
        '#inc\\\nlude "/x.h"',
        '#/**/include "/x.h"',
        '#/*\n*/include "/x.h"',
        '%:include "/x.h"',
        "#define WHERE </x.h>\n#include WHERE",
        '#embed "/x"',
        '#import "/x.h"',
        '#inc\\\f\nlude "/x.h"',
        '??=include "/x.h"',
        '#inc??/\nlude "/x.h"',
        "#pragma GCC pch_preprocess",
    ],
)
def test_what_includes_other_files_stays_private(source: str) -> None:
    assert text_of({**CALL, "cpp_sources": [source]}) is None


@pytest.mark.parametrize(
    "more",
    [
        {"extra_include_paths": ["/x"]},
        {"is_python_module": False},
        {"sycl_sources": "x"},
        {"name": "x; id"},
        {"functions": ['relu"); system("id']},
        {"functions": {"relu": 'says "hello"'}},
        {"cpp_sources": 3},
        {"sources": ["x.cpp"]},
        {"cuda_sources": "x" * (2**20 + 1)},
    ],
)
def test_other_calls_stay_private(more: dict[str, Any]) -> None:
    assert text_of({**CALL, **more}) is None


def test_torchs_own_ways_of_saying_the_same_have_one_key() -> None:
    text, same = text_of(CALL), text_of({**CALL, "cpp_sources": ["int relu();"], "functions": {"relu": "relu"}})
    assert text is not None
    assert same is not None
    assert text.key("here") == same.key("here")
    assert text.key("here") != text.key("there")
    assert len(text.key("here")) == 32


def test_a_text_that_is_sent_is_held_to_the_same_list() -> None:
    text = text_of(CALL)
    assert text is not None
    assert decode(ExtensionText, encode(text)) == text
    with pytest.raises(ValueError, match="cuda_cflags"):
        decode(ExtensionText, {**encode(text), "cuda_cflags": ["-ccbin=/x"]})
    with pytest.raises(ValueError, match="identifier"):
        ExtensionText("../x", ())
