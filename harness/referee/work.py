"""What a call of a case can't do without: the bytes that must move and the operations that torch counts."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import flop_registry

from harness.records.evaluation import Work
from harness.referee.setting import Setting


def work_of(setting: Setting) -> Work | None:
    """Counted on meta tensors, without memory or time, or in a run on the GPU; None where the reference can't do that.

    Bytes: inputs, parameters and buffers once each, however many views there are of one, and every output.
    Operations: two for each multiply-add of matrix products and convolutions; None where there are none.
    """
    if setting.meta_inputs is None and not setting.reference.on_gpu:
        return None
    try:
        if setting.meta_inputs is not None:
            model, inputs = copy.deepcopy(setting.model).to("meta"), setting.meta_inputs
            with torch.no_grad(), torch.device("meta"), _Operations() as counter:
                returned = model(*inputs)
        else:
            model, inputs = setting.model, setting.reference.make_inputs(0)
            with torch.no_grad(), _Operations() as counter:
                returned = model(*inputs)
    except Exception:  # the problem's own code: it runs on a device, and needn't run without one
        return None
    read = [*model.parameters(), *model.buffers(), *_tensors(inputs)]
    return Work(_nbytes(read) + _nbytes(_tensors([returned])), counter.total or None)


class _Operations(TorchDispatchMode):
    """Counts by torch's formulas. torch's own FlopCounterMode imports the compiler to take other operators apart, which
    costs seconds and finds nothing here: composite operators arrive in parts."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.total = 0

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """torch would import its compiler only to keep it away from us."""
        return False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        formula = flop_registry.get(func._overloadpacket)
        if formula is not None:
            self.total += int(formula(*args, **(kwargs or {}), out_val=result))
        return result


def _tensors(values: Iterable[Any]) -> list[torch.Tensor]:
    found = []
    for value in values:
        if isinstance(value, torch.Tensor):
            found.append(value)
        elif isinstance(value, (tuple, list)):
            found += _tensors(value)
    return found


def _nbytes(tensors: Iterable[torch.Tensor]) -> int:
    """Of a storage no more than its views show: a slice of a large tensor needn't be read beyond its own elements."""
    shown: dict[int, tuple[int, int]] = {}
    for tensor in tensors:
        storage = tensor.untyped_storage()
        _, before = shown.get(storage._cdata, (0, 0))
        shown[storage._cdata] = (storage.nbytes(), before + tensor.numel() * tensor.itemsize)
    return sum(min(whole, viewed) for whole, viewed in shown.values())
