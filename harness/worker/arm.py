"""The module under measurement: loading it, constructing it, taking turns with it."""

from __future__ import annotations

import contextlib
import dataclasses
import importlib.util
import os
import random
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy
import torch

from harness.devices.base import WorkerDevice
from harness.sandbox.wire.codec import decode_value
from harness.sandbox.wire.construction import (
    in_channels_last,
    large_draws_on,
    take_batch_statistics,
    training_step,
    varied_initialisers,
)
from harness.sandbox.wire.input_form import takes_parts
from harness.sandbox.wire.messages import (
    Argument,
    Attach,
    Call,
    CallTaken,
    Construct,
    Constructed,
    Described,
    Detach,
    Flag,
    FlagChange,
    Load,
    Loaded,
    Ready,
    Rehearse,
    Step,
    TakeTurn,
    TensorRef,
    TurnTaken,
    WarmUp,
)
from harness.sandbox.wire.structure import unpack
from harness.worker.extensions import Extensions
from harness.worker.form import fitting, form_of, is_plain
from harness.worker.guard import Guard
from harness.worker.optimization import optimize
from harness.worker.sharing import Held, Sharing, own_bytes
from harness.worker.torch_state import compilation, read_flags, set_flags
from harness.worker.triton_tuning import TritonTuning, take_lent


class Arm:
    """One module on one device. `load`, then `construct`, then turns; constructing again replaces the module."""

    def __init__(self, device: WorkerDevice, extensions: Extensions, protections: tuple[str, ...] = ()) -> None:
        self.device = device
        self.extensions = extensions
        self._protections = protections
        self._buffers: dict[int, torch.Tensor] = {}
        self._class: Any = None  # the solution's nn.Module subclass
        self._model: Any = None
        self._channels_last = False
        self._sharing = Sharing()
        self._tuning = TritonTuning()
        self._guard: Guard | None = None
        self._is_guarded = False
        self._flags: dict[str, Flag | None] = {}

    @property
    def model(self) -> Any:
        """The module that construct() made, as turns call it."""
        return self._model

    def warm_up(self, request: WarmUp) -> Ready:
        self.device.warm_up()
        return Ready(self._protections)

    def load(self, request: Load) -> Loaded:
        """Load a file. It raises whatever the file raises at import; AttributeError where the class is missing."""
        set_flags(request.flags)
        if request.compilers is not None:
            self.extensions.leave_texts_to_referee(request.compilers, request.builds_others)
        if request.seen_gpu is not None:
            self.device.show(request.seen_gpu, request.is_rehearsed)
        take_lent(self.extensions.folder)
        if self.device.torch_device != "cpu" and _speaks_of_graphs(Path(request.path).parent):
            self.device.ready_libraries()  # as where the reference ran before in the same process
        self._flags = read_flags()
        self._guard = self._class = self._model = None  # what changes from now on is none of the guard's
        self._guard, self._is_guarded = Guard(self), True
        is_measured = request.class_name == "ModelNew" and self.device.torch_device != "cpu"
        if is_measured:  # torch.compile's processes would be frozen and woken for each turn
            os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")
        module = _import_file(Path(request.path))
        self._tuning.take_over()
        self._class = _class_of(module, request.class_name, Path(request.path).name)
        return Loaded(self.extensions.take_reports())

    def attach(self, request: Attach, descriptor: int | None) -> None:
        self._buffers[request.buffer] = self.device.open_buffer(request.handle, descriptor)

    def detach(self, request: Detach) -> None:
        self.device.synchronize()
        for number in request.buffers:
            self.device.close_buffer(self._buffers.pop(number))

    def construct(self, request: Construct) -> Constructed:
        """Construct on the CPU under the seed, as KernelBench does, then move. What is large the device draws."""
        self._model = None
        self._sharing.forget()
        self.device.limit_launches()  # no more, whatever the last turn was
        torch.manual_seed(request.seed)
        random.seed(request.seed)
        numpy.random.seed(request.seed % 2**32)
        varied = varied_initialisers(request.seed) if request.varies else contextlib.nullcontext()
        only_builds = self.device.torch_device == "cpu"  # nothing of it is judged
        with large_draws_on(None if only_builds else self.device.torch_device), varied:
            model = self._class(*decode_value(request.init_inputs))
        if not isinstance(model, torch.nn.Module):
            raise TypeError(f"{self._class.__name__}(…) is a {type(model).__name__}, not a torch.nn.Module")
        model = model.to(self.device.torch_device).eval()
        if request.batch_statistics:
            take_batch_statistics(model)
        own = model.state_dict()
        loaded, in_place = [], []
        for name, ref in request.state.items():
            target = own.get(name)
            if target is not None and tuple(target.shape) == ref.shape:
                given = self._tensor(ref)
                if target.dtype is given.dtype and torch.equal(target, given):
                    in_place.append(name)
                target.copy_(given)
                loaded.append(name)
        self._model = optimize(model, request.optimization, decode_value(request.forms))
        if request.step is not None:
            self._model = _stepping(self._model, model, request.step, self.device.end_forward)
        self._channels_last = request.optimization is not None and request.optimization.channels_last
        self.device.synchronize()
        return Constructed(tuple(own), tuple(loaded), self.extensions.take_reports(), tuple(in_place))

    def rehearse(self, request: Rehearse) -> None:
        """Nothing is launched, and nothing returned. Raises whatever needs values raises."""
        inputs = [
            decode_value(one.value)
            if (ref := one.tensor) is None
            else torch.empty_strided(ref.shape, ref.stride, dtype=getattr(torch, ref.dtype), device="meta")
            for one in request.inputs
        ]
        call = takes_parts(self._model, decode_value(request.forms))
        self.device.rehearse(self._model, inputs, call)

    def take_turn(self, request: TakeTurn) -> TurnTaken:
        """The same path for correctness and timing. A module that reads the frames of its callers, or the device's
        attributes, finds the request's conditions there; what its outputs are compared with, and whether they are,
        stands nowhere in this process."""
        self.device.limit_launches(request.sample_blocks, request.sample_seed, request.work_s)
        if request.traced:
            self.device.start_trace()  # first of all: what a thread of the solution's launches by now is seen, too
        self.device.begin(request.conditions)
        calls = tuple(self._take(call, request.keeps_outputs) for call in request.calls)
        patched = self._patched()
        kernels = self.device.take_trace() if request.traced else None
        peak_bytes = self.device.peak_bytes()
        self._sharing.release()
        self.device.synchronize()
        findings, launches = self.device.take_findings()
        account = self.device.account()
        if kernels is not None or account is not None:  # what these say could have been replaced since
            patched = (*dict.fromkeys((*patched, *self._patched())),)
        extensions = self.extensions.take_reports()
        return TurnTaken(
            calls=calls,
            findings=findings,
            launches=launches,
            extensions=extensions,
            kernels=kernels,
            patched=patched,
            peak_bytes=peak_bytes,
            account=account,
        )

    def describe(self) -> Described:
        """Describe what the module's code did to torch, and what Triton chose for it."""
        now = read_flags()
        changes = [FlagChange(name, was, now.get(name)) for name, was in self._flags.items() if now.get(name) != was]
        return Described(tuple(changes), compilation(), self._tuning.chosen())

    def _take(self, call: Call, keeps_outputs: bool) -> CallTaken:
        taken, held = self._call(call, keeps_outputs)
        if held is None:
            return taken
        return dataclasses.replace(taken, is_given_back=held.is_given_back(self.device.allocated_bytes()))

    def _call(self, call: Call, keeps_outputs: bool) -> tuple[CallTaken, Held | None]:
        """Take one call. Nothing of its result is alive any more afterwards, unless it is kept somewhere."""
        inputs = [self._argument(argument) for argument in call.inputs]
        if self._channels_last:
            inputs = [in_channels_last(value) for value in inputs]
        destinations = [self._tensor(ref) for ref in call.outputs]
        model = self._model
        measured = self.device.measure(
            lambda: model(*inputs),
            lambda returned: fitting(unpack(returned)[1], destinations),
            [value for value, argument in zip(inputs, call.inputs, strict=True) if argument.tensor is not None],
        )
        structure, outputs = unpack(measured.result)
        forms = tuple(form_of(output) for output in outputs)
        plain = [output for output in outputs if is_plain(output)]
        shares = self._sharing.of(plain, inputs, self._buffers)
        self._sharing.remember(plain, keeps_outputs)
        taken = CallTaken(
            structure=structure,
            outputs=forms,
            gpu_ns=measured.gpu_ns,
            tail_ns=measured.tail_ns,
            shares=shares,
            unasked=measured.unasked,
            launch_ns=measured.launch_ns,
            queued=measured.queued,
        )
        return taken, None if keeps_outputs else Held(own_bytes(plain, inputs), self.device.allocated_bytes())

    def _patched(self) -> tuple[str, ...]:
        """Name the guarded functions that were replaced. This is looked for before the trace is taken as well: what is
        replaced to forge it could be put back in it."""
        if self._guard is None:
            return ("harness.worker.arm.Arm._guard",) if self._is_guarded else ()
        return self._guard.patched()

    def _argument(self, argument: Argument) -> Any:
        return decode_value(argument.value) if argument.tensor is None else self._tensor(argument.tensor)

    def _tensor(self, ref: TensorRef) -> torch.Tensor:
        dtype = getattr(torch, ref.dtype)
        flat = self._buffers[ref.buffer][ref.offset :]
        usable = flat[: flat.numel() // dtype.itemsize * dtype.itemsize].view(dtype)
        return usable.as_strided(ref.shape, ref.stride)


def _stepping(call: Any, model: torch.nn.Module, step: Step, end_forward: Callable[[], None]) -> Any:
    """The training step of a model that is called by `call`. Raises: AttributeError for a parameter it hasn't."""
    own = dict(model.named_parameters(remove_duplicate=False))
    if missing := next((name for name in step.parameters if name not in own), None):
        raise AttributeError(
            f"{type(model).__name__} has no parameter '{missing}', whose gradient is asked for: name them as Model "
            f"does; it has {', '.join(own) or 'none'}"
        )
    parameters = [own[name] for name in step.parameters]

    def take(*given: Any) -> tuple[torch.Tensor, ...]:
        found = training_step(call, given, step, parameters, end_forward)
        first = len(found) - len(parameters)  # theirs may be in what a baseline was converted to
        wanted = zip(found[first:], step.parameters.values(), strict=True)
        return *found[:first], *(gradient.to(getattr(torch, dtype)) for gradient, dtype in wanted)

    return take


def _speaks_of_graphs(folder: Path) -> bool:
    """Say whether a source of a solution's may capture a CUDA graph."""
    sources = (file for file in folder.rglob("*") if file.suffix in (".py", ".cu", ".cuh", ".cpp", ".h"))
    return any(b"graph" in source.read_bytes().lower() for source in sources if source.is_file())


def _import_file(path: Path) -> ModuleType:
    """Import the file under its stem; its folder is importable too, for solutions of several files."""
    sys.path.insert(0, str(path.parent))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def _class_of(module: ModuleType, name: str, file: str) -> Any:
    """Raises: AttributeError, which tells what the file defines in its place."""
    if not hasattr(module, name):
        own = [one for one in vars(module).values() if isinstance(one, type) and one.__module__ == module.__name__]
        names = ", ".join(one.__name__ for one in own[:3])
        raise AttributeError(f"{file} defines no class '{name}'" + (f", but {names}" if names else ""))
    return getattr(module, name)
