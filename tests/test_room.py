"""Room on a disk is told before it runs out."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from harness.room import require_room


@pytest.mark.parametrize(
    ("facts", "has_room"),
    [
        ({"f_blocks": 9, "f_bavail": 1, "f_files": 9, "f_favail": 9}, True),
        ({"f_blocks": 9, "f_bavail": 0, "f_files": 9, "f_favail": 9}, False),
        ({"f_blocks": 9, "f_bavail": 1, "f_files": 9, "f_favail": 0}, False),
        ({"f_blocks": 0, "f_bavail": 0, "f_files": 0, "f_favail": 0}, True),  # it doesn't say
    ],
)
def test_room_is_of_bytes_and_of_files(monkeypatch: pytest.MonkeyPatch, facts: dict[str, int], has_room: bool) -> None:
    monkeypatch.setattr(os, "statvfs", lambda folder: SimpleNamespace(f_frsize=4096, **facts))
    if has_room:
        require_room(Path("/x"), 4096)
        return
    with pytest.raises(OSError, match="/x") as caught:
        require_room(Path("/x"), 4096)
    assert caught.value.errno == errno.ENOSPC


def test_this_machine_has_room_for_a_byte(tmp_path: Path) -> None:
    require_room(tmp_path, 1)
