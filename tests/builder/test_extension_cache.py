"""What a worker built is kept only where it is as ours are: everything in its folder may be a trap."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from harness.builder import extension_cache, triton_cache
from harness.builder.bytecode import Bytecode
from harness.builder.extension_cache import keep_builds, keep_text_of, lend
from harness.builder.workers import _BuildAttendant

KEY = "0123456789abcdef" * 2


@pytest.fixture
def made(tmp_path: Path) -> Path:
    folder = tmp_path / "scratch" / "extensions"
    (folder / KEY).mkdir(parents=True)
    (folder / KEY / "manifest.json").write_text(json.dumps({"library": "relu.so", "is_python_module": True}))
    (folder / KEY / "relu.so").write_bytes(b"\x7fELF")
    (folder / KEY / "main.o").write_bytes(b"not needed")
    (folder / "logs").mkdir()
    return folder


def kept_names(kept: Path) -> list[str]:
    return sorted(path.relative_to(kept).as_posix() for path in kept.rglob("*") if path.is_file())


def test_the_library_and_its_manifest_are_kept_and_lent(made: Path, tmp_path: Path) -> None:
    keep_builds(made, tmp_path / "kept")
    assert kept_names(tmp_path / "kept") == [f"{KEY}/manifest.json", f"{KEY}/relu.so"]
    lend(tmp_path / "kept", None, tmp_path / "lent")
    assert (tmp_path / "lent" / KEY / "relu.so").read_bytes() == b"\x7fELF"
    assert (tmp_path / "lent" / KEY / "relu.so").stat().st_mode & 0o777 == 0o444


def test_what_is_kept_already_is_not_replaced(made: Path, tmp_path: Path) -> None:
    keep_builds(made, tmp_path / "kept")
    (made / KEY / "relu.so").write_bytes(b"another")
    keep_builds(made, tmp_path / "kept")
    assert (tmp_path / "kept" / KEY / "relu.so").read_bytes() == b"\x7fELF"


@pytest.mark.parametrize(
    "manifest",
    [
        "",
        "[]",
        "{}",
        '{"library": "../../etc/passwd", "is_python_module": true}',
        '{"library": "relu.so", "is_python_module": "yes"}',
        '{"library": "missing.so", "is_python_module": true}',
        "x" * 5000,
        "[" * 4000,
    ],
)
def test_a_manifest_that_is_none_keeps_nothing(made: Path, tmp_path: Path, manifest: str) -> None:
    (made / KEY / "manifest.json").write_text(manifest)
    keep_builds(made, tmp_path / "kept")
    assert kept_names(tmp_path / "kept") == []


def test_of_a_builder_nothing_is_kept_but_what_it_was_asked_for(made: Path, tmp_path: Path) -> None:
    other = "f" * 32
    shutil.copytree(made / KEY, made / other)
    keep_builds(made, tmp_path / "kept", only=other)
    assert kept_names(tmp_path / "kept") == [f"{other}/manifest.json", f"{other}/relu.so"]


@pytest.mark.parametrize(
    ("log", "is_kept"),
    [
        ("relu.cu(3): error: expected a ';'\n", True),
        ("main.cpp:3:5: error: 'x' was not declared\n", True),
        ("ptxas error   : too much shared data\n", True),
        ("main.cpp:1:10: fatal error: cutlass.h: No such file or directory\n", False),
        ("c++: fatal error: Killed signal terminated program cc1plus\n", False),
        ("main.cpp:3:5: error: 'x' was not declared\nfatal error: No space left on device\n", False),
        ("", False),
    ],
)
def test_a_refusal_is_kept_where_it_would_come_again(made: Path, tmp_path: Path, log: str, is_kept: bool) -> None:
    (made / KEY / "manifest.json").write_text(json.dumps({"refused": "Error building extension 'relu'", "more": 1}))
    (made / "logs" / f"{KEY}.log").write_text(log)
    keep_builds(made, tmp_path / "kept")
    assert kept_names(tmp_path / "kept") == ([f"{KEY}/manifest.json"] if is_kept else [])
    if is_kept:
        kept = json.loads((tmp_path / "kept" / KEY / "manifest.json").read_text())
        assert kept == {"refused": "Error building extension 'relu'"}


@pytest.mark.parametrize("place", [KEY, f"{KEY}/relu.so", f"{KEY}/manifest.json", ""])
def test_no_link_is_followed(made: Path, tmp_path: Path, place: str) -> None:
    real, linked = made / place, tmp_path / "elsewhere"
    real.rename(linked)
    (made / place).symlink_to(linked)
    keep_builds(made, tmp_path / "kept")
    assert kept_names(tmp_path / "kept") == []


def test_pipes_are_not_waited_for(made: Path, tmp_path: Path) -> None:
    (made / KEY / "relu.so").unlink()
    os.mkfifo(made / KEY / "relu.so")
    os.mkfifo(made / "logs" / f"{KEY}.log")
    keep_builds(made, tmp_path / "kept")
    keep_text_of(made, tmp_path / "kept", KEY, "logs", str)
    assert kept_names(tmp_path / "kept") == []


def test_a_log_is_kept_as_it_is_shown(made: Path, tmp_path: Path) -> None:
    (made / "logs" / f"{KEY}.log").write_bytes(b"in /scratch/x: \xff error")
    path = keep_text_of(made, tmp_path / "kept", KEY, "logs", lambda text: text.replace("/scratch/", ""))
    assert path == tmp_path / "kept" / "logs" / f"{KEY}.log"
    assert path.read_text() == "in x: \ufffd error"


def test_a_linked_log_shows_nothing(made: Path, tmp_path: Path) -> None:
    (made / "logs" / f"{KEY}.log").symlink_to("/etc/passwd")
    assert not keep_text_of(made, tmp_path / "kept", KEY, "logs", str).exists()


@pytest.mark.parametrize("has_taken_turns", [False, True])
def test_what_is_built_after_a_turn_is_lent_to_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_taken_turns: bool
) -> None:
    """It could hold answers to the inputs of that turn."""
    collected: list[object] = []
    monkeypatch.setattr(extension_cache, "collect", lambda worker, only: collected.append(worker))
    monkeypatch.setattr(triton_cache, "collect", collected.append)
    worker: Any = SimpleNamespace(folder=tmp_path, has_taken_turns=has_taken_turns)
    _BuildAttendant(None, None, Bytecode()).collect(worker)
    assert collected == ([] if has_taken_turns else [worker, worker])
