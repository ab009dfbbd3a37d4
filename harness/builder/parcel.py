"""Builds of a solution as bytes, for the cache of another machine: what its workers there are lent.

Both ends are ours: a parcel is made of a cache that the builder alone writes, and never passes through a worker.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from harness.builder.extension_cache import SHARED, has_build, keep_files, keep_text
from harness.builder.triton_cache import entries
from harness.builder.workers import Workers, seen_files
from harness.model.build import ExtensionBuild
from harness.model.record import hash_contents
from harness.sandbox.wire.layout import extensions_folder
from harness.workspace.solution import Solution

Parcel = Mapping[str, bytes]
"""Files by their path below the folder of extensions."""


def pack(workers: Workers, solution: Solution, builds: Sequence[ExtensionBuild]) -> Parcel:
    """Pack what was built for a solution, and the texts by which its workers are known to have sent them."""
    root = extensions_folder(workers.cache, workers.host.name)
    namespace = root / hash_contents(seen_files(solution.folder).items())
    found = [place / one.key for one in builds for place in (namespace, root / SHARED) if has_build(place, one.key)]
    found += entries(namespace)
    texts = sorted((namespace / "texts").glob("*.json"))
    paths = [*texts, *(path for folder in found for path in sorted(folder.iterdir()))]
    return {str(path.relative_to(root)): path.read_bytes() for path in paths}


def unpack(workers: Workers, parcel: Parcel) -> None:
    """Put into this machine's cache what it hasn't: a folder at a time, whole or not at all, whoever else does so."""
    root = extensions_folder(workers.cache, workers.host.name)
    for folder, files in _by_folder(parcel):
        place = root / folder
        if place.name == "texts":
            for name, content in files.items():
                if not (place / name).exists():
                    keep_text(place / name, content.decode())
        elif not place.exists():
            keep_files(place, files)


def _by_folder(parcel: Parcel) -> Iterator[tuple[str, dict[str, bytes]]]:
    for folder in dict.fromkeys(name.rpartition("/")[0] for name in parcel):
        beginning = f"{folder}/"
        yield folder, {name[len(beginning) :]: parcel[name] for name in parcel if name.startswith(beginning)}
