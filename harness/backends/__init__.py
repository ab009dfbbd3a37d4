"""Where kernels execute. A backend serves both sides: memory for the referee, a device for the worker."""

from __future__ import annotations

from collections.abc import Sequence

from harness.backends.base import WorkerDevice


def activate_worker(name: str, options: Sequence[str]) -> WorkerDevice:
    """Turn this process into one whose children are workers of the backend. Called once, before torch is imported."""
    if name == "sim":
        from pathlib import Path

        from harness.backends.sim.device import activate
        from harness.backends.sim.toolkit import Toolkit

        return activate(Toolkit(Path(options[0]), is_checked="checked" in options[1:]))
    from harness.backends.cuda.device import activate as activate_gpu

    return activate_gpu()
