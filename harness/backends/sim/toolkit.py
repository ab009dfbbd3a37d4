"""The simulator's toolkit: what a CUDA installation is for a GPU, compiled once per machine and torch."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from harness.backends.sim.compiler import Compiler, SimUnavailable, Torch, find_compiler, find_torch
from harness.backends.sim.toolkit_build import SOURCES_VARIABLE, build_toolkit, checked_header, precompile_checked

__all__ = ["SimUnavailable", "Toolkit", "ensure_toolkit"]

_PACKAGE = Path(__file__).parent
_KEPT_TOOLKITS = 2
_IN_USE_S = 24 * 3600
_MANIFEST = "toolkit.json"


@dataclass(frozen=True)
class Toolkit:
    """A built toolkit. Workers get its `root` and `environment()`. `is_checked`: for `--sanitize`."""

    root: Path
    is_checked: bool = False

    @property
    def nvcc(self) -> Path:
        return self.root / ("bin/nvcc-checked" if self.is_checked else "bin/nvcc")

    @property
    def cxx(self) -> Path:
        return self.root / "bin/c++"

    @property
    def libraries(self) -> Path:
        return self.root / "lib64"

    def environment(self) -> dict[str, str]:
        """Variables with which torch's `load_inline` builds for the simulator."""
        return {
            "CUDA_HOME": str(self.root),
            "CUDA_PATH": str(self.root),
            "PYTORCH_NVCC": str(self.nvcc),
            "CXX": str(self.cxx),
            "TORCH_CUDA_ARCH_LIST": "9.0",
            SOURCES_VARIABLE: str(_PACKAGE.parents[2]),
        }


def ensure_toolkit(cache: Path, progress: Callable[[str], None], is_checked: bool = False) -> Toolkit:
    """The toolkit of this machine in `cache`, built on first use (about half a minute, as long again when it is first
    to be a checked one).

    Raises SimUnavailable where the platform, torch or the compiler is not one that the simulator knows.
    """
    torch, compiler = find_torch(), find_compiler()
    root = cache.absolute() / f"sim-{_key(torch, compiler)}"
    if not _is_built(root):
        cache.mkdir(parents=True, exist_ok=True)
        with _locked(cache / "sim.lock"):
            if not _is_built(root):
                _build(root, torch, compiler, progress)
                _remove_old(cache, keep=root)
    if is_checked and not checked_header(root).is_file():
        with _locked(cache / "sim.lock"):
            if not checked_header(root).is_file():
                precompile_checked(root, torch, compiler, progress)
    os.utime(root)
    return Toolkit(root, is_checked)


def _is_built(root: Path) -> bool:
    return (root / _MANIFEST).is_file()


def _build(root: Path, torch: Torch, compiler: Compiler, progress: Callable[[str], None]) -> None:
    """Precompiled headers don't bear being moved, so it is built in place; the manifest, written last, makes it one."""
    shutil.rmtree(root, ignore_errors=True)
    try:
        build_toolkit(root, torch, compiler, progress)
    except BaseException:
        shutil.rmtree(root, ignore_errors=True)
        raise
    manifest = {"compiler": compiler.command, "machine_flags": compiler.machine_flags, "torch": torch.version}
    unfinished = root / f"{_MANIFEST}.part"
    unfinished.write_text(json.dumps(manifest))
    unfinished.rename(root / _MANIFEST)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """The kernel drops the lock with its process, however that ends."""
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _remove_old(cache: Path, keep: Path) -> None:
    """Bounds the disk. What was used within a day may be in use now, by a run that has no other."""
    others = [path for path in cache.glob("sim-*") if path != keep and path.is_dir()]
    others.sort(key=lambda path: path.stat().st_mtime, reverse=True)
    for path in others[_KEPT_TOOLKITS - 1 :]:
        if time.time() - path.stat().st_mtime > _IN_USE_S:
            shutil.rmtree(path, ignore_errors=True)


def _key(torch: Torch, compiler: Compiler) -> str:
    digest = hashlib.sha256()
    for path in sorted(_sources()):
        digest.update(f"{path.relative_to(_PACKAGE)}\0".encode() + path.read_bytes())
    facts = (torch.root, torch.version, compiler, sys.prefix, sys.version)
    digest.update("\0".join(map(str, facts)).encode())
    return digest.hexdigest()[:16]


def _sources() -> Iterator[Path]:
    for folder in ("runtime", "include"):
        yield from (path for path in (_PACKAGE / folder).rglob("*") if path.is_file())
    yield from (_PACKAGE / name for name in ("flags.py", "toolkit.py", "toolkit_build.py"))
