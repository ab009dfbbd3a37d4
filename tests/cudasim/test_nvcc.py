"""The stand-in compilers' command lines."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from harness.cudasim import cxx, nvcc
from harness.cudasim.diagnose import was_too_slim
from harness.cudasim.nvcc import CALL_SUFFIX, note_call
from harness.cudasim.precompiled import can_be_slim
from harness.sandbox.wire.layout import NVCC_CALL


@pytest.fixture(autouse=True)
def _in_a_build_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where compilers are called, and notes are left."""
    monkeypatch.chdir(tmp_path)


def test_torch_s_own_command_line_is_understood() -> None:
    line = (
        "-DTORCH_EXTENSION_NAME=x -isystem /inc -D__CUDA_NO_HALF_OPERATORS__ --expt-relaxed-constexpr "
        "-gencode=arch=compute_90,code=sm_90 --compiler-options '-fPIC' -O3 --use_fast_math -lineinfo "
        "-Xptxas -O3,-v -Xcompiler -fopenmp,-O2 -std=c++20 -c a.cu -o a.o"
    )
    invocation = nvcc.parse(shlex.split(line))
    assert invocation.source == Path("a.cu")
    assert invocation.output == Path("a.o")
    assert invocation.standard == "-std=c++20"
    assert invocation.host == [
        "-DTORCH_EXTENSION_NAME=x", "-isystem", "/inc", "-D__CUDA_NO_HALF_OPERATORS__", "-fopenmp",
    ]  # fmt: skip


def test_option_with_a_separate_value_takes_it() -> None:
    invocation = nvcc.parse(["-gencode", "arch=compute_90,code=sm_90", "-maxrregcount", "64", "--std", "c++17", "a.cu"])
    assert (invocation.source, invocation.standard) == (Path("a.cu"), "-std=c++17")


@pytest.mark.parametrize("option", ["--fast", "-fopenmp", "-march=native", "--gpu-arch=sm_90"])
def test_unknown_option_is_refused_as_nvcc_does(
    option: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert nvcc.main([option, "-c", "a.cu"], tmp_path) == 1
    assert capsys.readouterr().err == f"nvcc fatal   : Unknown option '{option}'\n"


def test_missing_file_is_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert nvcc.main(["-c", str(tmp_path / "none.cu")], tmp_path) == 1
    assert "input file" in capsys.readouterr().err


def test_a_standard_that_torch_s_headers_refuse_is_refused_at_once(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "a.cu").write_text("#include <torch/types.h>\n__global__ void k() {}\n")
    assert nvcc.main(["-std=c++14", "-c", str(tmp_path / "a.cu"), "-o", str(tmp_path / "a.o")], tmp_path) == 1
    assert capsys.readouterr().err == "nvcc fatal   : torch's headers need C++17 or later, not -std=c++14\n"


def test_unsupported_construct_is_marked(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "a.cu").write_text('__global__ void k() {\n  asm("nop;");\n}\n')
    assert nvcc.main(["-c", str(tmp_path / "a.cu"), "-o", str(tmp_path / "a.o")], tmp_path) == 3
    assert capsys.readouterr().err == "harness-sim-unsupported: inline PTX (asm), nop at line 2 of a.cu\n"


@pytest.mark.parametrize("line", ['asm("nop;");', "int x;", "syntax error("])
def test_what_the_real_nvcc_would_be_asked_is_written_down(tmp_path: Path, line: str) -> None:
    text = f"__global__ void k() {{\n  {line}\n}}\n"
    Path("a.cu").write_text(text)
    nvcc.main(["-O3", "--fast", "-c", "a.cu", "-o", "a.o"], tmp_path)
    (written,) = tmp_path.glob(f"*{NVCC_CALL}")
    assert json.loads(written.read_text()) == {
        "arguments": ["-O3", "--fast", "-c", "a.cu", "-o", "a.o"],
        "source": "a.cu",
        "text": text,
    }


def test_both_sides_know_the_notes_by_one_name() -> None:
    assert CALL_SUFFIX == NVCC_CALL


def test_two_sources_of_one_build_are_two_calls(tmp_path: Path) -> None:
    for name in ("a.cu", "b.cu", "a.cu"):
        Path(name).write_text("// nothing\n")
        note_call(["-c", name])
    assert len(list(tmp_path.glob(f"*{NVCC_CALL}"))) == 2


@pytest.fixture
def main_cpp(tmp_path: Path) -> Path:
    path = tmp_path / "main.cpp"
    path.write_text("#include <torch/extension.h>\nint f();\n")
    return path


def test_generated_main_gets_slim_headers(main_cpp: Path) -> None:
    command = cxx.slimmed(["-O3", "-march=native", "-DX=1", "-c", str(main_cpp), "-o", "m.o"], Path("/tk"))
    assert command == [
        "-O0", "-fPIC", "-I/tk/headers/slim",
        "-DX=1", "-c", str(main_cpp), "-o", "m.o",
    ]  # fmt: skip


def test_cuda_headers_are_seen_only_by_a_build_with_cuda_sources(main_cpp: Path) -> None:
    with_cuda = cxx.slimmed(["-isystem", "/tk/include", "-c", str(main_cpp)], Path("/tk")) or []
    without = cxx.slimmed(["-c", str(main_cpp)], Path("/tk")) or []
    assert ("-I/tk/headers" in with_cuda, "-I/tk/headers" in without) == (True, False)


@pytest.mark.parametrize("text", ["int f();\n", "#include <torch/extension.h>\ntorch::nn::Linear l(1, 1);\n"])
def test_other_sources_are_compiled_as_they_are(main_cpp: Path, text: str) -> None:
    main_cpp.write_text(text)
    assert cxx.slimmed(["-c", str(main_cpp)], Path("/tk")) is None


def test_linking_is_left_alone() -> None:
    assert cxx.slimmed(["a.o", "b.o", "-shared", "-o", "x.so"], Path("/tk")) is None


DECLARED = """#include <torch/extension.h>
// halves() takes no half2
torch::Tensor halves(torch::Tensor x, double by);
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
m.def("halves", torch::wrap_pybind_function(halves), "x by two");
}"""


def test_declared_functions_get_the_precompiled_header(tmp_path: Path) -> None:
    (tmp_path / "main.cpp").write_text(DECLARED)
    arguments = ["-O3", "-c", str(tmp_path / "main.cpp"), "-o", str(tmp_path / "main.o")]
    command = cxx.precompiled(arguments, Path("/tk"), ["-march=x86-64-v3"]) or []
    assert command[-4:] == ["-c", str(tmp_path / "main.bound.cpp"), "-o", str(tmp_path / "main.o")]
    assert {"-O1", "-march=x86-64-v3", "/tk/headers/sim/prelude_slim.h"} <= set(command)
    rewritten = (tmp_path / "main.bound.cpp").read_text()
    assert "torch::Tensor halves(torch::Tensor x, double by);" in rewritten
    assert rewritten.index("<harness/binding.h>") < rewritten.index("PYBIND11_MODULE")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("double by);", "double by) { return x; }"),
        ("double by", "cudaStream_t by"),
        ("double by", "float4 by"),
        ("double by", "py::list by"),
        ("wrap_pybind_function(halves)", "wrap_pybind_function(others)"),
        ('"x by two"', 'py::arg("x")'),
        ("}", 'm.attr("more") = 1;\n}'),
    ],
)
def test_what_may_mean_something_else_there_is_not(tmp_path: Path, old: str, new: str) -> None:
    (tmp_path / "main.cpp").write_text(DECLARED.replace(old, new))
    arguments = ["-c", str(tmp_path / "main.cpp"), "-o", str(tmp_path / "main.o")]
    assert cxx.precompiled(arguments, Path("/tk"), []) is None


@pytest.mark.parametrize(
    ("spelled_out", "short"),
    [
        (["--generate-dependencies-with-compile", "--dependency-output", "a.d"], ["-MD", "-MF", "a.d"]),
        (["-MMD", "-MF", "a.d"], ["-MMD", "-MF", "a.d"]),
    ],
)
def test_dependency_options_reach_the_compiler_in_either_spelling(spelled_out: list[str], short: list[str]) -> None:
    assert nvcc.parse([*spelled_out, "-c", "a.cu"]).dependencies == short


@pytest.mark.parametrize(
    ("message", "source", "is_too_slim"),
    [
        ("‘TensorArg’ is not a member of ‘at’; did you mean ‘TensorRef’?", "", True),
        ("‘TensorArg’ has not been declared in ‘at’", "using at::TensorArg;", True),
        ("‘map’ is not a member of ‘std’", "", True),
        ("‘torch::profiler’ has not been declared", "", True),
        ("variable ‘c10::IValue v’ has initializer but incomplete type", "", True),
        ("no match for ‘operator<<’ (operand types are ‘std::ostream’ and ‘at::Tensor’)", "", True),
        ("no matching function for call to ‘at::Tensor::index(<brace-enclosed initializer list>)’", "", True),
        ("‘class harness::Module’ has no member named ‘attr’", "", True),
        ("‘name’ is not a member of ‘harness::Caster<std::tuple<>, void>’", "", True),
        ("‘CHECK_EQ’ was not declared in this scope", "", True),
        ("a message of a compiler to come", "", True),
        ("‘TensorArg’ was not declared in this scope", "using namespace at;", True),
        ("‘infer_size’ was not declared in this scope", "namespace at { namespace native {", True),
        ("‘nowhere’ was not declared in this scope", "using namespace at::cuda;", False),
        ("‘nowhere’ was not declared in this scope; did you mean ‘now’?", "", False),
        ("‘getCurrentCUDABlasHandle’ is not a member of ‘at::cuda’", "", False),
        ("‘C10_CUDA_CHECK’ was not declared in this scope", "", False),
        ("‘class at::Tensor’ has no member named ‘dataptr’", "using namespace at;", False),
        ("cannot convert ‘at::Tensor’ to ‘float*’ in initialization", "", False),
        ("expected ‘;’ before ‘}’ token", "", False),
        ("cutlass/cutlass.h: No such file or directory", "", False),
        ("conversion from ‘const float’ to non-scalar type ‘float4’ requested", "", False),
        ("static assertion failed: ptxas error   : uses too much shared data", "", False),
    ],
)
def test_the_full_headers_are_tried_where_slim_ones_may_lack_something(
    message: str, source: str, is_too_slim: bool
) -> None:
    assert was_too_slim(f"a.cu:3:5: error: {message}\n", source) is is_too_slim


def test_a_mistake_in_a_header_of_torch_s_may_be_for_want_of_another() -> None:
    message = "9:3: error: ‘check_dim_size’ was not declared in this scope\n"
    pool = f"/site-packages/torch/include/ATen/native/Pool.h:{message}"
    assert not was_too_slim(f"/work/a.cu:{message}", "")
    assert was_too_slim(pool, "")
    assert was_too_slim(f"a.cu:1:1: error: expected ‘;’ before ‘}}’ token\n{pool}", "")
    assert was_too_slim("ld: no message at all", "")
    assert not was_too_slim('a.cu:1:1: error: expected ‘;’\n    1 | print("an error: no message")\n', "")


def test_a_module_defined_twice_fails_with_full_headers_as_well() -> None:
    """It is the commonest mistake: load_inline() adds a PYBIND11_MODULE to a source that has one."""
    place = "/tk/headers/slim/harness/binding.h:552:43: error:"
    twice = f"{place} redefinition of ‘PyObject* PyInit_pool()’\n{place} redefinition of ‘void harness_define(int)’\n"
    assert not was_too_slim(twice, "")
    assert was_too_slim(f"{place} redefinition of ‘int harness_other()’\n", "")


@pytest.mark.parametrize(
    ("text", "is_slim"),
    [
        ('m.def("f", &f, py::arg("x"));\nm.def("g", &g);', True),
        ('m.def("f", &f);\nm.def("f", [](torch::Tensor x, int64_t k) { return x; });', False),
        ('m.def("f", &f, py::arg("x") = 1.5);', False),
        ("namespace t = torch;\nauto x = t::tensor({1, 2, 3});", False),
        ("auto x = torch::tensor({1, 2, 3});", False),
        ("auto x = torch::empty({1, 2, 3});", True),
        ('// The launch from PyTorch.\nTORCH_CHECK(ok, "a PyTorch tensor");', True),
        ("PyObject* object = nullptr;", False),
    ],
)
def test_what_means_something_else_under_slim_headers_gets_the_full_ones(text: str, is_slim: bool) -> None:
    assert can_be_slim(text) is is_slim


def test_what_a_file_includes_of_its_own_may_need_more(main_cpp: Path) -> None:
    main_cpp.write_text(f'{DECLARED}\n#include "own.h"\n')
    arguments = ["-c", str(main_cpp), "-o", "m.o"]
    assert cxx.slimmed(arguments, Path("/tk")) is None
    assert cxx.precompiled(arguments, Path("/tk"), []) is None
