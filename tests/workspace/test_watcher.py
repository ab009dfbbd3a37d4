"""Noticing saves, with a scripted pause in which files change."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

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


def test_a_save_is_noticed_once_it_is_at_rest(tmp_path: Path) -> None:
    watcher, pauses = watched(tmp_path, nothing, save(tmp_path / "solution.py", "two"), nothing)
    watcher.wait()
    assert pauses.count == 3


def test_an_editor_that_writes_in_steps_is_waited_for(tmp_path: Path) -> None:
    file = tmp_path / "solution.py"
    watcher, pauses = watched(tmp_path, save(file, ""), save(file, "tw"), save(file, "two"), nothing)
    watcher.wait()
    assert pauses.count == 4


def test_a_file_that_is_only_touched_is_no_change(tmp_path: Path) -> None:
    file = tmp_path / "solution.py"
    watcher, pauses = watched(tmp_path, save(file, "one"), nothing, nothing, save(file, "two"), nothing)
    watcher.wait()
    assert pauses.count == 5


def test_what_editors_hide_is_no_change(tmp_path: Path) -> None:
    hidden, file = tmp_path / ".solution.py.swp", tmp_path / "solution.py"
    watcher, pauses = watched(tmp_path, save(hidden, "x"), nothing, nothing, save(file, "two"), nothing)
    watcher.wait()
    assert pauses.count == 5


def test_a_change_taken_back_is_no_change(tmp_path: Path) -> None:
    file = tmp_path / "solution.py"
    watcher, pauses = watched(tmp_path, save(file, "two"), save(file, "one"), nothing, save(file, "two"), nothing)
    watcher.wait()
    assert pauses.count == 5


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


def test_a_folder_that_goes_away_and_comes_back_is_waited_for(tmp_path: Path) -> None:
    """Some editors save by renaming."""
    file = tmp_path / "solution.py"
    watcher, pauses = watched(tmp_path, file.unlink, save(file, "two"), nothing)
    watcher.wait()
    assert pauses.count == 3


def test_compiled_python_is_not_looked_at(tmp_path: Path) -> None:
    cache = tmp_path / "__pycache__"
    cache.mkdir()
    watcher, pauses = watched(
        tmp_path, save(cache / "x.pyc", "x"), nothing, save(tmp_path / "solution.py", "2"), nothing
    )
    watcher.wait()
    assert pauses.count == 4
