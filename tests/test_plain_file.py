"""Files that a stranger may have written."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from harness.plain_file import open_plain, parse_json, read_plain, read_text


def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="no plain file"):
        open_plain(tmp_path / "pipe")


@pytest.mark.parametrize("path", ["/dev/zero", "/proc"])
def test_a_device_and_a_folder_are_refused(path: str) -> None:
    with pytest.raises(OSError, match="no plain file"):
        open_plain(path)


def test_what_is_longer_than_asked_for_is_refused_unread(tmp_path: Path) -> None:
    (tmp_path / "sparse").touch()
    os.truncate(tmp_path / "sparse", 2**40)
    with pytest.raises(OSError, match=r"1099511627776 bytes.*shorten"):
        read_plain(tmp_path / "sparse", 2**30)


def test_a_link_is_followed_where_it_may_be(tmp_path: Path) -> None:
    (tmp_path / "text").write_bytes(b"a\r\nb\rc\n")
    (tmp_path / "link").symlink_to("text")
    assert read_text(tmp_path / "link") == "a\nb\nc\n"
    with pytest.raises(OSError, match="link"):
        open_plain(tmp_path / "link", follows_link=False)


def test_json_that_is_nested_deep_is_no_json() -> None:
    assert parse_json('{"a": [1]}') == {"a": [1]}
    with pytest.raises(ValueError, match="deep"):
        parse_json("[" * 100_000)
