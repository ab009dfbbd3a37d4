"""Bytecode of modules that workers alone import."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import time
from importlib.util import cache_from_source
from pathlib import Path

import pytest

from harness.builder.bytecode import Bytecode
from harness.sandbox.wire.layout import own_imports

STDLIB = Path(sysconfig.get_path("stdlib")).resolve()
INSTALLED = str(STDLIB / "wave.py")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A worker's, where bytecode is kept."""
    monkeypatch.setattr(sys, "pycache_prefix", str(tmp_path / "kept"))
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.setenv("PYTHONPYCACHEPREFIX", str(tmp_path / "kept"))
    own_imports(tmp_path).parent.mkdir()
    return tmp_path


def test_installed_modules_are_compiled_from_their_source(folder: Path) -> None:
    own_imports(folder).write_text(f"{INSTALLED}\n")
    assert cache_from_source(INSTALLED) in kept_after_collecting(folder)


def test_nothing_of_a_workers_own_is_compiled(folder: Path) -> None:
    (folder / "own.py").write_text("n = 1\n")
    link = folder / "link.py"
    link.symlink_to(folder / "own.py")
    (folder / "changing.py").symlink_to(INSTALLED)
    around = f"{STDLIB}/../{STDLIB.name}/wave.py"
    names = (folder / "own.py", link, folder / "changing.py", around, STDLIB, "\0")
    own_imports(folder).write_text("\n".join(map(str, names)))
    assert kept_after_collecting(folder) == []


@pytest.mark.parametrize("prefix", [None, "theirs"])
def test_where_no_bytecode_is_kept_nothing_is_compiled(
    folder: Path, monkeypatch: pytest.MonkeyPatch, prefix: str | None
) -> None:
    own_imports(folder).write_text(f"{INSTALLED}\n")
    monkeypatch.setattr(sys, "pycache_prefix", prefix)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    assert kept_after_collecting(folder) == []


def test_a_list_that_is_no_plain_file_is_left(folder: Path) -> None:
    os.mkfifo(own_imports(folder))
    assert kept_after_collecting(folder) == []


def test_a_worker_lists_what_it_had_to_compile_once(tmp_path: Path) -> None:
    listed = tmp_path / "imports"
    code = (
        "import sys; from pathlib import Path; from harness.worker.imports import lister;"
        "note = lister(Path(sys.argv[1])); import wave; note(); import chunk_of_nothing as other; note(); note()"
    )
    (tmp_path / "chunk_of_nothing.py").write_text("import sys; sys.modules['strange'] = None\n")
    paths = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])
    prefix = {"PYTHONPATH": paths, "PYTHONPYCACHEPREFIX": str(tmp_path / "none"), "PYTHONDONTWRITEBYTECODE": "1"}
    subprocess.run([sys.executable, "-c", code, str(listed)], check=True, env={**os.environ, **prefix})
    names = listed.read_text().splitlines()
    assert INSTALLED in names
    assert str(tmp_path / "chunk_of_nothing.py") in names
    assert len(names) == len(set(names))


def kept_after_collecting(folder: Path) -> list[str]:
    bytecode = Bytecode()
    bytecode.collect(folder)
    deadline = time.monotonic() + 10
    while bytecode.is_busy and time.monotonic() < deadline:
        time.sleep(0.01)
    bytecode.close()
    return sorted(str(path) for path in (folder / "kept").rglob("*.pyc"))
