"""Precompiled headers: the flags that a file must share to use one, and which sources need no more than slim ones."""

from __future__ import annotations

import re

TORCH_DEFINITIONS = ("-DTORCH_API_INCLUDE_EXTENSION_H",)

_LANGUAGE_FLAGS = (
    "-DHARNESS_SIM_DEVICE=1",
    "-fPIC",
    "-fno-strict-aliasing",
    "-ffp-contract=fast",
    "-fno-gnu-unique",
    "-fstack-reuse=none",  # shapes from a list that has ended its life work with nvcc, and so must here
    "-w",
)

# Signed overflow wraps on a GPU, and so must here; -g1 gives faults their line. A misaligned access faults on a
# GPU alone: the checks make it one here, as an illegal instruction and without a library. Each has one of its own,
# else the line is that of any.
DEVICE_FLAGS = (
    *_LANGUAGE_FLAGS,
    "-O2",
    "-g1",
    "-fwrapv",
    "-fsanitize=alignment",
    "-fsanitize-undefined-trap-on-error",
    *("-fno-crossjumping", "-fno-tree-tail-merge"),
)

# g++ calls the runtime at every access, and where arithmetic overflows. What it would rather read too early, or for
# several threads' sakes at once, it must read as written; frame pointers lead a finding in a header to its user's line.
CHECKED_FLAGS = (
    *_LANGUAGE_FLAGS,
    "-O1",
    "-g1",
    "-fsanitize=thread,bounds-strict,signed-integer-overflow,alignment",
    *("--param", "tsan-instrument-func-entry-exit=0", "--param", "tsan-distinguish-volatile=1"),
    *("-finline-small-functions", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls"),
    *("-fno-if-conversion", "-fno-if-conversion2", "-fno-tree-loop-if-convert"),
    *("-U_FORTIFY_SOURCE", "-fno-builtin-memcpy", "-fno-builtin-memmove", "-fno-builtin-memset"),
)

# The time to compile is all that counts.
HOST_FLAGS = ("-O0", "-fPIC")

_TUNING = re.compile(r"-O\w*|-g\w*|-march=.*|-mtune=.*|-mavx\w*|-mfma|-ffast-math|-funroll-loops|-flto\S*|-W\S*|-w")
# The default of every g++ that we accept; torch before 2.7 passes it, which alone would reject the header.
_DEFAULTS = ("-D_GLIBCXX_USE_CXX11_ABI=1", "-fPIC")


def without_tuning(flags: list[str]) -> list[str]:
    """Drop flags that only make code faster or warn: they would rule the precompiled header out."""
    return [flag for flag in flags if flag not in _DEFAULTS and not _TUNING.fullmatch(flag)]


# ---- Slim headers leave most of torch out, and are read in a tenth of the time.


# What they lack, or what means something else there: at::empty() refuses requires_grad, at::tensor() gives other
# dtypes, our binding knows no overloads (which a build for a GPU, in worker/slim_build.py, finds out by importing).
_NEEDS_FULL = re.compile(
    r"torch::(nn|optim|autograd|jit|data|serialize|python|save|load|indexing|tensor|cuda)\b"
    r"|torch/(nn|optim|autograd|jit|data|script|serialize|python|library|csrc)\b"
    r"|\bpy::(?!arg\b)|(?<!/)pybind11(?!/(pybind11|stl)\.h|::arg\b|\s*;)|PYBIND11_(?!MODULE\b)|\bPy(?!Torch)[A-Z]\w+\b"
    r"|\barg\([^)]*\)\s*=|\bnamespace\s+\w+\s*=\s*(at|c10|torch)\b"
    r"|\bTORCH_LIBRARY|requires_grad|__has_include|globalContext"
)
_BOUND = re.compile(r"\.def\s*\(\s*\"(\w+)")


def can_be_slim(source: str) -> bool:
    """Tell whether `source` names nothing that only the full headers declare."""
    bound = _BOUND.findall(source)
    return not _NEEDS_FULL.search(source) and len(set(bound)) == len(bound)
