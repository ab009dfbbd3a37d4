"""Where torch's compiled modules are kept."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from harness.run import cache
from harness.run.cache import keep_bytecode, keep_inductors_folder


@pytest.fixture(autouse=True)
def _as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "_OPEN_CACHE", tmp_path / "open")
    monkeypatch.setattr(sys, "pycache_prefix", None)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.setenv("PYTHONPYCACHEPREFIX", "")  # restored afterwards


def test_bytecode_that_lies_beside_its_source_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _install_torch(tmp_path / "site", monkeypatch)
    (tmp_path / "site/torch/__pycache__").mkdir()
    keep_bytecode(tmp_path / "cache")
    assert (sys.pycache_prefix, sys.dont_write_bytecode) == (None, True)


def test_elsewhere_it_is_kept_in_the_cache_for_this_process_and_its_children(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _install_torch(tmp_path / "site", monkeypatch)
    _open(tmp_path)
    keep_bytecode(tmp_path / "cache")
    assert (sys.pycache_prefix, sys.dont_write_bytecode) == (str(tmp_path / "cache/bytecode"), False)
    assert os.environ["PYTHONPYCACHEPREFIX"] == sys.pycache_prefix


@pytest.mark.skipif(os.geteuid() != 0, reason="an ordinary user's workers are of the same user")
def test_of_a_root_whose_cache_is_closed_it_is_kept_where_workers_may_read_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _install_torch(tmp_path / "site", monkeypatch)
    (tmp_path / "closed").mkdir(mode=0o700)
    _open(tmp_path)
    keep_bytecode(tmp_path / "closed/cache")
    assert sys.pycache_prefix == str(tmp_path / "open/bytecode")


def test_a_place_that_the_user_chose_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _install_torch(tmp_path / "site", monkeypatch)
    monkeypatch.setattr(sys, "pycache_prefix", "/theirs")
    keep_bytecode(tmp_path / "cache")
    assert (sys.pycache_prefix, sys.dont_write_bytecode) == ("/theirs", True)


def test_a_torch_that_is_not_there_is_somebody_elses_to_miss(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache.importlib.util, "find_spec", lambda name: None)
    keep_bytecode(tmp_path / "cache")
    assert sys.pycache_prefix is None


def test_torchs_compiler_keeps_its_folder_in_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = "import torch._inductor.runtime.cache_dir_utils as made; made.cache_dir()"
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", "")
    monkeypatch.delenv("TORCHINDUCTOR_CACHE_DIR")
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    keep_inductors_folder(tmp_path / "cache")
    subprocess.run([sys.executable, "-c", code], check=True)
    assert [path.name for path in tmp_path.iterdir()] == ["cache"]


def test_a_folder_of_torchs_that_the_user_chose_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", "/theirs")
    keep_inductors_folder(tmp_path / "cache")
    assert os.environ["TORCHINDUCTOR_CACHE_DIR"] == "/theirs"


def _install_torch(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (site / "torch").mkdir(parents=True)
    (site / "torch/__init__.py").touch()
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    monkeypatch.syspath_prepend(site)


def _open(folder: Path) -> None:
    """Let everybody through to what lies in pytest's folder."""
    for one in (folder, *folder.parents[:-2]):
        one.chmod(0o755)
