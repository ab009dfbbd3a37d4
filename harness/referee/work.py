"""What a call of a case can't do without: the bytes that must move and the operations that torch counts."""

from __future__ import annotations

import contextlib
import copy
import hashlib
import json
import math
import os
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import flop_registry

from harness.codec import CodecError, decode, encode
from harness.records.evaluation import Work
from harness.referee.reference import InvalidProblem
from harness.referee.setting import Setting


def work_of(setting: Setting, cache: Path) -> Work:
    """Inputs, parameters and buffers once each, however many views there are of one, and every output; and two
    operations for each multiply-add of matrix products and convolutions, None where there are none.

    On a GPU operations are counted in a run, elsewhere on meta tensors: without memory or time, but torch imports its
    compiler for it (3 s). So a count is kept in `cache`, and each problem of a machine is counted once.
    """
    folder = cache / "work"
    path = folder / f"{_key(setting)}.json"
    with contextlib.suppress(OSError, ValueError, CodecError):
        return decode(Work, json.loads(path.read_text()))
    work = _count(setting)
    with contextlib.suppress(OSError):  # counted again another time
        folder.mkdir(parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(dir=folder)
        with os.fdopen(descriptor, "w") as file:
            json.dump(encode(work), file)
        os.replace(name, path)
    return work


def _key(setting: Setting) -> str:
    question = [setting.problem.sha256, setting.case, torch.__version__]
    return hashlib.sha256(json.dumps(question).encode()).hexdigest()[:32]


def _count(setting: Setting) -> Work:
    inputs = _inputs(setting)
    model, spec = setting.model, setting.spec
    read = _nbytes([*model.parameters(), *model.buffers(), *_tensors(inputs)])
    written = sum(math.prod(shape) * dtype.itemsize for shape, dtype in zip(spec.shapes, spec.dtypes, strict=True))
    count = _operations_of_run if setting.reference.on_gpu else _operations
    return Work(read + written, count(model, inputs))


def _inputs(setting: Setting) -> list[Any]:
    if not setting.reference.on_gpu:
        with contextlib.suppress(InvalidProblem):  # get_inputs() needs real memory
            return setting.meta_inputs or setting.reference.input_specs()
    return setting.reference.make_inputs(0)


class _Operations(TorchDispatchMode):
    """Counts by torch's formulas. torch's own FlopCounterMode imports the compiler too, to take other operators apart;
    composite ones arrive here in parts already."""

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


def _operations_of_run(model: torch.nn.Module, inputs: Sequence[Any]) -> int | None:
    with torch.no_grad(), _Operations() as operations:
        model(*inputs)
    return operations.total or None


def _operations(model: torch.nn.Module, inputs: Sequence[Any]) -> int | None:
    """None also where the model can't run on meta tensors."""
    from torch.utils.flop_counter import FlopCounterMode

    try:
        on_meta = [value.to("meta") if isinstance(value, torch.Tensor) else value for value in inputs]
        with torch.no_grad(), torch.device("meta"), FlopCounterMode(display=False) as counter:
            copy.deepcopy(model).to("meta")(*on_meta)
    except Exception:  # the problem's own code: it runs on a device, and needn't run without one
        return None
    return int(counter.get_total_flops()) or None


def _tensors(values: Iterable[Any]) -> list[torch.Tensor]:
    return [value for value in values if isinstance(value, torch.Tensor)]


def _nbytes(tensors: Iterable[torch.Tensor]) -> int:
    """Of a storage no more than its views show: a slice of a large tensor needn't be read beyond its own elements."""
    shown: dict[int, tuple[int, int]] = {}
    for tensor in tensors:
        storage = tensor.untyped_storage()
        _, before = shown.get(storage._cdata, (0, 0))
        shown[storage._cdata] = (storage.nbytes(), before + tensor.numel() * tensor.itemsize)
    return sum(min(whole, viewed) for whole, viewed in shown.values())
