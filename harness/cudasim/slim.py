"""Which sources can do with the slim torch headers, which are read in a tenth of the time."""

from __future__ import annotations

import re

_NAMES_MORE = re.compile(
    r"torch::(nn|optim|autograd|jit|data|serialize|python|save|load)\b"
    r"|torch/(nn|optim|autograd|jit|data|script|serialize|python|library)\b"
    r"|torch/csrc/|TORCH_LIBRARY"
)
_NAMES_PYTHON = re.compile(r"PYBIND11_MODULE|\bpy::|pybind11|\bPy\w+\b")
_MISSES_SOMETHING = re.compile(r"not a member of ‘(torch|py|pybind11)\b|‘(torch|py|pybind11)(::\w+)*’ has not been")


def can_be_slim(source: str, *, is_device: bool) -> bool:
    """Whether nothing in `source` names what only the full headers declare. Bindings are slim in main.cpp alone."""
    return not _NAMES_MORE.search(source) and not (is_device and _NAMES_PYTHON.search(source))


def was_too_slim(errors: str) -> bool:
    """Whether a compiler's messages may come from the slim headers alone."""
    return _MISSES_SOMETHING.search(errors) is not None
