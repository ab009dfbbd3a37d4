"""Where kernels execute. A backend serves both sides: memory for the referee, a device for the worker."""

from __future__ import annotations

from collections.abc import Sequence

from harness.devices.base import WorkerDevice


def activate_worker(name: str, options: Sequence[str]) -> WorkerDevice:
    """Turn this process into one whose children are workers of the backend. Called once, before torch is imported."""
    if name == "sim":
        from pathlib import Path

        from harness.cudasim.toolkit import Toolkit
        from harness.devices.sim.device import activate

        return activate(Toolkit(Path(options[0]), is_checked="checked" in options[1:]))
    from harness.devices.cuda.device import activate as activate_gpu

    return activate_gpu()
