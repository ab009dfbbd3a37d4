"""What a shared library asks of others and what it offers: the dynamic part of 64-bit ELF (see elf(5))."""

from __future__ import annotations

import mmap
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

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
class Reference:
    """A symbol that a library asks for, not weakly; with library and version where its linker found it versioned."""

    name: str
    library: str | None = None
    version: str | None = None


@dataclass(frozen=True)
class SharedLibrary:
    """The dynamic part of one file."""

    needed: tuple[str, ...]
    defined: dict[str, Definition]
    undefined: tuple[Reference, ...]


@dataclass(frozen=True)
class _Section:
    type: int
    offset: int
    size: int
    link: int


def read_library(path: Path) -> SharedLibrary:
    """Raises: OSError; ValueError where it is no 64-bit little-endian ELF file with section headers."""
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
                undefined.append(Reference(name, *versions.get(version, (None, None))))
        return SharedLibrary(tuple(_needed(data, sections)), defined, tuple(undefined))


def _sections(data: mmap.mmap) -> Iterator[_Section]:
    (start,) = struct.unpack_from("<Q", data, 0x28)
    size, count = struct.unpack_from("<HH", data, 0x3A)
    for at in range(start, start + count * size, size):
        _, kind, _, _, offset, nbytes, link = struct.unpack_from("<IIQQQQI", data, at)
        yield _Section(kind, offset, nbytes, link)


def _text(data: mmap.mmap, at: int) -> str:
    return data[at : data.find(b"\0", at)].decode()


def _needed(data: mmap.mmap, sections: list[_Section]) -> Iterator[str]:
    for section in sections:
        if section.type == _DYNAMIC:
            names = sections[section.link].offset
            for tag, value in struct.iter_unpack("<QQ", data[section.offset : section.offset + section.size]):
                if tag == _NEEDED:
                    yield _text(data, names + value)


def _symbols(data: mmap.mmap, sections: list[_Section]) -> Iterator[tuple[str, int, int, int, int]]:
    """Name, type and binding, section (0 for none), size and number of its version, of each dynamic symbol."""
    table = next((section for section in sections if section.type == _SYMBOLS), None)
    if table is None:
        return
    names = sections[table.link].offset
    symbols = struct.iter_unpack("<IBBHQQ", data[table.offset : table.offset + table.size])
    numbers = next((section for section in sections if section.type == _VERSION_OF_SYMBOL), None)
    for i, (name, info, _, section, _, size) in enumerate(symbols):
        version = struct.unpack_from("<H", data, numbers.offset + 2 * i)[0] if numbers else 0
        yield _text(data, names + name), info, section, size, version & ~_HIDDEN


def _versions(data: mmap.mmap, sections: list[_Section]) -> dict[int, tuple[str, str]]:
    """Library and version by the number that symbols bear."""
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
