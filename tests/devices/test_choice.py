"""Which backend a run uses, and what is said where it can't be made ready."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from harness.devices import choice
from harness.devices.choice import choose_backend, open_host
from harness.errors import MachineError, UsageError


@pytest.mark.parametrize("word", ["gpu", "simulator", None])
def test_another_word_is_no_backend(word: Any) -> None:
    with pytest.raises(UsageError, match=f"no backend {word!r}. Valid: auto, cuda, sim"):
        choose_backend(word)


@pytest.mark.parametrize("missing_bytes", [2**20, 2**27])
def test_a_cache_without_room_is_said_before_anything_is_compiled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, missing_bytes: int
) -> None:
    """There is no room for an extension, or for the toolkit."""

    def require_room(folder: Path, needed_bytes: int) -> None:
        if needed_bytes > missing_bytes:
            raise OSError(28, "No space left on device", str(folder))

    monkeypatch.setattr(choice, "require_room", require_room)
    monkeypatch.setattr("harness.cudasim.is_prepared", lambda cache: False)
    monkeypatch.setattr("harness.cudasim.ensure_toolkit", lambda *arguments: pytest.fail("it compiles"))
    with pytest.raises(MachineError, match=r"can't be used: No space left .*HARNESS_CACHE"):
        open_host("sim", tmp_path, lambda what: None)


def test_a_cache_that_is_a_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "cache").touch()
    with pytest.raises(MachineError, match=r"/cache .*: File exists; .*HARNESS_CACHE"):
        open_host("sim", tmp_path / "cache", lambda what: None)


def test_another_file_that_is_missing_is_not_the_caches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choice, "_sim_host", lambda *arguments: (tmp_path.parent / "no-such-header.h").read_text())
    with pytest.raises(FileNotFoundError, match=r"no-such-header\.h"):
        open_host("sim", tmp_path, lambda what: None)


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (OSError(28, "No space left on device"), "No space left on device"),
        (shutil.Error([("a", "b", "No space left")]), "No space left"),
    ],
)
def test_a_cache_without_room_is_no_bug(
    error: OSError, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*arguments: object) -> None:
        raise error

    monkeypatch.setattr(choice, "_sim_host", fail)
    with pytest.raises(MachineError, match=f"{os.fspath(tmp_path)} can't be used: .*{words}.*; free space there"):
        open_host("sim", tmp_path, lambda what: None)
