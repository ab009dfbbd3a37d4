"""Noticing saves, with a scripted pause in which files change."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from harness.workspace import watcher as watcher_module
from harness.workspace.watcher import Watcher


class Pauses:
    """Stands for the time between two looks: carries out what happens in each pause, then expects no further one."""

    def __init__(self, *events: Callable[[], object]) -> None:
        self._events = list(events)
        self.count = 0

    def __call__(self, seconds: float) -> None:
        assert 0 < seconds < 1
        self.count += 1
        self._events.pop(0)()


def nothing() -> None: ...


def watched(tmp_path: Path, *events: Callable[[], object]) -> tuple[Watcher, Pauses]:
    (tmp_path / "solution.py").write_text("one")
    pauses = Pauses(*events)
    return Watcher([tmp_path], pauses), pauses


def save(path: Path, text: str) -> Callable[[], object]:
    def event() -> None:
        before = path.stat().st_mtime_ns if path.exists() else 0
        path.write_text(text)
        os.utime(path, ns=(before + 10**9, before + 10**9))

    return event


ONE, TWO = (("solution.py", text) for text in ("one", "two"))


@pytest.mark.parametrize(
    "events",
    [
        pytest.param((None, TWO, None), id="a-save-at-rest"),
        pytest.param((("solution.py", ""), ("solution.py", "tw"), TWO, None), id="an-editor-that-writes-in-steps"),
        pytest.param((ONE, None, None, TWO, None), id="only-touched"),
        pytest.param(((".solution.py.swp", "x"), None, None, TWO, None), id="what-editors-hide"),
        pytest.param((TWO, ONE, None, TWO, None), id="taken-back"),
        pytest.param((("__pycache__/x.pyc", "x"), None, TWO, None), id="compiled-python"),
    ],
)
def test_a_change_is_noticed_once_it_is_at_rest(tmp_path: Path, events: Sequence[tuple[str, str] | None]) -> None:
    (tmp_path / "__pycache__").mkdir()
    watcher, pauses = watched(
        tmp_path, *(save(tmp_path / event[0], event[1]) if event else nothing for event in events)
    )
    watcher.wait()
    assert pauses.count == len(events)


def test_what_changed_during_the_check_is_noticed_at_once(tmp_path: Path) -> None:
    watcher, pauses = watched(tmp_path)
    (tmp_path / "solution.py").write_text("two")
    watcher.wait()
    assert pauses.count == 0


def test_a_marked_state_is_the_old_one(tmp_path: Path) -> None:
    watcher, pauses = watched(tmp_path, save(tmp_path / "solution.py", "three"), nothing)
    (tmp_path / "solution.py").write_text("two")
    watcher.mark()
    watcher.wait()
    assert pauses.count == 2


def test_new_and_removed_files_are_changes(tmp_path: Path) -> None:
    watcher, _ = watched(tmp_path, save(tmp_path / "kernel.cu", "new"), nothing)
    watcher.wait()
    watcher, _ = watched(tmp_path, (tmp_path / "kernel.cu").unlink, nothing)
    watcher.wait()


def test_contents_are_read_again_only_where_files_may_have_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A solution may bring gigabytes, and may be timed meanwhile."""
    read: list[str] = []

    def hashed(files: Mapping[str, Path]) -> str:
        read.append(files["solution.py"].read_text())
        return read[-1]

    monkeypatch.setattr(watcher_module, "hash_files", hashed)
    file = tmp_path / "solution.py"
    save(file, "one")()  # long ago
    watcher = Watcher([tmp_path], Pauses(nothing, nothing, save(file, "two"), nothing))
    watcher.wait()
    assert read == ["one", "two"]
    file.write_text("tri")  # just now: it may be written again within the same tick of the clock
    watcher.mark()
    watcher.mark()
    assert read == ["one", "two", "tri", "tri"]


def test_a_folder_that_goes_away_and_comes_back_is_waited_for(tmp_path: Path) -> None:
    """Some editors save by renaming."""
    file = tmp_path / "solution.py"
    watcher, pauses = watched(tmp_path, file.unlink, save(file, "two"), nothing)
    watcher.wait()
    assert pauses.count == 3
