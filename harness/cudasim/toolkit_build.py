"""Compiling a toolkit: two libraries, a precompiled header, launchers for the stand-in compilers, and stand-ins for
the CUDA libraries that a CUDA build of torch is linked to."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from harness.cudasim.compiler import Compiler, SimUnavailable, Torch
from harness.cudasim.precompiled import CHECKED_FLAGS, DEVICE_FLAGS, HOST_FLAGS, TORCH_DEFINITIONS
from harness.cudasim.stand_ins import StandIn, stand_ins

_PACKAGE = Path(__file__).parent
_RUNTIME = _PACKAGE / "runtime"
SLIM_HEADERS = _PACKAGE.parent / "worker/headers"
"""Torch's headers with most left out, and PYBIND11_MODULE without pybind11, as builds for a GPU have them."""
RUNTIME_FILE = "sim_runtime.so"
STAND_INS = "stand-ins"
SOURCES_VARIABLE = "HARNESS_SIM_SOURCES"
"""Names the folder from which the stand-in compilers import harness: a toolkit serves every copy of harness that would
build the same one. Without it they import the copy that built it."""

# Torch is built with NDEBUG: else its RecordFunction would have a member that nobody sets.
_FAKE_DEVICE_FLAGS = (*HOST_FLAGS, "-DNDEBUG")
_RUNTIME_FLAGS = ("-std=c++17", "-O2", "-fPIC", "-fvisibility=hidden", "-fno-strict-aliasing")

# Headers that a solution may name; ours has all of it in one.
_FORWARDED = {
    "cuda_runtime.h": (
        "cuda.h cuda_runtime_api.h cuda_device_runtime_api.h device_functions.h device_launch_parameters.h "
        "driver_types.h math_constants.h sm_30_intrinsics.h vector_functions.h vector_types.h crt/device_functions.h"
    ),
    "cublas_v2.h": "cublas_api.h library_types.h",
    "cuda_fp16.h": "cuda_fp16.hpp",
    "cuda_pipeline.h": "cuda_pipeline_primitives.h",
    "sim/collectives.h": (
        "cub/cub.cuh cub/block/block_exchange.cuh cub/block/block_load.cuh cub/block/block_merge_sort.cuh "
        "cub/block/block_radix_sort.cuh cub/block/block_reduce.cuh cub/block/block_scan.cuh cub/block/block_store.cuh "
        "cub/device/device_radix_sort.cuh cub/device/device_reduce.cuh cub/device/device_scan.cuh "
        "cub/thread/thread_operators.cuh cub/util_type.cuh cub/warp/warp_merge_sort.cuh cub/warp/warp_reduce.cuh "
        "cub/warp/warp_scan.cuh"
    ),
    "c10/cuda/CUDAException.h": "c10/cuda/CUDAMacros.h",
    "ATen/cuda/CUDAContext.h": (
        "ATen/cuda/CUDAContextLight.h ATen/cuda/CUDAUtils.h ATen/cuda/Exceptions.h "
        "ATen/cuda/detail/CUDAHooks.h c10/cuda/CUDACachingAllocator.h THC/THC.h THC/THCAtomics.cuh"
    ),
}

_LAUNCHER = """#!/bin/sh
exec {python} -I -S {script} "$@"
"""

_SCRIPT = """import os
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, os.environ.get({variable!r}, {builder!r}))

from harness.cudasim.{module} import main

sys.exit(main(sys.argv[1:], Path({root!r}){option}))
"""


def build_toolkit(root: Path, torch: Torch, compiler: Compiler, progress: Callable[[str], None]) -> None:
    """Fill the folder `root`. Raises SimUnavailable with the compiler's words if something doesn't compile."""
    progress("compiling the simulator's runtime and precompiling torch's headers (once, about half a minute)")
    # Compilers of a build that was killed may live on for a while: they must not write where we do.
    objects = root / f"objects-{os.getpid()}"
    for folder in (root / "bin", root / "lib64", root / "include", objects):
        folder.mkdir(parents=True)
    _copy_headers(root / "headers")
    _write_launcher(root, "nvcc", "nvcc")
    _write_launcher(root, "nvcc-checked", "nvcc", option=", is_checked=True")
    _write_launcher(root, "c++", "cxx")
    device = objects / "fake_device.cpp"  # in one: each of these files would read torch's headers for seconds
    device.write_text("".join(f'#include "{path}"\n' for path in sorted(_RUNTIME.glob("torch_*.cpp"))))
    sources = [path for path in _RUNTIME.glob("*.cpp") if not path.name.startswith("torch_")]
    sources.sort(key=lambda path: -path.stat().st_size)
    # The longest first.
    commands = [
        _precompile_command(root, objects, torch, compiler),
        _compile_command(root, objects, compiler, device, [*_FAKE_DEVICE_FLAGS, torch.standard, *torch.include_flags]),
        *[_compile_command(root, objects, compiler, source, _RUNTIME_FLAGS) for source in sources],
    ]
    with ThreadPoolExecutor(max_workers=min(4, os.cpu_count() or 1)) as pool:
        list(pool.map(_run, commands))
    _link(root, objects, torch, compiler)
    for header in objects.glob("*.gch"):
        header.rename(root / "headers/sim" / header.name)
    shutil.rmtree(objects)
    progress("the simulator is ready")


def precompile_checked(root: Path, torch: Torch, compiler: Compiler, progress: Callable[[str], None]) -> None:
    """Add the precompiled header of the checked build. Raises SimUnavailable as build_toolkit() does."""
    progress("precompiling torch's headers for --sanitize (once, a quarter of a minute)")
    part = root / f"checked-{os.getpid()}.gch"
    flags = [*CHECKED_FLAGS, *compiler.machine_flags, *_device_header_flags(root, torch)]
    header = checked_header(root)
    try:
        _run([*compiler.command, *flags, "-x", "c++-header", str(header.with_suffix("")), "-o", str(part)])
        part.rename(header)
    finally:
        part.unlink(missing_ok=True)


def checked_header(root: Path) -> Path:
    """Return the path of the checked build's precompiled header."""
    return root / "headers/sim/prelude_checked_slim.h.gch"


def _device_header_flags(root: Path, torch: Torch) -> list[str]:
    ours = [f"-I{root / 'headers/slim'}", f"-I{root / 'headers'}"]
    return [*ours, torch.standard, *TORCH_DEFINITIONS, *torch.include_flags]


def _copy_headers(headers: Path) -> None:
    shutil.copytree(SLIM_HEADERS, headers / "slim")
    shutil.copytree(_PACKAGE / "include", headers, dirs_exist_ok=True)  # with a torch/extension.h of ours
    for target, names in _FORWARDED.items():
        for name in names.split():
            (headers / name).parent.mkdir(parents=True, exist_ok=True)
            (headers / name).write_text(f"#pragma once\n#include <{target}>\n")


def _write_launcher(root: Path, name: str, module: str, option: str = "") -> None:
    """Write a compiler called `name` that calls main() of one of this package's modules."""
    script, launcher = root / "bin" / f"{name}.py", root / "bin" / name
    facts = {"variable": SOURCES_VARIABLE, "builder": str(_PACKAGE.parents[1]), "root": str(root)}
    script.write_text(_SCRIPT.format(module=module, option=option, **facts))
    launcher.write_text(_LAUNCHER.format(python=shlex.quote(sys.executable), script=shlex.quote(str(script))))
    launcher.chmod(0o755)


def _precompile_command(root: Path, objects: Path, torch: Torch, compiler: Compiler) -> list[str]:
    header = root / "headers/sim/prelude_slim.h"
    flags = [*DEVICE_FLAGS, *compiler.machine_flags, *_device_header_flags(root, torch)]
    return [*compiler.command, *flags, "-x", "c++-header", str(header), "-o", str(objects / f"{header.name}.gch")]


def _compile_command(root: Path, objects: Path, compiler: Compiler, source: Path, flags: Sequence[str]) -> list[str]:
    folders = [f"-I{root / 'headers'}", f"-I{_RUNTIME}"]
    return [*compiler.command, *flags, *folders, "-c", str(source), "-o", str(objects / f"{source.stem}.o")]


def _link(root: Path, objects: Path, torch: Torch, compiler: Compiler) -> None:
    device = objects / "fake_device.o"
    runtime = [str(path) for path in sorted(objects.glob("*.o")) if path != device]
    libraries = root / "lib64"
    _link_library(compiler, libraries / RUNTIME_FILE, "libcudart.so", [*runtime, "-ldl", "-lpthread"])
    (libraries / "libcudart.so").symlink_to(RUNTIME_FILE)
    of_torch = [f"-L{torch.libraries}", "-lc10", "-ltorch_cpu"]
    _link_library(
        compiler, libraries / "libc10_cuda.so", "libc10_cuda.so", [str(device), *of_torch, f"-L{libraries}", "-lcudart"]
    )
    for name in ("cublas", "cublasLt"):  # for the link line alone
        (libraries / f"lib{name}.so").symlink_to("libc10_cuda.so")
    # torch puts it on every extension's link line; all that it would hold is in libc10_cuda.
    _link_library(compiler, libraries / "libtorch_cuda.so", "libtorch_cuda.so", [])
    _link_stand_ins(root, objects, torch, compiler)


def _link_stand_ins(root: Path, objects: Path, torch: Torch, compiler: Compiler) -> None:
    """Link the stand-ins under other file names than those of the libraries that they stand for, as for the runtime."""
    folder = root / STAND_INS
    folder.mkdir()
    for number, library in enumerate(stand_ins(torch.libraries) if torch.cuda else [StandIn("libtorch_cuda.so")]):
        source, script = objects / f"{library.soname}.s", objects / f"{library.soname}.map"
        source.write_text(library.assembly())
        script.write_text(library.version_script())
        inputs = [str(source), f"-L{root / 'lib64'}", "-lcudart"]
        if library.version_script():
            inputs.append(f"-Wl,--version-script,{script}")
        _link_library(compiler, folder / f"{number:02}.so", library.soname, inputs)


def _link_library(compiler: Compiler, path: Path, soname: str, inputs: list[str]) -> None:
    _run([*compiler.command, "-shared", f"-Wl,-soname,{soname}", "-o", str(path), *inputs])


def _run(command: list[str]) -> None:
    result = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    if result.returncode:
        errors = [line for line in result.stderr.splitlines() if "error" in line] or result.stderr.splitlines()
        raise SimUnavailable(
            "the simulator does not compile with this compiler and torch; please report it with these lines:\n"
            + "\n".join(errors[:5])
            + f"\ncommand: {shlex.join(command)}"
        )
