"""The languages of a solution's kernels, found in its files: nobody declares them."""

from __future__ import annotations

import ast
import importlib.util
import re
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class PythonLanguage:
    """A language within Python: its name, the module that a kernel imports, and the package that pip installs."""

    name: str
    module: str
    package: str

    @property
    def is_installed(self) -> bool:
        """True where this Python, which also judges, finds the module."""
        return importlib.util.find_spec(self.module) is not None

    def is_needed_by(self, python: str) -> bool:
        """Say whether a module can't be imported without it."""
        try:
            nodes = ast.parse(python).body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return False
        plain = [one.name for node in nodes if isinstance(node, ast.Import) for one in node.names]
        named = [node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module and not node.level]
        return any(name.split(".")[0] == self.module for name in (*plain, *named))


TRITON = PythonLanguage("Triton", "triton", "triton")
OF_GPUS_ALONE = (
    PythonLanguage("TileLang", "tilelang", "tilelang"),
    PythonLanguage("CuTe DSL", "cutlass", "nvidia-cutlass-dsl"),
)
"""Languages of which nothing runs a kernel without a GPU."""
OF_PYTHON = (TRITON, *OF_GPUS_ALONE)

_CUDA = re.compile(r"\b__global__\b")
_HIP = re.compile(r"#[ \t]*include[ \t]*<hip/")
_OF_BOTH = re.compile(r"^[ \t]*#[ \t]*(?:el)?if[^\n]*\b(?:__HIP|USE_ROCM|__CUDA|__NVCC)", re.MULTILINE)
"""Text that the preprocessor makes CUDA or HIP."""
_PROSE = (".md", ".rst", ".yaml", ".yml")


def languages_in(files: Mapping[str, str]) -> tuple[str, ...]:
    """Return the languages that these texts show, by name; none for a solution in torch's operators alone."""
    code = _code_of(files)
    of_cpp = ("HIP",) if is_in_hip(files) else ("CUDA",) if any(map(_CUDA.search, code)) else ()
    return (*of_cpp, *(one.name for one in python_languages_in(files)))


def is_in_hip(files: Mapping[str, str]) -> bool:
    """Say whether these texts are C++ for AMD's GPUs alone."""
    return any(_HIP.search(text) and not _OF_BOTH.search(text) for text in _code_of(files))


def python_languages_in(files: Mapping[str, str]) -> tuple[PythonLanguage, ...]:
    """Return the languages within Python that these texts import."""
    code = "\n".join(_code_of(files))
    lines = r"^[ \t]*(?:import|from)[ \t]+{}\b"
    return tuple(one for one in OF_PYTHON if re.search(lines.format(one.module), code, re.MULTILINE))


def _code_of(files: Mapping[str, str]) -> list[str]:
    return [text for name, text in files.items() if not name.endswith(_PROSE)]
