"""The constant memory of each kernel of a cubin: sizes of sections of an ELF file, which ptxas no longer prints.

Section names as `readelf -S` shows them. `.nv.constant3` belongs to the file: its `__constant__` variables. Of a
kernel's own, `.nv.constant0.<kernel>` holds its arguments behind what every launch has there, and
`.nv.constant2.<kernel>` constants that the compiler made. Bank 4 is left out: addresses, most of them of what torch's
headers define.
"""

from __future__ import annotations

import re
import struct

_HEADER = struct.Struct("<40xQ10xHHH")  # section header offset; entry size, count, index of the names' section
_SECTION = struct.Struct("<IIQQQQ24x")  # name, type, flags, address, offset, size
_CONSTANT = re.compile(r"\.nv\.constant(?:3|[02]\.(?P<kernel>.+))")
_CODE = ".text."
_MOST_SECTIONS = 65_536


def constant_bytes(cubin: bytes) -> dict[str, int]:
    """Return the bytes by the kernel's symbol; empty where that is no ELF file of 64 bits."""
    try:
        sections = dict(_sections(cubin))
    except (struct.error, ValueError, IndexError):
        return {}
    of_file, own = 0, {name.removeprefix(_CODE): 0 for name in sections if name.startswith(_CODE)}
    for name, size in sections.items():
        match = _CONSTANT.fullmatch(name)
        if match and match["kernel"] is None:
            of_file += size
        elif match and match["kernel"] in own:
            own[match["kernel"]] += size
    return {kernel: of_file + size for kernel, size in own.items()}


def _sections(cubin: bytes) -> list[tuple[str, int]]:
    if cubin[:5] != b"\x7fELF\x02":
        return []
    offset, entry, count, index = _HEADER.unpack_from(cubin)
    if entry != _SECTION.size or count > _MOST_SECTIONS:
        return []
    found = [_SECTION.unpack_from(cubin, offset + number * entry) for number in range(count)]
    names_at = found[index][4]
    return [(_text(cubin, names_at + name), size) for name, _, _, _, _, size in found]


def _text(cubin: bytes, start: int) -> str:
    return cubin[start : cubin.index(b"\0", start)].decode(errors="replace")
