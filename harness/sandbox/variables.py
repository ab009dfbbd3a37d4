"""The environment variables that a worker gets: what compilers, CUDA and Python go by, and nothing else of the user's.

Tokens, proxies and LD_PRELOAD stay outside. Whoever needs another one names it in limits.pass_environment.
How a Python of ours is started stands here, too.
"""

from __future__ import annotations

import os
import re
import site
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from harness.sandbox.wire.layout import own_triton, scratch_folder
from harness.sandbox.wire.sandbox import MARK

_NAMES = frozenset(
    {"PATH", "LANG", "LANGUAGE", "TZ", "TERM", "MAX_JOBS", "VIRTUAL_ENV", "CONDA_PREFIX", "CONDA_DEFAULT_ENV",
     "LD_LIBRARY_PATH", "LIBRARY_PATH", "CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "CC", "CXX", "CFLAGS",
     "CXXFLAGS", "CPPFLAGS", "LDFLAGS", "COMPILER_PATH", "GCC_EXEC_PREFIX", "SOURCE_DATE_EPOCH", "PYTHONHASHSEED",
     "PYTHONHOME", "PYTHONUTF8", "PYTHONIOENCODING", "PYTHONPYCACHEPREFIX"}
)  # fmt: skip
_BEGINNINGS = ("LC_", "CUDA_", "NVIDIA_", "NVCC_", "CUBLAS_", "CUDNN_", "OMP_", "GOMP_", "KMP_", "MKL_", "OPENBLAS_",
               "TORCH_", "TORCHINDUCTOR_", "PYTORCH_", "TRITON_", "HIP_", "ROCM_", "ROCR_", "HSA_")  # fmt: skip
_SECRET = re.compile(r"TOKEN|SECRET|PASSW|CREDENTIAL|(^|_)KEY($|_)|AUTH")
_SET_BY_TORCH = {"CUDA_MODULE_LOADING", "DISABLE_CUPTI_LAZY_REINIT", "TEARDOWN_CUPTI", "TORCHINDUCTOR_CACHE_DIR"}
"""Variables that torch sets when it is imported or first used; a worker's own torch sets them anew."""


def scrubbed(environment: Mapping[str, str], passed: Sequence[str]) -> dict[str, str]:
    """Return those of these variables that a worker may have; `passed` are names that the user adds.

    Workers stand in other folders: relative entries of PYTHONPATH are resolved here, empty ones dropped. PYTHONSAFEPATH
    is for the processes that a worker starts.
    """
    kept = {name: value for name, value in environment.items() if _is_allowed(name) or name in passed}
    package_root = str(Path(__file__).parents[2])
    theirs = [os.path.abspath(entry) for entry in environment.get("PYTHONPATH", "").split(os.pathsep) if entry]
    return {
        **kept,
        "PYTHONPATH": os.pathsep.join([package_root, *theirs]),
        "PYTHONUSERBASE": site.getuserbase(),  # the user's own modules, wherever HOME is
        "PYTHONUNBUFFERED": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONSAFEPATH": "1",
    }


def of_own_folder(folder: Path, mark: str) -> dict[str, str]:
    """Send whatever a program writes by habit into the worker's scratch. The folders are made by make_folder()."""
    scratch = scratch_folder(folder)
    cache = scratch / "cache"
    return {
        MARK: mark,
        "HOME": str(scratch / "home"),
        "USER": "harness",
        "LOGNAME": "harness",
        "TMPDIR": str(scratch / "tmp"),
        "XDG_CACHE_HOME": str(cache),
        "CUDA_CACHE_PATH": str(cache / "cuda"),
        "TORCH_EXTENSIONS_DIR": str(cache / "torch_extensions"),
        "TORCHINDUCTOR_CACHE_DIR": str(cache / "inductor"),
        "TRITON_CACHE_DIR": str(own_triton(folder)),
    }


def _is_allowed(name: str) -> bool:
    if name in _SET_BY_TORCH or _SECRET.search(name):
        return False
    return name in _NAMES or name.startswith(_BEGINNINGS)


_START = """\
import sys
sys.path[:] = [folder for folder in sys.path if folder]
if sys.argv[1] not in sys.path:
    sys.path.insert(0, sys.argv[1])
module = sys.argv[2]
del sys.argv[1:3]
import runpy
runpy.run_module(module, run_name="__main__", alter_sys=True)
"""
"""The package's folder comes first where it is on no path yet (a checkout), and keeps its place where it is."""


def own_python(module: str, *arguments: str) -> list[str]:
    """Return the command of a process that runs `module` of this very package as its main program.

    `python -m` puts the working folder first on the path: a random.py in it, which a solution may well have beside it,
    would be imported into a process that judges. Python 3.10 has no option against that.
    """
    return [sys.executable, "-c", _START, str(Path(__file__).parents[2]), module, *arguments]
