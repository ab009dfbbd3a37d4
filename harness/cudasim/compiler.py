"""The simulator's needs of this machine: a C++ compiler, a torch that isn't AMD's, an x86-64 Linux."""

from __future__ import annotations

import importlib.util
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path

OLDEST_GCC = 11
_FILLS_LOCALS_SINCE = 12
"""The first GCC that has -ftrivial-auto-var-init."""
OLDEST_TORCH = (2, 6)
TRIED_PYTHONS = ((3, 10), (3, 13))
"""The oldest and the newest Python that the simulator's tests have passed with."""
_WANTED_FEATURES = frozenset({"avx2", "fma", "bmi1", "bmi2", "f16c", "movbe", "abm"})


class SimUnavailable(Exception):
    """This machine can't simulate; the message says what to do."""


@dataclass(frozen=True)
class Torch:
    """The installed torch, read without importing it."""

    root: Path
    version: str
    standard: str
    """The C++ standard that torch builds extensions with, such as -std=c++20."""
    cuda: str | None = None
    """The version of CUDA that it is built for, such as 13.0; None for a CPU build."""

    has_old_strings: bool = False
    """True where it is built with libstdc++'s strings of before C++11, as wheels up to torch 2.6 are."""

    @property
    def include_flags(self) -> list[str]:
        """The folders that torch's cpp_extension names, after the C++ library's ABI if it isn't g++'s own choice."""
        abi = ["-D_GLIBCXX_USE_CXX11_ABI=0"] if self.has_old_strings else []
        folders = (self.root / "include", self.root / "include/torch/csrc/api/include")
        flags = [flag for folder in folders for flag in ("-isystem", str(folder))]
        return [*abi, *flags, "-isystem", sysconfig.get_path("include", scheme="posix_prefix")]

    @property
    def libraries(self) -> Path:
        return self.root / "lib"


@dataclass(frozen=True)
class Compiler:
    """A g++ that can be run, the instruction set that it may use here, and what else it alone knows."""

    command: tuple[str, ...]
    version: str
    machine_flags: tuple[str, ...]


def find_torch() -> Torch:
    """Find torch. Raises SimUnavailable if the simulator doesn't fit the platform or the installed torch."""
    if platform.system() != "Linux" or platform.machine() not in ("x86_64", "AMD64"):
        raise SimUnavailable(
            f"the simulator runs on Linux x86-64 only, not on {platform.system()} {platform.machine()}; "
            "use a Linux x86-64 machine, or `--backend cuda` on one with a GPU"
        )
    if platform.libc_ver()[0] != "glibc":
        raise SimUnavailable(
            "the simulator needs glibc, for which torch is built, and this Python has another C library; "
            "use an image of Debian, Ubuntu or Fedora rather than Alpine"
        )
    spec = importlib.util.find_spec("torch")
    if spec is None or spec.origin is None:
        raise SimUnavailable(f"torch is not installed for {sys.executable}; pip install torch")
    root = Path(spec.origin).parent
    version = _assigned(root / "version.py", "__version__") or "0"
    if tuple(int(part) for part in re.findall(r"\d+", version)[:2]) < OLDEST_TORCH:
        raise SimUnavailable(f"the simulator needs torch 2.6 or later, not {version}; pip install --upgrade torch")
    if _assigned(root / "version.py", "hip"):
        raise SimUnavailable(
            f"torch {version} is built for AMD's GPUs, of which the simulator knows nothing; in an environment of its "
            "own: the CUDA or the CPU build of torch, as PyTorch's 'Start Locally' page gives them"
        )
    standard = re.search(r"-std=c\+\+\d\d", (root / "utils/cpp_extension.py").read_text())
    cuda = _assigned(root / "version.py", "cuda")
    return Torch(root, version, standard.group() if standard else "-std=c++17", cuda, _has_old_strings(root))


def untried_python(version: tuple[int, int] = sys.version_info[:2]) -> str | None:
    """Return a remark on a Python that the simulator's tests never ran with; it may still work."""
    if TRIED_PYTHONS[0] <= version <= TRIED_PYTHONS[1]:
        return None
    oldest, newest, this = (f"{major}.{minor}" for major, minor in (*TRIED_PYTHONS, version))
    return f"tried with Python {oldest} to {newest}, not with this {this}"


def find_compiler() -> Compiler:
    """Find the user's CXX, else c++ or g++. Raises SimUnavailable if none is a g++ that is new enough."""
    seen = []
    for candidate in (os.environ.get("CXX", ""), "c++", "g++"):
        command = shlex.split(candidate)
        if not command or not shutil.which(command[0]) or _is_stand_in(command[0]):
            continue
        version = _gcc_version(command)
        if version is not None and int(version.split(".")[0]) >= OLDEST_GCC:
            return Compiler(tuple(command), version, (*_machine_flags(), *_locals_flags(version)))
        seen.append(f"{candidate} is {'gcc ' + version if version else 'no g++'}")
    found = "; ".join(seen) or "no C++ compiler is on the PATH"
    raise SimUnavailable(f"the simulator needs g++ {OLDEST_GCC} or later ({found}); apt-get install g++")


def _is_stand_in(program: str) -> bool:
    """Tell our own c++, which a worker has as CXX: it knows its compiler from the toolkit that this would build."""
    return (Path(program).parent.parent / "toolkit.json").is_file()


def _assigned(module: Path, name: str) -> str | None:
    match = re.search(rf"^{name}\b[^=\n]*=\s*['\"](.*)['\"]", module.read_text(), re.MULTILINE)
    return match.group(1) if match else None


def _has_old_strings(root: Path) -> bool:
    configuration = root / "share/cmake/Torch/TorchConfig.cmake"
    return configuration.is_file() and "_GLIBCXX_USE_CXX11_ABI=0" in configuration.read_text()


def _gcc_version(command: list[str]) -> str | None:
    macros = subprocess.run(
        [*command, "-dM", "-E", "-x", "c++", "/dev/null"], capture_output=True, text=True, check=False
    ).stdout
    if "__clang__" in macros:
        return None
    match = re.search(r'#define __VERSION__ "(\d+[\d.]*)', macros)
    return match.group(1) if match else None


def _machine_flags() -> tuple[str, ...]:
    try:
        cpu = Path("/proc/cpuinfo").read_text()
    except OSError:
        return ()
    features = re.search(r"^flags\s*:(.*)$", cpu, re.MULTILINE)
    has_all = features is not None and set(features.group(1).split()) >= _WANTED_FEATURES
    return ("-march=x86-64-v3",) if has_all else ()


def _locals_flags(version: str) -> tuple[str, ...]:
    """Fill local variables that nobody sets with bytes of 0xFE (-1.7e38 as a float), which pass for no right number."""
    return ("-ftrivial-auto-var-init=pattern",) if int(version.split(".")[0]) >= _FILLS_LOCALS_SINCE else ()
