"""torch's load_inline() and load(), routed past what was built before.

The key covers sources, flags, function names, torch, CUDA, compiler and architecture. What the referee lent is taken as
it is. What isn't there and has a text (protocol.extension_text) is reported, if the referee wants to build it; the rest
is built in this worker's own scratch, from where the referee may keep it for later workers of the very same sources. A
build happens in a folder of its own under a lock that dies with its process (flock), and is renamed when whole.
"""

from __future__ import annotations

import contextlib
import fcntl
import functools
import importlib.util
import inspect
import json
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from torch.utils import cpp_extension

from harness.sandbox.wire.extension_text import ExtensionText, text_of
from harness.sandbox.wire.layout import (
    MANIFEST,
    NVCC_CALL,
    lent_extensions,
    own_extensions,
    own_log,
    own_nvcc_calls,
)
from harness.sandbox.wire.messages import BuildText, ExtensionReport, TextBuilt
from harness.worker.extension_key import compilers_digest, extension_key
from harness.worker.slim_build import headers_digest, side_by_side_nvcc, slim_arguments

_VERBOSE_PTXAS = "-Xptxas=-v"
_WORDS_CHARS = 2000


class Extensions:
    """What one worker was lent and has built, and what it has to report."""

    def __init__(self, folder: Path, backend: str) -> None:
        """`folder` is the worker's own (protocol.layout)."""
        self.folder = folder
        self._lent = lent_extensions(folder)
        self._root = own_extensions(folder)
        self._tries_slim = backend == "cuda"  # the simulator's compilers have slim headers of their own
        self._reports: list[ExtensionReport] = []
        self._loaded: dict[str, object] = {}
        self._built_by_referee: str | None = None
        self._builds_others = True

    def leave_texts_to_referee(self, compilers: str, builds_others: bool) -> None:
        """From now on texts are looked for by keys that have `compilers` in them; others are built here or reported."""
        self._built_by_referee = compilers
        self._builds_others = builds_others

    def compilers(self) -> str:
        """What of this machine decides how a text's build comes out."""
        return compilers_digest(self._headers())

    def take_reports(self) -> tuple[ExtensionReport, ...]:
        """Extensions built or found since the last call."""
        reports, self._reports = tuple(self._reports), []
        return reports

    def obtain(self, original: Callable[..., object], call: inspect.BoundArguments) -> object:
        """The extension of this call, from the cache or built by torch; where the referee is to build it first, a
        module whose functions raise. Raises what torch raises."""
        text = text_of(call.arguments) if self._built_by_referee else None
        if text is not None and (self._is_lent(text) or not self._builds_others):
            return self._find(text)
        name, key = str(call.arguments["name"]), self._key(call)
        if key in self._loaded:
            return self._loaded[key]
        log = own_log(self.folder, key)
        started = time.monotonic()
        with _locked(self._root / "locks" / key):
            built = next((root / key for root in (self._lent, self._root) if (root / key / MANIFEST).is_file()), None)
            was_cached = built is not None
            succeeded = False
            try:
                module = _import_built(built) if built else self._build(original, call, self._root / key, log)
                succeeded = True
            finally:
                seconds = time.monotonic() - started
                self._reports.append(ExtensionReport(name, key, succeeded, was_cached, seconds))
        self._loaded[key] = module
        return module

    def build_text(self, request: BuildText) -> TextBuilt:
        """Build and don't import it, so that nothing of the text runs here. Nothing else happens in this process."""
        text, key = request.text, request.key
        original = inspect.unwrap(cpp_extension.load_inline)
        call = inspect.signature(original).bind(**text.arguments())
        started, words = time.monotonic(), ""
        _import_nothing()
        try:
            self._build(original, call, self._root / key, own_log(self.folder, key), tries_slim=not text.is_full)
        except Exception as error:  # a compiler's refusal, in torch's words
            words = str(error)[:_WORDS_CHARS] or type(error).__name__
        return TextBuilt(ExtensionReport(text.name, key, not words, False, time.monotonic() - started), words)

    def _find(self, text: ExtensionText) -> object:
        """Raises: RuntimeError where it doesn't compile, ImportError."""
        key = text.key(self._built_by_referee or "")
        if key in self._loaded:
            return self._loaded[key]
        if not self._is_lent(text):
            self._reports.append(ExtensionReport(text.name, key, False, False, 0.0, text))
            return _NotBuiltYet(text.name)
        started = time.monotonic()
        try:
            self._loaded[key] = _import_built(self._lent / key)
        except ImportError:
            if text.is_full or not self._tries_slim:
                raise
            return self._find(replace(text, is_full=True))
        except RuntimeError:
            self._reports.append(ExtensionReport(text.name, key, False, True, 0.0))
            raise
        self._reports.append(ExtensionReport(text.name, key, True, True, time.monotonic() - started))
        return self._loaded[key]

    def _is_lent(self, text: ExtensionText) -> bool:
        return (self._lent / text.key(self._built_by_referee or "") / MANIFEST).is_file()

    def _key(self, call: inspect.BoundArguments) -> str:
        return extension_key(call, self._headers(), self.folder)

    def _headers(self) -> str:
        return headers_digest() if self._tries_slim else ""

    def _build(
        self,
        original: Callable[..., object],
        call: inspect.BoundArguments,
        folder: Path,
        log: Path,
        tries_slim: bool = True,
    ) -> object:
        """A refusal leaves its words in the place of the build."""
        log.parent.mkdir(parents=True, exist_ok=True)
        slim_staging, staging = (self._root / f"{folder.name}{suffix}" for suffix in (".slim", ".building"))
        slim = slim_arguments(call, _emptied(slim_staging)) if self._tries_slim and tries_slim else None
        try:
            if slim is not None:
                # Whatever goes wrong here: the full build decides, and its words are the ones that are shown.
                with contextlib.suppress(Exception), side_by_side_nvcc():
                    return _build_in(slim_staging, folder, original, slim, log)
                _forget_version(str(slim["name"]))
                log.replace(log.with_suffix(".slim"))
            arguments = {**call.arguments, "build_directory": str(_emptied(staging)), "verbose": True}
            return _build_in(staging, folder, original, arguments, log)
        except Exception as error:
            (_emptied(folder) / MANIFEST).write_text(json.dumps({"refused": str(error)[:_WORDS_CHARS]}))
            raise
        finally:
            for built in (staging, folder):  # a build that went well has its place by now
                _gather_calls(built, own_nvcc_calls(self.folder, folder.name))
            shutil.rmtree(slim_staging, ignore_errors=True)
            shutil.rmtree(staging, ignore_errors=True)


class _NotBuiltYet(ModuleType):
    """In the place of an extension that the referee is to build first. What a solution makes of it goes with this
    process, which ends once the referee has heard of the text."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)

        def refuse(*_: object, **__: object) -> None:
            raise RuntimeError(f"extension '{self.__name__}' is yet to be built")

        return refuse


def route_extensions(folder: Path, backend: str) -> Extensions:
    """Send this process's load_inline() and load() calls past what was built before. `folder` is the worker's own."""
    extensions = Extensions(folder, backend)
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


def _import_nothing() -> None:
    """torch imports what it has built; from now on in this process it doesn't."""
    setattr(cpp_extension, "_import_module_from_library", lambda *_: None)  # noqa: B010 - it is torch's own


def _build_in(
    staging: Path, folder: Path, original: Callable[..., object], arguments: dict[str, Any], log: Path
) -> object:
    """Build with torch in `staging`, import the outcome, then give the build its place."""
    if _has_cuda(arguments):
        arguments = {
            **arguments,
            "extra_cuda_cflags": [*(arguments.get("extra_cuda_cflags") or []), _VERBOSE_PTXAS],
        }
    with _output_to(log):
        module = original(**arguments)
    (library,) = staging.glob("*.so")
    manifest = {"library": library.name, "is_python_module": arguments.get("is_python_module", True)}
    (staging / MANIFEST).write_text(json.dumps(manifest))
    shutil.rmtree(folder, ignore_errors=True)
    staging.rename(folder)
    return module


def _gather_calls(built: Path, gathered: Path) -> None:
    """What the simulator's nvcc wrote of its calls, as one array; the real one writes nothing."""
    calls = [path.read_text(errors="replace") for path in sorted(built.glob(f"*{NVCC_CALL}"))]
    if calls:
        gathered.parent.mkdir(parents=True, exist_ok=True)
        gathered.write_text(f"[{','.join(calls)}]")


def _emptied(folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)  # of a build that was killed: we hold its lock
    folder.mkdir(parents=True)
    return folder


def _forget_version(name: str) -> None:
    """torch calls the second build of a name `name_v1`; the slim attempt must leave no such trace."""
    versioner = getattr(cpp_extension, "JIT_EXTENSION_VERSIONER", None)
    if versioner is not None:
        versioner.entries.pop(name, None)


def _has_cuda(arguments: dict[str, Any]) -> bool:
    sources = arguments.get("sources") or []
    files = [sources] if isinstance(sources, str) else sources
    return bool(arguments.get("cuda_sources")) or any(str(file).endswith((".cu", ".cuh")) for file in files)


def _import_built(folder: Path) -> object:
    manifest = json.loads((folder / MANIFEST).read_text())
    if "refused" in manifest:
        raise RuntimeError(manifest["refused"])
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
