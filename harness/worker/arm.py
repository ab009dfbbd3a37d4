"""The module under measurement: loading it, constructing it, taking turns with it."""

from __future__ import annotations

import importlib.util
import random
import sys
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy
import torch

from harness.backends.base import WorkerDevice
from harness.protocol.messages import (
    Argument,
    Attach,
    Construct,
    Constructed,
    Detach,
    Load,
    Loaded,
    OutputForm,
    TakeTurn,
    TensorRef,
    TurnTaken,
)
from harness.protocol.values import decode_value
from harness.worker.extensions import Extensions
from harness.worker.optimization import in_channels_last, optimize


class Arm:
    """One module on one device. `load`, then `construct`, then turns; constructing again replaces the module."""

    def __init__(self, device: WorkerDevice, extensions: Extensions) -> None:
        self.device = device
        self.extensions = extensions
        self._buffers: dict[int, torch.Tensor] = {}
        self._class: Any = None  # the solution's nn.Module subclass
        self._model: Any = None
        self._channels_last = False

    def load(self, request: Load) -> Loaded:
        """Raises whatever the file raises at import; AttributeError where the class is missing."""
        _set_flags(request.flags)
        module = _import_file(Path(request.path))
        if not hasattr(module, request.class_name):
            raise AttributeError(f"{Path(request.path).name} defines no class '{request.class_name}'")
        self._class = getattr(module, request.class_name)
        return Loaded(self.extensions.take_reports())

    def attach(self, request: Attach, descriptor: int | None) -> None:
        self._buffers[request.buffer] = self.device.open_buffer(request.handle, descriptor)

    def detach(self, request: Detach) -> None:
        self.device.synchronize()
        for number in request.buffers:
            self.device.close_buffer(self._buffers.pop(number))

    def construct(self, request: Construct) -> Constructed:
        """Construct on the CPU under the seed, as KernelBench does, then move to the device."""
        self._model = None
        torch.manual_seed(request.seed)
        random.seed(request.seed)
        numpy.random.seed(request.seed % 2**32)
        model = self._class(*decode_value(request.init_inputs))
        if not isinstance(model, torch.nn.Module):
            raise TypeError(f"{self._class.__name__}(…) is a {type(model).__name__}, not a torch.nn.Module")
        model = model.to(self.device.torch_device).eval()
        own = model.state_dict()
        loaded = []
        for item in request.state:
            target = own.get(item.name)
            if target is not None and tuple(target.shape) == item.tensor.shape:
                target.copy_(self._tensor(item.tensor))
                loaded.append(item.name)
        self._model = optimize(model, request.optimization)
        self._channels_last = request.optimization is not None and request.optimization.channels_last
        self.device.synchronize()
        return Constructed(tuple(own), tuple(loaded), self.extensions.take_reports())

    def take_turn(self, request: TakeTurn) -> TurnTaken:
        """The same path for correctness and timing; nothing here tells them apart."""
        self.device.sample_blocks(request.sample_blocks, request.sample_seed)
        inputs = [self._argument(argument) for argument in request.inputs]
        if self._channels_last:
            inputs = [in_channels_last(value) for value in inputs]
        destinations = [self._tensor(ref) for ref in request.outputs]
        model = self._model
        call_ns = []
        for _ in range(request.calls):
            returned, nanoseconds = self.device.time_call(lambda: model(*inputs))
            structure, outputs = _unpack(returned)
            forms = tuple(_form(output) for output in outputs)
            if len(outputs) == len(destinations):
                for output, destination in zip(outputs, destinations, strict=True):
                    if _fits(output, destination):
                        self.device.store(output, destination)
            call_ns.append(nanoseconds)
            del returned, outputs
        self.device.synchronize()
        findings, launches = self.device.take_findings()
        times = tuple(ns for ns in call_ns if ns is not None)
        return TurnTaken(
            structure=structure,
            outputs=forms,
            call_ns=times if len(times) == request.calls else None,
            findings=findings,
            launches=launches,
            extensions=self.extensions.take_reports(),
        )

    def _argument(self, argument: Argument) -> Any:
        return decode_value(argument.value) if argument.tensor is None else self._tensor(argument.tensor)

    def _tensor(self, ref: TensorRef) -> torch.Tensor:
        dtype = getattr(torch, ref.dtype)
        flat = self._buffers[ref.buffer][ref.offset :]
        usable = flat[: flat.numel() // dtype.itemsize * dtype.itemsize].view(dtype)
        return usable.as_strided(ref.shape, ref.stride)


def _set_flags(flags: dict[str, bool]) -> None:
    torch.backends.cudnn.allow_tf32 = flags["cudnn_allow_tf32"]
    torch.backends.cuda.matmul.allow_tf32 = flags["matmul_allow_tf32"]
    torch.backends.cudnn.benchmark = flags["cudnn_benchmark"]


def _import_file(path: Path) -> ModuleType:
    """Import under its stem; its folder is importable too, for solutions of several files."""
    sys.path.insert(0, str(path.parent))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def _unpack(returned: object) -> tuple[str, list[Any]]:
    if isinstance(returned, torch.Tensor):
        return "tensor", [returned]
    if type(returned) in (tuple, list):
        assert isinstance(returned, Iterable)
        return type(returned).__name__, list(returned)
    return type(returned).__name__, []


def _form(output: object) -> OutputForm:
    if not isinstance(output, torch.Tensor):
        return OutputForm(type(output).__name__)
    return OutputForm(None, str(output.dtype).removeprefix("torch."), tuple(output.shape), str(output.device.type))


def _fits(output: object, destination: torch.Tensor) -> bool:
    return (
        isinstance(output, torch.Tensor)
        and output.shape == destination.shape
        and output.dtype == destination.dtype
        and output.device.type == destination.device.type
    )
