"""Devices, on which kernels execute. Each serves both sides: memory and facts for the referee, the calls for a worker.

Everything that others may use is named here, the simulator's words among it; the interfaces of the two sides are in
`harness.devices.base`. A name is imported when it is first used: the simulator must be there before torch is, and the
GPU's part is for a GPU.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.face import lazy

if TYPE_CHECKING:
    from harness.cudasim import UNSUPPORTED_MARK as UNSUPPORTED_MARK
    from harness.cudasim import SimUnavailable as SimUnavailable
    from harness.cudasim import beyond_simulator as beyond_simulator
    from harness.cudasim import diagnose_build_log as diagnose_build_log
    from harness.cudasim import ensure_toolkit as ensure_toolkit
    from harness.cudasim import find_compiler as find_compiler
    from harness.cudasim import find_torch as find_torch
    from harness.cudasim import is_prepared as is_prepared
    from harness.cudasim import untried_python as untried_python
    from harness.devices.choice import Choice as Choice
    from harness.devices.choice import activate_worker as activate_worker
    from harness.devices.choice import choose_backend as choose_backend
    from harness.devices.choice import open_host as open_host
    from harness.devices.choice import require_simulator as require_simulator
    from harness.devices.cuda.clocks import SmClock as SmClock
    from harness.devices.cuda.clocks import left_locked as left_locked
    from harness.devices.cuda.gpus import DistantGpu as DistantGpu
    from harness.devices.cuda.gpus import compute_capability as compute_capability
    from harness.devices.cuda.gpus import equal_gpus as equal_gpus
    from harness.devices.cuda.gpus import gpu_uuid as gpu_uuid
    from harness.devices.cuda.gpus import is_only_gpu as is_only_gpu
    from harness.devices.cuda.gpus import worker_environment as worker_environment
    from harness.devices.cuda.host import CudaHost as CudaHost
    from harness.devices.cuda.nvml import NvmlUnavailable as NvmlUnavailable
    from harness.devices.cuda.nvml import Sample as Sample
    from harness.devices.cuda.nvml import opened_first as opened_first
    from harness.devices.cuda.telemetry import Telemetry as Telemetry
    from harness.devices.cuda.telemetry import Watch as Watch
    from harness.devices.cuda.tracer import END as END
    from harness.devices.cuda.tracer import EVICT as EVICT
    from harness.devices.cuda.tracer import LEAD_IN as LEAD_IN
    from harness.devices.cuda.tracer import STRIDED_COPY as STRIDED_COPY
    from harness.devices.environment import FLAGS as FLAGS
    from harness.devices.environment import Nvcc as Nvcc
    from harness.devices.environment import driver_version as driver_version
    from harness.devices.environment import find_nvcc as find_nvcc
    from harness.devices.environment import host_compiler_version as host_compiler_version
    from harness.devices.environment import nvcc_version as nvcc_version
    from harness.devices.environment import read_environment as read_environment
    from harness.devices.sim.account import AccountOfFindings as AccountOfFindings
    from harness.devices.sim.account import FindingsWithheld as FindingsWithheld
    from harness.devices.sim.host import SimHost as SimHost
else:  # a type checker that saw it would let every name pass
    __getattr__, __dir__ = lazy(__name__, __file__)
