"""Builds on their way to another machine's cache."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from harness.builder.extension_cache import SHARED, has_library, lend, remember_text, texts_of
from harness.builder.parcel import pack, unpack
from harness.builder.workers import Workers, seen_files
from harness.model.record import hash_contents
from harness.sandbox.wire.extension_text import ExtensionText
from harness.sandbox.wire.layout import MANIFEST, extensions_folder
from harness.workspace.solution import load_solution
from tests.examples import build

TEXT = ExtensionText("relu", ("torch::Tensor relu(torch::Tensor x);",))
OWN_KEY = "a" * 32
HOST: Any = SimpleNamespace(name="sim")


def put_build(place: Path, key: str) -> None:
    (place / key).mkdir(parents=True)
    (place / key / "relu.so").write_bytes(b"\x7fELF" + key.encode())
    (place / key / MANIFEST).write_text(json.dumps({"library": "relu.so", "is_python_module": True}))


def test_a_worker_of_another_machine_is_lent_what_was_built_here(tmp_path: Path) -> None:
    folder = tmp_path / "solutions" / "relu" / "mine"
    folder.mkdir(parents=True)
    (folder / "solution.py").write_text("class ModelNew: ...")
    solution = load_solution(folder)
    here, there = Workers(HOST, tmp_path / "here"), Workers(HOST, tmp_path / "there")
    root = extensions_folder(here.cache, "sim")
    namespace = root / hash_contents(seen_files(folder).items())
    key = TEXT.key("compilers")
    put_build(root / SHARED, key)
    put_build(root / SHARED, "f" * 32)  # of another solution
    put_build(namespace, OWN_KEY)
    assert remember_text(namespace, TEXT)
    builds: Any = [SimpleNamespace(key=key), SimpleNamespace(key=OWN_KEY), build()]

    parcel = pack(here, solution, builds)
    for _ in range(2):  # what is there stays
        unpack(there, parcel)

    arrived = extensions_folder(there.cache, "sim")
    assert has_library(arrived / SHARED, key)
    assert not (arrived / SHARED / ("f" * 32)).exists()
    assert texts_of(arrived / namespace.name) == (TEXT,)
    lend(arrived / namespace.name, "compilers", tmp_path / "lent")
    assert {path.name for path in (tmp_path / "lent").iterdir()} == {key, OWN_KEY}
    assert (tmp_path / "lent" / key / "relu.so").read_bytes() == b"\x7fELF" + key.encode()
    assert not list(arrived.rglob("*.part"))
