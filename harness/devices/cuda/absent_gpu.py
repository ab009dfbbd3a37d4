"""A GPU that torch speaks of and this process doesn't hold, so that a solution comes to its builds.

What asks for the GPU's facts is answered; tensors and modules that are to be on it stay on the CPU; what needs it after
all raises, as without a GPU. In a rehearsal, tensors have no values: torch's fake ones say that they are on the GPU;
Triton compiles kernels, with what launches them, and launches none.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext, suppress
from types import SimpleNamespace
from typing import Any  # Triton has no types, and torch's functions take arguments of many shapes

import torch
from torch._subclasses import fake_tensor
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.overrides import TorchFunctionMode

from harness.devices.described_driver import DescribedDriver
from harness.sandbox.wire.device import SeenGpu

_GPU = torch.device("cuda", 0)


class AbsentGpu:
    """The GPU as this thread sees it from now on, to its end. `is_rehearsed`: Triton compiles for it."""

    def __init__(self, gpu: SeenGpu, is_rehearsed: bool) -> None:
        properties = SimpleNamespace(**gpu.properties)
        answers: dict[str, object] = {
            "is_available": True,
            "device_count": 1,
            "current_device": 0,
            "set_device": None,
            "init": None,
            "synchronize": None,
            "empty_cache": None,
            "device": nullcontext(),
            "get_device_properties": properties,
            "get_device_name": properties.name,
            "get_device_capability": (properties.major, properties.minor),
            "is_bf16_supported": properties.major >= 8,
        }
        for name, answer in answers.items():
            setattr(torch.cuda, name, lambda *_, answer=answer, **__: answer)
        self._on_cpu = _OnCpu()
        self._on_cpu.__enter__()  # type: ignore[no-untyped-call]
        if is_rehearsed:
            for name in ("init_gpu_context", "init_cuda_context"):  # torch's before 2.8
                setattr(fake_tensor, name, lambda *_: None)
            FakeTensor.data_ptr = _offset  # type: ignore[assignment, method-assign]
            _compile_only(gpu, lambda: not self._on_cpu.is_on)

    def rehearse(self, model: torch.nn.Module, inputs: Sequence[Any], call: Callable[..., object]) -> None:
        """Call as WorkerDevice.rehearse() says."""
        mode = _OnAbsentGpu(allow_non_fake_inputs=True)

        @functools.cache  # what a module's parts share stays so
        def fake(tensor: torch.Tensor) -> torch.Tensor:
            made = FakeTensor(mode, tensor.detach().to("meta"), _GPU)
            return torch.nn.Parameter(made, tensor.requires_grad) if isinstance(tensor, torch.nn.Parameter) else made

        for module in model.modules():
            tables: list[dict[str, Any]] = [module._parameters, module._buffers]
            for own in tables:
                own.update({name: fake(tensor) for name, tensor in own.items() if tensor is not None})
        given = [fake(value) if isinstance(value, torch.Tensor) else value for value in inputs]
        self._on_cpu.is_on = False
        try:
            with mode:
                call(*given)
        finally:
            self._on_cpu.is_on = True


class _OnCpu(TorchFunctionMode):
    """Takes the CPU where a call names the GPU."""

    is_on = True

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        if not self.is_on or func is torch.device:
            return func(*args, **(kwargs or {}))
        if func is torch.Tensor.cuda:
            return args[0]
        named = {name: _on_cpu(value) for name, value in (kwargs or {}).items()}
        if named.get("pin_memory"):
            named["pin_memory"] = False
        return func(*map(_on_cpu, args), **named)


def _on_cpu(value: Any) -> Any:
    is_gpu = isinstance(value, (str, torch.device)) and str(value).partition(":")[0] == "cuda"
    return torch.device("cpu") if is_gpu else value


class _OnAbsentGpu(FakeTensorMode):  # type: ignore[no-untyped-call]
    supports_higher_order_operators = True
    avoid_device_init = True  # though torch says that there is a GPU


def _offset(tensor: FakeTensor) -> int:
    """The address as far as Triton asks what divides it. Torch's memory begins at a multiple of 512 bytes."""
    return int(tensor.storage_offset() * tensor.element_size())


def _compile_only(gpu: SeenGpu, is_rehearsing: Callable[[], bool]) -> None:
    """Compile every kernel that is launched from now on, in all configurations of an autotuner. A launch outside of a
    rehearsal raises, since what follows from it would be wrong."""
    from triton.runtime import driver
    from triton.runtime.autotuner import Autotuner
    from triton.runtime.jit import JITFunction

    driver.set_active(DescribedDriver(gpu.properties))
    run = JITFunction.run

    def compiled(kernel: Any, *given: Any, **named: Any) -> Any:
        made = run(kernel, *given, **{**named, "warmup": True})
        with suppress(Exception):  # the worker that launches can make its own
            _make_launcher(made)
        if not (named.get("warmup") or is_rehearsing()):
            raise RuntimeError("there is no GPU here, only its description")
        return made

    def tuned(tuner: Any, *given: Any, **named: Any) -> None:
        tuner.nargs = dict(zip(tuner.arg_names, given, strict=False))
        for config in tuner.prune_configs(named):
            with suppress(Exception):  # a configuration that doesn't compile isn't chosen
                if config.pre_hook is not None:
                    config.pre_hook({**tuner.nargs, **named, **config.all_kwargs()})
                tuner.fn.run(*given, **{**named, **config.all_kwargs()})
        tuner.nargs = None

    JITFunction.run = compiled
    Autotuner.run = tuned


def _make_launcher(kernel: Any) -> None:
    if type(kernel).__name__ == "FutureKernel":  # still being compiled, beside others
        return
    driver = sys.modules["triton.backends.nvidia.driver"]
    driver.CudaUtils()
    driver.CudaLauncher(kernel.src, kernel.metadata)
