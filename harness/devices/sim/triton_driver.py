"""Answers of Triton about the GPU and compiled kernels, where the GPU is simulated and nothing is compiled."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from harness.cudasim import UNSUPPORTED_MARK
from harness.devices.described_driver import DescribedDriver


def offer_driver(interpreter: Any) -> None:
    """Let solutions ask what is known of the simulated device. Whoever asks for times, or for what a compiler finds
    out, is told that this can't be simulated."""
    import torch
    from triton import testing
    from triton.runtime import driver

    driver.set_active(_Driver(dataclasses.asdict(torch.cuda.get_device_properties(0))))  # type: ignore[call-overload]
    for name in ("do_bench", "do_bench_cudagraph"):
        setattr(testing, name, _refused(f"Triton's {name}, which measures times"))
    function = interpreter.InterpretedFunction
    function.run = _with_result(function.run)


class _Unknown:
    """An object of Triton's that isn't there: whatever is asked of it is unsupported by name."""

    def __init__(self, what: str) -> None:
        self._what = what

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):  # as Python itself asks
            raise AttributeError(name)
        _refuse(f"{name} of {self._what}")

    def __getitem__(self, grid: object) -> NoReturn:
        _refuse(f"a launch of {self._what}")


class _DriverFacts(dict[str, Any]):
    def __missing__(self, name: str) -> NoReturn:
        _refuse(f"the device's {name} in Triton's driver")


class _Driver(DescribedDriver, _Unknown):
    def __init__(self, known: Mapping[str, str | int]) -> None:
        _Unknown.__init__(self, "Triton's driver")
        DescribedDriver.__init__(self, known)
        facts = _DriverFacts(self.utils.get_device_properties(0))
        self.utils = _Unknown("the utilities of Triton's driver")
        self.utils.get_device_properties = lambda device: facts

    def set_current_device(self, device: object) -> None:
        return None

    def get_benchmarker(self) -> Any:
        return _refused("Triton's benchmarker, which measures times")


def _with_result(run: Callable[..., Any]) -> Callable[..., Any]:
    """Return the compiled kernel from a launch and from a warm-up, as far as there is one."""

    def ran(*given: Any, **named: Any) -> Any:
        run(*given, **named)
        return _Unknown("a compiled Triton kernel")

    return ran


def _refused(what: str) -> Callable[..., NoReturn]:
    return lambda *_, **__: _refuse(what)


def _refuse(what: str) -> NoReturn:
    raise NotImplementedError(f"{UNSUPPORTED_MARK} {what}")
