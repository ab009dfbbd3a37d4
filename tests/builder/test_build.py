"""Reading what a worker left in the cache, which may be anything."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from harness.builder.build import read_beginning
from harness.sandbox.wire.layout import text_place


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
