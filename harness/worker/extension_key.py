"""The key of an extension in the cache: everything that decides how its build comes out."""

from __future__ import annotations

import functools
import hashlib
import inspect
import json
import os
import re
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import torch
from torch.utils import cpp_extension

_INCLUDE_VARIABLES = ("CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH")
_COMPILER_VARIABLES = (
    *("TORCH_CUDA_ARCH_LIST", "CC", "CXX", "PYTORCH_NVCC", "NVCC_CCBIN", "NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS"),
    "PYTORCH_ROCM_ARCH",
    *(*_INCLUDE_VARIABLES, "LIBRARY_PATH"),
)
_FLAGS = ("extra_cflags", "extra_cuda_cflags", "extra_sycl_cflags")
_FOLDER_FLAG = re.compile(r"(?:-I|-isystem|-iquote|-idirafter|--include-path|--system-include)[=\s]*(?P<folder>\S.*)?")
_FILE_FLAG = re.compile(r"(?:-include|--pre-include)[=\s]*(?P<file>\S.*)?")
_ABSOLUTE_INCLUDE = re.compile(r'#[ \t]*include[ \t]*["<](/[^">\n]{1,4096})[">]')
_READ_BYTES = 64 * 2**20
"""The most bytes that are read of a call's files, a fifth of a second's work; of files beyond it size and time
count."""


def extension_key(call: inspect.BoundArguments, headers: str, own_folder: Path) -> str:
    """Return 32 hexadecimal digits. `headers` stands for headers of ours that the build may use; `own_folder` is the
    worker's, whose name differs from run to run and decides nothing."""
    ignored = {"verbose", "build_directory", "keep_intermediates"}
    parts: dict[str, Any] = {name: value for name, value in call.arguments.items() if name not in ignored}
    parts["files"] = _file_hashes(call)
    parts["compilers"] = compilers_digest(headers)
    text = json.dumps(parts, sort_keys=True, default=str).replace(json.dumps(str(own_folder))[1:-1], "")
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def compilers_digest(headers: str) -> str:
    """Hash what of this machine decides how a build comes out; `headers` is as in extension_key()."""
    parts = {
        "torch": [torch.__version__, torch.version.cuda, torch._C._GLIBCXX_USE_CXX11_ABI, sys.version],
        "compilers": [_version_of(compiler) for compiler in _compilers()],
        "headers": headers,
        "variables": {name: os.environ.get(name) for name in _COMPILER_VARIABLES},
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:32]


def _file_hashes(call: inspect.BoundArguments) -> dict[str, str]:
    """Hash whatever the build may include, whatever it is called: sources of load(), all files in and below their
    folders and below the include paths that the call and the environment name, and what is included by an absolute
    path."""
    sources = [Path(source) for source in _texts(call, "sources")]
    flags = [flag for name in _FLAGS for flag in _texts(call, name)]
    code = [text for name in ("cpp_sources", "cuda_sources", "sycl_sources") for text in _texts(call, name)]
    of_environment = [path for name in _INCLUDE_VARIABLES for path in os.environ.get(name, "").split(os.pathsep)]
    included = [Path(path) for text in code for path in _ABSOLUTE_INCLUDE.findall(text)]
    included += [Path(path) for path in _values(flags, _FILE_FLAG)]
    folders = [*_texts(call, "extra_include_paths"), *_values(flags, _FOLDER_FLAG), *filter(None, of_environment)]
    files = {*sources, *included}
    for folder in {Path(folder) for folder in folders} | {file.parent for file in files}:
        files.update(_files_below(folder))
    return _hashes(sorted(files))


def _texts(call: inspect.BoundArguments, name: str) -> list[str]:
    """An argument that may be one text or several; os.PathLike counts as text."""
    value = call.arguments.get(name) or []
    several = [value] if isinstance(value, (str, os.PathLike)) else value
    return [os.fspath(one) for one in several if isinstance(one, (str, os.PathLike))]


def _values(flags: list[str], pattern: re.Pattern[str]) -> Iterator[str]:
    """Return what a flag names, in one word ('-I/x', '-I=/x') or in the next ('-isystem', '/x')."""
    for flag, following in pairwise([*flags, ""]):
        if match := pattern.fullmatch(flag.strip()):
            yield match[1] or following


def _files_below(folder: Path) -> Iterator[Path]:
    """List all files but compiled Python, linked folders included; of a folder that others use too, its headers
    alone."""
    if _is_shared(folder):
        yield from (path for path in folder.glob("*") if path.suffix in {".h", ".hpp", ".cuh", ".inl", ".inc"})
        return
    seen = set()
    for root, names, files in os.walk(folder, followlinks=True):
        seen.add(os.path.realpath(root))
        names[:] = [name for name in names if os.path.realpath(os.path.join(root, name)) not in seen]
        is_cache = os.path.basename(root) == "__pycache__"
        yield from (Path(root, name) for name in files if not (is_cache and name.endswith(".pyc")))


def _is_shared(folder: Path) -> bool:
    """Say whether it is the system's temporary folder, a home, or above one: these change while nobody edits the
    extension."""
    places = Path(tempfile.gettempdir()).resolve(), Path(os.path.expanduser("~")).resolve()
    return any(place.is_relative_to(folder.resolve()) for place in places)


def _hashes(files: Iterable[Path]) -> dict[str, str]:
    found, left = {}, _READ_BYTES
    for file in files:
        try:
            facts = file.stat()
            if not stat.S_ISREG(facts.st_mode):
                continue
            left -= facts.st_size
            content = hashlib.sha256(file.read_bytes()).hexdigest() if left >= 0 else ""
            found[str(file)] = content or f"{facts.st_size} {facts.st_mtime_ns}"
        except OSError:  # not there, or not ours to read: the compiler says so
            found[str(file)] = "unreadable"
    return found


def _compilers() -> list[str]:
    is_hip = torch.version.hip is not None
    home = cpp_extension.ROCM_HOME if is_hip else cpp_extension.CUDA_HOME
    of_gpu = os.environ.get("PYTORCH_NVCC") or (home and os.path.join(home, "bin", "hipcc" if is_hip else "nvcc"))
    return [compiler for compiler in (of_gpu, os.environ.get("CXX", "c++")) if compiler]


@functools.cache
def _version_of(compiler: str) -> str:
    try:
        return subprocess.run([compiler, "--version"], capture_output=True, text=True, timeout=60).stdout
    except OSError:
        return "not found"
