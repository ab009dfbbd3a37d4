"""NVIDIA's libdevice for Triton's interpreter, which has none: torch computes the functions that kernels call most."""

from __future__ import annotations

import functools
import importlib
import inspect
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_ALIKE = (
    "acos acosh asin asinh atan atan2 atanh ceil copysign cos cosh erf erfc erfinv exp exp2 expm1 floor fmax fmin fmod "
    "hypot lgamma log log10 log1p log2 pow rsqrt sin sinh sqrt tan tanh trunc"
)
_OF_TORCH = {name: name for name in _ALIKE.split()}
_OF_TORCH |= {f"fast_{name}": name for name in ["cos", "exp", "log", "pow", "sin", "tan", "tanh"]}
_OF_TORCH |= {"fabs": "abs", "rint": "round", "nearbyint": "round", "llrint": "round"}
_OF_TORCH |= {"finite": "isfinite", "isfinite": "isfinite", "isinf": "isinf", "isnan": "isnan", "signbit": "signbit"}
"""Functions of libdevice (its User's Guide, section 3) and of torch, without the prefix and the suffix of the type."""
_SUFFIX = re.compile("[fd]$")


def offer_libdevice(interpreter: Any) -> None:
    """Let kernels that the interpreter runs call them; any other function stays what the interpreter can't do."""
    semantic = getattr(interpreter, "interpreter_semantic", None)
    if semantic is None:  # Triton before 3.4 passes another argument
        return
    of_cuda = importlib.import_module("triton.language.extra.cuda.libdevice")
    generic = importlib.import_module("triton.language.extra.libdevice")
    for name, function in inspect.getmembers(of_cuda, inspect.isfunction):
        if "_semantic" in inspect.signature(function).parameters:
            for module in (of_cuda, generic):
                setattr(module, name, functools.partial(function, _semantic=semantic))
    interpreter.InterpreterBuilder.create_extern_elementwise = functools.partialmethod(_computed, interpreter)


def _computed(
    builder: Any, interpreter: Any, library: str, path: str, symbol: str, values: Any, returned: Any, *_: Any
) -> Any:
    import torch

    known = symbol.removeprefix("__nv_")
    name = _OF_TORCH.get(known) or _OF_TORCH.get(_SUFFIX.sub("", known))
    if name is None:
        raise NotImplementedError(f"{symbol} of libdevice")
    with not_traced():
        result = getattr(torch, name)(*(torch.from_numpy(value.data) for value in values))
    kind = returned.scalar
    return interpreter.TensorHandle(result.numpy().astype(interpreter._get_np_dtype(kind)), kind)


@contextmanager
def not_traced() -> Iterator[None]:
    """Context: operators of torch are part of the kernel, and no work of the framework's."""
    from torch.autograd import _enable_record_function  # type: ignore[attr-defined]

    _enable_record_function(False)
    try:
        yield
    finally:
        _enable_record_function(True)
