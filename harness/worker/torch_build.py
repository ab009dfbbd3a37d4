"""The build of an extension by torch: slim where that may do, in a folder that is given its place when it is whole."""

from __future__ import annotations

import contextlib
import inspect
import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
from torch.utils import cpp_extension

from harness.sandbox.wire.layout import MANIFEST, NVCC_CALL, own_extensions, own_log, text_place
from harness.worker.slim_build import is_final, side_by_side_nvcc, slim_arguments

_WORDS_CHARS = 2000
"""The most characters that are kept of torch's words on a build that failed."""
_VERBOSE_PTXAS = "-Xptxas=-v"


def build(
    original: Callable[..., object], call: inspect.BoundArguments, worker: Path, key: str, tries_slim: bool
) -> object:
    """Build what torch's `original` makes of the call, in the own folder of a `worker` under a key; slim first, if it
    may be. A refusal leaves its words in the place of the build. Raises what torch raises."""
    folder, log = own_extensions(worker) / key, own_log(worker, key)
    log.parent.mkdir(parents=True, exist_ok=True)
    slim_staging, staging = (folder.with_name(f"{key}{suffix}") for suffix in (".slim", ".building"))
    slim = slim_arguments(call, _emptied(slim_staging)) if tries_slim else None
    try:
        if slim is not None:
            # Whatever goes wrong here: the full build decides, and its words are the ones that are shown.
            try:
                with side_by_side_nvcc():
                    return _build_in(slim_staging, folder, original, slim, log)
            except Exception:
                if is_final(log.read_text(errors="replace")):  # ... but for what takes a minute to come to the same.
                    raise
            _forget_version(str(slim["name"]))
            log.replace(log.with_suffix(".slim"))
        arguments = {**call.arguments, "build_directory": str(_emptied(staging)), "verbose": True}
        return _build_in(staging, folder, original, arguments, log)
    except Exception as error:
        (_emptied(folder) / MANIFEST).write_text(json.dumps({"refused": str(error)[:_WORDS_CHARS]}))
        raise
    finally:
        for built in (staging, folder):  # a build that went well has its place by now
            _gather_calls(built, own_extensions(worker) / text_place("calls", key))
        shutil.rmtree(slim_staging, ignore_errors=True)
        shutil.rmtree(staging, ignore_errors=True)


def _build_in(
    staging: Path, folder: Path, original: Callable[..., object], arguments: dict[str, Any], log: Path
) -> object:
    """Build with torch in `staging`, import the outcome, then give the build its place."""
    if _has_cuda(arguments) and torch.version.hip is None:
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
    """Gather what the simulator's nvcc wrote of its calls into one array; the real one writes nothing."""
    calls = [path.read_text(errors="replace") for path in sorted(built.glob(f"*{NVCC_CALL}"))]
    if calls:
        gathered.parent.mkdir(parents=True, exist_ok=True)
        gathered.write_text(f"[{','.join(calls)}]")


def _emptied(folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)  # of a build that was killed: we hold its lock
    folder.mkdir(parents=True)
    return folder


def _forget_version(name: str) -> None:
    """Forget that the name was built: torch calls the second build of a name `name_v1`, and the slim attempt must leave
    no such trace."""
    versioner = getattr(cpp_extension, "JIT_EXTENSION_VERSIONER", None)
    if versioner is not None:
        versioner.entries.pop(name, None)


def _has_cuda(arguments: dict[str, Any]) -> bool:
    sources = arguments.get("sources") or []
    files = [sources] if isinstance(sources, str) else sources
    return bool(arguments.get("cuda_sources")) or any(str(file).endswith((".cu", ".cuh")) for file in files)


@contextlib.contextmanager
def _output_to(log: Path) -> Iterator[None]:
    """Send standard output and error of this process and its children to a file: ninja writes to descriptor 1."""
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
