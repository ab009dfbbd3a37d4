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
    "-w",
)

# Signed overflow wraps on a GPU, and so must here; -g1 gives faults their line. A misaligned access faults on a
# GPU alone: the checks make it one here, as an illegal instruction and without a library.
DEVICE_FLAGS = (
    *_LANGUAGE_FLAGS,
    "-O2",
    "-g1",
    "-fwrapv",
    "-fsanitize=alignment",
    "-fsanitize-undefined-trap-on-error",
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

# Bindings run once per call: the time to compile them is all that counts.
HOST_FLAGS = ("-O0", "-fPIC")

_TUNING = re.compile(r"-O\w*|-g\w*|-march=.*|-mtune=.*|-mavx\w*|-mfma|-ffast-math|-funroll-loops|-flto\S*|-W\S*|-w")
# The default of every g++ that we accept; torch before 2.7 passes it, which alone would reject the header.
_DEFAULTS = ("-D_GLIBCXX_USE_CXX11_ABI=1", "-fPIC")


def without_tuning(flags: list[str]) -> list[str]:
    """Drop flags that only make code faster or warn: they would rule the precompiled header out."""
    return [flag for flag in flags if flag not in _DEFAULTS and not _TUNING.fullmatch(flag)]


# ---- Slim headers leave most of torch out, and are read in a tenth of the time.


_NAMES_MORE = re.compile(
    r"torch::(nn|optim|autograd|jit|data|serialize|python|save|load)\b"
    r"|torch/(nn|optim|autograd|jit|data|script|serialize|python|library)\b"
    r"|torch/csrc/|TORCH_LIBRARY"
)
_NAMES_PYTHON = re.compile(r"PYBIND11_MODULE|\bpy::|pybind11|\bPy\w+\b")
_MISSES_SOMETHING = re.compile(r"not a member of ‘(torch|py|pybind11)\b|‘(torch|py|pybind11)(::\w+)*’ has not been")


def can_be_slim(source: str, *, is_device: bool) -> bool:
    """Tell whether `source` names nothing that only the full headers declare. Bindings are slim in main.cpp alone."""
    return not _NAMES_MORE.search(source) and not (is_device and _NAMES_PYTHON.search(source))


def was_too_slim(errors: str) -> bool:
    """Tell whether a compiler's messages may come from the slim headers alone."""
    return _MISSES_SOMETHING.search(errors) is not None
