"""load_inline() and load() with slim torch headers and a binding of our own, where the sources can do with them.

A kernel compiles in two seconds, torch/extension.h before it in a minute: ATen's every function, autograd, modules,
pybind11. So torch's own function is called with an include folder put first in which those headers are slim, and
PYBIND11_MODULE is that of headers/harness/binding.h. Below lie torch's real headers, only fewer, and the flags are
torch's. What doesn't compile or import this way is built as it was written.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import inspect
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import torch
from torch.utils import cpp_extension

HEADERS = Path(__file__).parent / "headers"
_SIDE_BY_SIDE = Path(__file__).parent / "nvcc_side_by_side.py"

_KNOWN = {"name", "sources", "cpp_sources", "cuda_sources", "functions", "extra_cflags", "extra_cuda_cflags",
          "extra_ldflags", "extra_include_paths", "build_directory", "verbose", "keep_intermediates", "with_cuda",
          "no_implicit_headers"}  # fmt: skip
_DEFAULTS = {"with_pytorch_error_handling": True, "is_python_module": True}
_MODULE = "PYBIND11_MODULE"

# A build with the slim headers would fail, or mean something else: at::empty() refuses requires_grad.
_NEEDS_FULL = re.compile(
    r"torch::(nn|optim|autograd|jit|data|serialize|python|save|load|indexing|tensor)\b"
    r"|torch/(nn|optim|autograd|jit|data|script|serialize|python|library|csrc)\b"
    r"|\bTORCH_LIBRARY|\bpy::(?!arg\b)|(?<!/)pybind11(?!/(pybind11|stl)\.h|::arg\b|\s*;)|PYBIND11_(?!MODULE\b)"
    r"|\bPy(?!Torch)[A-Z]\w+\b|requires_grad|__has_include|globalContext"
)
_CALL = re.compile(r"\b(?:torch|at)::(\w+)\s*\(")
_ANY_CALL = re.compile(r"\b(\w+)\s*\(")
_INCLUDE = re.compile(r'#[ \t]*include[ \t]*["<]([^">\n]+)[">]')
_USES_NAMESPACE = re.compile(r"using\s+namespace\s+(torch|at)\b")
# What ATen/TensorOperators.h and the binding use.
_ALWAYS = {"empty", "empty_like"}

_ERROR = re.compile(r"^[^\s:(][^:(]*(?:\(\d+\)|:\d+(?::\d+)?): (?:fatal )?error\b[^:]*: (?P<message>.*)$", re.MULTILINE)
_OF_LANGUAGE = re.compile(
    r"calling a __host__ function|extended-lambda|^expected an? |^identifier .* in device code$"
    r"|^no suitable (conversion function|constructor)|^(class|struct) .* has no member"
    r"|^(argument|a value) of type .*(incompatible|cannot be)|has already been declared|^expression must (have|be)"
)
"""The errors of nvcc that are of the language alone, or of classes, to which no other header adds a member or a
conversion."""
_OF_ASSEMBLER = re.compile(r"^ptxas\b.*\b(error|fatal)\b", re.MULTILINE)
_UNKNOWN = re.compile(
    r"error: (?:identifier \"(\w+)\" is undefined"
    r"|(?:namespace|class|struct|union) \".*\" has no (?:actual )?member \"(\w+)\""
    r"|['‘](?:\w+::)*(\w+)['’] (?:was not declared in this scope|has not been declared|is not a member of )"
    r"|.* has no member named ['‘](\w+)['’])"
)
"""The errors of nvcc and g++ that name what isn't declared."""
_ASKED_S = 20


def slim_arguments(call: inspect.BoundArguments, folder: Path) -> dict[str, Any] | None:
    """Return arguments with which the call builds slim in `folder`; None where it needs the full headers.

    Writes into `folder` what depends on the sources.
    """
    arguments = {name: value for name, value in call.arguments.items() if value is not None}
    folders = _texts(arguments.get("extra_include_paths"))
    cpp, cuda = _read_sources(arguments, folders)
    sources = "\n".join([*cpp, *cuda])
    is_bound = bool(arguments.get("functions")) or _MODULE in sources
    if not is_bound or not _is_plain(arguments) or needs_full_headers(sources):
        return None
    generated = folder / "headers"
    write_headers(generated, sources, "\n".join(cuda))
    rest = {name: value for name, value in arguments.items() if name not in _DEFAULTS}
    copied = {
        name: _texts(rest[name]) for name in rest if name in ("cpp_sources", "cuda_sources")
    }  # torch adds to them
    return {
        **rest,
        **copied,
        "extra_include_paths": [str(generated), str(HEADERS), *folders],
        "build_directory": str(folder),
        "verbose": True,
    }


@contextlib.contextmanager
def side_by_side_nvcc() -> Iterator[None]:
    """Let torch compile CUDA with nvcc's passes side by side, unless the user has chosen an nvcc. In a folder that is
    new nobody asks what a file depends on, and nvcc's dry run of that shows commands that can't be run."""
    if "PYTORCH_NVCC" in os.environ or not cpp_extension.CUDA_HOME:
        yield
        return
    nvcc = os.path.join(cpp_extension.CUDA_HOME, "bin", "nvcc")
    command = shlex.join([sys.executable, "-I", "-S", str(_SIDE_BY_SIDE), nvcc])
    variables = {"PYTORCH_NVCC": command, "TORCH_EXTENSION_SKIP_NVCC_GEN_DEPENDENCIES": "1"}
    before = {name: os.environ[name] for name in variables if name in os.environ}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name in variables:
            del os.environ[name]
        os.environ.update(before)


@functools.cache
def headers_digest() -> str:
    """Return a digest that changes with anything that decides how a slim build comes out."""
    files = [*sorted(HEADERS.rglob("*.h")), Path(__file__), _SIDE_BY_SIDE]
    return hashlib.sha256(b"\0".join(path.read_bytes() for path in files)).hexdigest()[:16]


def _is_plain(arguments: dict[str, Any]) -> bool:
    """Say whether the call asks for nothing besides a Python module of functions."""
    others = {name: value for name, value in arguments.items() if name not in _KNOWN}
    return all(value is _DEFAULTS.get(name, False) for name, value in others.items())


def _read_sources(arguments: dict[str, Any], folders: list[str]) -> tuple[list[str], list[str]]:
    """The texts for the host's compiler, and those for nvcc: what load() reads with what that includes in turn."""
    cpp, cuda = _texts(arguments.get("cpp_sources")), _texts(arguments.get("cuda_sources"))
    for source in _texts(arguments.get("sources")):
        (cuda if source.endswith(".cu") else cpp).extend(_with_included(Path(source), folders))
    return cpp, cuda


def _with_included(source: Path, folders: list[str]) -> list[str]:
    """Read the source with what it includes, of files beside it and in `folders` alone."""
    read: dict[Path, str] = {}
    waiting = [source]
    while waiting:
        file = waiting.pop().resolve()
        if file not in read and file.is_file():
            read[file] = file.read_text(errors="replace")
            places = [file.parent, *map(Path, folders)]
            waiting += [place / name for name in _INCLUDE.findall(read[file]) for place in places]
    return list(read.values())


def _texts(value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    return [str(item) for item in value] if isinstance(value, Iterable) else []


def needs_full_headers(sources: str) -> bool:
    """Say whether a build with the slim headers would fail, or mean something else."""
    return _NEEDS_FULL.search(sources) is not None


def write_headers(folder: Path, sources: str, cuda: str) -> None:
    """Write those headers that depend on the sources, of which `cuda` are nvcc's. All of ATen's functions take ten
    seconds in each of the compiler's passes, those that the sources name, none."""
    calls = _ANY_CALL if _USES_NAMESPACE.search(sources) else _CALL
    names = {name for name in calls.findall(sources) if (_ATEN_OPS / f"{name}.h").is_file()}
    _write(folder / "ATen" / "Functions.h", [f"ATen/ops/{name}.h" for name in sorted(names | _ALWAYS)])
    _write(folder / "harness" / "binding_in_cuda.h", ["harness/binding.h"] if _MODULE in cuda else [])


def _write(header: Path, included: Iterable[str]) -> None:
    header.parent.mkdir(parents=True, exist_ok=True)
    header.write_text("#pragma once\n" + "".join(f"#include <{name}>\n" for name in included))


_ATEN_OPS = Path(torch.__file__).parent / "include" / "ATen" / "ops"


# ---- Signs in a compiler's log that a text compiles under no headers at all, so that there is no need to try more.


def is_final(log: str) -> bool:
    """Say whether a log of errors shows that no other headers would help: an error of the assembler, a name that no
    header has, or none but errors of the language."""
    messages = [match["message"] for match in _ERROR.finditer(log)]
    if _OF_ASSEMBLER.search(log) or (messages and all(map(_OF_LANGUAGE.search, messages))):
        return True
    try:
        return bool(names_unknown_to_all_headers(log))
    except (OSError, subprocess.SubprocessError):
        return False


def names_unknown_to_all_headers(log: str) -> set[str]:
    """Return the names of which a log says that they aren't declared, and that stand in no file of torch's headers,
    CUDA's and the host compiler's. What is said of lines in our own headers doesn't count."""
    said = (line for line in log.splitlines() if str(HEADERS) not in line)
    names = {name for line in said for match in _UNKNOWN.finditer(line) for name in match.groups() if name}
    # torch pastes a k before the names of some constants (kHalf): these aren't written out anywhere.
    sought = {name: name.removeprefix("k").encode() for name in names}
    for path in _files():
        if not sought:
            break
        content = path.read_bytes()
        sought = {name: word for name, word in sought.items() if word not in content}
    return set(sought)


def _files() -> Iterator[Path]:
    folders = [Path(torch.__file__).parent / "include", *_folders_of_compiler()]
    if cpp_extension.CUDA_HOME:
        folders.append(Path(cpp_extension.CUDA_HOME) / "include")
    for folder in dict.fromkeys(path.resolve() for path in folders):
        for place, _, names in os.walk(folder):
            yield from (path for name in names if (path := Path(place, name)).is_file())


def _folders_of_compiler() -> list[Path]:
    """List where the host's compiler looks for headers, by its own word.

    Raises: OSError, subprocess.SubprocessError.
    """
    command = [*shlex.split(os.environ.get("CXX") or "c++"), "-E", "-v", "-x", "c++", os.devnull]
    told = subprocess.run(command, capture_output=True, text=True, check=True, timeout=_ASKED_S).stderr
    _, _, listed = told.rpartition("search starts here:")
    return [Path(line.strip()) for line in listed.partition("End of search list")[0].splitlines() if line.strip()]
