"""The conformance table: every case of every theme."""

from __future__ import annotations

from tests.conformance.case import Case
from tests.conformance.themes import (
    atomics,
    bfloat16,
    cub,
    cublas,
    floats,
    groups,
    half,
    hopper,
    integers,
    launch,
    launch_functions,
    matrices,
    memory,
    ptx,
    runtime,
    torch_names,
    warps,
)

_THEMES = (
    launch,
    launch_functions,
    memory,
    warps,
    groups,
    cub,
    atomics,
    integers,
    floats,
    half,
    bfloat16,
    matrices,
    ptx,
    hopper,
    runtime,
    torch_names,
    cublas,
)

CASES: tuple[Case, ...] = tuple(case for theme in _THEMES for case in theme.CASES)
