"""Compare torch's operators in a solution's trace with those of the reference.

They stand for the framework's kernels, which the simulator doesn't see.
"""

from __future__ import annotations

import copy
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import torch

from harness.model.trace import Trace
from harness.referee.answers.invalid_problem import PROBLEM_ERRORS
from harness.referee.answers.operator_mode import OperatorMode
from harness.referee.audit.kernels import Origins, summarize
from harness.referee.setting import Setting
from harness.sandbox.wire.device import KernelRun

_ABOUT_ALL = 2 / 3
"""The framework's share where it works twice as long as own kernels; on a GPU these are a decoy then."""
_POINTWISE = "pointwise"
_COPY = "copy"
"""A copy only moves data, but it is a part of the reference's work: doing it by an own kernel is honest."""
_CLASSES = {
    "fourier transform": r"_?fft_\w+",
    "matrix product": r"mm|\w+mm|matmul|mv|addmv|v?dot|inner|outer|ger|addr|linear|einsum|chain_matmul|_?addmm_\w+"
    r"|_trilinear|bilinear",
    "convolution": r"\w*conv(olution)?(\d?d|_|$)\w*",
    "attention": r"\w*(dot_product|flash|efficient|fused)_attention\w*",
    "pooling": r"\w*(max|avg)_pool\w*",
    "normalization": r"\w*(batch|layer|group|instance|rms)_norm\w*",
    "softmax": r"_?(log_)?softmax\w*",
    "sum": r"(nan)?(sum|mean)|_?embedding_bag\w*|(std|var)(_mean)?|norm|linalg_(vector_)?norm|trace",
    "extremum": r"(arg|a)?(max|min)|aminmax",
    _COPY: r"(_to_)?copy|clone|contiguous|cat|stack|pad|constant_pad_nd",
    "scan": r"(log)?cum(sum|prod|max|min|sumexp)|_cum\w+",
}
"""Classes of operators that do the same work under several names; see class_of()."""
_INSTEAD = {
    "matrix product": ("convolution", "attention", "fourier transform"),
    "convolution": ("matrix product", "fourier transform"),
    "attention": ("matrix product",),
    "pooling": ("extremum", "sum", "convolution"),
    "sum": ("matrix product", "convolution", "pooling"),
    "extremum": ("pooling",),
    "scan": ("matrix product",),
}
"""The classes that can do another's work. `all` and `extremum` can't do that of `sum`: they inspect inputs."""


_SCALED_APART = ("aten::native_layer_norm", "aten::native_group_norm")
"""Operators whose results torch scales and shifts in an operator of its own, `addcmul`, on the simulator's device."""


def operators_of_reference(setting: Setting) -> Trace | None:
    """Record the operators of one call on meta tensors.

    The result is None on a GPU, where kernels are traced; where the reference needs real memory; and where it works
    element by element only, since many an honest epilogue does that, too.
    """
    if setting.meta_inputs is None:
        return None
    try:
        model = copy.deepcopy(setting.model).to("meta")
        with torch.no_grad(), torch.device("meta"), _Operators() as operators:
            model(*setting.meta_inputs)
    except PROBLEM_ERRORS:  # it runs on a device, and needn't run without one
        return None
    if operators.are_pointwise:
        return None
    return summarize(setting.case, 1, operators.rows, Origins())


def took_all_of(trace: Trace, reference: Trace) -> bool:
    """Say whether the framework got about as many elements as from the reference, in each class of its operators.

    A solution that sums up its kernel's few partial results gives it few. A class that the reference lacks can replace
    one that it has, as a convolution replaces a matrix product. The largest of several operators of a class isn't
    all of it.
    """
    wanted, ran = _by_class(reference), _by_class(trace)

    def is_all_of(name: str) -> bool:
        instead = [other for other in _INSTEAD.get(name, ()) if other not in wanted]
        found = [ran[one] for one in (name, *instead) if one in ran]
        elements, launches = (sum(one[i] for one in found) for i in range(2))
        asked, times = wanted[name]
        return elements >= _ABOUT_ALL * asked and (launches >= times or elements >= asked)

    return any(elements for elements, _ in wanted.values()) and all(is_all_of(name) for name in wanted)


def class_of(operator: str) -> str:
    """The class of an operator: both `aten::baddbmm` and `aten::mm_` are a 'matrix product'; others form their own."""
    name = operator.rpartition("::")[2]
    bare = name.rstrip("_")
    for kind, names in _CLASSES.items():
        if re.fullmatch(names, bare):
            return kind
    return _POINTWISE if _is_pointwise(bare) else bare


def _by_class(trace: Trace) -> dict[str, tuple[float, float]]:
    """Elements and launches per call of each class."""
    elements, launches = Counter[str](), Counter[str]()
    for kernel in trace.kernels:
        name = class_of(kernel.name)
        if kernel.origin == "framework" or name == _COPY:
            elements[name] += kernel.elements
            launches[name] += kernel.launches
    return {name: (elements[name] / trace.calls, launches[name] / trace.calls) for name in launches}


def _is_pointwise(name: str) -> bool:
    packet = getattr(torch.ops.aten, name, None)
    return packet is not None and any(
        torch.Tag.pointwise in getattr(packet, overload).tags for overload in packet.overloads()
    )


class _Operators(OperatorMode):
    """Context that records every operator with the number of elements that it is given."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[KernelRun] = []
        self.are_pointwise = True

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        results = {argument.name for argument in func._schema.arguments if argument.is_out}
        given = _tensors([*args, *(value for name, value in (kwargs or {}).items() if name not in results)])
        elements = sum(tensor.numel() * (2 if tensor.is_complex() else 1) for tensor in given)
        for name in (func._schema.name, *["aten::addcmul"] * (func._schema.name in _SCALED_APART)):
            self.rows.append(KernelRun(name, 0, 0, 0, "kernel", elements=elements))
        self.are_pointwise &= torch.Tag.pointwise in func.tags or func.is_view
        return func(*args, **(kwargs or {}))


def _tensors(arguments: Iterable[Any]) -> Iterator[torch.Tensor]:
    """The tensors among arguments, alone or in a list, as the simulator's runtime counts them."""
    for argument in arguments:
        if isinstance(argument, torch.Tensor):
            yield argument
        elif isinstance(argument, (list, tuple)):
            yield from (one for one in argument if isinstance(one, torch.Tensor))
