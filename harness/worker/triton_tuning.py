"""Triton in the worker: its cache holds what was lent, and its autotuner compiles all configurations of a kernel side
by side before the first of them is timed. One after the other, they would hold the GPU for half a minute."""

from __future__ import annotations

import os
import shutil
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

from harness.sandbox.wire.layout import lent_triton, own_triton
from harness.sandbox.wire.messages import MOST_TUNED, TUNED_CHARS


class TritonTuning:
    """The autotuners of the solution's Triton kernels, once `take_over` has found Triton imported."""

    def __init__(self) -> None:
        self._tuners: dict[int, Any] = {}
        self._has_taken_over = False

    def take_over(self) -> None:
        """Compile side by side from now on, where Triton can (3.5 and newer) and isn't the interpreter."""
        wanted = ("triton.runtime.autotuner", "triton.runtime._async_compile", "triton.knobs")
        autotuner, modes, knobs = (sys.modules.get(name) for name in wanted)
        if self._has_taken_over or not (autotuner and modes and knobs) or knobs.runtime.interpret:
            return
        self._has_taken_over = True
        prune = autotuner.Autotuner.prune_configs

        def pruned(tuner: Any, kwargs: dict[str, Any]) -> list[Any]:
            configs: list[Any] = prune(tuner, kwargs)
            if len(self._tuners) < MOST_TUNED:
                self._tuners[id(tuner)] = tuner
            with suppress(Exception):  # what doesn't compile raises anew, and for Triton to judge, when it is timed
                _compile(tuner, kwargs, configs, modes)
            return configs

        autotuner.Autotuner.prune_configs = pruned

    def chosen(self) -> tuple[str, ...]:
        """Say for the first kernels that were tuned which configuration each ran with last."""
        found = []
        for tuner in self._tuners.values():
            with suppress(Exception):  # a stranger's autotuner may lack any of it, or none has run yet
                words = f"{tuner.base_fn.__name__} ({tuner.best_config}), of {len(tuner.configs)}"
                found.append("".join(filter(str.isprintable, words))[:TUNED_CHARS])
        return tuple(found)


def take_lent(folder: Path) -> None:
    """Copy into Triton's cache what a worker's folder was lent, where Triton can add to it."""
    for entry in lent_triton(folder).glob("*"):
        if not (own := own_triton(folder) / entry.name).exists():
            shutil.copytree(entry, own)


def _compile(tuner: Any, kwargs: dict[str, Any], configs: list[Any], modes: Any) -> None:
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        try:
            with modes.AsyncCompileMode(pool, ignore_errors=True):
                for config in configs:
                    given = {**tuner.nargs, **kwargs, **config.all_kwargs()}
                    with suppress(Exception):
                        if config.pre_hook is not None:  # a descriptor's block may be the configuration's
                            config.pre_hook(given)
                        tuner.fn.run(**{**given, "warmup": True})
        finally:
            modes.active_mode.set(None)
