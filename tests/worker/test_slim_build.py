"""Which calls are built with slim headers and our own binding, and that nobody can tell by what they give."""

from __future__ import annotations

import inspect
import os
import subprocess
import sysconfig
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils import cpp_extension

from harness.sandbox.wire.layout import own_extensions, own_log
from harness.worker.extensions import Extensions
from harness.worker.slim_build import slim_arguments

SIGNATURE = inspect.signature(cpp_extension.load_inline)

EVERY_KIND = """
#include <torch/extension.h>

torch::Tensor twice(torch::Tensor x) { return x * 2; }
const torch::Tensor& same(const torch::Tensor& x) { return x; }
int64_t add(int64_t a, int b, size_t c) { return a + b + static_cast<int64_t>(c); }
double half(double x) { return x / 2; }
bool negate(bool x) { return !x; }
std::string greet(const std::string& name) { return "hello " + name; }
std::vector<torch::Tensor> swapped(std::vector<torch::Tensor> two) { return {two[1], two[0]}; }
std::tuple<torch::Tensor, int64_t> either(torch::Tensor x, std::optional<torch::Tensor> y) {
  return {y ? *y : x, y.has_value()};
}
std::tuple<int64_t, double> turned(const std::tuple<double, int64_t>& two) {
  return {std::get<1>(two), std::get<0>(two)};
}
int64_t difference(std::pair<int64_t, int64_t> two) { return two.first - two.second; }
int64_t total(at::IntArrayRef sizes) {
  int64_t sum = 0;
  for (auto size : sizes) sum += size;
  return sum;
}
void one_dimensional(torch::Tensor x) { TORCH_CHECK(x.dim() == 1, "x must have one dimension"); }
void element(int64_t i) { TORCH_CHECK_INDEX(i < 3, "no such element"); }
void standard() { throw std::invalid_argument("not this one"); }
torch::Tensor filled(torch::Tensor like, double value) { return torch::full_like(like, value) + torch::ones({2}); }
torch::Tensor undefined() { return {}; }
"""
NAMES = ["twice", "same", "add", "half", "negate", "greet", "swapped", "either", "turned", "difference", "total",
         "one_dimensional", "element", "standard", "filled", "undefined"]  # fmt: skip


def build(cache: Path, *args: Any, **kwargs: Any) -> tuple[Any, str]:
    """The module, and the compiler's output, of one load_inline() call through a cache of its own."""
    extensions = Extensions(cache, "cuda")
    module = extensions.obtain(cpp_extension.load_inline, SIGNATURE.bind(*args, **kwargs))
    (report,) = extensions.take_reports()
    assert report.succeeded
    return module, own_log(cache, report.key).read_text()


@pytest.fixture(scope="module")
def functions(tmp_path_factory: pytest.TempPathFactory) -> Any:
    module, log = build(tmp_path_factory.mktemp("cache"), "every_kind", EVERY_KIND, functions=NAMES)
    assert "worker/headers" in log
    return module


def test_arguments_and_results_of_every_kind_pass(functions: Any) -> None:
    x = torch.tensor([1.0, 2.0])
    assert functions.twice(x).tolist() == [2.0, 4.0]
    assert functions.same(x) is x
    assert functions.add(1, 2, 3) == 6
    assert functions.half(3) == 1.5
    assert functions.negate(False) is True
    assert functions.greet("Jörg") == "hello Jörg"
    assert [t.tolist() for t in functions.swapped([x, x + 1])] == [[2.0, 3.0], [1.0, 2.0]]
    assert functions.either(x, None)[1] == 0
    assert functions.either(x, x + 1)[0].tolist() == [2.0, 3.0]
    assert functions.turned((0.5, 2)) == (2, 0.5)
    assert functions.difference([5, 3]) == 2
    assert functions.total((2, 3, 4)) == 9
    assert functions.filled(torch.zeros(2), 1.5).tolist() == [2.5, 2.5]
    assert functions.undefined() is None


def test_parameters_and_other_subclasses_are_tensors(functions: Any) -> None:
    assert functions.twice(torch.nn.Parameter(torch.ones(1), requires_grad=False)).tolist() == [2.0]


def test_numbers_convert_as_pybind_converts_them(functions: Any) -> None:
    assert functions.add(torch.tensor(4), True, 0) == 5
    assert functions.half(torch.tensor(4)) == 2.0
    assert functions.negate(None) is True


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("twice", (1,)),
        ("twice", ()),
        ("twice", (torch.ones(1), 2)),
        ("add", (1.5, 2, 3)),
        ("add", (1, 2**40, 3)),
        ("add", (1, 2, -3)),
        ("add", ("1", 2, 3)),
        ("half", ("x",)),
        ("total", ({1, 2},)),
        ("total", (["x"],)),
        ("swapped", ("ab",)),
        ("turned", (1,)),
        ("turned", ((0.5, 2, 3),)),
        ("turned", ((0.5, 2.5),)),
        ("difference", ({1, 2},)),
        ("greet", (1,)),
        ("either", (None, None)),
    ],
)
def test_arguments_of_another_kind_are_a_type_error(functions: Any, name: str, arguments: tuple[Any, ...]) -> None:
    with pytest.raises(TypeError, match=rf"{name}\(\): incompatible function arguments"):
        getattr(functions, name)(*arguments)


def test_keywords_are_a_type_error_where_parameters_have_no_names(functions: Any) -> None:
    with pytest.raises(TypeError, match=r"incompatible function arguments.*x=Tensor"):
        functions.twice(x=torch.ones(1))


@pytest.mark.parametrize(
    ("name", "argument", "error", "message"),
    [
        ("one_dimensional", (torch.ones(2, 2),), RuntimeError, "x must have one dimension"),
        ("element", (3,), IndexError, "no such element"),
        ("standard", (), RuntimeError, "not this one"),
    ],
)
def test_exceptions_of_the_function_become_pythons(
    functions: Any, name: str, argument: tuple[Any, ...], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        getattr(functions, name)(*argument)


OWN_MODULE = """
#include <torch/extension.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#if TORCH_VERSION_MAJOR < 2
#include <THC/THC.h>
#endif

namespace py = pybind11;

torch::Tensor forward(torch::Tensor x, double factor, bool negated) {
  TORCH_CHECK(x.dim() == 1, "x must have one dimension");
  return x * (negated ? -factor : factor);
}
int64_t total(std::vector<int64_t> terms) {
  int64_t sum = 0;
  for (auto term : terms) sum += term;
  return sum;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.doc() = "two functions";
  m.def("forward", &forward, "scaled",  // and perhaps negated
        py::arg("x"), py::arg("factor") = 2, py::arg("negated") = false);
  m.def("total", total).def("next", [](int64_t i) { return i + 1; });
}
"""


@pytest.fixture(scope="module")
def own_module(tmp_path_factory: pytest.TempPathFactory) -> Any:
    module, log = build(tmp_path_factory.mktemp("cache"), "own_module", OWN_MODULE)
    assert "worker/headers" in log
    return module


def test_a_module_of_ones_own_is_bound(own_module: Any) -> None:
    x = torch.tensor([1.0, 2.0])
    assert own_module.forward(x, 3, True).tolist() == [-3.0, -6.0]
    assert own_module.total([1, 2, 3]) == 6
    assert own_module.next(4) == 5
    assert (own_module.__doc__, own_module.forward.__doc__) == ("two functions", "scaled")
    assert own_module.forward.__module__ == "own_module"


def test_named_parameters_are_passed_by_name_and_have_defaults(own_module: Any) -> None:
    x = torch.tensor([1.0])
    assert own_module.forward(x).tolist() == [2.0]
    assert own_module.forward(negated=True, x=x).tolist() == [-2.0]


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ((), {}),
        ((), {"factor": 1}),
        ((1, 2, 3, 4), {}),
        ((1,), {"x": 1}),
        ((1,), {"other": 1}),
        ((1,), {"factor": "2"}),
    ],
)
def test_other_arguments_are_a_type_error(own_module: Any, values: tuple[Any, ...], named: dict[str, Any]) -> None:
    values = tuple(torch.ones(1) if value == 1 else value for value in values)
    with pytest.raises(TypeError, match=r"forward\(\): .*\(x: torch.Tensor"):
        own_module.forward(*values, **named)


def test_exceptions_of_a_module_of_ones_own_become_pythons(own_module: Any) -> None:
    with pytest.raises(RuntimeError, match="one dimension"):
        own_module.forward(torch.ones(1, 1))


def test_an_overloaded_function_is_left_to_pybind(tmp_path: Path) -> None:
    twice = 'PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("one", &one); m.def("one", &two); }'
    call = SIGNATURE.bind("overloaded", f"int64_t one() {{ return 1; }} int64_t two(int64_t) {{ return 2; }} {twice}")
    slim = slim_arguments(call, tmp_path)
    assert slim is not None
    with pytest.raises(ImportError, match="overloaded"):
        cpp_extension.load_inline(**slim)


def test_files_are_built_slim_with_what_they_include(tmp_path: Path) -> None:
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "module.cpp").write_text(
        '#include <torch/extension.h>\n#include "full.h"\n'
        'PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("like", &like); }'
    )
    header = tmp_path / "code" / "full.h"
    header.write_text("inline at::Tensor like(at::Tensor x) { return at::ones_like(x); }")
    extensions = Extensions(tmp_path / "worker", "cuda")
    call = inspect.signature(cpp_extension.load).bind("of_files", [str(tmp_path / "code" / "module.cpp")])
    module: Any = extensions.obtain(cpp_extension.load, call)
    (report,) = extensions.take_reports()
    assert module.like(torch.zeros(1)).tolist() == [1.0]
    assert "worker/headers" in own_log(tmp_path / "worker", report.key).read_text()
    header.write_text(header.read_text() + "// requires_grad")
    assert slim_arguments(call, tmp_path / "slim") is None


def staged(folder: Path) -> list[str]:
    """What a build has left of its work beside its outcome."""
    return [path.name for path in own_extensions(folder).iterdir() if "." in path.name]


class FullHeadersAlone:
    """Stands for load_inline() where the slim headers don't suffice. The full build, where it succeeds, is of C."""

    def __init__(self, full_succeeds: bool) -> None:
        self._full_succeeds = full_succeeds

    def __call__(self, name: str, build_directory: str, **arguments: Any) -> Any:
        is_slim = any("worker/headers" in folder for folder in arguments.get("extra_include_paths") or [])
        os.write(1, b"slim: error: what is at::cat?\n" if is_slim else b"full: what torch says\n")
        if is_slim or not self._full_succeeds:
            raise RuntimeError(f"Error building extension '{name}'")
        folder = Path(build_directory)
        (folder / "main.c").write_text(
            "#include <Python.h>\n"
            f'static PyModuleDef module = {{PyModuleDef_HEAD_INIT, "{name}", "full", -1}};\n'
            f"PyMODINIT_FUNC PyInit_{name}(void) {{ return PyModule_Create(&module); }}\n"
        )
        include = f"-I{sysconfig.get_path('include')}"
        subprocess.run(["cc", "-shared", "-fPIC", include, "main.c", "-o", f"{name}.so"], cwd=folder, check=True)
        return cpp_extension._import_module_from_library(name, build_directory, True)


SIMPLE = "int one() { return 1; }"
NEEDS_MORE = SIGNATURE.bind("needs_more", "at::Tensor both(at::Tensor x) { return at::cat(x, x); }", functions=["both"])


def test_what_slim_headers_lack_is_built_with_the_full_ones(tmp_path: Path) -> None:
    extensions = Extensions(tmp_path, "cuda")
    module: Any = extensions.obtain(FullHeadersAlone(full_succeeds=True), NEEDS_MORE)
    (report,) = extensions.take_reports()
    assert (module.__name__, module.__doc__, report.succeeded) == ("needs_more", "full", True)
    log = own_log(tmp_path, report.key)
    assert log.read_text() == "full: what torch says\n"
    assert log.with_suffix(".slim").read_text() == "slim: error: what is at::cat?\n"
    assert staged(tmp_path) == []


def test_refusal_is_that_of_the_full_build(tmp_path: Path) -> None:
    extensions = Extensions(tmp_path, "cuda")
    with pytest.raises(RuntimeError, match="'needs_more'"):
        extensions.obtain(FullHeadersAlone(full_succeeds=False), NEEDS_MORE)
    (report,) = extensions.take_reports()
    assert not report.succeeded
    assert own_log(tmp_path, report.key).read_text() == "full: what torch says\n"
    assert staged(tmp_path) == []


def test_a_name_that_no_header_has_is_refused_at_once(tmp_path: Path) -> None:
    extensions = Extensions(tmp_path, "cuda")
    with pytest.raises(RuntimeError, match="'refused'"):
        extensions.obtain(cpp_extension.load_inline, SIGNATURE.bind("refused", SIMPLE, functions=["my_kernel_of_two"]))
    (report,) = extensions.take_reports()
    log = own_log(tmp_path, report.key)
    assert not report.succeeded
    assert "my_kernel_of_two" in log.read_text()
    assert not log.with_suffix(".slim").exists()
    assert staged(tmp_path) == []


def test_second_use_finds_what_the_first_built(tmp_path: Path) -> None:
    Extensions(tmp_path, "cuda").obtain(FullHeadersAlone(full_succeeds=True), NEEDS_MORE)
    extensions = Extensions(tmp_path, "cuda")
    module: Any = extensions.obtain(FullHeadersAlone(full_succeeds=False), NEEDS_MORE)
    (report,) = extensions.take_reports()
    assert (module.__doc__, report.was_cached) == ("full", True)


@pytest.mark.parametrize(
    "arguments",
    [
        {"cpp_sources": SIMPLE},
        {"cpp_sources": SIMPLE, "functions": ["one"], "is_python_module": False},
        {"cpp_sources": SIMPLE, "functions": ["one"], "with_pytorch_error_handling": False},
        {"cpp_sources": SIMPLE, "functions": ["one"], "use_pch": True},
        {"cpp_sources": SIMPLE + 'PYBIND11_MODULE(a, m) { m.def("one", py::overload_cast<>(&one)); }'},
        {"cpp_sources": SIMPLE + "#include <pybind11/numpy.h>\nPYBIND11_MODULE(a, m) {}"},
        {"cpp_sources": SIMPLE + "TORCH_LIBRARY(a, b) {}", "functions": ["one"]},
        {"cpp_sources": SIMPLE, "cuda_sources": "auto x = torch::empty(1, o.requires_grad(true));", "functions": "one"},
        {"cpp_sources": SIMPLE, "cuda_sources": "torch::nn::Linear layer;", "functions": ["one"]},
    ],
)
def test_calls_that_need_more_are_left_to_torch(tmp_path: Path, arguments: dict[str, Any]) -> None:
    assert slim_arguments(SIGNATURE.bind("name", **arguments), tmp_path) is None


def test_the_name_of_pytorch_needs_nothing_of_pythons(tmp_path: Path) -> None:
    """Of models' kernels, one in five has it in a comment."""
    told = f"// The launch from PyTorch.\n{SIMPLE}"
    assert slim_arguments(SIGNATURE.bind("name", told, functions=["one"]), tmp_path) is not None
    told += "\nPyObject* object = nullptr;"
    assert slim_arguments(SIGNATURE.bind("name", told, functions=["one"]), tmp_path) is None


def test_only_functions_that_the_sources_name_are_read(tmp_path: Path) -> None:
    call = SIGNATURE.bind("name", SIMPLE, "auto y = torch::zeros_like(x); at::exp_out(y, x);", functions=["one"])
    slim = slim_arguments(call, tmp_path)
    assert slim is not None
    listed = Path(slim["extra_include_paths"][0], "ATen/Functions.h").read_text()
    assert "ATen/ops/zeros_like.h" in listed
    assert "ATen/ops/exp.h" not in listed


def test_the_users_flags_and_folders_stay(tmp_path: Path) -> None:
    call = SIGNATURE.bind("name", SIMPLE, functions=["one"], extra_cflags=["-O3"], extra_include_paths=["/mine"])
    slim = slim_arguments(call, tmp_path)
    assert slim is not None
    assert slim["extra_cflags"] == ["-O3"]
    assert slim["extra_include_paths"][-1] == "/mine"
