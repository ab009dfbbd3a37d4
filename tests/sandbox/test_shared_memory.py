"""Shared memory is found and removed with its worker, in folders too."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.sandbox.shared_memory import remove_shared_memory, shared_memory_of
from harness.sandbox.wire.layout import SHARED_MEMORY

USER = 0x78000000 + 4_000_003
NAME = f"harness-test-{os.getpid()}"

pytestmark = pytest.mark.skipif(not os.access(SHARED_MEMORY, os.W_OK), reason="there is no /dev/shm")


@pytest.fixture
def place() -> Iterator[Path]:
    place = SHARED_MEMORY / NAME
    place.mkdir()
    yield place
    remove_shared_memory(0, place)


def test_a_folder_of_its_own_goes_with_all_that_is_in_it(place: Path) -> None:
    (place / "a" / "b").mkdir(parents=True)
    (place / "a" / "b" / "note").write_text("for the next one")
    (place / "closed").mkdir(mode=0o000)
    (place / "link").symlink_to("/etc")
    assert {path.name for path in shared_memory_of(0, place)} == {"a", "b", "note", "closed", "link"}
    assert sorted(remove_shared_memory(0, place)) == ["link", "note"]
    assert not place.exists()


def test_its_users_folders_are_found_among_others(place: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root gives files away")
    (place / "theirs" / "deep").mkdir(parents=True)
    (place / "theirs" / "deep" / "note").write_text("for the next one")
    (place / "mine").write_text("stays")
    for path in (place / "theirs", place / "theirs" / "deep", place / "theirs" / "deep" / "note"):
        os.chown(path, USER, USER)
    assert [path.name for path in shared_memory_of(USER)] == ["theirs", "deep", "note"]
    assert remove_shared_memory(USER) == ("note",)
    assert [path.name for path in place.iterdir()] == ["mine"]


def test_nobody_elses_files_are_touched(place: Path) -> None:
    (place / "mine").write_text("stays")
    assert shared_memory_of(os.getuid()) == []
    assert remove_shared_memory(os.getuid()) == ()
