"""The table between referee and workers: the shared buffers of one case, and the turns taken over them."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch

from harness.devices.base import Host, SharedBuffer
from harness.model.verdict import Verdict
from harness.referee.answers.reference import InvalidProblem, OutputSpec
from harness.sandbox.outcome import SolutionFailed, from_exception
from harness.sandbox.process import SolutionRaised, WorkerProcess
from harness.sandbox.wire.device import Conditions
from harness.sandbox.wire.messages import (
    Argument,
    Attach,
    Call,
    Construct,
    Constructed,
    Detach,
    NamedTensor,
    Optimization,
    TakeTurn,
    TensorRef,
    TurnTaken,
)
from harness.sandbox.wire.values import NotPlain, decode_value, encode_value

_STATE_ALIGNMENT = 256


@dataclass(frozen=True)
class TimedReply:
    """A turn's answer with the referee's own wall clock around request and answer."""

    reply: TurnTaken
    wall_ns: int


@dataclass
class _Place:
    """The buffers of one call."""

    outputs: list[TensorRef]
    arguments: list[Argument] = field(default_factory=list)


class Table:
    """Buffers for the inputs and outputs of one case; a context manager that frees them.

    There are `places` sets of them: each call of a turn has one of its own.
    """

    def __init__(self, host: Host, spec: OutputSpec, places: int = 1) -> None:
        self._host = host
        self._numbers = itertools.count(1)
        self._buffers: dict[int, SharedBuffer] = {}
        self._seated: list[tuple[WorkerProcess, float]] = []
        self._places = [_Place(self._allocate_outputs(spec)) for _ in range(places)]

    @property
    def places(self) -> int:
        """As many calls can be in one turn."""
        return len(self._places)

    def lay_inputs(self, inputs: Sequence[Any], place: int = 0) -> None:
        """Fill an input buffer per tensor, allocated at the first call; plain values go along as they are.

        Raises: InvalidProblem where get_inputs() gives other forms at every call.
        """
        old = self._places[place].arguments
        before: Sequence[Argument | None] = old or [None] * len(inputs)
        if len(before) != len(inputs):
            raise InvalidProblem("get_inputs() gives another number of inputs at every call")
        arguments = [self._argument(value, known) for value, known in zip(inputs, before, strict=True)]
        self._places[place].arguments = arguments
        for argument, value in zip(arguments, inputs, strict=True):
            if argument.tensor is not None:
                self._view(argument.tensor).copy_(value)

    def lay_buffer(self, buffer: SharedBuffer, like: torch.Tensor) -> None:
        """Use a ready-made buffer as the next input of the first place."""
        number = next(self._numbers)
        self._buffers[number] = buffer
        self._places[0].arguments.append(Argument(tensor=_ref(number, like.dtype, tuple(like.shape), like.stride())))

    def lay_value(self, value: Any) -> None:
        """Give a plain value as the next input of the first place. Raises: InvalidProblem where it isn't plain."""
        self._places[0].arguments.append(self._argument(value, None))

    def seat(self, worker: WorkerProcess, timeout_s: float) -> None:
        """Attach every buffer to a worker."""
        for number in self._buffers:
            self._attach(worker, number, timeout_s)
        self._seated.append((worker, timeout_s))

    def unseat(self, worker: WorkerProcess) -> None:
        """Forget a worker that has been ended, or is of no use any more."""
        self._seated = [seat for seat in self._seated if seat[0] is not worker]

    @property
    def workers(self) -> tuple[WorkerProcess, ...]:
        """Those that sit here."""
        return tuple(worker for worker, _ in self._seated)

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
        varies: bool = False,
    ) -> Constructed:
        """Have the worker construct its module and take over the model's state."""
        with self.state(model) as (number, named):
            if number is not None:
                self._attach(worker, number, timeout_s)
            reply = worker.ask(Construct(encode_value(init_inputs), seed, named, optimization, varies), timeout_s)
            if number is not None:
                worker.ask(Detach((number,)), timeout_s)
        assert isinstance(reply, Constructed)
        return reply

    def take_turn(
        self,
        worker: WorkerProcess,
        timeout_s: float,
        places: Sequence[int] = (0,),
        *,
        conditions: Conditions = Conditions(),
        traced: bool = False,
        keeps_outputs: bool = False,
        sample_blocks: int | None = None,
        sample_seed: int = 0,
        work_s: float | None = None,
        wake: Callable[[], None] = lambda: None,
    ) -> TimedReply:
        """One turn with a call at each of `places`, over the inputs as they lie, outputs poisoned before.

        `wake`: done last before the clock starts, for a worker that stands still: who is awake earlier has the inputs
        for as long as the poison takes.

        Raises: SolutionFailed where the answer is one to another number of calls.
        """
        chosen = [self._places[place] for place in places]
        if not sample_blocks:
            for ref in (ref for place in chosen for ref in place.outputs):
                _poison(self._buffers[ref.buffer].content, getattr(torch, ref.dtype))
        self._synchronize()
        calls = tuple(Call(tuple(place.arguments), tuple(place.outputs)) for place in chosen)
        request = TakeTurn(calls, conditions, keeps_outputs, traced, sample_blocks, sample_seed, work_s)
        wake()
        started = time.perf_counter_ns()
        reply = worker.ask(request, timeout_s)
        wall_ns = time.perf_counter_ns() - started
        assert isinstance(reply, TurnTaken)
        if len(reply.calls) != len(calls):
            raise SolutionFailed.cheating(
                "private_socket",
                f"a turn of {len(calls)} calls was answered with {len(reply.calls)}",
                asked=len(calls),
                answered=len(reply.calls),
            )
        return TimedReply(reply, wall_ns)

    def inputs(self, place: int = 0) -> dict[int, torch.Tensor]:
        """The memory of a place's tensor inputs, as plain bytes, by their positions."""
        arguments = enumerate(self._places[place].arguments)
        return {
            number: self._buffers[argument.tensor.buffer].content
            for number, argument in arguments
            if argument.tensor is not None
        }

    def values(self, place: int = 0) -> list[Any]:
        """The inputs as they lie, tensors as views of the shared memory."""
        arguments = self._places[place].arguments
        return [decode_value(a.value) if a.tensor is None else self._view(a.tensor) for a in arguments]

    def outputs(self, place: int = 0) -> list[torch.Tensor]:
        """The referee's own view of what the last turn left."""
        return [self._view(ref) for ref in self._places[place].outputs]

    def output_buffers(self) -> list[SharedBuffer]:
        """Those of the first place."""
        return [self._buffers[ref.buffer] for ref in self._places[0].outputs]

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

    def _allocate_outputs(self, spec: OutputSpec) -> list[TensorRef]:
        forms = zip(spec.dtypes, spec.shapes, strict=True)
        return [self._allocate(dtype, shape, None) for dtype, shape in forms]

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
