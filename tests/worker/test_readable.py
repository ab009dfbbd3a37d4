"""What a worker may not read, whoever runs harness and wherever HOME points."""

from __future__ import annotations

import os
import pwd
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from harness.worker.confinement.readable import hidden_places, needed_places, readable_places


def test_dot_files_are_hidden_in_the_home_of_the_user_database_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for home in ("named", "real"):
        (tmp_path / home / ".ssh").mkdir(parents=True)
        (tmp_path / home / "kernels").mkdir()
    monkeypatch.setattr(pwd, "getpwuid", lambda user: SimpleNamespace(pw_dir=str(tmp_path / "real")))
    hidden = hidden_places((), str(tmp_path / "named"))
    assert {tmp_path / "named" / ".ssh", tmp_path / "real" / ".ssh"} <= hidden
    assert not {tmp_path / "real" / "kernels", tmp_path / "real"} & hidden


def test_a_user_without_an_entry_has_no_other_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(user: int) -> None:
        raise KeyError(user)

    monkeypatch.setattr(pwd, "getpwuid", unknown)
    (tmp_path / ".netrc").touch()
    assert tmp_path / ".netrc" in hidden_places((), str(tmp_path))


def test_other_users_homes_are_hidden_from_roots_workers_but_for_what_python_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    homes = tmp_path / "homes"
    (homes / "eve" / "venv" / "lib").mkdir(parents=True)
    (homes / "eve" / "diary").touch()
    monkeypatch.setattr("harness.worker.confinement.readable._HOMES", (str(homes),))
    assert homes not in hidden_places((), "/nowhere")
    hidden = hidden_places((), "/nowhere", is_root=True)
    assert homes in hidden
    found = readable_places(hidden, {homes / "eve" / "venv"})
    assert homes / "eve" / "venv" in found
    assert not {homes, homes / "eve", homes / "eve" / "diary"} & set(found)


def test_bytecode_that_is_kept_may_be_read_unless_that_takes_a_right_of_roots(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "pycache_prefix", str(tmp_path / "kept"))
    (tmp_path / "kept").mkdir(mode=0o700)
    assert (tmp_path / "kept" in needed_places()) == (os.geteuid() != 0)
    for folder in (tmp_path / "kept", tmp_path, *tmp_path.parents[:-2]):
        folder.chmod(0o755)
    assert tmp_path / "kept" in needed_places()
