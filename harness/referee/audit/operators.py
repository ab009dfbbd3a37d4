"""Which of torch's operators the reference is made of: what a simulated solution's trace is held against, since the
simulator names operators and knows no kernels of the framework's."""

from __future__ import annotations

import copy
from collections import Counter
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from harness.backends.base import KernelRun
from harness.records.trace import Trace
from harness.referee.audit.kernels import Origins, summarize
from harness.referee.setting import Setting


def operators_of_reference(setting: Setting) -> Trace | None:
    """One call's operators, on meta tensors. None where the reference needs memory of its own, or has a GPU, where
    kernels are known; and where it works element by element alone: so does many an honest epilogue."""
    if setting.meta_inputs is None:
        return None
    try:
        model = copy.deepcopy(setting.model).to("meta")
        with torch.no_grad(), torch.device("meta"), _Operators() as operators:
            model(*setting.meta_inputs)
    except Exception:  # the problem's own code: it runs on a device, and needn't run without one
        return None
    if operators.are_pointwise:
        return None
    rows = [KernelRun(name, 0, 0, 0, "kernel") for name in operators.counts.elements()]
    return summarize(setting.case, 1, rows, Origins())


class _Operators(TorchDispatchMode):
    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.counts: Counter[str] = Counter()
        self.are_pointwise = True

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.counts[func._schema.name] += 1
        self.are_pointwise &= torch.Tag.pointwise in func.tags or func.is_view
        return func(*args, **(kwargs or {}))
