"""Devices, on which kernels execute. Each serves both sides: memory and facts for the referee, the calls for a worker.

Everything that others may use is named here, the simulator's words among it; the interfaces of the two sides are in
`harness.devices.base`. A name is imported when it is first used: the simulator must be there before torch is, and the
GPU's part is for a GPU.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.face import lazy

if TYPE_CHECKING:
    from harness.cudasim import (
        UNSUPPORTED_MARK,
        SimUnavailable,
        beyond_simulator,
        diagnose_build_log,
        ensure_toolkit,
        find_compiler,
        find_torch,
        is_prepared,
        untried_python,
    )
    from harness.devices.choice import Choice, activate_worker, choose_backend, open_host, require_simulator
    from harness.devices.cuda.clocks import SmClock, left_locked
    from harness.devices.cuda.gpus import (
        DistantGpu,
        compute_capability,
        driver_version,
        equal_gpus,
        gpu_uuid,
        is_only_gpu,
        worker_environment,
    )
    from harness.devices.cuda.host import CudaHost
    from harness.devices.cuda.nvml import NvmlUnavailable, Sample, opened_first
    from harness.devices.cuda.telemetry import Telemetry, Watch
    from harness.devices.cuda.tracer import END, EVICT, LEAD_IN, STRIDED_COPY
    from harness.devices.environment import (
        FLAGS,
        Nvcc,
        find_nvcc,
        host_compiler_version,
        nvcc_version,
        read_environment,
    )
    from harness.devices.sim.account import AccountOfFindings, FindingsWithheld
    from harness.devices.sim.host import SimHost
else:  # a type checker that saw it would let every name pass
    __getattr__, __dir__ = lazy(__name__, __file__)
