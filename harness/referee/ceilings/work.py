"""The work that a call of a case needs: the bytes that must move and the operations that torch counts."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch.utils.flop_counter import flop_registry

from harness.model.environment import Flag
from harness.model.evaluation import Work
from harness.referee.answers.invalid_problem import PROBLEM_ERRORS, InvalidProblem
from harness.referee.answers.operator_mode import OperatorMode
from harness.referee.answers.output_spec import dtype_name
from harness.referee.answers.reference import TrainingStep
from harness.referee.answers.rows import tensors_in
from harness.referee.setting import Setting
from harness.sandbox.wire.construction import is_differentiable


def work_of(setting: Setting) -> Work | None:
    """Count a case's work; `least_bytes` and `least_operations` in problem.py replace the counts.

    Bytes: inputs, parameters and buffers once each, however many views there are, and every output. Operations: two for
    each multiply-add of matrix products and convolutions; None where there are none. On a GPU they are counted in a
    run, elsewhere on meta tensors, without memory or time. Each evaluation counts anew, since a solution could change a
    file that holds counts. The result is None where there is nothing to move, or no memory to count in.
    """
    try:
        inputs, model, stated = _inputs(setting), setting.model, setting.reference.stated
        written = setting.spec.nbytes
        read = (*model.parameters(), *model.buffers(), *tensors_in(inputs))
        nbytes = stated("least_bytes") or nbytes_of(read) + written
        least = stated("least_operations")
        operations = _count(setting, model, inputs) if least is None else Operations(least)
        if not nbytes:
            return None
        forward = None if stated("least_bytes") or least is not None else _forward(setting, inputs)
        return Work(nbytes, operations.total or None, min(written, nbytes), operations.convolutions, forward)
    except (torch.OutOfMemoryError, MemoryError):  # a statistic: what is judged gets its own inputs, and its own error
        return None


def is_computed_in(precision: str, setting: Setting, flags: Mapping[str, Flag]) -> bool:
    """Say whether the reference computes in this precision by itself.

    All of its products must; those of float32 are tf32 where a switch permits. Without products, its inputs or outputs
    must be of that precision, tf32 being float32. The answer is True where memory is too short to find out.
    """
    try:
        inputs = _inputs(setting)
        products = _count(setting, setting.model, inputs).products
    except (torch.OutOfMemoryError, MemoryError):
        return True
    if products:
        return all(precision == _precision(dtype, flags.get(switch, False)) for dtype, switch in products)
    dtypes = {value.dtype for value in tensors_in(inputs)} | set(setting.spec.dtypes)
    floating = {dtype_name(dtype) for dtype in dtypes if dtype.is_floating_point}
    return not floating or ("float32" if precision == "tf32" else precision) in floating


def _precision(dtype: str, may_be_tf32: Flag) -> str:
    return "tf32" if dtype == "float32" and may_be_tf32 is True else dtype


def _forward(setting: Setting, inputs: Sequence[Any]) -> Work | None:
    """Count what a training step does before its gradients; None where a call is none."""
    model, spec = setting.model, setting.spec
    if not isinstance(model, TrainingStep):
        return None
    given, own = inputs[: -model.step.cotangents], model.model
    gradients = len(model.step.parameters) + sum(map(is_differentiable, given))
    outputs = len(spec.shapes) - gradients
    written = replace(spec, shapes=spec.shapes[:outputs], dtypes=spec.dtypes[:outputs]).nbytes
    read = nbytes_of((*own.parameters(), *own.buffers(), *tensors_in(given)))
    counted = _count(setting, own, given, with_grad=True)  # without, modules may take fused paths that aren't counted
    return Work(read + written, counted.total or None, written, counted.convolutions)


def _count(setting: Setting, model: torch.nn.Module, inputs: Sequence[Any], with_grad: bool = False) -> Operations:
    if setting.reference.irregular:  # torch's formulas take a sparse operand for a dense one
        return NO_OPERATIONS
    count = operations_of_run if setting.reference.on_gpu else _operations_on_meta
    return count(model, inputs, with_grad)


def _inputs(setting: Setting) -> list[Any]:
    if not setting.reference.on_gpu:
        with contextlib.suppress(InvalidProblem):  # get_inputs() needs real memory
            return setting.meta_inputs or setting.reference.input_specs()
    return setting.reference.make_inputs(0)


def nbytes_of(tensors: Iterable[torch.Tensor]) -> int:
    """The bytes of tensors, each storage once, and no more of it than its views show: a slice needn't be read whole."""
    shown: dict[int, tuple[int, int]] = {}
    for tensor in tensors:
        storage = tensor.untyped_storage()
        _, before = shown.get(storage._cdata, (0, 0))
        shown[storage._cdata] = (storage.nbytes(), before + tensor.numel() * tensor.itemsize)
    return sum(min(whole, viewed) for whole, viewed in shown.values())


@dataclass(frozen=True)
class Operations:
    """The operations of matrix products and convolutions, and those of convolutions alone where known."""

    total: int
    convolutions: int | None = None
    products: frozenset[tuple[str, str]] = frozenset()
    """The kinds of products: the operands' type, and torch's switch that lets float32 ones run in tf32."""


NO_OPERATIONS = Operations(0)


class _OperationCounter(OperatorMode):
    """Context that counts by torch's formulas. torch's own FlopCounterMode also imports the compiler, to decompose
    operators; composite ones arrive here decomposed."""

    def __init__(self) -> None:
        super().__init__()
        self.total = self.convolutions = 0
        self.products: set[tuple[str, str]] = set()

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
        dtype = next((dtype_name(one.dtype) for one in args if isinstance(one, torch.Tensor)), None)
        if dtype is not None:
            self.products.add((dtype, switch))


def operations_of_run(model: torch.nn.Module, inputs: Sequence[Any], with_grad: bool = False) -> Operations:
    """Count a run's operations; NO_OPERATIONS also where a formula or the model fails, since this is a statistic."""
    try:
        with torch.set_grad_enabled(with_grad), _OperationCounter() as counted:
            model(*inputs)
    except PROBLEM_ERRORS:  # or torch's formulas', which are of any operator in any form
        return NO_OPERATIONS
    found = Operations(counted.total, counted.convolutions if counted.total else None, frozenset(counted.products))
    return found if counted.products else NO_OPERATIONS


def _operations_on_meta(model: torch.nn.Module, inputs: Sequence[Any], with_grad: bool) -> Operations:
    """Count on meta tensors; NO_OPERATIONS also where the model can't run on them."""
    try:
        on_meta = [value.to("meta") if isinstance(value, torch.Tensor) else value for value in inputs]
        copied = copy.deepcopy(model).to("meta")
    except PROBLEM_ERRORS:  # it runs on a device, and needn't run without one
        return NO_OPERATIONS
    with torch.device("meta"):
        return operations_of_run(copied, on_meta, with_grad)
