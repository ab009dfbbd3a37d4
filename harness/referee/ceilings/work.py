"""What a call of a case can't do without: the bytes that must move and the operations that torch counts."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import flop_registry

from harness.model.environment import Flag
from harness.model.evaluation import Work
from harness.referee.answers.reference import PROBLEM_ERRORS, InvalidProblem
from harness.referee.setting import Setting


def work_of(setting: Setting) -> Work | None:
    """Inputs, parameters and buffers once each, however many views there are of one, and every output; and two
    operations for each multiply-add of matrix products and convolutions, None where there are none. What problem.yaml
    has a formula for is not counted.

    On a GPU operations are counted in a run, elsewhere on meta tensors: without memory or time. It is counted for each
    evaluation, since what a file says a solution may have written. None where there is nothing to move, or no memory to
    count it in.
    """
    try:
        inputs = _inputs(setting)
        written = setting.spec.nbytes
        nbytes = setting.problem.declared_work(setting.case, "bytes") or _read_bytes(setting, inputs) + written
        operations = _operations(setting, inputs)
        if not nbytes:
            return None
        return Work(nbytes, operations.total or None, min(written, nbytes), operations.convolutions)
    except (torch.OutOfMemoryError, MemoryError):  # a statistic: what is judged gets its own inputs, and its own error
        return None


def is_computed_in(precision: str, setting: Setting, flags: Mapping[str, Flag]) -> bool:
    """Whether that is what the reference computes in as it is: all of its products, in tf32 where a switch lets float32
    ones. Without any it is what its inputs or outputs are, and tf32 is float32. True where memory is too short to see.
    """
    try:
        inputs = _inputs(setting)
        products = _count(setting, inputs).products
    except (torch.OutOfMemoryError, MemoryError):
        return True
    if products:
        return all(precision == _precision(dtype, flags.get(switch, False)) for dtype, switch in products)
    dtypes = {value.dtype for value in _tensors(inputs)} | set(setting.spec.dtypes)
    floating = {_name(dtype) for dtype in dtypes if dtype.is_floating_point}
    return not floating or ("float32" if precision == "tf32" else precision) in floating


def _precision(dtype: str, may_be_tf32: Flag) -> str:
    return "tf32" if dtype == "float32" and may_be_tf32 is True else dtype


def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def _count(setting: Setting, inputs: Sequence[Any]) -> Operations:
    count = operations_of_run if setting.reference.on_gpu else _operations_on_meta
    return count(setting.model, inputs)


def _read_bytes(setting: Setting, inputs: Sequence[Any]) -> int:
    model = setting.model
    return nbytes_of([*model.parameters(), *model.buffers(), *_tensors(inputs)])


def _operations(setting: Setting, inputs: Sequence[Any]) -> Operations:
    declared = setting.problem.declared_work(setting.case, "operations")
    if declared is not None:
        return Operations(declared)
    return _count(setting, inputs)


def _inputs(setting: Setting) -> list[Any]:
    if not setting.reference.on_gpu:
        with contextlib.suppress(InvalidProblem):  # get_inputs() needs real memory
            return setting.meta_inputs or setting.reference.input_specs()
    return setting.reference.make_inputs(0)


def nbytes_of(tensors: Iterable[torch.Tensor]) -> int:
    """Of a storage no more than its views show: a slice of a large tensor needn't be read beyond its own elements."""
    shown: dict[int, tuple[int, int]] = {}
    for tensor in tensors:
        storage = tensor.untyped_storage()
        _, before = shown.get(storage._cdata, (0, 0))
        shown[storage._cdata] = (storage.nbytes(), before + tensor.numel() * tensor.itemsize)
    return sum(min(whole, viewed) for whole, viewed in shown.values())


@dataclass(frozen=True)
class Operations:
    """Of matrix products and convolutions together, and of the latter where that is known."""

    total: int
    convolutions: int | None = None
    products: frozenset[tuple[str, str]] = frozenset()
    """Their kinds: the type of the operands, and the switch of torch's that lets float32 ones run in tf32."""


NO_OPERATIONS = Operations(0)


class _Counting(TorchDispatchMode):
    """Counts by torch's formulas. torch's own FlopCounterMode imports the compiler too, to take other operators apart;
    composite ones arrive here in parts already."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.total = self.convolutions = 0
        self.products: set[tuple[str, str]] = set()

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """torch would import its compiler only to keep it away from us."""
        return False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        formula = flop_registry.get(func._overloadpacket)
        if formula is not None or "_rnn" in str(func):
            self._note(str(func), args)
        if formula is not None:
            count = int(formula(*args, **(kwargs or {}), out_val=result))
            self.total += count
            self.convolutions += count if "convolution" in str(func._overloadpacket) else 0
        return result

    def _note(self, name: str, args: Any) -> None:
        switch = "cudnn_allow_tf32" if "convolution" in name or "_rnn" in name else "matmul_allow_tf32"
        dtype = next((_name(one.dtype) for one in args if isinstance(one, torch.Tensor)), None)
        if dtype is not None:
            self.products.add((dtype, switch))


def operations_of_run(model: torch.nn.Module, inputs: Sequence[Any]) -> Operations:
    """None of them also where one of torch's formulas fails, or the model: no solution is to pay for a statistic."""
    try:
        with torch.no_grad(), _Counting() as counted:
            model(*inputs)
    except PROBLEM_ERRORS:  # or torch's formulas', which are of any operator in any form
        return NO_OPERATIONS
    found = Operations(counted.total, counted.convolutions if counted.total else None, frozenset(counted.products))
    return found if counted.products else NO_OPERATIONS


def _operations_on_meta(model: torch.nn.Module, inputs: Sequence[Any]) -> Operations:
    """None also where the model can't run on meta tensors."""
    try:
        on_meta = [value.to("meta") if isinstance(value, torch.Tensor) else value for value in inputs]
        copied = copy.deepcopy(model).to("meta")
    except PROBLEM_ERRORS:  # it runs on a device, and needn't run without one
        return NO_OPERATIONS
    with torch.device("meta"):
        return operations_of_run(copied, on_meta)


def _tensors(values: Iterable[Any]) -> list[torch.Tensor]:
    return [value for value in values if isinstance(value, torch.Tensor)]
