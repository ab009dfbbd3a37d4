"""Whether an overflow reaches an index, and whether an index left its row, by the text alone."""

from __future__ import annotations

import pytest

from harness.cudasim.source_lines import feeds_an_index, is_row_of_shared_array, with_names


@pytest.mark.parametrize(
    ("source", "line"),
    [
        ("float v = x[row * width + column];", 1),
        ("int at = row * width;\nfloat v = x[at];", 1),
        ("int row =\n    block * height;\nint at = row + 1;\nx[at] = 0;", 2),
        ("int n = rows * columns;\nif (i < n) x[i] = 0;", 1),
        ("int n = rows * columns;\nif (n > i) x[i] = 0;", 1),
        ("const float* start = x + row * stride;", 1),
        ("for (int i = 0; i < n; i += step) sum++;", 1),
        ("while (a * b < c) a++;", 1),
        ("for (int j = 0; j < 4; ++j) at = at * 31 + j;\nout[at] = 1;", 1),
        ("if (i < n) out[i * 31] = 1;", 1),
    ],
)
def test_what_becomes_an_index_is_seen(source: str, line: int) -> None:
    assert feeds_an_index(source, line)


@pytest.mark.parametrize(
    ("source", "line"),
    [
        ("int hash = key * 31;\nout[i] = hash;", 1),
        ("int hash = key * 31;\nint slot = hash & 255;\nx[slot] = 0;", 1),
        ("int hash = key * 31;\nx[hash & 255] = 0;", 1),
        ("seed = seed * 1103515245;\nreturn seed >> 16;", 1),
        ("#include <torch/extension.h>\nint h = x[i];\nh = h * 31;\nout[i] = h;", 3),
        ("for (int j = 0; j < 4; ++j) hash = hash * 31 + j;\nout[i] = hash;", 1),
        ("for (int j = 0; j < 4; ++j) if (j != 2) hash = hash * 31 + j;\nout[i] = hash;", 1),
        ("if (i < n) out[i] = key * 31;", 1),
        ("r->s = r->s * 31;", 1),
        ("template <int s> void f();\nint s = key * 31; // s > 2^31 wraps\nout[i] = s;", 2),
    ],
)
def test_what_may_wrap_on_purpose_is_left(source: str, line: int) -> None:
    assert not feeds_an_index(source, line)


def test_row_of_a_shared_array_is_known_by_its_declaration() -> None:
    source = "__shared__ float tile[4][16];\nfloat local[4][16];\ntile[0][i] = 1;\nlocal[0][i] = 1;\nflat[i] = 1;"
    assert [is_row_of_shared_array(source, line) for line in (3, 4, 5)] == [True, False, False]


def test_array_of_a_thread_s_own_may_have_the_name_of_another_kernel_s_tile() -> None:
    shared = "__global__ void first() {\n  __shared__ float tile[4][16];\n  tile[0][i] = 1;\n}\n"
    own = "__global__ void second() {\n  const float tile[4][16] = {};\n  return tile[0][i];\n}\n"
    assert [is_row_of_shared_array(shared + own + shared, line) for line in (3, 7, 11)] == [True, False, True]


def test_statement_behind_a_label_declares_nothing() -> None:
    source = "__shared__ float tile[4][16];\nswitch (way) {\n  default: tile[0][i] = 1;\n}\n"
    assert is_row_of_shared_array(source, 3)


@pytest.mark.parametrize(
    ("kernel", "named"),
    [
        ("add<float, 4>", ("in", "sizes", "n")),
        ("(anonymous namespace)::add<float>", ("in", "sizes", "n")),
        ("other", ("x", "y")),
        ("odd", ("", "", "n")),
        ("twice", ()),
        ("absent", ()),
        ("", ()),
    ],
)
def test_arguments_have_the_names_of_the_kernels_text(kernel: str, named: tuple[str, ...]) -> None:
    text = """
// __global__ void add(float* old) {}
__device__ float add_one(float one) { return one + 1; }
template <typename T, int N = 4>
__global__ void __launch_bounds__(256, 2)
add(const T* __restrict__ in,  // what is read
    std::array<int, N> sizes, int n = std::max(3, 4)) { add_one(in[n]); }
__global__ void other(float* x, float y[4]) {}
__global__ void odd(const float*, float (*f)(float), int n) {}
namespace a { __global__ void twice(float* x) {} }
namespace b { __global__ void twice(float* y) {} }
"""
    said = with_names("byte 8 of argument 1; argument 2; argument 3; argument 4", text, kernel)
    assert [words.partition(" '")[2].rstrip("'") for words in said.split("; ")] == [
        *named,
        *[""] * (4 - len(named)),
    ]
