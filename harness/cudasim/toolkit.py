"""The simulator's toolkit: what a CUDA installation is for a GPU, compiled once per machine and torch."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from harness.cudasim.compiler import Compiler, Torch, find_compiler, find_torch
from harness.cudasim.toolkit_build import (
    RUNTIME_FILE,
    SLIM_HEADERS,
    SOURCES_VARIABLE,
    STAND_INS,
    build_toolkit,
    checked_header,
    precompile_checked,
)

_PACKAGE = Path(__file__).parent
_KEPT_TOOLKITS = 2
_IN_USE = "in-use"
_MANIFEST = "toolkit.json"


@dataclass(frozen=True)
class Toolkit:
    """A built toolkit. Workers get its `root` and `environment()`. `is_checked` is for `--sanitize`."""

    root: Path
    is_checked: bool = False
    in_use: int | None = field(default=None, compare=False, repr=False)
    """A descriptor. While it is open, which is until this process ends, nobody removes the toolkit."""

    @property
    def nvcc(self) -> Path:
        return self.root / ("bin/nvcc-checked" if self.is_checked else "bin/nvcc")

    @property
    def cxx(self) -> Path:
        return self.root / "bin/c++"

    @property
    def libraries(self) -> Path:
        return self.root / "lib64"

    @property
    def runtime(self) -> Path:
        """The file that libcudart.so links to. Under that name torch would load CUDA's libraries where there are any:
        torch/__init__.py looks for it among the loaded ones."""
        return self.libraries / RUNTIME_FILE

    @property
    def fake_device(self) -> Path:
        return self.libraries / "libc10_cuda.so"

    @property
    def options(self) -> list[str]:
        """The words by which of_options() finds it in another process."""
        return [str(self.root), *(["checked"] if self.is_checked else [])]

    @staticmethod
    def of_options(options: Sequence[str]) -> Toolkit:
        return Toolkit(Path(options[0]), is_checked="checked" in options[1:])

    def stand_ins(self) -> list[Path]:
        """List the stand-ins for CUDA libraries that torch is linked to: for a CPU build, an empty libtorch_cuda."""
        return sorted((self.root / STAND_INS).iterdir())

    def environment(self) -> dict[str, str]:
        """Variables with which torch's `load_inline` builds for the simulator."""
        return {
            "CUDA_HOME": str(self.root),
            "CUDA_PATH": str(self.root),
            "PYTORCH_NVCC": str(self.nvcc),
            "CXX": str(self.cxx),
            "TORCH_CUDA_ARCH_LIST": "9.0",
            SOURCES_VARIABLE: str(_PACKAGE.parents[1]),
        }


def ensure_toolkit(cache: Path, progress: Callable[[str], None], is_checked: bool = False) -> Toolkit:
    """Return this machine's toolkit in `cache`. The first use builds it, in about half a minute; the first checked one
    takes half as long again.

    Raises SimUnavailable where the platform, torch or the compiler is not one that the simulator knows.
    """
    torch, compiler = find_torch(), find_compiler()
    root = _root(cache, torch, compiler)
    in_use = _used(root)
    if in_use is None or (is_checked and not checked_header(root).is_file()):
        cache.mkdir(parents=True, exist_ok=True)
        with _locked(cache / "sim.lock"):
            if not _is_built(root):
                _build(root, torch, compiler, progress)
            if is_checked and not checked_header(root).is_file():
                precompile_checked(root, torch, compiler, progress)
            in_use = _used(root)
            _remove_old(cache, keep=root)
    os.utime(root)
    return Toolkit(root, is_checked, in_use=in_use)


def is_prepared(cache: Path) -> bool:
    """Say whether the toolkit of this machine lies in `cache`. Raises: SimUnavailable."""
    return _is_built(_root(cache, find_torch(), find_compiler()))


def _root(cache: Path, torch: Torch, compiler: Compiler) -> Path:
    return cache.absolute() / f"sim-{_key(torch, compiler)}"


def _is_built(root: Path) -> bool:
    return (root / _MANIFEST).is_file()


def _used(root: Path) -> int | None:
    """Hold the toolkit for this process, however it ends, and return the descriptor; None where the toolkit isn't built
    or is being removed."""
    try:
        descriptor = os.open(root / _IN_USE, os.O_RDWR | os.O_CREAT)
    except FileNotFoundError:
        return None
    with suppress(BlockingIOError):
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        if _is_built(root):
            return descriptor
    os.close(descriptor)
    return None


def _build(root: Path, torch: Torch, compiler: Compiler, progress: Callable[[str], None]) -> None:
    """Build in place, since precompiled headers can't be moved. The manifest comes last and makes it a toolkit."""
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
    """Hold a lock that the kernel drops with this process, however it ends."""
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _remove_old(cache: Path, keep: Path) -> None:
    """Remove all toolkits that no process uses but `keep` and the newest other."""
    others = [path for path in cache.glob("sim-*") if path != keep and path.is_dir()]
    others.sort(key=lambda path: path.stat().st_mtime, reverse=True)
    for path in others[_KEPT_TOOLKITS - 1 :]:
        with (path / _IN_USE).open("a") as file, suppress(BlockingIOError):
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            (path / _MANIFEST).unlink(missing_ok=True)
            shutil.rmtree(path, ignore_errors=True)


def _key(torch: Torch, compiler: Compiler) -> str:
    digest = hashlib.sha256()
    for path in sorted(_sources()):
        digest.update(f"{path.relative_to(_PACKAGE.parent)}\0".encode() + path.read_bytes())
    facts = (torch.root, torch.version, compiler, sys.prefix, sys.version)
    digest.update("\0".join(map(str, facts)).encode())
    return digest.hexdigest()[:16]


def _sources() -> Iterator[Path]:
    for folder in (_PACKAGE / "runtime", _PACKAGE / "include", SLIM_HEADERS):
        yield from (path for path in folder.rglob("*") if path.is_file())
    yield from _PACKAGE.glob("*.py")  # what was compiled by another translation is built anew
