"""What this machine can run: the fixtures and skips that depend on it."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ITS_PACKAGES = {"PYTHONPATH": os.pathsep.join((str(ROOT), sysconfig.get_paths()["purelib"]))}
"""A variable with which another Python of this version finds what this one has."""
USER = 54321
"""An ordinary user, for those who are root."""
ANSWERS = ROOT.parent / "shared" / "answers"


@functools.cache
def why_no_gpu() -> str | None:
    """The reason for skipping GPU tests; None where they can run."""
    import torch

    if not torch.cuda.is_available():
        return "no CUDA GPU that torch can use"
    if shutil.which("nvcc") is None and not Path("/usr/local/cuda/bin/nvcc").exists():
        return "no nvcc"
    return None


def real_nvcc() -> str:
    """The path of CUDA's compiler; empty where there is none."""
    usual = Path("/usr/local/cuda/bin/nvcc")
    return shutil.which("nvcc") or (str(usual) if usual.exists() else "")


def why_no_nvcc() -> str | None:
    """The reason for skipping tests that have nvcc compile, GPU or none."""
    return None if real_nvcc() else "no nvcc"


@functools.cache
def why_no_sim() -> str | None:
    """The reason for skipping simulator tests; None where they can run."""
    from harness.cudasim import SimUnavailable, find_compiler, find_torch

    try:
        find_torch()
        find_compiler()
    except SimUnavailable as error:
        return str(error)
    return None


heavy = functools.partial(pytest.param, marks=pytest.mark.heavy)
"""A parameter's values with which a test takes long."""


def why_nothing_heavy() -> str | None:
    """The reason for skipping tests that take long, and whose like is tested by quicker ones."""
    return None if os.environ.get("HARNESS_CORPUS") == "all" else "takes long: HARNESS_CORPUS=all"


def python_of_others() -> str | None:
    """Return a Python that USER may run, if there is one: a virtual environment's may lie in root's home."""
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    for python in (sys.executable, f"/usr/bin/python{version}", f"/usr/local/bin/python{version}"):
        command = [python, "-c", "import pydantic, harness"]
        try:
            done = subprocess.run(command, user=USER, env={**os.environ, **ITS_PACKAGES}, cwd="/", capture_output=True)
        except OSError:
            continue
        if done.returncode == 0:
            return python
    return None
