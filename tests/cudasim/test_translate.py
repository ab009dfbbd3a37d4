"""Rewriting of launches and shared memory, and the refusal of what can't be simulated."""

from __future__ import annotations

import re
import time

import pytest

from harness.cudasim.cuda_in_files import beyond_simulator
from harness.cudasim.inline_ptx import PTX_HEADER
from harness.cudasim.translate import translate
from harness.cudasim.unsupported import CONSTRUCTS, Unsupported


def body(source: str) -> str:
    return translate(source, "cuda.cu").partition("\n")[2]


def test_lines_keep_their_numbers() -> None:
    source = '{ a();\nk<<<1,\n  2>>>(\n  x, // last\n  y);\n__shared__ float\n  s[4];\n"""<<<"""; }\n'
    assert body(source).count("\n") == source.count("\n")
    assert translate(source, 'd"ir/cuda.cu').startswith('#line 1 "d\\"ir/cuda.cu"\n')


def test_launch_becomes_a_call_with_its_name_and_place() -> None:
    assert body("add<<<grid, 256>>>(a, b);") == (
        "::sim::Launcher{::sim::Configuration(grid, 256), SIM_TEXT(add), __FILE__, __LINE__}"
        ".with(a, b)([=](auto&... sim_argument) mutable { add(sim_argument...); });"
    )


@pytest.mark.parametrize(
    ("launch", "kernel"),
    [
        ("k<float, 4><<<1, 2>>>(x)", "k<float, 4>"),
        ("k<pair<int, 3>><<<1, 2>>>(x)", "k<pair<int, 3>>"),
        ("ns::k<(N > 2)><<<1, 2>>>(x)", "ns::k<(N > 2)>"),
        ("::ns::k<<<1, 2>>>(x)", "::ns::k"),
        ("table[i]<<<1, 2>>>(x)", "table[i]"),
        ("(choose(n))<<<1, 2>>>(x)", "(choose(n))"),
        ("this->kernel<<<1, 2>>>(x)", "this->kernel"),
        ("kernels.at(i)<<<1, 2>>>(x)", "kernels.at(i)"),
        ("choose<float>(n)<<<1, 2>>>(x)", "choose<float>(n)"),
        ("entries[i].kernel<<<1, 2>>>(x)", "entries[i].kernel"),
        ("table[i][j]<<<1, 2>>>(x)", "table[i][j]"),
        ("get(n)->kernel<<<1, 2>>>(x)", "get(n)->kernel"),
        ("Traits<T>::kernel<<<1, 2>>>(x)", "Traits<T>::kernel"),
        ("if (n > 0) (kernel)<<<1, 2>>>(x)", "(kernel)"),
        ("if (n > 0) ::kernel<<<1, 2>>>(x)", "::kernel"),
        ("return (kernel)<<<1, 2>>>(x)", "(kernel)"),
        ("#define RUN(a, b) a##_kernel_##b<<<1, 2>>>(x)", "a##_kernel_##b"),
        ("#define RUN(a) ns::a##_kernel<T##4><<<1, 2>>>(x)", "ns::a##_kernel<T##4>"),
        ("#define RUN(a) \\\n  k<a> \\\n  <<<1, 2>>>(x)", "k<a>"),
    ],
)
def test_kernel_expression_is_found(launch: str, kernel: str) -> None:
    assert f"{{ {kernel}(sim_argument...); }}" in body(f"f(); {launch};")


@pytest.mark.parametrize(
    ("cast", "code"),
    [
        ("void* f = (void*)k<1, 2>;", 'void* f = ::sim::KernelName{"k"}->*k<1, 2>;'),
        ("f = b ? (const void *)&ns::k : g;", 'f = b ? ::sim::KernelName{"k"}->*&ns::k : g;'),
        ("g(reinterpret_cast<void*>(k<1>))", 'g(reinterpret_cast<void*>(::sim::KernelName{"k"}->*k<1>))'),
        ("cudaLaunchCooperativeKernel((void*)k<1>, 2)", "cudaLaunchCooperativeKernel(k<1>, 2)"),
        ("cudaLaunchKernel((const void*)chosen, 2)", "cudaLaunchKernel(chosen, 2)"),
        ("void* a[] = {(void*)&x, (void*)k(x)};", "void* a[] = {(void*)&x, (void*)k(x)};"),
    ],
)
def test_kernel_is_known_by_its_address(cast: str, code: str) -> None:
    declared = "__global__ void __launch_bounds__(64) k(int);\n"
    assert body(declared + cast) == declared + code


@pytest.mark.parametrize(
    ("loop", "gives_turn"),
    [
        ("while (*(volatile int*)flag < n);", True),
        ("volatile int* done = flag; while (done[0] == 0) {}", True),
        ("volatile int* done = flag; while (i < n) {}", False),
        ("int seen; do { seen = *(volatile int*)flag; } while (seen < n);", True),
        ("volatile int* done = flag; for (int i = 0; i < 9; i++) { sum += done[i]; }", False),
        ("volatile int* done = flag; for (;;) { if (*done > n) break; }", True),
        ('asm volatile("" : : : "memory"); while (i < n) {}', False),
        ("while ((seen = *(volatile int*)flag) < n);", True),
        ("volatile int* done = flag; while (done[0] <= n && seen == done[1]);", True),
        ("volatile int* done = flag; while (int seen = *done) { f(seen); }", False),
        ("volatile int* done = flag; while (const std::vector<int*>& seen = done[0]) {}", False),
        ("volatile int* done = flag; while (auto* seen{done[0]}) {}", False),
    ],
)
def test_loop_on_something_volatile_gives_its_turn(loop: str, gives_turn: bool) -> None:
    assert ("sim_give_turn()" in body(loop)) is gives_turn


@pytest.mark.parametrize(
    ("before", "gives_turn"),
    [
        ("__global__ void j(volatile float* s) {}", False),
        ("__device__ float f() { volatile float* s = t; return *s; }", False),
        ("__device__ volatile float s[4];", True),
    ],
)
def test_what_another_function_calls_volatile_gives_no_turn(before: str, gives_turn: bool) -> None:
    kernel = "__global__ void k(float* s, volatile int* flag) { while (s[0] > 0) { s[0] -= 1; } }"
    assert ("sim_give_turn()" in body(f"{before}\n{kernel}")) is gives_turn


@pytest.mark.parametrize(
    "harmless",
    [
        "// k<<<1, 2>>>(x); __shared__ asm",
        "/* __shared__ float s[1]; */",
        'const char* t = "k<<<1, 2>>>(x)";',
        'auto t = R"x(__shared__ float s[1]; asm("nop"))x";',
        "x = a << b >> c;",
        "std::vector<std::vector<std::vector<int>>> v;",
        "float cub = params.asm_ + thrust;",
    ],
)
def test_text_that_only_looks_like_cuda_is_left_alone(harmless: str) -> None:
    assert body(harmless) == harmless


@pytest.mark.parametrize(
    "head",
    [
        "__global__ void __launch_bounds__(N, 2) k(T x[4], int n = f(1))",
        "__launch_bounds__(N, 2) __global__ void k(T x)",
        "__global__ void __launch_bounds__(N, 2) __maxnreg__(32) k(T x)",
    ],
)
def test_a_kernel_looks_first_at_its_bounds(head: str) -> None:
    assert body(f"{head}\n{{ a(); }}\n{head};\nvoid b() {{}}") == (
        f"{head}\n{{ SIM_LAUNCH_BOUNDS(N, 2); a(); }}\n{head};\nvoid b() {{}}"
    )


@pytest.mark.parametrize(
    "source",
    [
        "#define BOUNDS __launch_bounds__(N)\nvoid b() {}",
        "__global__ void\n#if A\n__launch_bounds__(1)\n#else\n__launch_bounds__(2)\n#endif\nk() {}",
        "__global__ void __launch_bounds__ k() {}",
        "__global__ void __launch_bounds__(N) k(int N) {}",
    ],
)
def test_bounds_that_may_not_be_a_functions_are_left_alone(source: str) -> None:
    assert "SIM_LAUNCH_BOUNDS" not in body(source)


def test_an_argument_null_is_a_pointer() -> None:
    assert ".with(nullptr, f(NULL), (T*)NULL, nullptr)(" in body("f(); k<<<1, 2>>>(NULL, f(NULL), (T*)NULL, NULL);")


def test_static_shared_memory_keeps_its_types() -> None:
    assert body("{ __shared__ float a[8][T + 1], b; }") == (
        "{ struct sim_shared_0 { float a[8][T + 1], b; }; "
        'auto& a = ::sim::shared_static<sim_shared_0>("a, b").a; '
        'auto& b = ::sim::shared_static<sim_shared_0>("a, b").b; }'
    )


def test_template_arguments_are_not_taken_for_names() -> None:
    assert "auto& s = " in body("{ __shared__ Array<float, N> s; }")
    assert "auto& N" not in body("{ __shared__ Array<float, N> s; }")


def test_dynamic_shared_memory_is_the_block_s_one_array() -> None:
    assert body("{ extern __shared__ __align__(16) scalar_t smem[]; }") == (
        "{ typedef __align__(16) scalar_t sim_dynamic_0[]; auto& smem = *(sim_dynamic_0*)sim_shared_dynamic(); }"
    )


def test_a_broken_line_before_a_launch_goes_behind_the_kernel() -> None:
    source = "#define RUN(a) \\\n  k<a,\\\n 3> \\\n  <<<1, 2>>>(x)\nint y;"
    assert [line.endswith("\\") for line in body(source).splitlines()] == [True, True, True, False, False]


def test_a_kernel_between_preprocessor_lines_keeps_its_lines() -> None:
    kernel = "k<\n#ifdef A\n double\n#else\n float\n#endif\n>"
    assert f"{{ {kernel}(sim_argument...); }}" in body(f"f(); {kernel}<<<1, 2>>>(x);")
    assert '"k", __FILE__' in body(f"f(); {kernel}<<<1, 2>>>(x);")


def test_in_a_macro_and_behind_a_conditional_the_preprocessor_decides() -> None:
    error = r'_Pragma("GCC error \"harness-sim-unsupported: inline PTX (asm), mov at line 2\"")'
    assert body('#define COPY(a) \\\n  asm("mov;")') == f'#define COPY(a) \\\n  {error}("mov;")'
    assert body('#if !defined(X)\nasm("mov;");\n#endif') == f'#if !defined(X)\n{error}("mov;");\n#endif'
    include = '#pragma GCC error "harness-sim-unsupported: CUTLASS at line 2"'
    assert body('#ifdef X\n#include "cutlass/half.h"\n#endif') == f"#ifdef X\n{include}\n#endif"


def test_launch_in_a_macro_stays_one_logical_line() -> None:
    source = "#define RUN(T) \\\n  k<T><<<1, 2>>> \\\n  (x)\nRUN(float);\n"
    lines = body(source).split("\n")
    assert [line.endswith("\\") for line in lines[:3]] == [True, True, False]
    assert "{ k<T>(sim_argument...); }" in lines[2]


def test_shared_memory_in_a_macro_is_declared_where_that_is_used() -> None:
    assert "sim_shared_0" in body("#define TILE(T) \\\n  __shared__ T tile[32]\n")


def test_shared_memory_outside_functions_is_declared_in_the_device_functions_that_name_it() -> None:
    source = (
        "extern __shared__ float s[];\n"
        "__global__ void k(float* o) { o[0] = s[1]; }\n"
        "__device__ float f(const float* s) { return s[0]; }\n"
        "struct T { __device__ int g(P p) const { return p.s; } };\n"
        "void host() { int s = 0; k<<<1, 1>>>(&s); }\n"
    )
    _, kernel, parameter, member, host, _ = body(source).split("\n")
    assert kernel == (
        "__global__ void k(float* o) { auto& s = *(sim_dynamic_0*)sim_shared_dynamic(); { o[0] = s[1]; }}"
    )
    assert "sim_shared_dynamic" not in parameter + member + host


def test_static_shared_memory_outside_functions_is_the_block_s_own_too() -> None:
    assert 'auto& t = ::sim::shared_static<sim_shared_0>("t").t; {' in body(
        "namespace n { __shared__ int t[4]; }\n__global__ void k() { t[0] = 1; }"
    )


def test_shared_memory_outside_functions_of_a_header_is_refused() -> None:
    with pytest.raises(Unsupported, match=r"__shared__ .*line 2"):
        translate("\nextern __shared__ float s[];", "a.cuh", is_header=True)


CUB = "rarer parts of CUB"
CUBLAS = "rarer parts of cuBLAS"
BARRIERS = "asynchronous barriers and pipelines"
FUNCTION_ATTRIBUTES = "what only nvcc knows of a kernel (registers, local and shared memory)"


REFUSED = [
    ('\nasm("mov.u32 %[x], 1;" : [x] "=r"(x));', "inline PTX (asm)", 2),
    ("#define LOAD asm\nvoid f() { LOAD; }", "inline PTX (asm)", 2),
    ("__mma_bf16_m16n16k16_mma_f32(d, a, b, c, 0, 0);", "mma", 1),
    ("#include <cuda/barrier>\n__pipeline_arrive_on(b); cuda::barrier<s> c;", BARRIERS, 2),
    ("auto c = cg::this_cluster();", "thread block clusters", 1),
    ("__global__ void __cluster_dims__(2) k();", "thread block clusters", 1),
    ("cudaFuncAttributes a;\ncudaFuncGetAttributes(&a, k);", FUNCTION_ATTRIBUTES, 2),
    ("cuLaunchKernelEx(&c, f, a, e);", "the CUDA driver API", 1),
    ("int m = __vimax3_s32(a, b, c);", "DPX instructions", 1),
    ("__nv_fp6_e2m3 x;", "e8m0, 6-bit and smaller floats", 1),
    ("cudaTextureObject_t t;", "textures and surfaces", 1),
    ("#include <cublas_v2.h>\nvoid f(cublasHandle_t h) { cublasSgeam(h); }", CUBLAS, 2),
    ("cudnnHandle_t h;", "cuDNN", 1),
    ("#include <cufft.h>\nint n = CUFFT_SUCCESS;", "cuFFT", 1),
    ("\ncufftHandle h;", "cuFFT", 2),
    ("\ncusparseHandle_t h;", "cuSPARSE", 2),
    ("#include <cusolverDn.h>\nvoid f() { cusolverDnDestroy(h); }", "cuSOLVER", 2),
    ("curandState s;", "cuRAND", 1),
    ("#include <nvrtc.h>\nnvrtcProgram p;", "NVRTC", 2),
    ("#include <cub/cub.cuh>\nusing namespace cub;", CUB, 2),
    ("cub::DeviceSelect::Flagged(p, n, a, f, b, c, m);", CUB, 1),
    ("#include <cub/block/block_histogram.cuh>\ncub::BlockHistogram<int, 32, 1, 8> h;", CUB, 2),
    ("using namespace thrust;", "Thrust", 1),
    ("#include <cutlass/cutlass.h>\ncutlass::half_t h;", "CUTLASS", 2),
    ("#include <cuda/std/array>\ncuda::std::array<int, 2> a;", "libcu++", 1),
    ("#include <ATen/native/cuda/Loops.cuh>", "ATen's own CUDA kernels", 1),
    ("cudaGraphLaunch(g, s);", "CUDA graphs in C++", 1),
    ("CUtensorMap m;", "TMA", 1),
    ("cuModuleLoad(&m, p);", "the CUDA driver API", 1),
    ("cg::multi_grid_group g;", "barriers of several devices", 1),
    ("cudaCGGetIntrinsicHandle();", "intrinsics of cooperative groups", 1),
    ("cudaMemPrefetchAsync(p, n, 0);", "hints for managed memory", 1),
    ("cudaMemcpy3D(&p);", "3-D copies and arrays", 1),
    ("cudaIpcOpenMemHandle(&p, h, 0);", "memory of other processes", 1),
    ("__global__ void k(int n) {\n  if (n > 0) {\n    k<<<1, 2>>>(n - 1);\n  }\n}", "dynamic parallelism", 3),
    ("template <class T>\n__device__ void f(T x) { k<T><<<1, 2>>>(x); }", "dynamic parallelism", 2),
    ("auto f = [=] __device__(int i) { k<<<1, 2>>>(i); };", "dynamic parallelism", 1),
    ("#define BODY(n) \\\n  __global__ void k##n() { \\\n    l<<<1, 2>>>(); }", "dynamic parallelism", 3),
    ("struct S { __global__ void k() {\n#if A\n    f();\n#endif\n    l<<<1, 2>>>(); } };", "dynamic parallelism", 5),
    ("#include <ATen/cuda/CUDABlas.h>\nvoid f() { at::cuda::blas::gemm<float>(); }", CUBLAS, 1),
    ("#include <cublasLt.h>\nvoid f() { cublasLtMatrixTransform(); }", CUBLAS, 2),
    ("auto a = CUBLASLT_MATMUL_DESC_FAST_ACCUM;", CUBLAS, 1),
    ("int n;\nvoid f() { cublasIsamax(h, n, x, 1, &n); }", CUBLAS, 2),
    ("auto h = at::cuda::getCurrentCUDASparseHandle();", "cuSPARSE", 1),
    ("auto h = at::cuda::getCurrentCUDASolverDnHandle();", "cuSOLVER", 1),
    ("at::cuda::CUDA_tensor_apply2<float, float>(a, b, f);", "ATen's own CUDA kernels", 1),
]


@pytest.mark.parametrize(
    "source",
    [
        "__global__ void k();\nvoid f() { k<<<1, 2>>>(); }",
        "#define KERNEL __global__\nvoid f() { k<<<1, 2>>>(); }",
        "void f() {\n#define DEVICE __device__\n  { k<<<1, 2>>>(); } }",
        "__device__ int n;\nstruct S { __device__ void g() {} void f() { k<<<1, 2>>>(); } };",
        "void f() { run([=] __device__(int i) { return i; }); k<<<1, 2>>>(); }",
        "__host__ __device__ void f() { k<<<1, 2>>>(); }",
        "#ifdef A\n__global__ void k(int n) {\n#else\n__global__ void k() {\n#endif\n}\nvoid f() { k<<<1, 2>>>(); }",
        "#define BEGIN __global__ void k() {\n#if 0\n__global__ void l() {\n#endif\nvoid f() { k<<<1, 2>>>(); }",
    ],
)
def test_launches_of_the_host_are_no_dynamic_parallelism(source: str) -> None:
    assert "::sim::Launcher" in body(source)


@pytest.mark.parametrize(("source", "construct", "line"), REFUSED)
def test_what_cannot_be_simulated_is_named_with_its_line(source: str, construct: str, line: int) -> None:
    with pytest.raises(Unsupported) as refused:
        translate(source, "cuda.cu")
    assert (refused.value.construct, refused.value.line) == (construct, line)


COPY_ASYNC = "cp.async.cg.shared.global"
GROUP = "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16"
ARRIVE = "mbarrier.arrive.release.cluster.shared::cluster.b64"
TENSOR = "cp.async.bulk.tensor.2d.shared::cluster.global.tile"


@pytest.mark.parametrize(
    ("statement", "refused"),
    [
        (f'asm("{GROUP} {{%0,%0,%0,%0}}, %1, %1, 1, 1, 1, 0, 1;" : "+f"(x) : "l"(d));', GROUP),
        (f'asm("{ARRIVE} _, [%0], 1, 2;" :: "r"(x));', ARRIVE),
        (f'asm("{TENSOR} [%0], [%1];" :: "r"(x), "l"(p));', TENSOR),
        ('asm("{ .reg .pred p; @p bra L1; }");', "bra"),
        ('asm("{ L: bra L; } { L: bra L; }");', "bra"),
        ('asm("add.sat.s32 %0, %1, %1;" : "=r"(x) : "r"(y));', "add.sat.s32"),
        ('asm("shl.b32 %0, %1, 1; add.cc.u32 %0, %0, 1;" : "=r"(x) : "r"(y));', "add.cc.u32"),
        ('asm("bar.red.popc.u32 %0, 1, p;" : "=r"(x));', "bar.red.popc.u32"),
        ('asm("cp.async.cg.shared.global [%0], [%1, 4], 16;" :: "r"(x), "l"(p));', COPY_ASYNC),
        ('asm("mov.u32 %0, %%smid;" : "=r"(x));', "mov.u32"),
        ('asm("mov.u32 %0, " NUMBER ";" : "=r"(x));', None),
        ('asm("mov.u32 %[x], 1;" : [x] "=r"(x));', None),
        ('asm("{ .reg .pred p; cp.async.cg.shared.global [%0], [%1], 16, p; }" :: "r"(x), "l"(p));', COPY_ASYNC),
    ],
)
def test_inline_ptx_that_cannot_be_simulated_is_named(statement: str, refused: str | None) -> None:
    with pytest.raises(Unsupported) as caught:
        translate(statement, "cuda.cu")
    assert caught.value.construct == (f"inline PTX (asm), {refused}" if refused else "inline PTX (asm)")


@pytest.mark.parametrize(
    "statement",
    [
        'asm volatile("ld.global.v2.f32 {%0, %1}, [%2+8];\\n"  // a note\n  : "=f"(x),\n  "=f"(y)\n  : "l"(p))',
        '#define MOVE(a, b) \\\n  asm("mov.b32 %0, %1;" \\\n      : "=r"(a) \\\n      : "r"(b))',
        'asm(R"(\n  add.u32 %0, %0, 1;\n)" : "+r"(x) : : "memory")',
    ],
)
def test_inline_ptx_keeps_lines(statement: str) -> None:
    header, _, text = translate(statement + ";\nint after;", "cuda.cu").partition('#line 1 "cuda.cu"\n')
    assert header == PTX_HEADER
    assert "asm" not in text
    assert text.splitlines()[statement.count("\n") + 1] == "int after;"


def test_asm_is_expanded_where_macros_hold_parts_of_it() -> None:
    source = (
        '#define PAIR(a) "+f"(a[0]), \\\n  "+f"(a[1])\n'
        '#define ADD(kind, a) asm("add." kind " %0, %0, %1;" : PAIR(a))\n'
        '#define BOTH(a, b) ADD("f32", a); ADD("f32", b)\n'
        "#ifdef ADD\n"
        'void f() { BOTH(x,\n  y); }\nvoid g() { ADD("f32", z); }\n'
        "#endif\nint after;"
    )
    text = translate(source, "cuda.cu").partition('#line 1 "cuda.cu"\n')[2]
    assert [text.count(f"auto& sim_1 = ({name}[1]);") for name in "xyz"] == [1, 1, 1]
    assert "#define ADD(kind, a) _Pragma(" in text  # another file may not use it
    assert text.splitlines()[source.count("\n")] == "int after;"


def test_a_macro_that_a_compiler_s_flag_may_define_is_left_to_it() -> None:
    text = body('#ifndef N\n#define N 64\n#endif\nasm("mov.u32 %0, %1;" : "=r"(x) : "n"(N));')
    assert "ptx_input(N)" in text


def test_macros_in_an_operand_s_expression_are_left_to_the_compiler() -> None:
    either = "#ifdef WIDE\n#define N 64\n#else\nconstexpr int N = 8;\n#endif\n"
    assert "ptx_input(2 * N)" in body(either + 'asm("mov.u32 %0, %1;" : "=r"(x) : "n"(2 * N));')


def test_asm_may_be_an_argument_of_a_macro() -> None:
    (code,) = re.findall(r"RUN\((.*)\)", body('RUN(asm("mov.b32 %0, {%1, %1};" : "=r"(x) : "h"(y)));'))
    assert (code[0], code[-1]) == ("(", ")")


def test_registers_may_have_names_with_percent_signs() -> None:
    elect = "{ .reg .b32 %%rx; .reg .pred %%px; elect.sync %%rx|%%px, %1; @%%px mov.s32 %0, %%laneid; }"
    assert "if (sim_r_px) { ::sim::ptx_set(sim_0, " in body(f'asm("{elect}" : "+r"(x) : "r"(~0u));')


HOSTILE = [
    ("M{after} M{after}", 40, '#define M40 "+f"(x)\nvoid f() { asm("" : M0); }'),
    ("M{after} M{after}", 40, '#define M40\nvoid f() { asm("" : M0); }'),
    ("M{after}", 4000, '#define M4000 asm("nop;")\nvoid f() { M0; }'),
    ("M0", 2000, "asm(" + "M0 " * 4000 + "M0("),
]


@pytest.mark.parametrize(("body", "count", "use"), HOSTILE)
def test_macros_without_end_are_given_up_at_once(body: str, count: int, use: str) -> None:
    macros = "".join(f"#define M{n} {body.format(after=n + 1)}\n" for n in range(count))
    started = time.process_time()
    assert beyond_simulator({"k.cu": f"__global__ void k() {{}}\n{macros}{use}"}) <= {"inline PTX (asm)"}
    assert time.process_time() - started < 5


@pytest.mark.parametrize("guard", ["@%%p", "@p @p", "@"])
def test_a_guard_that_nobody_declares_is_refused(guard: str) -> None:
    with pytest.raises(Unsupported):
        translate(f'asm("{guard} mov.u32 %0, 1;" : "=r"(x));', "cuda.cu")


def test_a_label_is_of_its_own_statement() -> None:
    loop = '"{ .reg .pred p; again_%=: setp.eq.u32 p, %0, 0; @!p bra again_%=; }"'
    assert body(f'asm({loop} :: "r"(x)); asm({loop} :: "r"(y));').count("goto sim_l_again_;") == 2


def test_shared_memory_is_declared_behind_the_look_at_the_bounds() -> None:
    text = body("__global__ void __launch_bounds__(N) k() { extern __shared__ float s[]; s[0] = 1; }")
    look, _, declared = text.partition("SIM_LAUNCH_BOUNDS(N);")
    assert look.rstrip().endswith("{")
    assert declared.lstrip().startswith("typedef float")


def test_every_construct_that_is_refused_has_an_example() -> None:
    assert {construct for _, construct, _ in REFUSED} == set(CONSTRUCTS)


@pytest.mark.parametrize(
    "header",
    [
        "cublasXt.h",
        "cudnn.h",
        "cub/device/device_select.cuh",
        "thrust/sort.h",
        "curand_kernel.h",
        "cuda_fp6.h",
        "nvrtc.h",
        "ATen/cuda/CUDABlas.h",
    ],
)
def test_a_library_that_is_only_included_needs_no_simulation(header: str) -> None:
    assert body(f"#include <{header}>\n#include <cmath>\nint x;") == "\n#include <cmath>\nint x;"


def test_a_function_of_ones_own_may_be_named_after_a_library() -> None:
    text = "void cublasCheck(cublasStatus_t status);\nvoid cublasHandleErrors();"
    assert body(text) == text


def test_a_header_that_is_misspelt_is_never_left_out() -> None:
    assert body("#include <cuda_fp61.h>\nint x;") == "#include <cuda_fp61.h>\nint x;"


def test_a_header_of_ones_own_is_never_left_out() -> None:
    assert body('#include "parts/curves.h"\nint x;') == '#include "parts/curves.h"\nint x;'
    with pytest.raises(Unsupported):
        translate('#include "cufft_helpers.h"\nint x;', "k.cu")


DEAD = """#if 0
#include <cublas_v2.h>
__global__ void k() { asm("nop;"); k<<<1, 2>>>( ; }
#ifdef X
asm("");
#endif
#else
int alive;
#endif
#if 1
int too;
#elif 0  // never
asm("");
#endif
"""


def test_what_no_compiler_sees_is_not_looked_at_and_keeps_its_lines() -> None:
    assert body(DEAD).split("\n") == [
        *("#if 0", "", "", "#ifdef X", "", "#endif", "#else", "int alive;", "#endif"),
        *("#if 1", "int too;", "#elif 0  // never", "", "#endif", ""),
    ]
