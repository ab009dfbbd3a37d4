"""What nvcc refuses and g++ lets pass, by the source alone: the faulty, and what only looks like it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from harness.cudasim.host_calls import HOST_CALL_MARK, host_calls, host_calls_in
from tests.machine import real_nvcc

HELPER = "#include <climits>\nint helper(int x) { return x + 1; }\n"


def host_call(kind: str, caller: str) -> str:
    return f'calling a __host__ function("helper") from a {kind} function("{caller}") is not allowed'


FAULTY = [
    ("__global__ void k(int* p) { p[0] = helper(p[1]); }", 3, host_call("__global__", "k")),
    ("__device__ int d(int x) {\n  return 2 * helper(x);\n}", 4, host_call("__device__", "d")),
    (
        "namespace ours {\n__global__ void __launch_bounds__(256) k(int* p) { if (p[0]) helper(1); }\n}",
        4,
        host_call("__global__", "k"),
    ),
    (
        "template <typename T> __global__ void k(T* p) { p[0] = helper(3); }\n"
        "void host(float* p) { k<float><<<dim3(1), 32>>>(p); }",
        3,
        host_call("__global__", "k"),
    ),
    (
        "template <class F> __global__ void k(F f, float* p) { p[0] = f(p[1]); }\n"
        "void host(float* p) { k<<<1, 1>>>([=](float x) { return x; }, p); }",
        4,
        "a lambda without __device__ cannot be an argument of a __global__ function template(k)",
    ),
    (
        "template <class F> __global__ void k(F f, float* p) { p[0] = f(p[1]); }\n"
        "void host(float* p) {\n  auto twice = [](float x) { float y = x; return 2 * y; };\n"
        "  k<<<1, 1>>>(twice, p);\n}",
        6,
        "a lambda without __device__ cannot be an argument of a __global__ function template(k)",
    ),
    (
        "void host(float* p) { auto f = [=] __device__ (float x) { return x; }; }",
        3,
        "__host__ or __device__ annotation on lambda requires --extended-lambda nvcc flag",
    ),
]

IN_C_20_AS_WELL = [
    ("<cstdlib>", "*p = rand() / 2;", "rand"),
    ("<cstdlib>", "*p = float(std::rand());", "rand"),
    ("<cstdlib>", "srand(3);", "srand"),
    ("<map>", "std::map<int, std::pair<int, float>> found; *p = found.size();", "std::map"),
    ("<iostream>", 'std::cout << "here " << *p;', "std::cout"),
    ("<functional>", "std::function<float(float)> f = [](float x) { return x; }; *p = f(*p);", "std::function"),
]
UNTIL_C_17 = [
    ("<vector>", "std::vector<float> v(4); *p = v[0];", "std::vector"),
    ("<vector>", "const std::vector<float> v{1, 2}; *p = v[0];", "std::vector"),
    ("<vector>", "auto v = std::vector<float>(4); *p = v[0];", "std::vector"),
    ("<string>", 'std::string name = "k"; *p = name.size();', "std::string"),
    ("<algorithm>", "std::sort(p, p + 4);", "std::sort"),
]
FAULTY += [
    (
        f"#include {header}\n__global__ void k(float* p) {{\n  {body}\n}}",
        5,
        f'calling a __host__ function("{name}") from a __global__ function("k") is not allowed',
    )
    for header, body, name in [*IN_C_20_AS_WELL, *UNTIL_C_17]
]
FAULTY += [
    (
        f"static __device__ float d(float x) {{\n  {body}\n  return x;\n}}",
        4,
        "device code does not support exception handling",
    )
    for body in ("if (x < 0) throw 3;", "try { x = 2; } catch (...) { x = 3; }")
]


@pytest.mark.parametrize(("code", "line", "what"), FAULTY)
def test_what_nvcc_refuses_is_found(code: str, line: int, what: str) -> None:
    assert list(host_calls(HELPER + code)) == [(line, what)]


LIBRARY = "".join(f"#include <{name}>\n" for name in ("algorithm", "cstdlib", "functional", "map", "string", "vector"))
STANDARD_20 = ["-std=c++20", "--expt-relaxed-constexpr"]
HONEST = [
    "float* table() { std::vector<float> v(4); std::sort(v.begin(), v.end()); if (rand()) throw 3; return nullptr; }",
    "__global__ void k(float* p) { *p = std::min(p[1], std::max(p[2], 0.0f)); }",
    "__global__ void k(float* p) { int* q = new int[4]; *p = q[1]; delete[] q; }",
    '__global__ void k(float* p) { printf("throw std::map<int, int> m;"); /* try */ *p = 1; // rand()\n}',
    "__global__ void k(std::vector<float>* v, float* p) { using Map = std::map<int, int>; *p = sizeof(Map); }",
    "__global__ void k(float* p) { *p = sizeof(std::function<int()>) + sizeof(std::map<int, int>(std::less<>())); }",
    "__global__ void k(float* p) { std::map<int, int>* m = nullptr; std::map<int, int>::key_type n = 3; *p = n + !m; }",
    "__global__ void k(float* p) { std::map<int, int> made(int); std::function<int()> other(float, int); *p = 1; }",
    "__global__ void k(float* p) { using F = std::function<std::map<int, int>(int)>; F* f = nullptr; *p = !f; }",
    "__device__ unsigned rand(unsigned* s) { return *s = *s * 1664525u + 1013904223u; }\n"
    "__global__ void k(unsigned* p) { *p = rand(p); }",
    "__global__ void k(unsigned* p) { auto rand = [](unsigned s) { return s * 3; }; *p = rand(*p); }",
    "struct Dice { unsigned s; __device__ unsigned rand() { return s++; } };\n"
    "__global__ void k(unsigned* p) { Dice dice{3}; *p = dice.rand(); }",
    "__host__ __device__ float both(float x) {\n#ifndef __CUDA_ARCH__\n  if (x < 0) throw 3;\n#endif\n  return x;\n}",
    "__device__ float d(float x) {\n#ifndef __CUDA_ARCH__\n  if (x < 0) throw 3;\n#endif\n  return x;\n}",
    "template <class T> __device__ T never(T x) { if (x) throw 3; return T(rand()); }",
    "__device__ void d(float* p) noexcept { struct Throw { float x; } one{*p}; *p = one.x; }",
]  # fmt: skip
"""Each compiles as torch has it compiled."""


@pytest.mark.parametrize(
    "code",
    [
        # Functions that are for the device as well, or may be.
        "constexpr int helper(int x) { return x; }\n__global__ void k(int* p) { p[0] = helper(1); }",
        "__host__ __device__ int helper(int x) { return x; }\n__global__ void k(int* p) { p[0] = helper(1); }",
        "#define HD __host__ __device__\nHD int helper(int x) { return x; }\n"
        "__global__ void k(int* p) { *p = helper(1); }",
        "C10_HOST_DEVICE int helper(int x) { return x; }\n__global__ void k(int* p) { p[0] = helper(1); }",
        "template <class T> T helper(T x) { return x; }\n__global__ void k(int* p) { p[0] = helper(1); }",
        "__device__ int helper(int x);\nint helper(int x) { return x; }\n__global__ void k(int* p) { *p = helper(1); }",
        "int helper(int x) { return x; }\n__device__ float helper(float x) { return x; }\n"
        "__global__ void k(float* p) { *p = helper(1.f); }",
        "#ifndef __CUDA_ARCH__\nint helper(int x) { return x; }\n#endif\n"
        "__global__ void k(int* p) { *p = helper(1); }",
        # Names that headers have for the device.
        "float min(float a, float b) { return a; }\n__global__ void k(float* p) { *p = min(p[1], p[2]); }",
        "float sqrtf(float a) { return a; }\n__global__ void k(float* p) { *p = sqrtf(p[1]); }",
        '#include "mine.cuh"\nint helper(int x) { return x; }\n__global__ void k(int* p) { *p = helper(1); }',
        # What is called has the name and is something else.
        "int helper(int x) { return x; }\nstruct Op { __device__ int helper(int x) const { return x; } };\n"
        "__global__ void k(int* p, Op op) { *p = op.helper(1); }",
        "int helper(int x) { return x; }\n"
        "__global__ void k(int* p) { auto helper = [](int x) { return x; }; *p = helper(1); }",
        "int helper(int x) { return x; }\nnamespace on { __device__ int helper(int x); }\n"
        "__global__ void k(int* p) { *p = on::helper(1); }",
        "int helper(int x) { return x; }\n__global__ void k(int* p) { int s = sizeof(helper(1)); *p = s; }",
        "#define helper(x) ((x) + 1)\n__global__ void k(int* p) { *p = helper(1); }",
        "int helper(int x) { return x; }\n__global__ void k(int* p) { /* helper(1) */ *p = 1; // helper(2)\n}",
        # Callers that are compiled for the host, or never.
        "int helper(int x) { return x; }\nint host(int x) { return helper(x); }",
        "int helper(int x) { return x; }\n__host__ __device__ int both(int x) { return helper(x); }",
        "int helper(int x) { return x; }\ntemplate <class T> __device__ T d(T x) { return helper(x); }\n"
        "template <class T> T host(T x) { return helper(x); }",
        "int helper(int x) { return x; }\ntemplate <class T> __global__ void never(T* p) { *p = helper(1); }",
        "int helper(int x) { return x; }\n"
        "__global__ void k(int* p) {\n#ifndef __CUDA_ARCH__\n  *p = helper(1);\n#endif\n}",
        # Functors, and lambdas that need no annotation.
        "struct Op { __device__ float operator()(float x) const { return x; } };\n"
        "template <class F> __global__ void k(F f, float* p) { p[0] = f(p[1]); }\n"
        "void host(float* p) { k<<<1, 1>>>(Op{}, p); k<<<1, 1>>>(Op(), p); }",
        "typedef float (*Fn)(float);\n__global__ void k(Fn f, float* p) { }\n"
        "void host(float* p) { k<<<1, 1>>>([](float x) { return x; }, p); }",
        "template <class T> __global__ void k(T n, float* p) { }\n"
        "void host(float* p) { k<<<1, 1>>>([&] { return 3; }(), p); }",
        "__global__ void k(float* p) { auto f = [=](float x) { return x; }; p[0] = f(p[1]); }",
        "template <class T> __global__ void k(T n) { }\n"
        "void host(float* p) { int a[3] = {1, 2, 3}; k<<<a[0], a[1]>>>(a[2]); }",
        "void host() { AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), \"k\", ([&] { k<scalar_t><<<1, 1>>>(p); })); }",
        "[[nodiscard]] __device__ int d(int x) { return x; }",
        "int table[3] = {1, 2, 3};\n__device__ int d() { return 1; }",
    ],
)  # fmt: skip
def test_look_alikes_are_left_alone(code: str) -> None:
    assert list(host_calls(code)) == []


@pytest.mark.parametrize("code", HONEST)
def test_the_host_s_library_is_left_to_the_host(code: str) -> None:
    assert list(host_calls(LIBRARY + code, STANDARD_20)) == []


@pytest.mark.nvcc
@pytest.mark.parametrize("code", HONEST)
def test_nvcc_compiles_them(code: str, tmp_path: Path) -> None:
    (tmp_path / "a.cu").write_text(LIBRARY + code)
    command = [real_nvcc(), "-cubin", "-arch=sm_90", *STANDARD_20, "a.cu", "-o", "a.cubin"]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr


@pytest.mark.parametrize(("header", "body", "name"), [*IN_C_20_AS_WELL, *UNTIL_C_17])
def test_what_c_20_makes_constexpr_needs_an_older_standard(header: str, body: str, name: str) -> None:
    code = f"#include {header}\n__global__ void k(float* p) {{ {body} }}"
    is_refused = (header, body, name) in IN_C_20_AS_WELL
    assert bool(list(host_calls(code, STANDARD_20))) is is_refused
    assert bool(list(host_calls(code, ["-std=c++17", "--expt-relaxed-constexpr"])))
    assert bool(list(host_calls(code, ["-std=c++20"])))
    assert bool(list(host_calls(code, ["--expt-relaxed-constexpr"]))) is is_refused  # nvcc's own standard: any


@pytest.mark.nvcc
@pytest.mark.parametrize(("code", "line", "what"), FAULTY)
def test_nvcc_refuses_them_at_the_same_line(code: str, line: int, what: str, tmp_path: Path) -> None:
    (tmp_path / "a.cu").write_text(HELPER + code)
    command = [real_nvcc(), "-cubin", "-arch=sm_90", "--expt-relaxed-constexpr", "a.cu", "-o", "a.cubin"]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert run.returncode != 0
    assert f"a.cu({line}): error" in run.stdout + run.stderr


def test_lambdas_for_the_device_need_the_flag_alone() -> None:
    code = (
        "template <class F> __global__ void k(F f, float* p) { p[0] = f(p[1]); }\n"
        "void host(float* p) { k<<<1, 1>>>([=] __device__ (float x) { return x; }, p); }"
    )
    assert list(host_calls(code, ["-O3", "--extended-lambda"])) == []
    assert list(host_calls(code, ["--expt-extended-lambda"])) == []
    assert [line for line, _ in host_calls(code, ["-O3"])] == [2]


def test_every_function_that_errs_is_named_once() -> None:
    code = (
        HELPER + "__global__ void a(int* p) { *p = helper(helper(1)); }\n__global__ void b(int* p) { *p = helper(1); }"
    )
    assert [line for line, _ in host_calls(code)] == [3, 4]


@pytest.mark.parametrize(
    "code", ["__global__ void k( {", "int helper(int x) { return x; }\n}}}", "<<<", "[[[", "", "{"]
)
def test_broken_sources_are_the_compiler_s(code: str) -> None:
    assert list(host_calls(code)) == []


def test_log_is_read_for_what_the_compiler_noted() -> None:
    noted = f"{HOST_CALL_MARK} a.cu:3: bad\n"
    log = f"[1/2] nvcc -c a.cu\n{noted}{noted}{HOST_CALL_MARK} a.cu:9: worse\n"
    assert host_calls_in(log) == ("a.cu:3: bad", "a.cu:9: worse")
    assert host_calls_in("nothing of it") == ()
