"""The shared buffers of one case: the referee allocates and fills them, workers open them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from harness.devices import SimHost
from harness.devices.base import Host, SharedBuffer
from harness.errors import MachineError
from harness.model.verdict import Verdict
from harness.referee.answers.invalid_problem import InvalidProblem, changed_form
from harness.referee.answers.output_spec import OutputSpec, dtype_name, shape_and_dtype
from harness.referee.buffers.slots import Capacity, can_keep_outputs
from harness.referee.inputs.stretched import PeriodicInput
from harness.referee.setting import Setting
from harness.sandbox.outcome import SolutionFailed, from_exception
from harness.sandbox.process import SolutionRaised, WorkerProcess
from harness.sandbox.wire.codec import NotPlain, decode_value, encode_value
from harness.sandbox.wire.messages import (
    Argument,
    Attach,
    Call,
    Construct,
    Constructed,
    Detach,
    GiveBack,
    Optimization,
    TensorRef,
)


class Freezer:
    """Freezes and thaws the workers that it was given: one runs at a time, and none between turns (SIGSTOP).

    So nothing that a solution leaves running, on the GPU or on the host, falls into a baseline's turn: a GPU that two
    processes keep busy is shared in slices of about 2.5 ms, and a baseline that is slowed down would flatter the
    solution. And no thread of a solution writes an answer into the shared buffers once its turn is over. Every turn
    ends so, timed or not: code that waits for SIGCONT learns nothing.
    """

    def __init__(self) -> None:
        self.workers: tuple[WorkerProcess, ...] = ()

    def add(self, worker: WorkerProcess) -> None:
        self.workers = (*self.workers, worker)

    def remove(self, worker: WorkerProcess) -> None:
        self.workers = tuple(one for one in self.workers if one is not worker)

    def freeze(self, but: WorkerProcess | None = None) -> None:
        """Stop all of them `but` this one. A worker that could disturb nobody is stopped with its own process group
        alone, which takes microseconds."""
        for worker in self.workers:
            if worker is not but:
                worker.pause(thoroughly=len(self.workers) > 1)

    def thaw_only(self, worker: WorkerProcess) -> None:
        """Let this one run, and stop all others. It is thawed last, once all lies ready."""
        self.freeze(but=worker)
        worker.resume()

    def thaw(self) -> None:
        for worker in self.workers:
            worker.resume()


_STATE_ALIGNMENT = 256
_UNTRUSTED = (Verdict.CHEATING, Verdict.TIMEOUT, Verdict.CRASHED)
"""Verdicts after which nothing that was made beside the solution stays."""
_BRIEF_S = 10.0


@dataclass
class _Slot:
    outputs: list[TensorRef]
    arguments: list[Argument] = field(default_factory=list)


class Buffers:
    """Buffers for the inputs and outputs of one case, in `slots` of which each call of a turn has one of its own. A
    context manager that frees them.

    `is_short`: there is too little memory for all workers to keep what they have cached while it is another's turn.
    `keeps_outputs`: there is enough to keep a call's outputs alive beside the next call's.
    """

    def __init__(
        self,
        host: Host,
        spec: OutputSpec,
        slots: int = 1,
        is_short: bool = False,
        changed: Collection[int] = (),
    ) -> None:
        """`changed`: the inputs that the reference changes, by their positions."""
        self.freezer = Freezer()
        self.spec = spec
        self.is_short = is_short
        self.keeps_outputs = True
        self._host = host
        self._changed = changed
        self._numbers = itertools.count(1)
        self._buffers: dict[int, SharedBuffer] = {}
        self._attached: list[tuple[WorkerProcess, float]] = []
        forms = list(zip(spec.dtypes, spec.shapes, strict=True))
        self._slots = [_Slot([self._allocate(dtype, shape, None) for dtype, shape in forms]) for _ in range(slots)]

    @property
    def slots(self) -> int:
        """The number of calls that one turn can have."""
        return len(self._slots)

    def lay_inputs(self, inputs: Sequence[Any], slot: int = 0) -> None:
        """Fill an input buffer per tensor, allocated at the first call; plain values go along as they are. Periodic
        inputs are laid once.

        Raises: InvalidProblem where get_inputs() gives other forms at every call.
        """
        old = self._slots[slot].arguments
        before: Sequence[Argument | None] = old or [None] * len(inputs)
        if len(before) != len(inputs):
            raise InvalidProblem("get_inputs() gives another number of inputs at every call")
        arguments = [self._argument(value, known) for value, known in zip(inputs, before, strict=True)]
        self._slots[slot].arguments = arguments
        for argument, value in zip(arguments, inputs, strict=True):
            if argument.tensor is not None and isinstance(value, torch.Tensor):
                self._view(argument.tensor).copy_(value)

    def attach(self, worker: WorkerProcess, timeout_s: float) -> None:
        for number in self._buffers:
            self._attach(worker, number, timeout_s)
        self._attached.append((worker, timeout_s))

    def forget(self, worker: WorkerProcess) -> None:
        """Forget a worker that has been ended, or is of no use any more."""
        worker.made = None
        self._attached = [one for one in self._attached if one[0] is not worker]

    @property
    def workers(self) -> tuple[WorkerProcess, ...]:
        """The workers that have access."""
        return tuple(worker for worker, _ in self._attached)

    @contextmanager
    def state(self, setting: Setting) -> Iterator[tuple[int | None, dict[str, TensorRef]]]:
        """The part of the model's state that modules take, in one shared buffer, for as long as the block runs."""
        given = {} if setting.problem.own_parameters else setting.model.state_dict()
        tensors = {name: value for name, value in given.items() if value.numel()}
        offsets, total = [], 0
        for value in tensors.values():
            offsets.append(total)
            total += -(-value.nbytes // _STATE_ALIGNMENT) * _STATE_ALIGNMENT
        if not tensors:
            yield None, {}
            return
        number = next(self._numbers)
        self._buffers[number] = self._host.allocate(total)
        named = {}
        for (name, value), offset in zip(tensors.items(), offsets, strict=True):
            plain = value.contiguous()
            named[name] = _ref(number, plain.dtype, tuple(plain.shape), plain.stride(), offset)
            self._view(named[name]).copy_(plain)
        self.synchronize()
        try:
            yield number, named
        finally:
            self._buffers.pop(number).release()

    def construct(
        self,
        worker: WorkerProcess,
        setting: Setting,
        timeout_s: float,
        optimization: Optimization | None = None,
    ) -> Constructed:
        """Have the worker construct its module and take over the state of the setting's model."""
        with self.state(setting) as (number, named):
            if number is not None:
                self._attach(worker, number, timeout_s)
            construct = Construct(
                encode_value(setting.reference.init_inputs),
                setting.construction_seed,
                named,
                optimization,
                varies=setting.varied_for is not None,
                batch_statistics=setting.problem.batch_statistics,
                step=setting.reference.step,
                forms=encode_value(setting.reference.forms),
            )
            reply = worker.ask(construct, timeout_s)
            if number is not None:
                worker.ask(Detach((number,)), timeout_s)
        assert isinstance(reply, Constructed)
        return reply

    def calls(self, slots: Sequence[int]) -> tuple[Call, ...]:
        """A call over each of these slots, for a request."""
        chosen = [self._slots[slot] for slot in slots]
        return tuple(Call(tuple(slot.arguments), tuple(slot.outputs)) for slot in chosen)

    def poison_outputs(self, calls: Sequence[Call]) -> None:
        """Overwrite what these calls are to fill, so that what isn't written can't pass."""
        for ref in (ref for call in calls for ref in call.outputs):
            _poison(self._buffers[ref.buffer].content, getattr(torch, ref.dtype))

    def synchronize(self) -> None:
        """Wait until the referee's own writes have reached the device's memory."""
        if self._host.torch_device == "cuda":
            torch.cuda.synchronize()

    def inputs(self, slot: int = 0) -> dict[int, torch.Tensor]:
        """The memory of a slot's tensor inputs, as plain bytes, by their positions."""
        arguments = enumerate(self._slots[slot].arguments)
        return {
            number: self._buffers[argument.tensor.buffer].content
            for number, argument in arguments
            if argument.tensor is not None
        }

    def values(self, slot: int = 0) -> list[Any]:
        """The inputs as they lie, tensors as views of the shared memory."""
        arguments = self._slots[slot].arguments
        return [decode_value(a.value) if a.tensor is None else self._view(a.tensor) for a in arguments]

    def outputs(self, slot: int = 0) -> list[torch.Tensor]:
        """The referee's own view of what the last turn left."""
        return [self._view(ref) for ref in self._slots[slot].outputs]

    def output_buffers(self) -> list[SharedBuffer]:
        """List the output buffers of the first slot."""
        return [self._buffers[ref.buffer] for ref in self._slots[0].outputs]

    def __enter__(self) -> Buffers:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: object) -> None:
        """Thaw the workers, take the buffers from them and free them. After a failure they end soon anyway, but for
        those that have made what others may want."""
        try:
            self.freezer.thaw()
            for worker, timeout_s in self._attached:
                made, worker.made = worker.made, None
                if error is None:
                    _detach(worker, tuple(self._buffers), timeout_s, gives_back=made is not None)
                    worker.made = made
                elif made is not None and isinstance(error, SolutionFailed) and error.verdict not in _UNTRUSTED:
                    with suppress(SolutionFailed, MachineError):
                        _detach(worker, tuple(self._buffers), min(timeout_s, _BRIEF_S), gives_back=True)
                        worker.made = made
        finally:
            for buffer in self._buffers.values():
                buffer.release()
            self._buffers.clear()

    def _argument(self, value: Any, before: Argument | None) -> Argument:
        """The input as a worker is told of it, in the buffer that it had before."""
        if before is not None and before.tensor is not None:
            known = (before.tensor.shape, before.tensor.dtype)
            if not isinstance(value, torch.Tensor):
                raise InvalidProblem("get_inputs() gives a tensor, then something else in its place")
            if shape_and_dtype(value) != known:
                raise changed_form(known, shape_and_dtype(value))
            return before
        if isinstance(value, torch.Tensor):
            stride = torch.empty_like(value, device="meta").stride()
            return Argument(tensor=self._allocate(value.dtype, tuple(value.shape), stride))
        if isinstance(value, PeriodicInput):
            assert isinstance(self._host, SimHost)
            buffer = self._host.allocate_periodic(value.nbytes, value.stretch.view(torch.uint8))
            return Argument(tensor=self._hold(buffer, value.stretch.dtype, value.shape, value.stride or None))
        try:
            return Argument(value=encode_value(value))
        except NotPlain as error:
            raise InvalidProblem(f"get_inputs() returns a {error}; tensors and plain values belong") from None

    def _allocate(self, dtype: torch.dtype, shape: tuple[int, ...], stride: tuple[int, ...] | None) -> TensorRef:
        return self._hold(self._host.allocate(math.prod(shape) * dtype.itemsize), dtype, shape, stride)

    def _hold(
        self, buffer: SharedBuffer, dtype: torch.dtype, shape: tuple[int, ...], stride: tuple[int, ...] | None
    ) -> TensorRef:
        number = next(self._numbers)
        self._buffers[number] = buffer
        return _ref(number, dtype, shape, stride or torch.empty(shape, device="meta").stride())

    def _attach(self, worker: WorkerProcess, number: int, timeout_s: float) -> None:
        buffer = self._buffers[number]
        descriptors = [] if buffer.descriptor is None else [buffer.descriptor]
        changed = (slot.arguments[n].tensor for slot in self._slots for n in self._changed)
        may_change = any(tensor is not None and tensor.buffer == number for tensor in changed)
        worker.ask(Attach(number, replace(buffer.handle, may_change=may_change)), timeout_s, descriptors)

    def _view(self, ref: TensorRef) -> torch.Tensor:
        dtype = getattr(torch, ref.dtype)
        flat = self._buffers[ref.buffer].content[ref.offset :]
        return flat[: flat.numel() // dtype.itemsize * dtype.itemsize].view(dtype).as_strided(ref.shape, ref.stride)


@contextmanager
def open_buffers(setting: Setting, host: Host, capacity: Capacity) -> Iterator[Buffers]:
    """Buffers with slots for as many calls as memory permits, each filled once; no worker has access yet."""
    inputs = setting.inputs_with_rows(setting.seed("inputs"))
    if setting.reference.on_gpu:
        torch.cuda.empty_cache()
    slots = capacity.slots(setting, inputs)
    changed = setting.spec.changed_inputs | setting.state  # first: a state that there isn't is the problem's mistake
    with Buffers(host, setting.spec, slots.count, slots.is_short, changed if host.sees_writes else ()) as buffers:
        for slot in range(buffers.slots):
            buffers.lay_inputs(inputs, slot)
        del inputs
        if setting.reference.on_gpu:
            torch.cuda.empty_cache()
        buffers.keeps_outputs = can_keep_outputs(setting)
        yield buffers


def _poison(content: torch.Tensor, dtype: torch.dtype) -> None:
    """NaN in floating dtypes; integers have no such value, so they get what nobody can know. Unwritten can't pass."""
    if dtype.is_floating_point or dtype.is_complex:
        content.fill_(0xFF)
    else:
        content.random_(0, 256)


def _detach(worker: WorkerProcess, buffers: tuple[int, ...], timeout_s: float, gives_back: bool) -> None:
    try:
        worker.ask(Detach(buffers), timeout_s)
        if gives_back:
            worker.ask(GiveBack(), timeout_s)
    except SolutionRaised as error:
        raise from_exception(error.raised, "after its turns", Verdict.RUNTIME_ERROR) from None


def _ref(number: int, dtype: torch.dtype, shape: tuple[int, ...], stride: Sequence[int], offset: int = 0) -> TensorRef:
    return TensorRef(number, dtype_name(dtype), shape, tuple(stride), offset)
