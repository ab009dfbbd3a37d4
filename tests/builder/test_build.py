"""Reading what a worker left in the cache, which may be anything."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from harness.builder import build as build_module
from harness.builder.build import compile_failure, read_beginning
from harness.model.verdict import Verdict
from harness.sandbox.wire.layout import text_place
from harness.sandbox.wire.messages import ExtensionReport, Raised
from tests.wording import tells


def test_log_is_read_from_its_beginning(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"nvcc says \xff\n" + b"x" * 5 * 2**20)
    text = read_beginning(path)
    assert text.startswith("nvcc says \ufffd\n")
    assert len(text) == 4 * 2**20


def test_log_that_is_no_file_is_empty(tmp_path: Path) -> None:
    pipe, link = tmp_path / "pipe", tmp_path / "link"
    os.mkfifo(pipe)
    link.symlink_to("/etc/passwd")
    assert [read_beginning(path) for path in (pipe, link, tmp_path, Path("/dev/zero"), tmp_path / "missing")] == [
        ""
    ] * 5


@pytest.mark.parametrize("key", ["../../etc/passwd", "", "A" * 32, "0" * 31])
def test_worker_names_a_key_and_never_a_path(key: str) -> None:
    with pytest.raises(ValueError, match="no key"):
        text_place("logs", key)


@pytest.mark.parametrize("backend", ["cuda", "sim"])
@pytest.mark.parametrize(
    "line",
    [
        "/x/cuda.cu:2:10: fatal error: hip/hip_runtime.h: No such file or directory",
        "nvcc fatal   : Unknown option '--offload-arch=gfx942'",
    ],
)
def test_what_amds_compiler_alone_takes_is_no_fault_of_the_solution(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, backend: str, line: str
) -> None:
    log = tmp_path / "log"
    log.write_text(line)
    monkeypatch.setattr(build_module, "log_of", lambda worker, key: log)
    raised = Raised("RuntimeError", "Error building extension 'x'", "", (ExtensionReport("x", "0", False, False, 1.0),))
    worker: Any = SimpleNamespace(backend=backend)
    failed = compile_failure(raised, worker)
    assert failed is not None
    assert failed.verdict is Verdict.UNSUPPORTED
    assert tells(failed.failure.reason, "HIP")
    assert tells(failed.failure.next_step, "ROCm")
