"""Telling the solution's mistakes from the simulator's gaps, on messages of g++ 12."""

from __future__ import annotations

import pytest

from harness.cudasim.diagnose import diagnose_build_log
from tests.wording import tells


def device_error(message: str, code: str = "x = y;") -> str:
    return (
        "Error building extension 'x': [1/3] /tk/bin/nvcc -c /b/cuda.cu -o cuda.cuda.o\nFAILED: cuda.cuda.o\n"
        "/b/cuda.cu: In function ‘void k(float*)’:\n"
        f"/b/cuda.cu:70:30: error: {message}\n   70 |     {code}\n      |     ^~~~~\n"
        "ninja: build stopped: subcommand failed.\n"
    )


def test_undeclared_variable_is_the_solution_s() -> None:
    diagnosis = diagnose_build_log(
        device_error("‘C_out’ was not declared in this scope; did you mean ‘c_out’?", "n * C_out")
    )
    assert diagnosis.kind == "compile_error"
    assert diagnosis.summary == (
        "cuda.cu:70: ‘C_out’ was not declared in this scope; did you mean ‘c_out’?\n    n * C_out"
    )


@pytest.mark.parametrize(
    "message",
    [
        "expected ‘;’ before ‘}’ token",
        "expected ‘,’ or ‘;’ before ‘if’",
        "‘buf’ was not declared in this scope",
        "‘ceil_div’ is not a member of ‘at’; did you mean ‘kl_div’?",
        "cannot convert ‘const at::DeprecatedTypeProperties’ to ‘c10::ScalarType’",
        "too few arguments to function ‘void k(float*, int)’",
        "redeclaration of ‘int row’",
        "request for member ‘numel’ in ‘x’, which is of non-class type ‘const float*’",
        "declaration of ‘int n’ shadows a parameter",
        "call of overloaded ‘max(int&, long int&)’ is ambiguous",
        "‘__shfl_down’ was not declared in this scope",
        "static assertion failed: ptxas error: kernel uses too much shared data (more than 0xc000 bytes)",
    ],
)
def test_errors_that_nvcc_would_see_too(message: str) -> None:
    assert diagnose_build_log(device_error(message)).kind == "compile_error"


@pytest.mark.parametrize(
    ("message", "code", "kind"),
    [
        ("expected ‘,’ or ‘;’ before ‘sim_syncthreads’", "    __syncthreads();", "compile_error"),
        ("expected ‘;’ before ‘atomicAdd’", "atomicAdd(y, 1);", "compile_error"),
        ("expected ‘;’ before ‘atomicAdd’", "MACRO atomicAdd(y, 1);", "unsupported"),
        ("expected ‘;’ before ‘__nv_hint’", "__nv_hint(y);", "unsupported"),
        ("‘const struct float4’ has no member named ‘q’", "v.q;", "compile_error"),
        ("‘struct cudaDeviceProp’ has no member named ‘new_one’", "p.new_one;", "unsupported"),
    ],
)
def test_a_statement_that_is_not_ended_is_the_solutions(message: str, code: str, kind: str) -> None:
    assert diagnose_build_log(device_error(message, code)).kind == kind


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ("‘__nv_something’ was not declared in this scope", "__nv_something(x);"),
        ("‘cudaStreamAttrValue’ was not declared in this scope", "cudaStreamAttrValue v;"),
        ("‘erfcxf’ was not declared in this scope", "erfcxf(x);"),
        ("‘something’ is not a member of ‘cg’", "cg::something(tile);"),
        ("‘something’ is not a member of ‘nvcuda::wmma’", "wmma::something(fragment);"),
        ("no matching function for call to ‘max(float&, long int&)’", "max(a, b);"),
        ("no match for ‘operator+’ (operand types are ‘__half’ and ‘__half’)", "a + b;"),
        ("expected primary-expression before ‘,’ token", "k<<<1, 2>>>(a);"),
        ("expected constructor, destructor, or type conversion before ‘(’ token", "C10_LAUNCH_BOUNDS_3(256)"),
        ("use of deleted function ‘thing::thing()’", "thing t;"),
    ],
)
def test_errors_that_may_be_our_gap_are_unsupported(message: str, code: str) -> None:
    diagnosis = diagnose_build_log(device_error(message, code))
    assert diagnosis.kind == "unsupported"
    assert f"cuda.cu:70: {message}" in diagnosis.summary


def test_errors_after_the_first_may_follow_from_it() -> None:
    log = device_error("‘cudaThing_t’ was not declared in this scope") + device_error(
        "‘thing’ was not declared in this scope"
    )
    assert diagnose_build_log(log).kind == "unsupported"


def test_error_in_main_cpp_is_real() -> None:
    log = (
        "/b/main.cpp:4:10: fatal error: cuda_runtime.h: No such file or directory\n    4 | #include <cuda_runtime.h>\n"
    )
    diagnosis = diagnose_build_log(log)
    assert diagnosis.kind == "compile_error"
    assert diagnosis.summary == "main.cpp:4: cuda_runtime.h: No such file or directory\n    #include <cuda_runtime.h>"


def test_an_error_in_what_the_command_defines_is_placed_at_its_use() -> None:
    """An extension's name that is no name in C++."""
    log = (
        "<command-line>: error: expected initializer before ‘-’ token\n"
        "/torch/include/pybind11/detail/common.h:475:53: note: in definition of macro ‘PYBIND11_CONCAT’\n"
        "/b/main.cpp:3:17: note: in expansion of macro ‘TORCH_EXTENSION_NAME’\n"
        "    3 | PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {\n"
    )
    diagnosis = diagnose_build_log(log)
    assert diagnosis.kind == "compile_error"
    assert tells(diagnosis.summary, "main.cpp:3", "expected initializer before ‘-’ token")


def test_error_inside_a_header_is_placed_at_its_use() -> None:
    log = (
        "/t/include/pybind11/cast.h: In instantiation of ‘struct caster<Foo>’:\n"
        "/b/main.cpp:7:3:   required from here\n"
        "/t/include/pybind11/cast.h:99:1: error: no type named ‘type’ in ‘struct Foo’ [with T = Foo; U = very<long>]\n"
    )
    assert diagnose_build_log(log).summary == "main.cpp:7: no type named ‘type’ in ‘struct Foo’"


@pytest.mark.parametrize("folder", ["/c/sim-0123456789abcdef/headers/ATen/cuda", "/v/torch/include/ATen/cuda"])
def test_error_in_a_header_that_nobody_wrote_is_never_the_solution_s(folder: str) -> None:
    message = "ambiguous overload for ‘operator<’ (operand types are ‘c10::Half’ and ‘const c10::Half’)"
    log = f"In file included from <command-line>:\n{folder}/Atomic.cuh:13:24: error: {message}\n"
    assert diagnose_build_log(log).kind == "unsupported"
    assert diagnose_build_log(log.replace(folder, "/b")).kind == "compile_error"


def host_error(message: str, code: str = "x = y;") -> str:
    return (
        "FAILED: [code=1] main.o\nIn file included from /c/sim-0123456789abcdef/headers/c10/cuda/CUDAGuard.h:5,\n"
        "                 from /c/sim-0123456789abcdef/headers/ATen/cuda/CUDAContext.h:3,\n"
        "                 from /b/main.cpp:2:\n"
        '/c/sim-0123456789abcdef/headers/c10/cuda/CUDAException.h:21: warning: "CUDA_KERNEL_ASSERT" redefined\n'
        "   21 | #define CUDA_KERNEL_ASSERT(condition) \\\n      | \n"
        "/b/main.cpp: In function ‘at::Tensor run(at::Tensor)’:\n"
        f"/b/main.cpp:4:13: error: {message}\n    4 |   {code}\n      |             ^~~~~~~~~\n"
        "ninja: build stopped: subcommand failed.\n"
    )


@pytest.mark.parametrize(
    "message",
    [
        "‘getNumaNode’ is not a member of ‘c10::cuda’",
        "‘getCurrentCUDASolverDnHandle’ is not a member of ‘at::cuda’; did you mean ‘getCurrentCUDAStream’?",
        "‘class c10::cuda::CUDAEvent’ has no member named ‘ipc_handle’",
        "‘cudaUserObject_t’ was not declared in this scope",
        "cublasXt.h: No such file or directory",
    ],
)
def test_gaps_in_torch_s_and_cuda_s_own_are_unsupported_in_cpp_too(message: str) -> None:
    for log, file in ((host_error(message), "main.cpp:4"), (device_error(message), "cuda.cu:70")):
        diagnosis = diagnose_build_log(log)
        assert (diagnosis.kind, diagnosis.summary.splitlines()[0]) == ("unsupported", f"{file}: {message}")


@pytest.mark.parametrize(
    "message",
    [
        "‘cuda_forward’ was not declared in this scope",
        "‘emtpy_like’ is not a member of ‘torch’; did you mean ‘empty_like’?",
        "expected ‘,’ or ‘;’ before ‘return’",
        "cannot convert ‘c10::IntArrayRef’ {aka ‘c10::ArrayRef<long int>’} to ‘int’ in initialization",
        "‘cudaStream_t’ was not declared in this scope",
        "cuda_helpers.h: No such file or directory",
    ],
)
def test_errors_in_cpp_that_have_nothing_to_do_with_cuda_are_the_solution_s(message: str) -> None:
    diagnosis = diagnose_build_log(host_error(message))
    assert (diagnosis.kind, diagnosis.is_of_device) == ("compile_error", False)
    assert diagnosis.summary.splitlines()[0] == f"main.cpp:4: {message}"


@pytest.mark.parametrize("source", ["main.cpp", "cuda.cu"])
def test_a_header_of_torch_s_that_does_not_compile_is_placed_where_it_is_included(source: str) -> None:
    log = (
        "In file included from /v/torch/include/ATen/cuda/CUDAGraph.h:7,\n"
        f"                 from /b/{source}:5:\n"
        "/v/torch/include/c10/cuda/CUDAGraphsC10Utils.h:18:30: error: ‘cudaStreamCaptureMode’ was not declared\n"
        "   18 |   CUDAStreamCaptureModeGuard(cudaStreamCaptureMode desired)\n"
    )
    diagnosis = diagnose_build_log(log)
    assert diagnosis.kind == "unsupported"
    assert diagnosis.summary.splitlines()[0] == f"{source}:5: ‘cudaStreamCaptureMode’ was not declared"


def test_a_mistake_that_shows_in_a_header_of_c_plus_plus_is_the_solution_s() -> None:
    log = (
        "In file included from /usr/include/c++/12/bits/stl_algobase.h:71,\n"
        "                 from /v/torch/include/c10/util/Exception.h:8,\n"
        "                 from /c/sim-0123456789abcdef/headers/sim/prelude_slim.h:2:\n"
        "/usr/include/c++/12/bits/predefined_ops.h: In instantiation of ‘constexpr bool _Iter_comp_iter<_Compare>’:\n"
        "/usr/include/c++/12/bits/stl_algo.h:4853:18:   required from ‘constexpr void std::sort(_RAIter, _RAIter)’\n"
        "/b/cuda.cu:9:12:   required from here\n"
        "/usr/include/c++/12/bits/predefined_ops.h:158:30: error: no match for call to "
        "‘(run(at::Tensor)::<lambda(int, std::string)>) (int&, int&)’\n"
        "  158 |         { return bool(_M_comp(*__it1, *__it2)); }\n"
    )
    diagnosis = diagnose_build_log(log)
    assert diagnosis.kind == "compile_error"
    assert diagnosis.summary.startswith("cuda.cu:9: no match for call to ‘(run(at::Tensor)")


def test_a_mistake_in_cpp_counts_beside_a_gap_in_cuda_code() -> None:
    gap = "FAILED: cuda.cuda.o\nharness-sim-unsupported: inline PTX (asm) at line 12\n"
    assert diagnose_build_log(gap + host_error("‘forwrad’ was not declared in this scope")).kind == "compile_error"
    assert diagnose_build_log(gap + host_error("‘f’ is not a member of ‘at::cuda’")).kind == "unsupported"


def test_unknown_option_is_the_solution_s() -> None:
    log = "FAILED: cuda.cuda.o\nnvcc fatal   : Unknown option '--fast'\n"
    assert diagnose_build_log(log).kind == "compile_error"
    assert diagnose_build_log(log).summary == "nvcc fatal   : Unknown option '--fast'"


@pytest.mark.parametrize(
    ("symbol", "kind"),
    [
        ("PyInit_pool", "compile_error"),
        ("tile_size(int)", "unsupported"),  # a function of the device's in a header, of which nvcc makes one a file
    ],
)
def test_what_is_linked_twice_is_named_in_one_line(symbol: str, kind: str) -> None:
    log = (
        "FAILED: pool.so\n/tk/bin/c++ main.o cuda.cuda.o -shared -o pool.so\n"
        f"/usr/bin/ld: cuda.cuda.o: in function `{symbol}':\n"
        f"/usr/include/c++/12/string:204: multiple definition of `{symbol}'; main.o:main.cpp:(.text+0x2): first defined"
        " here\ncollect2: error: ld returned 1 exit status\nninja: build stopped: subcommand failed.\n"
    )
    diagnosis = diagnose_build_log(log)
    assert (diagnosis.kind, diagnosis.is_of_device) == (kind, False)
    assert diagnosis.summary.startswith(f"multiple definition of '{symbol}'")
    assert ("PYBIND11_MODULE" in diagnosis.summary) is (kind == "compile_error")


def test_words_that_nobody_knows_are_shown_by_whole_lines() -> None:
    log = f"{'a' * 100} \nfirst {'b' * 100}\nninja: build stopped: {'c' * 30}\n"
    assert diagnose_build_log(log).summary == f"first {'b' * 100}\nninja: build stopped: {'c' * 30}"


def test_refused_construct_is_unsupported() -> None:
    log = "FAILED: cuda.cuda.o\nharness-sim-unsupported: inline PTX (asm) at line 12\nninja: build stopped\n"
    assert diagnose_build_log(log).kind == "unsupported"
    assert tells(diagnose_build_log(log).summary, "PTX", "line 12")


def test_many_errors_are_cut() -> None:
    log = "".join(f"/b/main.cpp:{n}:1: error: bad {n}\n" for n in range(1, 9))
    assert diagnose_build_log(log).summary.splitlines()[-1] == "and 3 more"
