"""What a CUDA source holds and nobody compiles or uses: code behind `#if 0`, and headers of libraries of which no name
is used. The simulator needn't know them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from harness.backends.sim.tokens import Token

_CONDITIONAL = re.compile(r"#\s*(?P<word>ifdef|ifndef|if|elif|else|endif)\b\s*(?P<condition>.*)", re.DOTALL)
_NEVER = re.compile(r"(0|false)\s*(//.*|/\*.*)?", re.DOTALL)
_INCLUDE = re.compile(r"#\s*include\s*[<\"](?P<header>[^>\"]+)[>\"]")
_NAMES_OF = {
    r"cublas\w*(/.*)?\.h": r"(cu|CU)(blas|BLAS)\w*",
    r"cudnn\w*(/.*)?\.h": r"(cu|CU)(dnn|DNN)\w*",
    r"cufft\w*\.h": r"(cu|CU)(fft|FFT)\w*",
    r"curand\w*\.h": r"(cu|CU)(rand|RAND)\w*",
    r"cusolver\w*\.h": r"(cu|CU)(solver|SOLVER)\w*",
    r"cusparse\w*\.h": r"(cu|CU)(sparse|SPARSE)\w*",
    r"nvrtc\.h": r"(nv|NV)(rtc|RTC)\w*",
    r"cub/.*": r"cub",
    r"thrust/.*": r"thrust",
    r"cute/.*|cutlass/.*": r"cutlass|cute",
    r"cuda/(std/.*|atomic|functional|barrier|pipeline|ptx)": r"cuda",
    r"cooperative_groups/memcpy_async\.h": r"memcpy_async|wait|wait_prior",
    r"cuda_(pipeline|awbarrier)\w*\.h": r"pipeline|__pipeline\w*|awbarrier|nvcuda|cuda",
    r"cuda_fp[864]\.h(pp)?": r"__nv_fp\w*|__nv_cvt_\w*",
    r"cudaTypedefs\.h": r"PFN_\w*|cu[A-Z]\w*",
}
"""By a header's name: the names by which a source uses it, so that one that is only included is known."""


def without_unused(tokens: Sequence[Token]) -> list[Token]:
    """The same lines; what is left out is empty."""
    living = _without_dead(tokens)
    names = {token.text for token in living if token.kind == "name"}
    return [_emptied(token) if _is_unused(token, names) else token for token in living]


def _is_unused(token: Token, names: set[str]) -> bool:
    include = _INCLUDE.match(token.text) if token.kind == "directive" else None
    if include is None:
        return False
    used = next((used for header, used in _NAMES_OF.items() if re.fullmatch(header, include["header"])), None)
    return used is not None and not any(re.fullmatch(used, name) for name in names)


def _without_dead(tokens: Sequence[Token]) -> list[Token]:
    living: list[Token] = []
    dead: list[bool] = []
    """Of each conditional that is open: whether its present branch is never compiled."""
    for token in tokens:
        conditional = _CONDITIONAL.match(token.text) if token.kind == "directive" else None
        if conditional is None:
            living.append(_emptied(token) if any(dead) else token)
            continue
        word = conditional["word"]
        if word in ("if", "ifdef", "ifndef"):
            dead.append(word == "if" and _NEVER.fullmatch(conditional["condition"]) is not None)
        elif word == "endif":
            del dead[-1:]
        elif dead:
            dead[-1] = word == "elif" and _NEVER.fullmatch(conditional["condition"]) is not None
        living.append(token)
    return living


def _emptied(token: Token) -> Token:
    return replace(token, kind="space", text="\n" * token.text.count("\n"))
