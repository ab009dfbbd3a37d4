"""Triton for a GPU that this process doesn't hold: kernels are compiled, with what launches them, and not launched."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any  # Triton has no types

from harness.devices.described_driver import DescribedDriver
from harness.sandbox.wire.device import SeenGpu


def compile_only(gpu: SeenGpu, is_rehearsing: Callable[[], bool]) -> None:
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
