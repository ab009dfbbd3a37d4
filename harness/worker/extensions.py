"""torch's load_inline() and load(), routed past what was built before.

The key covers sources, flags, function names, torch, CUDA, compiler and architecture. What the referee lent is taken as
it is. What isn't there and has a text (wire.extension_text) is reported, if the referee wants to build it; the rest is
built in this worker's own scratch (torch_build), under a lock that dies with its process (flock), and from there the
referee may keep it for later workers of the very same sources.
"""

from __future__ import annotations

import contextlib
import fcntl
import functools
import importlib.util
import inspect
import json
import os
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
    lent_extensions,
    own_extensions,
)
from harness.sandbox.wire.messages import BuildText, ExtensionReport, TextBuilt
from harness.worker.extension_key import compilers_digest, extension_key
from harness.worker.slim_build import headers_digest
from harness.worker.torch_build import build

_ARCHITECTURES = "TORCH_CUDA_ARCH_LIST"


class Extensions:
    """The extensions that one worker was lent or has built, and its reports."""

    def __init__(self, folder: Path, backend: str) -> None:
        """Begin with the worker's own `folder` (wire.layout)."""
        self.folder = folder
        self._lent = lent_extensions(folder)
        self._root = own_extensions(folder)
        # The simulator's compilers have slim headers of their own, and hipcc has none.
        self._tries_slim = backend == "cuda" and torch.version.hip is None
        self._reports: list[ExtensionReport] = []
        self._loaded: dict[str, object] = {}
        self._built_by_referee: str | None = None
        self._builds_others = True
        # Taken away until something is built here: a solution may set its own "where there is none".
        self._architectures = os.environ.pop(_ARCHITECTURES, None)

    def leave_texts_to_referee(self, compilers: str, builds_others: bool) -> None:
        """Look for texts by keys that have `compilers` in them from now on; others are built here or reported."""
        self._built_by_referee = compilers
        self._builds_others = builds_others

    def compilers(self) -> str:
        """Hash what of this machine decides how a text's build comes out."""
        self._give_back_architectures()
        return compilers_digest(self._headers())

    def take_reports(self) -> tuple[ExtensionReport, ...]:
        """Return extensions built or found since the last call."""
        reports, self._reports = tuple(self._reports), []
        return reports

    def obtain(self, original: Callable[..., object], call: inspect.BoundArguments) -> object:
        """The extension of this call, from the cache or built by torch; where the referee is to build it first, a
        module whose functions raise. Raises what torch raises."""
        text = text_of(call.arguments, self._own_architectures()) if self._built_by_referee else None
        if text is not None and (self._is_lent(text) or not self._builds_others):
            return self._find(text)
        self._give_back_architectures()
        name, key = str(call.arguments["name"]), extension_key(call, self._headers(), self.folder)
        if key in self._loaded:
            return self._loaded[key]
        started = time.monotonic()
        with _locked(self._root / "locks" / key):
            built = next((root / key for root in (self._lent, self._root) if (root / key / MANIFEST).is_file()), None)
            was_cached = built is not None
            succeeded = False
            try:
                module = _import_built(built) if built else build(original, call, self.folder, key, self._tries_slim)
                succeeded = True
            finally:
                seconds = time.monotonic() - started
                self._reports.append(ExtensionReport(name, key, succeeded, was_cached, seconds))
        self._loaded[key] = module
        return module

    def _own_architectures(self) -> str | None:
        """The solution's own, which it may well set by this variable; None where it left that as it was."""
        now = os.environ.get(_ARCHITECTURES)
        return None if now == self._architectures or torch.version.hip else now

    def _give_back_architectures(self) -> None:
        if self._architectures is not None:
            os.environ.setdefault(_ARCHITECTURES, self._architectures)

    def build_text(self, request: BuildText) -> TextBuilt:
        """Build and don't import it, so that nothing of the text runs here. Nothing else happens in this process."""
        text, key = request.text, request.key
        original = inspect.unwrap(cpp_extension.load_inline)
        call = inspect.signature(original).bind(**text.arguments())
        started, succeeded = time.monotonic(), False
        _import_nothing()
        self._give_back_architectures()
        with contextlib.suppress(Exception):  # a compiler's refusal, which lies in the place of the build
            build(original, call, self.folder, key, tries_slim=self._tries_slim and not text.is_full)
            succeeded = True
        return TextBuilt(ExtensionReport(text.name, key, succeeded, False, time.monotonic() - started))

    def _find(self, text: ExtensionText) -> object:
        """Find an extension, or report its text. Raises: RuntimeError where it doesn't compile, ImportError."""
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

    def _headers(self) -> str:
        return headers_digest() if self._tries_slim else ""


class _NotBuiltYet(ModuleType):
    """A stand-in for an extension that the referee is to build first. What a solution makes of it goes with this
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
    """Stop torch, in this process and from now on, from importing what it has built."""
    setattr(cpp_extension, "_import_module_from_library", lambda *_: None)  # noqa: B010 - it is torch's own


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
