"""The state of torch in this process: its global switches, and what torch.compile() has done by torch's own counters.

The switches are the same in every worker before its module is loaded, and are looked at again afterwards.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch

from harness.sandbox.wire.messages import Compilation, Flag

_Get = Callable[[], Flag]
_Set = Callable[[Any], object]

_UNSET, _PLAIN = "none", "ieee"
"""A precision of float32 that nobody set is the plain one: who sets that explicitly changes nothing."""


def set_flags(wanted: Mapping[str, Flag]) -> None:
    """Set those that aren't so already: torch.use_deterministic_algorithms() imports the compiler for it. TorchScript
    fuses nothing on a GPU: it compiles kernels for that under names that a solution's may have as well."""
    known = {name: (get, put) for name, get, put in _switches()}
    for name, value in wanted.items():
        get, put = known[name]
        if _value(get) != value:
            put(value)
    for _, get, put in _fusers():
        if get():
            put(False)


def read_flags() -> dict[str, Flag | None]:
    """Read all flags that this torch has. A flag is None where torch won't say it: 2.9 and newer have two names for the
    precision of float32, and refuse to be asked by the old one after a change by the new."""
    getters = [*((name, get) for name, get, _ in (*_switches(), *_fusers())), *_of_newer_torch()]
    return {name: _value(get) for name, get in getters}


def _switches() -> Iterator[tuple[str, _Get, _Set]]:
    """Yield the switches that torch has had since 2.6 at least."""
    cudnn, cuda = torch.backends.cudnn, torch.backends.cuda
    for name in ("enabled", "allow_tf32", "benchmark", "deterministic"):
        yield f"cudnn_{name}", _getter(cudnn, name), _setter(cudnn, name)
    reductions = (f"allow_{dtype}_reduced_precision_reduction" for dtype in ("fp16", "bf16"))
    for name in ("allow_tf32", *reductions):
        yield f"matmul_{name}", _getter(cuda.matmul, name), _setter(cuda.matmul, name)
    yield "float32_matmul_precision", torch.get_float32_matmul_precision, torch.set_float32_matmul_precision
    yield "deterministic_algorithms", torch.are_deterministic_algorithms_enabled, torch.use_deterministic_algorithms
    yield "flash_sdp", cuda.flash_sdp_enabled, cuda.enable_flash_sdp
    yield "mem_efficient_sdp", cuda.mem_efficient_sdp_enabled, cuda.enable_mem_efficient_sdp
    yield "math_sdp", cuda.math_sdp_enabled, cuda.enable_math_sdp
    yield "cudnn_sdp", cuda.cudnn_sdp_enabled, cuda.enable_cudnn_sdp


def _fusers() -> Iterator[tuple[str, _Get, _Set]]:
    """Yield TorchScript's fusers for GPUs, where this torch has them."""
    names = {
        "jit_texpr_fuser": ("_jit_texpr_fuser_enabled", "_jit_set_texpr_fuser_enabled"),
        "jit_can_fuse_on_gpu": ("_jit_can_fuse_on_gpu", "_jit_override_can_fuse_on_gpu"),
    }
    for name, (get, put) in names.items():
        if hasattr(torch._C, get) and hasattr(torch._C, put):
            yield name, getattr(torch._C, get), getattr(torch._C, put)


def _of_newer_torch() -> Iterator[tuple[str, _Get]]:
    """Yield switches that are looked at and never set: those above stand for them."""
    cudnn, matmul = torch.backends.cudnn, torch.backends.cuda.matmul
    newer: dict[str, tuple[Any, str]] = {
        "matmul_allow_fp16_accumulation": (matmul, "allow_fp16_accumulation"),  # 2.7
        "fp32_precision": (torch.backends, "fp32_precision"),  # 2.9, as all below
        "matmul_fp32_precision": (matmul, "fp32_precision"),
        "cudnn_fp32_precision": (cudnn, "fp32_precision"),
        "conv_fp32_precision": (getattr(cudnn, "conv", None), "fp32_precision"),
        "rnn_fp32_precision": (getattr(cudnn, "rnn", None), "fp32_precision"),
    }
    return ((name, _getter(owner, key)) for name, (owner, key) in newer.items() if hasattr(owner, key))


def _getter(owner: Any, name: str) -> _Get:
    return lambda: getattr(owner, name)


def _setter(owner: Any, name: str) -> _Set:
    return lambda value: setattr(owner, name, value)


def _value(get: _Get) -> Flag | None:
    try:
        value = get()
    except RuntimeError:
        return None
    return _PLAIN if value == _UNSET else value


_FRAMES = "frames"
"""The counter of every function that the compiler looks at: where even this is missing torch counts elsewhere."""


def compilation() -> Compilation | None:
    """Read torch's counters; return None where the compiler isn't even imported. A count is None where this torch
    doesn't keep it under the name that it has in 2.11 and 2.13."""
    utils: Any = sys.modules.get("torch._dynamo.utils")
    if utils is None:
        return None
    counters = getattr(utils, "counters", {})
    compiles = getattr(sys.modules.get("torch._dynamo.convert_frame"), "FRAME_COMPILE_COUNTER", None)
    is_counted = _FRAMES in counters
    return Compilation(
        graphs=counters.get("stats", {}).get("unique_graphs", 0) if is_counted else None,
        graph_breaks=sum(counters.get("graph_break", {}).values()) if is_counted else None,
        recompilations=sum(compiles.values()) - len(compiles) if compiles else None,  # by function; the first is none
    )
