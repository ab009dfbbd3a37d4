"""Names that a compiler doesn't know and no header does: with them a text compiles under no headers at all."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

import torch
from torch.utils import cpp_extension

_UNKNOWN = re.compile(
    r"error: (?:identifier \"(\w+)\" is undefined"
    r"|(?:namespace|class|struct|union) \".*\" has no (?:actual )?member \"(\w+)\""
    r"|['‘](?:\w+::)*(\w+)['’] (?:was not declared in this scope|has not been declared|is not a member of )"
    r"|.* has no member named ['‘](\w+)['’])"
)
"""The errors of nvcc and g++ that name what isn't declared."""
_ASKED_S = 20


def names_unknown_to_all_headers(log: str, ours: Path) -> set[str]:
    """Return the names of which a log says that they aren't declared, and that stand in no file of torch's headers,
    CUDA's and the host compiler's. What is said of lines in our own headers, below `ours`, doesn't count."""
    said = (line for line in log.splitlines() if str(ours) not in line)
    names = {name for line in said for match in _UNKNOWN.finditer(line) for name in match.groups() if name}
    # torch pastes a k before the names of some constants (kHalf): these aren't written out anywhere.
    sought = {name: name.removeprefix("k").encode() for name in names}
    for path in _files():
        if not sought:
            break
        content = path.read_bytes()
        sought = {name: word for name, word in sought.items() if word not in content}
    return set(sought)


def _files() -> Iterator[Path]:
    folders = [Path(torch.__file__).parent / "include", *_folders_of_compiler()]
    if cpp_extension.CUDA_HOME:
        folders.append(Path(cpp_extension.CUDA_HOME) / "include")
    for folder in dict.fromkeys(path.resolve() for path in folders):
        for place, _, names in os.walk(folder):
            yield from (path for name in names if (path := Path(place, name)).is_file())


def _folders_of_compiler() -> list[Path]:
    """List where the host's compiler looks for headers, by its own word.

    Raises: OSError, subprocess.SubprocessError.
    """
    command = [*shlex.split(os.environ.get("CXX") or "c++"), "-E", "-v", "-x", "c++", os.devnull]
    told = subprocess.run(command, capture_output=True, text=True, check=True, timeout=_ASKED_S).stderr
    _, _, listed = told.rpartition("search starts here:")
    return [Path(line.strip()) for line in listed.partition("End of search list")[0].splitlines() if line.strip()]
