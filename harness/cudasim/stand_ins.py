"""Stand-ins for the libraries of CUDA that a CUDA build of torch is linked to, so that it loads without them.

torch's own kernels for a GPU lie in libtorch_cuda, which would register its allocator, guard and hooks where the
simulated device wants to register its own. The dynamic linker takes a library that is loaded already for any other of
the same name (soname), and so each of these libraries gets a stand-in that is loaded before torch. It holds the symbols
that the rest of torch asks for and no more; a function called once torch is loaded raises 'unsupported'.
"""

from __future__ import annotations

import mmap
import re
import struct
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

# Libraries of torch that are worth having on a CPU; whatever else one of them needs is asked for by name below.
_KEPT = ("libtorch_global_deps.so", "libc10.so", "libtorch_cpu.so", "libtorch.so", "libshm.so", "libtorch_python.so")
_STOOD_IN = re.compile(
    r"lib(cuda|cudart|cublas(Lt)?|cudnn\w*|cufft\w*|curand|cusolver\w*|cusparse(Lt)?|cupti|cufile\w*|nccl|nvrtc|nvToolsExt"
    r"|nvJitLink|nvshmem\w*|nvtx\w*|nvidia\w*|torch_cuda\w*|c10_cuda|torch_nvshmem|caffe2_nvrtc)\.so(\.[\d.]+)?"
)
_NAME_IN_C = re.compile(r"(cu[A-Z]|cuda|cublas|cudnn|cufft|curand|cusolver|cusparse|cupti|nccl|nvrtc|nvtx|nvshmem)\w*")
_UNVERSIONED = "libtorch_cuda.so"
_OUR_OWN = ("libcudart.so", "libc10_cuda.so")
"""Libraries that are built from sources and have none of the real ones' symbols."""
ABSENT = "sim_absent"
"""The runtime's function that every function of a stand-in calls, with its own name and first argument."""


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
        """The linker's version script; empty where no symbol has a version."""
        nodes = [(version, names) for version, names in self.versions.items() if version]
        return "".join(
            f"{version} {{ global: {' '.join(f'{n};' for n in sorted(names))} }};\n" for version, names in nodes
        )


def stand_ins(libraries: Path) -> list[StandIn]:
    """Find the stand-ins that the torch with this `lib` folder needs. Raises: OSError, ValueError."""
    kept = [read_library(libraries / name) for name in _KEPT if (libraries / name).is_file()]
    needed = {soname for library in kept for soname in library.needed if _STOOD_IN.fullmatch(soname)}
    made = {soname: StandIn(soname) for soname in needed}
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


def _of_torch(libraries: Path) -> dict[str, Definition]:
    """Read what torch's CUDA libraries define: C++ names could be anyone's, and only they give the sizes of data."""
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


# ---- What a shared library asks of others and what it offers: the dynamic part of 64-bit ELF (see elf(5)).


_DYNAMIC, _SYMBOLS, _VERSIONS_NEEDED, _VERSION_OF_SYMBOL = 6, 11, 0x6FFFFFFE, 0x6FFFFFFF
_NEEDED = 1
_WEAK, _FUNCTION, _INDIRECT_FUNCTION = 2, 2, 10
_HIDDEN = 0x8000


@dataclass(frozen=True)
class Definition:
    """A symbol that a library offers."""

    is_function: bool
    size: int


@dataclass(frozen=True)
class SymbolReference:
    """A symbol that a library needs, other than weakly, with library and version if the linker found it versioned."""

    name: str
    library: str | None = None
    version: str | None = None


@dataclass(frozen=True)
class SharedLibrary:
    """The dynamic part of one file."""

    needed: tuple[str, ...]
    defined: dict[str, Definition]
    undefined: tuple[SymbolReference, ...]


@dataclass(frozen=True)
class _ElfSection:
    type: int
    offset: int
    size: int
    link: int


def read_library(path: Path) -> SharedLibrary:
    """Read one file. Raises: OSError; ValueError if it isn't a 64-bit little-endian ELF file with section headers."""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        if data[:6] != b"\x7fELF\x02\x01":
            raise ValueError(f"{path} is no shared library for x86-64")
        sections = list(_sections(data))
        versions = _versions(data, sections)
        defined: dict[str, Definition] = {}
        undefined = []
        for name, info, section, size, version in _symbols(data, sections):
            if section:
                defined[name] = Definition(info & 15 in (_FUNCTION, _INDIRECT_FUNCTION), size)
            elif name and info >> 4 != _WEAK:
                undefined.append(SymbolReference(name, *versions.get(version, (None, None))))
        return SharedLibrary(tuple(_needed_by(data, sections)), defined, tuple(undefined))


def _sections(data: mmap.mmap) -> Iterator[_ElfSection]:
    (start,) = struct.unpack_from("<Q", data, 0x28)
    size, count = struct.unpack_from("<HH", data, 0x3A)
    for at in range(start, start + count * size, size):
        _, kind, _, _, offset, nbytes, link = struct.unpack_from("<IIQQQQI", data, at)
        yield _ElfSection(kind, offset, nbytes, link)


def _text(data: mmap.mmap, at: int) -> str:
    return data[at : data.find(b"\0", at)].decode()


def _needed_by(data: mmap.mmap, sections: list[_ElfSection]) -> Iterator[str]:
    for section in sections:
        if section.type == _DYNAMIC:
            names = sections[section.link].offset
            for tag, value in struct.iter_unpack("<QQ", data[section.offset : section.offset + section.size]):
                if tag == _NEEDED:
                    yield _text(data, names + value)


def _symbols(data: mmap.mmap, sections: list[_ElfSection]) -> Iterator[tuple[str, int, int, int, int]]:
    """Yield each dynamic symbol's name, type and binding, section (0 for none), size and version number."""
    table = next((section for section in sections if section.type == _SYMBOLS), None)
    if table is None:
        return
    names = sections[table.link].offset
    symbols = struct.iter_unpack("<IBBHQQ", data[table.offset : table.offset + table.size])
    numbers = next((section for section in sections if section.type == _VERSION_OF_SYMBOL), None)
    for i, (name, info, _, section, _, size) in enumerate(symbols):
        version = struct.unpack_from("<H", data, numbers.offset + 2 * i)[0] if numbers else 0
        yield _text(data, names + name), info, section, size, version & ~_HIDDEN


def _versions(data: mmap.mmap, sections: list[_ElfSection]) -> dict[int, tuple[str, str]]:
    """Map the version numbers of symbols to library and version."""
    found: dict[int, tuple[str, str]] = {}
    for section in sections:
        if section.type != _VERSIONS_NEEDED:
            continue
        names, at, following = sections[section.link].offset, section.offset, 1
        while following:
            _, count, file, first, following = struct.unpack_from("<HHIII", data, at)
            entry = at + first
            for _ in range(count):
                _, _, number, name, step = struct.unpack_from("<IHHII", data, entry)
                found[number] = (_text(data, names + file), _text(data, names + name))
                entry += step
            at += following
    return found
