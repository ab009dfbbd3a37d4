"""The table between referee and workers: the shared buffers of one case, and the turns taken over them."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch

from harness.backends.base import Host, SharedBuffer
from harness.protocol.messages import (
    Argument,
    Attach,
    Construct,
    Constructed,
    Detach,
    NamedTensor,
    Optimization,
    TakeTurn,
    TensorRef,
    TurnTaken,
)
from harness.protocol.values import NotPlain, encode_value
from harness.records.verdict import Verdict
from harness.referee.outcome import from_exception
from harness.referee.reference import InvalidProblem, OutputSpec
from harness.referee.worker_process import SolutionRaised, WorkerProcess

_STATE_ALIGNMENT = 256


@dataclass(frozen=True)
class TimedReply:
    """A turn's answer with the referee's own wall clock around request and answer."""

    reply: TurnTaken
    wall_ns: int


class Table:
    """Buffers for the inputs and outputs of one case; a context manager that frees them."""

    def __init__(self, host: Host, spec: OutputSpec) -> None:
        self._host = host
        self._numbers = itertools.count(1)
        self._buffers: dict[int, SharedBuffer] = {}
        self._seated: list[tuple[WorkerProcess, float]] = []
        self._arguments: list[Argument] = []
        self._outputs = [
            self._allocate(dtype, shape, None) for dtype, shape in zip(spec.dtypes, spec.shapes, strict=True)
        ]

    def lay_inputs(self, inputs: Sequence[Any]) -> None:
        """Fill an input buffer per tensor, allocated at the first call; plain values go along as they are.

        Raises: InvalidProblem where get_inputs() gives other forms at every call.
        """
        before: Sequence[Argument | None] = self._arguments or [None] * len(inputs)
        if len(before) != len(inputs):
            raise InvalidProblem("get_inputs() gives another number of inputs at every call")
        self._arguments = [self._argument(value, old) for value, old in zip(inputs, before, strict=True)]
        for argument, value in zip(self._arguments, inputs, strict=True):
            if argument.tensor is not None:
                self._view(argument.tensor).copy_(value)

    def lay_buffer(self, buffer: SharedBuffer, like: torch.Tensor) -> None:
        """Use a ready-made buffer as the next input."""
        number = next(self._numbers)
        self._buffers[number] = buffer
        self._arguments.append(Argument(tensor=_ref(number, like.dtype, tuple(like.shape), like.stride())))

    def seat(self, worker: WorkerProcess, timeout_s: float) -> None:
        """Attach every buffer to a worker."""
        for number in self._buffers:
            self._attach(worker, number, timeout_s)
        self._seated.append((worker, timeout_s))

    def unseat(self, worker: WorkerProcess) -> None:
        """Forget a worker that has been ended."""
        self._seated = [seat for seat in self._seated if seat[0] is not worker]

    @contextmanager
    def state(self, model: torch.nn.Module) -> Iterator[tuple[int | None, tuple[NamedTensor, ...]]]:
        """The model's state in one shared buffer, for as long as the block runs."""
        tensors = {name: value for name, value in model.state_dict().items() if value.numel()}
        offsets, total = [], 0
        for value in tensors.values():
            offsets.append(total)
            total += -(-value.nbytes // _STATE_ALIGNMENT) * _STATE_ALIGNMENT
        if not tensors:
            yield None, ()
            return
        number = next(self._numbers)
        self._buffers[number] = self._host.allocate(total)
        named = []
        for (name, value), offset in zip(tensors.items(), offsets, strict=True):
            plain = value.contiguous()
            ref = _ref(number, plain.dtype, tuple(plain.shape), plain.stride(), offset)
            self._view(ref).copy_(plain)
            named.append(NamedTensor(name, ref))
        self._synchronize()
        try:
            yield number, tuple(named)
        finally:
            self._buffers.pop(number).release()

    def construct(
        self,
        worker: WorkerProcess,
        model: torch.nn.Module,
        init_inputs: list[Any],
        seed: int,
        timeout_s: float,
        optimization: Optimization | None = None,
    ) -> Constructed:
        """Have the worker construct its module and take over the model's state."""
        with self.state(model) as (number, named):
            if number is not None:
                self._attach(worker, number, timeout_s)
            reply = worker.ask(Construct(encode_value(init_inputs), seed, named, optimization), timeout_s)
            if number is not None:
                worker.ask(Detach((number,)), timeout_s)
        assert isinstance(reply, Constructed)
        return reply

    def take_turn(
        self, worker: WorkerProcess, calls: int, timeout_s: float, sample_blocks: int | None = None, seed: int = 0
    ) -> TimedReply:
        """One turn over the inputs as they lie, outputs poisoned before."""
        if sample_blocks is None:
            for ref in self._outputs:
                _poison(self._buffers[ref.buffer].content, getattr(torch, ref.dtype))
        self._synchronize()
        request = TakeTurn(tuple(self._arguments), tuple(self._outputs), calls, sample_blocks, seed)
        started = time.perf_counter_ns()
        reply = worker.ask(request, timeout_s)
        wall_ns = time.perf_counter_ns() - started
        assert isinstance(reply, TurnTaken)
        return TimedReply(reply, wall_ns)

    def outputs(self) -> list[torch.Tensor]:
        """The referee's own view of what the last turn left."""
        return [self._view(ref) for ref in self._outputs]

    def output_buffers(self) -> list[SharedBuffer]:
        return [self._buffers[ref.buffer] for ref in self._outputs]

    def __enter__(self) -> Table:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: object) -> None:
        """Take the buffers from the workers and free them. After a failure the workers are about to be ended."""
        try:
            if error is None:
                for worker, timeout_s in self._seated:
                    _detach(worker, tuple(self._buffers), timeout_s)
        finally:
            for buffer in self._buffers.values():
                buffer.release()
            self._buffers.clear()

    def _argument(self, value: Any, before: Argument | None) -> Argument:
        """The input as a worker is told of it, in the buffer that it had before."""
        if before is not None and before.tensor is not None:
            form = (before.tensor.shape, before.tensor.dtype)
            if not isinstance(value, torch.Tensor) or (tuple(value.shape), _name(value.dtype)) != form:
                raise InvalidProblem("get_inputs() gives tensors of another shape or dtype at every call")
            return before
        if isinstance(value, torch.Tensor):
            stride = torch.empty_like(value, device="meta").stride()
            return Argument(tensor=self._allocate(value.dtype, tuple(value.shape), stride))
        try:
            return Argument(value=encode_value(value))
        except NotPlain as error:
            raise InvalidProblem(f"get_inputs() returns a {error}; tensors and plain values belong") from None

    def _allocate(self, dtype: torch.dtype, shape: tuple[int, ...], stride: tuple[int, ...] | None) -> TensorRef:
        number = next(self._numbers)
        self._buffers[number] = self._host.allocate(math.prod(shape) * dtype.itemsize)
        return _ref(number, dtype, shape, stride or torch.empty(shape, device="meta").stride())

    def _attach(self, worker: WorkerProcess, number: int, timeout_s: float) -> None:
        buffer = self._buffers[number]
        descriptors = [] if buffer.descriptor is None else [buffer.descriptor]
        worker.ask(Attach(number, buffer.handle), timeout_s, descriptors)

    def _view(self, ref: TensorRef) -> torch.Tensor:
        dtype = getattr(torch, ref.dtype)
        flat = self._buffers[ref.buffer].content[ref.offset :]
        return flat[: flat.numel() // dtype.itemsize * dtype.itemsize].view(dtype).as_strided(ref.shape, ref.stride)

    def _synchronize(self) -> None:
        if self._host.torch_device == "cuda":
            torch.cuda.synchronize()


def _poison(content: torch.Tensor, dtype: torch.dtype) -> None:
    """NaN in floating dtypes; integers have no such value, so they get what nobody can know. Unwritten can't pass."""
    if dtype.is_floating_point or dtype.is_complex:
        content.fill_(0xFF)
    else:
        content.random_(0, 256)


def _detach(worker: WorkerProcess, buffers: tuple[int, ...], timeout_s: float) -> None:
    try:
        worker.ask(Detach(buffers), timeout_s)
    except SolutionRaised as error:
        raise from_exception(error.raised, "after its turns", Verdict.RUNTIME_ERROR) from None


def _ref(number: int, dtype: torch.dtype, shape: tuple[int, ...], stride: Sequence[int], offset: int = 0) -> TensorRef:
    return TensorRef(number, _name(dtype), shape, tuple(stride), offset)


def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")
