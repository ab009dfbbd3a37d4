"""Examining this machine: can it build, can it run, can processes share GPU memory?"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from harness.errors import MachineError
from harness.model.environment import MachineFinding
from harness.run.cache import cache_folder
from harness.run.gpu_lock import GpuLock, locks_folder
from harness.sandbox.folder import make_folder, remove_folder
from harness.sandbox.variables import of_own_folder, own_python, scrubbed
from harness.sandbox.wire.sandbox import Sandbox
from harness.tools.target import examine_tools

if TYPE_CHECKING:
    from harness.devices import Sample

_LEAST_DISK_GIB = 5
_LEAST_MEMORY_GIB = 4
_COMPILING_S = 60
_CONFINING_S = 30
_ALWAYS_CONFINED = "clean environment, own folder, own descriptors"


def examine() -> list[MachineFinding]:
    """Every finding, cheapest first; none raises."""
    from harness.devices import driver_version, host_compiler_version, nvcc_version

    compiler, nvcc, driver = host_compiler_version(), nvcc_version(), driver_version()
    no_nvcc = "not found: extensions can't be built for a GPU"
    ninja = shutil.which("ninja") or ("Python package" if importlib.util.find_spec("ninja") else None)
    findings = [
        _torch(),
        _version("host compiler", compiler, "missing", "no C++ compiler", "install g++ 11 or newer, or set CXX"),
        _version("nvcc", nvcc, "warning", no_nvcc, "install the CUDA toolkit"),
        _nvcc_beside(),
        _version("ninja", ninja, "missing", "torch builds extensions with ninja", "pip install ninja"),
        _gpu(),
        _version("driver", driver, "warning", "NVML doesn't answer", "install NVIDIA's driver to use a GPU"),
        _nvml(),
        _memory(),
        _disk(),
    ]
    findings += _clocks()
    findings += _protections()
    findings.append(_backend("backend cuda", _try_cuda))
    findings.append(_backend("backend sim", _try_sim))
    findings += _untried_python()
    return findings + examine_tools()


def _torch() -> MachineFinding:
    import torch

    return MachineFinding("torch", "good", f"{torch.__version__} ({_kind_of_torch()})")


def _kind_of_torch() -> str:
    import torch

    if torch.version.hip:
        return f"ROCm {torch.version.hip} build, which is untested"
    return f"CUDA {torch.version.cuda} build" if torch.version.cuda else "CPU build"


def _nvcc_beside() -> MachineFinding:
    """Try nvcc with the host compiler that it finds, on a kernel of one line."""
    from harness.devices import find_nvcc

    name, gain = "nvcc beside sim", "its errors, registers and spills of what is simulated"
    nvcc = find_nvcc()
    if nvcc is None:
        remedy = f"pip install 'kernel-harness[nvcc]', or the CUDA toolkit; neither needs a GPU. It tells {gain}"
        return MachineFinding(name, "warning", "no nvcc: only a GPU will show what it refuses", remedy)
    trouble = _trouble_with(nvcc.path)
    if trouble:
        remedy = "name a host compiler that this nvcc takes: NVCC_CCBIN=g++-12"
        return MachineFinding(name, "warning", f"nvcc {nvcc.version} compiles nothing here: {trouble}", remedy)
    return MachineFinding(name, "good", f"nvcc {nvcc.version} tells {gain}")


def _trouble_with(nvcc: str) -> str | None:
    """The first line that complains; None where a kernel compiles."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "kernel.cu")
        source.write_text("__global__ void kernel() {}\n")
        command = [nvcc, "-cubin", "-arch=sm_90", str(source), "-o", str(source.with_suffix(".cubin"))]
        try:
            tried = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=_COMPILING_S)
        except (OSError, subprocess.TimeoutExpired) as error:
            return str(error)
    lines = [line for line in tried.stderr.splitlines() if line.strip()]
    complaint = next((line for line in lines if "error" in line or "fatal" in line), "")
    return (complaint or f"exit code {tried.returncode}") if tried.returncode else None


def _gpu() -> MachineFinding:
    import torch

    if not torch.cuda.is_available():
        why = "torch is a CPU build" if _kind_of_torch() == "CPU build" else "no GPU or no driver"
        return MachineFinding("GPU", "warning", f"none that torch can use ({why})", "the simulator is used instead")
    properties = torch.cuda.get_device_properties(0)
    memory = f"{properties.total_memory / 2**30:.0f} GiB, sm_{properties.major}{properties.minor}"
    return MachineFinding("GPU", "good", f"{torch.cuda.device_count()} × {properties.name} ({memory})")


def _version(
    name: str, version: str | None, without: Literal["missing", "warning"], lacking: str, remedy: str
) -> MachineFinding:
    return MachineFinding(name, "good", version) if version else MachineFinding(name, without, lacking, remedy)


def _nvml() -> MachineFinding:
    from harness.devices import NvmlUnavailable, opened_first

    try:
        with opened_first() as gpu:
            told = _told(gpu.sample())
    except NvmlUnavailable as why:
        return MachineFinding("NVML", "warning", str(why), why.remedy)
    return MachineFinding("NVML", "good", told)


def _told(sample: Sample) -> str:
    """Say what can be watched while a solution is measured, and what can't."""
    values = {
        "SM clock": (sample.sm_mhz, "MHz"),
        "memory clock": (sample.memory_mhz, "MHz"),
        "power": (sample.power_w, "W"),
        "temperature": (sample.temperature_c, "°C"),
    }
    told = [f"{name} {value:.0f} {unit}" for name, (value, unit) in values.items() if value is not None]
    lacking = [name for name, (value, _) in values.items() if value is None]
    lacking += ["throttling"] if sample.reasons is None else []
    return ", ".join(told) + (f"; not told: {', '.join(lacking)}" if lacking else "")


def _clocks() -> list[MachineFinding]:
    """A finding for each GPU whose clock is locked by a run."""
    from harness.devices import left_locked

    findings = []
    for clock in left_locked(cache_folder()):
        what = f"{clock.key} is locked at {clock.left_at()} MHz"
        if GpuLock(clock.key, clock.key, locks_folder()).is_held():
            findings.append(MachineFinding("clock", "good", f"{what} by a run that measures just now"))
        else:
            remedy = f"the next run on it resets it; or {clock.remedy}"
            findings.append(MachineFinding("clock", "warning", f"{what} by a run that was killed", remedy))
    return findings


def _protections() -> list[MachineFinding]:
    """A finding for each means, in force or missing."""
    told = _try_confinement()
    if isinstance(told, str):
        return [MachineFinding("confinement", "missing", told, "say so, with this text, to who maintains harness")]
    active, missing = told["active"], told["missing"]
    findings = [MachineFinding("confinement", "good", _ALWAYS_CONFINED)]
    findings += [MachineFinding(f"confinement: {name}", "good", "in force") for name in active]
    findings += [MachineFinding(f"confinement: {one['name']}", "warning", one["why"], one["remedy"]) for one in missing]
    return findings


def _try_confinement() -> dict[str, Any] | str:
    """Return what the child says, or how it failed."""
    folder = make_folder()
    home = os.path.expanduser("~")
    sandbox = Sandbox(str(folder), (), home, os.getpid(), is_apart=True)
    server = replace(sandbox, folder=tempfile.gettempdir())
    try:
        with open(os.devnull, "rb") as nothing:
            done = subprocess.run(
                own_python(
                    "harness.worker.confinement", str(nothing.fileno()), sandbox.to_argument(), server.to_argument()
                ),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                pass_fds=[nothing.fileno()],
                env={**scrubbed(os.environ, ()), **of_own_folder(folder, "doctor")},
                timeout=_CONFINING_S,
                check=False,
            )
        if done.returncode == 0:
            told: dict[str, Any] = json.loads(done.stdout)
            return told
        return (done.stderr.decode(errors="replace").splitlines() or ["it ended without a word"])[-1]
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        return str(error)
    finally:
        remove_folder(folder)


def _memory() -> MachineFinding:
    gib = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    if gib < _LEAST_MEMORY_GIB:
        return MachineFinding("memory", "warning", f"{gib:.1f} GiB", "compiling torch's headers takes 2 GiB")
    return MachineFinding("memory", "good", f"{gib:.1f} GiB")


def _disk() -> MachineFinding:
    cache = cache_folder()
    place = next(folder for folder in (cache, *cache.parents) if folder.exists())
    gib = shutil.disk_usage(place).free / 2**30
    detail = f"{gib:.1f} GiB free for the cache in {cache}"
    if not place.is_dir() or not os.access(place, os.W_OK):
        return MachineFinding(
            "disk", "missing", f"{place} is no folder that can be written", "set HARNESS_CACHE to a folder of yours"
        )
    if gib < _LEAST_DISK_GIB:
        return MachineFinding("disk", "warning", detail, "free space, or set HARNESS_CACHE")
    return MachineFinding("disk", "good", detail)


def _backend(name: str, attempt: Callable[[Path], str]) -> MachineFinding:
    try:
        return MachineFinding(name, "good", attempt(cache_folder()))
    except Exception as error:  # whatever is wrong with the machine is the answer
        first = str(error).splitlines()[0] if str(error) else type(error).__name__
        return MachineFinding(name, "missing", first, "see the findings above")


def _try_cuda(cache: Path) -> str:
    """A worker opens a buffer of the referee's: CUDA IPC, the worker's start and the protocol in one."""
    import torch

    from harness.builder.workers import Workers
    from harness.devices import open_host
    from harness.sandbox.wire.messages import Attach, Detach

    if not torch.cuda.is_available():
        raise MachineError("no GPU that this torch can use")
    host = open_host("cuda", cache, lambda what: None)
    if shutil.which("nvcc") is None and not Path("/usr/local/cuda/bin/nvcc").exists():
        raise MachineError("no nvcc")
    buffer = host.allocate(2**21)
    try:
        with Workers(host, cache) as workers, workers.start() as worker:
            worker.ask(Attach(1, buffer.handle), 60)
            worker.ask(Detach((1,)), 60)
    finally:
        buffer.release()
    return "workers share GPU memory (CUDA IPC)"


def _try_sim(cache: Path) -> str:
    from harness.devices import find_compiler, find_torch, is_prepared

    torch, compiler = find_torch(), find_compiler()
    told = f"CUDA C++ compiled for the CPU with g++ {compiler.version}"
    if torch.cuda:
        told += f"; torch's CUDA {torch.cuda} libraries are replaced in workers, no other torch is needed"
    return told + ("" if is_prepared(cache) else "; the first run prepares it, about a minute")


def _untried_python() -> list[MachineFinding]:
    from harness.devices import untried_python

    remark = untried_python()
    if remark is None:
        return []
    remedy = "none, while it works: if a run on the simulator fails in Python or in torch, take a Python that was tried"
    return [MachineFinding("Python for sim", "warning", remark, remedy)]
