"""What an extension is known by in the cache: everything that decides how its build comes out."""

from __future__ import annotations

import functools
import hashlib
import inspect
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import torch
from torch.utils import cpp_extension

_HEADER_SUFFIXES = {".h", ".hpp", ".cuh", ".inl", ".inc"}
_COMPILER_VARIABLES = ("TORCH_CUDA_ARCH_LIST", "CXX", "PYTORCH_NVCC", "NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS")


def extension_key(call: inspect.BoundArguments, headers: str) -> str:
    """32 hexadecimal digits. `headers` stands for headers of ours that the build may use."""
    ignored = {"verbose", "build_directory", "keep_intermediates"}
    parts: dict[str, Any] = {name: value for name, value in call.arguments.items() if name not in ignored}
    parts["files"] = _file_hashes(call)
    parts["torch"] = [torch.__version__, torch.version.cuda, torch._C._GLIBCXX_USE_CXX11_ABI, sys.version]
    parts["compilers"] = [_version_of(compiler) for compiler in _compilers()]
    parts["headers"] = headers
    parts["variables"] = {name: os.environ.get(name) for name in _COMPILER_VARIABLES}
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()[:32]


def _file_hashes(call: inspect.BoundArguments) -> dict[str, str]:
    """Sources of load(), and the headers beside them and on the include paths that the call names."""
    sources = call.arguments.get("sources") or []
    files = [Path(sources)] if isinstance(sources, str) else [Path(source) for source in sources]
    folders = {file.parent for file in files} | {Path(p) for p in call.arguments.get("extra_include_paths") or []}
    headers = [file for folder in folders for file in folder.glob("*") if file.suffix in _HEADER_SUFFIXES]
    found = sorted(file for file in {*files, *headers} if file.is_file())
    return {str(file): hashlib.sha256(file.read_bytes()).hexdigest() for file in found}


def _compilers() -> list[str]:
    nvcc = os.environ.get("PYTORCH_NVCC") or (
        os.path.join(cpp_extension.CUDA_HOME, "bin", "nvcc") if cpp_extension.CUDA_HOME else ""
    )
    return [compiler for compiler in (nvcc, os.environ.get("CXX", "c++")) if compiler]


@functools.cache
def _version_of(compiler: str) -> str:
    try:
        return subprocess.run([compiler, "--version"], capture_output=True, text=True, timeout=60).stdout
    except OSError:
        return "not found"
