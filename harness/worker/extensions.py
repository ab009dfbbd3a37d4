"""torch's load_inline() and load(), routed into a content-addressed cache.

The key covers sources, flags, function names, torch, CUDA, compiler and architecture, so two solutions that use one
extension name never meet. A build happens in a staging folder under a lock that dies with its process (flock), and is
renamed when whole: a killed build leaves nothing that a later one waits for.
"""

from __future__ import annotations

import contextlib
import fcntl
import functools
import hashlib
import importlib.util
import inspect
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
from torch.utils import cpp_extension

from harness.protocol.layout import extension_log, extensions_folder
from harness.protocol.messages import ExtensionReport

_VERBOSE_PTXAS = "-Xptxas=-v"
_HEADER_SUFFIXES = {".h", ".hpp", ".cuh", ".inl", ".inc"}
_COMPILER_VARIABLES = ("TORCH_CUDA_ARCH_LIST", "CXX", "PYTORCH_NVCC", "NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS")


class Extensions:
    """The cache as one worker uses it, and what it has to report."""

    def __init__(self, cache: Path, backend: str) -> None:
        self._root = extensions_folder(cache, backend)
        self._log_of = functools.partial(extension_log, cache, backend)
        self._reports: list[ExtensionReport] = []
        self._loaded: dict[str, object] = {}

    def take_reports(self) -> tuple[ExtensionReport, ...]:
        """Extensions built or found since the last call."""
        reports, self._reports = tuple(self._reports), []
        return reports

    def obtain(self, original: Callable[..., object], call: inspect.BoundArguments) -> object:
        """The extension of this call, from the cache or built by torch. Raises what torch raises."""
        name, key = str(call.arguments["name"]), _key(call)
        if key in self._loaded:
            return self._loaded[key]
        folder, log = self._root / key, self._log_of(key)
        started = time.monotonic()
        with _locked(self._root / "locks" / key):
            was_cached = (folder / "manifest.json").is_file()
            succeeded = False
            try:
                module = _import_built(folder) if was_cached else self._build(original, call, folder, log)
                succeeded = True
            finally:
                seconds = time.monotonic() - started
                self._reports.append(ExtensionReport(name, key, succeeded, was_cached, seconds))
        self._loaded[key] = module
        return module

    def _build(self, original: Callable[..., object], call: inspect.BoundArguments, folder: Path, log: Path) -> object:
        staging = self._root / "staging" / folder.name
        shutil.rmtree(staging, ignore_errors=True)  # of a build that was killed: we hold its lock
        staging.mkdir(parents=True)
        log.parent.mkdir(parents=True, exist_ok=True)
        arguments = {**call.arguments, "build_directory": str(staging), "verbose": True}
        if _has_cuda(call):
            arguments["extra_cuda_cflags"] = [*(arguments.get("extra_cuda_cflags") or []), _VERBOSE_PTXAS]
        try:
            with _output_to(log):
                module = original(**arguments)
        except BaseException:
            shutil.rmtree(staging, ignore_errors=True)
            raise
        (library,) = staging.glob("*.so")
        manifest = {"library": library.name, "is_python_module": arguments.get("is_python_module", True)}
        (staging / "manifest.json").write_text(json.dumps(manifest))
        shutil.rmtree(folder, ignore_errors=True)
        staging.rename(folder)
        return module


def route_extensions(cache: Path, backend: str) -> Extensions:
    """Send this process's load_inline() and load() calls through the cache."""
    extensions = Extensions(cache, backend)
    for name in ("load_inline", "load"):
        original = getattr(cpp_extension, name)
        setattr(cpp_extension, name, _routed(original, extensions))
    return extensions


def _routed(original: Callable[..., Any], extensions: Extensions) -> Callable[..., Any]:
    signature = inspect.signature(original)

    @functools.wraps(original)
    def obtain(*args: Any, **kwargs: Any) -> Any:
        try:
            call = signature.bind(*args, **kwargs)
        except TypeError:
            return original(*args, **kwargs)  # torch's own words for a call that can't be
        return extensions.obtain(original, call)

    return obtain


def _has_cuda(call: inspect.BoundArguments) -> bool:
    sources = call.arguments.get("sources") or []
    files = [sources] if isinstance(sources, str) else sources
    return bool(call.arguments.get("cuda_sources")) or any(str(file).endswith((".cu", ".cuh")) for file in files)


def _key(call: inspect.BoundArguments) -> str:
    ignored = {"verbose", "build_directory", "keep_intermediates"}
    parts: dict[str, Any] = {name: value for name, value in call.arguments.items() if name not in ignored}
    parts["files"] = _file_hashes(call)
    parts["torch"] = [torch.__version__, torch.version.cuda, torch._C._GLIBCXX_USE_CXX11_ABI, sys.version]
    parts["compilers"] = [_version_of(compiler) for compiler in _compilers()]
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


def _import_built(folder: Path) -> object:
    manifest = json.loads((folder / "manifest.json").read_text())
    library = folder / manifest["library"]
    if not manifest["is_python_module"]:
        torch.ops.load_library(str(library))  # type: ignore[no-untyped-call]
        return None
    spec = importlib.util.spec_from_file_location(library.stem, library)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@contextlib.contextmanager
def _output_to(log: Path) -> Iterator[None]:
    """Standard output and error of this process and its children go to a file: ninja writes to descriptor 1."""
    sys.stdout.flush()
    sys.stderr.flush()
    saved = [os.dup(1), os.dup(2)]
    try:
        with log.open("wb") as file:
            os.dup2(file.fileno(), 1)
            os.dup2(file.fileno(), 2)
        yield
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        for number, copy in enumerate(saved, start=1):
            os.dup2(copy, number)
            os.close(copy)
