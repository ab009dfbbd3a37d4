"""load_inline() with slim torch headers and a binding of our own, where the sources can do with them.

A kernel compiles in two seconds, torch/extension.h before it in a minute: ATen's every function, autograd, modules,
pybind11. So torch's own load_inline() is called with an include folder put first in which those headers are slim, and
with the binding of headers/harness/binding.h instead of pybind11's. Below lie torch's real headers, only fewer, and the
flags are torch's. What doesn't compile or import this way is built as it was written.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import inspect
import os
import re
import shlex
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import torch
from torch.utils import cpp_extension

from harness.backends import binding as bindings
from harness.backends.binding import binding

HEADERS = Path(__file__).parent / "headers"
_SIDE_BY_SIDE = Path(__file__).parent / "nvcc_side_by_side.py"

_KNOWN = {"name", "cpp_sources", "cuda_sources", "functions", "extra_cflags", "extra_cuda_cflags", "extra_ldflags",
          "extra_include_paths", "build_directory", "verbose", "keep_intermediates", "with_cuda",
          "no_implicit_headers"}  # fmt: skip
_DEFAULTS = {"with_pytorch_error_handling": True, "is_python_module": True}

# A build with the slim headers would fail, or mean something else: at::empty() refuses requires_grad.
_NEEDS_FULL = re.compile(
    r"torch::(nn|optim|autograd|jit|data|serialize|python|save|load|indexing|tensor)\b"
    r"|torch/(nn|optim|autograd|jit|data|script|serialize|python|library|csrc)\b"
    r"|\bTORCH_LIBRARY|\bpy::|pybind11|PYBIND11_|\bPy[A-Z]\w+\b|requires_grad|__has_include|globalContext"
)
_FUNCTION_NAME = re.compile(r"[A-Za-z_]\w*(::[A-Za-z_]\w*)*")
_CALL = re.compile(r"\b(?:torch|at)::(\w+)\s*\(")
_ANY_CALL = re.compile(r"\b(\w+)\s*\(")
_USES_NAMESPACE = re.compile(r"using\s+namespace\s+(torch|at)\b")
# What ATen/TensorOperators.h and the binding use.
_ALWAYS = {"empty", "empty_like"}


def slim_arguments(call: inspect.BoundArguments, folder: Path) -> dict[str, Any] | None:
    """Arguments with which load_inline() builds slim in `folder`; None where the call needs the full headers.

    Writes the list of ATen's functions that the sources name into `folder`.
    """
    arguments = {name: value for name, value in call.arguments.items() if value is not None}
    functions = _functions(arguments.get("functions"))
    cpp, cuda = _texts(arguments.get("cpp_sources")), _texts(arguments.get("cuda_sources"))
    if not functions or not cpp or not _is_plain(arguments) or needs_full_headers("\n".join([*cpp, *cuda])):
        return None
    generated = folder / "headers"
    write_functions_header(generated / "ATen" / "Functions.h", "\n".join([*cpp, *cuda]))
    return {
        **{name: value for name, value in arguments.items() if name not in _DEFAULTS},
        "cpp_sources": [*cpp, binding(functions)],
        "cuda_sources": cuda or None,
        "functions": None,
        "extra_include_paths": [str(generated), str(HEADERS), *_texts(arguments.get("extra_include_paths"))],
        "build_directory": str(folder),
        "verbose": True,
    }


@contextlib.contextmanager
def side_by_side_nvcc() -> Iterator[None]:
    """Inside, torch compiles CUDA with nvcc's passes side by side, unless the user has chosen an nvcc."""
    if "PYTORCH_NVCC" in os.environ or not cpp_extension.CUDA_HOME:
        yield
        return
    nvcc = os.path.join(cpp_extension.CUDA_HOME, "bin", "nvcc")
    os.environ["PYTORCH_NVCC"] = shlex.join([sys.executable, "-I", "-S", str(_SIDE_BY_SIDE), nvcc])
    try:
        yield
    finally:
        del os.environ["PYTORCH_NVCC"]


@functools.cache
def headers_digest() -> str:
    """Changes with anything that decides how a slim build comes out."""
    files = [*sorted(HEADERS.rglob("*.h")), Path(__file__), Path(bindings.__file__), _SIDE_BY_SIDE]
    return hashlib.sha256(b"\0".join(path.read_bytes() for path in files)).hexdigest()[:16]


def _is_plain(arguments: dict[str, Any]) -> bool:
    """Whether the call asks for nothing besides a Python module of functions."""
    others = {name: value for name, value in arguments.items() if name not in _KNOWN}
    return all(value is _DEFAULTS.get(name, False) for name, value in others.items())


def _functions(wanted: object) -> dict[str, str]:
    """As load_inline() takes them: a name, a list of names, or names with docstrings. Empty for anything else."""
    if isinstance(wanted, str):
        wanted = [wanted]
    named = wanted if isinstance(wanted, dict) else {name: name for name in _texts(wanted)}
    is_usual = all(isinstance(name, str) and _FUNCTION_NAME.fullmatch(name) for name in named)
    return {str(name): str(doc) for name, doc in named.items()} if is_usual else {}


def _texts(value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    return [str(item) for item in value] if isinstance(value, Iterable) else []


def needs_full_headers(sources: str) -> bool:
    """Whether a build with the slim ones would fail, or mean something else."""
    return _NEEDS_FULL.search(sources) is not None


def write_functions_header(path: Path, sources: str) -> None:
    """All of ATen's functions take ten seconds in each of the compiler's passes; those named by the sources, none."""
    calls = _ANY_CALL if _USES_NAMESPACE.search(sources) else _CALL
    names = {name for name in calls.findall(sources) if (_ATEN_OPS / f"{name}.h").is_file()}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#pragma once\n" + "".join(f"#include <ATen/ops/{name}.h>\n" for name in sorted(names | _ALWAYS)))


_ATEN_OPS = Path(torch.__file__).parent / "include" / "ATen" / "ops"
