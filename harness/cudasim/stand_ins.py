"""Stand-ins for the libraries of CUDA that a CUDA build of torch is linked to, so that it loads without them.

torch's own kernels for a GPU lie in libtorch_cuda, which would register its allocator, guard and hooks where the
simulated device wants to register its own. The dynamic linker takes a library that is loaded already for any other of
the same name (soname), and so each of these libraries gets a stand-in that is loaded before torch. It holds the symbols
that the rest of torch asks for and no more; a function called once torch is loaded raises 'unsupported'.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

from harness.cudasim.elf import Definition, SharedLibrary, read_library

# Libraries of torch that are worth having on a CPU; whatever else one of them needs is asked for by name below.
_KEPT = ("libtorch_global_deps.so", "libc10.so", "libtorch_cpu.so", "libtorch.so", "libshm.so", "libtorch_python.so")
_STOOD_IN = re.compile(
    r"lib(cuda|cudart|cublas(Lt)?|cudnn\w*|cufft\w*|curand|cusolver\w*|cusparse(Lt)?|cupti|cufile\w*|nccl|nvrtc|nvToolsExt"
    r"|nvJitLink|nvshmem\w*|nvtx\w*|nvidia\w*|torch_cuda\w*|c10_cuda|torch_nvshmem|caffe2_nvrtc)\.so(\.[\d.]+)?"
)
_NAME_IN_C = re.compile(r"(cu[A-Z]|cuda|cublas|cudnn|cufft|curand|cusolver|cusparse|cupti|nccl|nvrtc|nvtx|nvshmem)\w*")
_UNVERSIONED = "libtorch_cuda.so"
_OUR_OWN = ("libcudart.so", "libc10_cuda.so")
"""Built from sources; of the real ones' symbols they have none."""
ABSENT = "sim_absent"
"""The runtime's function that a stand-in's function ends in: its arguments are the name and the first argument."""


@dataclass
class StandIn:
    """One library to make; `versions` holds symbols by their version, '' for none."""

    soname: str
    versions: dict[str, dict[str, Definition]] = field(default_factory=lambda: defaultdict(dict))

    def assembly(self) -> str:
        symbols = {name: what for group in self.versions.values() for name, what in group.items()}
        parts = [_assembly_of(name, what, f".Lname{i}") for i, (name, what) in enumerate(sorted(symbols.items()))]
        return "\n".join([*parts, '.section .note.GNU-stack,"",@progbits', ""])

    def version_script(self) -> str:
        """Empty where no symbol bears a version."""
        nodes = [(version, names) for version, names in self.versions.items() if version]
        return "".join(
            f"{version} {{ global: {' '.join(f'{n};' for n in sorted(names))} }};\n" for version, names in nodes
        )


def stand_ins(libraries: Path) -> list[StandIn]:
    """Those that the torch with this `lib` folder needs. Raises: OSError, ValueError where it can't be read."""
    kept = [read_library(libraries / name) for name in _KEPT if (libraries / name).is_file()]
    made = {soname: StandIn(soname) for soname in _needed(kept)}
    made.setdefault(_UNVERSIONED, StandIn(_UNVERSIONED))
    offered = {name for library in kept for name in library.defined}
    real = _of_torch(libraries)
    for reference in {one for library in kept for one in library.undefined}:
        if reference.name in offered:
            continue
        what = real.get(reference.name)
        if reference.library in made:
            made[reference.library].versions[reference.version or ""][reference.name] = what or Definition(True, 0)
        elif reference.library is None and (what or _NAME_IN_C.fullmatch(reference.name)):
            made[_UNVERSIONED].versions[""][reference.name] = what or Definition(True, 0)
    return [made[soname] for soname in sorted(made) if soname not in _OUR_OWN]


def _needed(kept: list[SharedLibrary]) -> set[str]:
    return {soname for library in kept for soname in library.needed if _STOOD_IN.fullmatch(soname)}


def _of_torch(libraries: Path) -> dict[str, Definition]:
    """What torch's own libraries for CUDA define: C++ names could be anyone's, and sizes of data stand nowhere else."""
    found: dict[str, Definition] = {}
    for path in sorted(libraries.glob("lib*.so")):
        if _STOOD_IN.fullmatch(path.name):
            found.update(read_library(path).defined)
    return found


def _assembly_of(name: str, what: Definition, label: str) -> str:
    kind, size = ("@function", f".-{name}") if what.is_function else ("@object", str(max(what.size, 16)))
    head = f".globl {name}\n.type {name},{kind}\n"
    text = f'.section .rodata\n{label}: .asciz "{name}"\n'
    if what.is_function:
        code = f" movq %rdi,%rsi\n leaq {label}(%rip),%rdi\n jmp {ABSENT}@PLT"
        return f"{text}.text\n{head}{name}:\n{code}\n.size {name},{size}"
    content = f" .skip {size}"
    if name.startswith("_ZTI"):  # a type's name is read where it is registered
        text = f'.section .rodata\n{label}: .asciz "{name[4:]}"\n'
        content = f" .quad _ZTVN10__cxxabiv117__class_type_infoE+16\n .quad {label}\n .skip {max(what.size, 16) - 16}"
    return f"{text}.data\n.balign 16\n{head}{name}:\n{content}\n.size {name},{size}"
