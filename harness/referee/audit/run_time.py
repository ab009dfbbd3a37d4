"""Kernels that torch compiles at run time, besides those of torch.compile: their plain names are in no library."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import torch

from harness.model.build import ExtensionBuild

_FOLDERS = ("_native", "sparse", "_inductor/kernel")
"""torch's folders with Triton kernels that its operators run (2.13); a missing one is no error."""
_TRITON = re.compile(r"^[ \t]*@triton\.jit\b.*\n(?:[ \t]*(?:[@#].*)?\n)*[ \t]*def (\w+)", re.MULTILINE)
_FUSED = re.compile(r"fused_(?P<operators>\w+?)(_\d+)?")
"""TorchScript's fuser names a kernel after the operators in it (subgraph_utils.cpp: generateNameForGraph), and numbers
those of the same name."""
_JITERATED = re.compile(
    r"(?P<reduction>reduction_)?(?P<function>\w+?)(_forward|_backward)?(?P<vectorized>_vectorized\d+)?_kernel"
)
_MOST_WORDS = 12
"""The most words of an operator's name."""


@dataclass(frozen=True)
class Written:
    """The work of a solution's author: its built extensions, and all texts by path."""

    builds: Sequence[ExtensionBuild] = ()
    texts: Mapping[str, str] = field(default_factory=dict)

    def defines(self, kernel: str) -> bool:
        """Say whether any text defines a function of that name, in Python or in CUDA."""
        definition = re.compile(rf"\b(def|void)\s+(__launch_bounds__\s*\([^()]*\)\s*)?{re.escape(kernel)}\s*[(\[]")
        return any(definition.search(text) for text in self.texts.values())

    def leaves_to_torch(self, kernel: str) -> bool:
        """Say whether torch compiles a kernel of that name, and no text defines one."""
        return is_compiled_by_torch(kernel) and not self.defines(kernel)


def is_compiled_by_torch(kernel: str) -> bool:
    """Say whether torch compiles a kernel of that name at run time; a solution may have one of the same name."""
    return _is_fused(kernel) or _is_jiterated(kernel) or kernel in triton_kernels(Path(torch.__file__).parent)


@functools.cache
def triton_kernels(torch_folder: Path) -> frozenset[str]:
    """The names after `@triton.jit` in torch's own files. Reading them takes 0.03 s (torch 2.13)."""
    paths = (path for folder in _FOLDERS for path in (torch_folder / folder).rglob("*.py"))
    texts = (path.read_text(encoding="utf-8", errors="replace") for path in paths)
    return frozenset(name for text in texts for name in _TRITON.findall(text))


def _is_fused(kernel: str) -> bool:
    match = _FUSED.fullmatch(kernel)
    return match is not None and _is_made_of(match["operators"].split("_"), _operators())


def _is_jiterated(kernel: str) -> bool:
    """Say whether NVRTC compiles a kernel of that name when one of torch's functions is first called. It gives names
    such as `chebyshev_polynomial_u_forward_vectorized4_kernel` (aten/src/ATen/native/cuda/jit_utils.cpp)."""
    match = _JITERATED.fullmatch(kernel)
    if match is None:
        return False
    names = {
        f"special_{match['function']}",
        *([match["function"]] if match["vectorized"] or match["reduction"] else []),
    }
    return not names.isdisjoint(_operators())


def _is_made_of(words: Sequence[str], operators: frozenset[str]) -> bool:
    """Say whether the words are names of operators in a row, such as 'mul_add' or 'native_layer_norm_relu'."""
    ends = {0}
    for start in range(len(words)):
        if start in ends:
            longest = min(len(words), start + _MOST_WORDS)
            ends |= {end for end in range(start + 1, longest + 1) if "_".join(words[start:end]) in operators}
    return len(words) in ends


@functools.cache
def _operators() -> frozenset[str]:
    names: list[str] = torch._C._dispatch_get_all_op_names()
    return frozenset(name.removeprefix("aten::").partition(".")[0] for name in names if name.startswith("aten::"))
