"""Builds of a solution as bytes, for the cache of another machine: what its workers there are lent.

Both ends are ours: a parcel is made of a cache that the builder alone writes, and never passes through a worker.
"""

from __future__ import annotations

import contextlib
import secrets
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from harness.builder.extension_cache import SHARED, has_build
from harness.builder.workers import Workers, seen_files
from harness.model.build import ExtensionBuild
from harness.model.record import hash_contents
from harness.sandbox.folder import write_file
from harness.sandbox.wire.layout import extensions_folder
from harness.workspace.solution import Solution

Parcel = Mapping[str, bytes]
"""Files by their path below the folder of extensions."""


def pack(workers: Workers, solution: Solution, builds: Sequence[ExtensionBuild]) -> Parcel:
    """Pack what was built for a solution, and the texts by which its workers are known to have sent them."""
    root = extensions_folder(workers.cache, workers.host.name)
    namespace = root / hash_contents(seen_files(solution.folder).items())
    found = [place / one.key for one in builds for place in (namespace, root / SHARED) if has_build(place, one.key)]
    texts = sorted((namespace / "texts").glob("*.json"))
    paths = [*texts, *(path for folder in found for path in sorted(folder.iterdir()))]
    return {str(path.relative_to(root)): path.read_bytes() for path in paths}


def unpack(workers: Workers, parcel: Parcel) -> None:
    """Put into this machine's cache what it hasn't: a folder at a time, whole or not at all, whoever else does so."""
    root = extensions_folder(workers.cache, workers.host.name)
    for folder, files in _by_folder(parcel):
        place = root / folder
        if place.name == "texts":
            _put_texts(place, files)
        elif not place.exists():
            _put_build(place, files)


def _by_folder(parcel: Parcel) -> Iterator[tuple[str, dict[str, bytes]]]:
    for folder in dict.fromkeys(name.rpartition("/")[0] for name in parcel):
        beginning = f"{folder}/"
        yield folder, {name[len(beginning) :]: parcel[name] for name in parcel if name.startswith(beginning)}


def _put_texts(place: Path, files: Mapping[str, bytes]) -> None:
    place.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        if not (place / name).exists():
            part = place / f".{secrets.token_hex(8)}.part"
            part.write_bytes(content)
            part.replace(place / name)


def _put_build(place: Path, files: Mapping[str, bytes]) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    part = place.with_name(f".{secrets.token_hex(8)}.part")
    part.mkdir()
    try:
        for name, content in files.items():
            write_file(part / name, content)
        with contextlib.suppress(OSError):  # another process was first
            part.rename(place)
    finally:
        shutil.rmtree(part, ignore_errors=True)
