"""Signs in a compiler's log that a text compiles under no headers at all, so that there is no need to try more."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

import torch
from torch.utils import cpp_extension

_ERROR = re.compile(r"^[^\s:(][^:(]*(?:\(\d+\)|:\d+(?::\d+)?): (?:fatal )?error\b[^:]*: (?P<message>.*)$", re.MULTILINE)
_OF_LANGUAGE = re.compile(
    r"calling a __host__ function|extended-lambda|^expected an? |^identifier .* in device code$"
    r"|^no suitable (conversion function|constructor)|^(class|struct) .* has no member"
    r"|^(argument|a value) of type .*(incompatible|cannot be)|has already been declared|^expression must (have|be)"
)
"""The errors of nvcc that are of the language alone, or of classes, to which no other header adds a member or a
conversion."""
_OF_ASSEMBLER = re.compile(r"^ptxas\b.*\b(error|fatal)\b", re.MULTILINE)
_UNKNOWN = re.compile(
    r"error: (?:identifier \"(\w+)\" is undefined"
    r"|(?:namespace|class|struct|union) \".*\" has no (?:actual )?member \"(\w+)\""
    r"|['‘](?:\w+::)*(\w+)['’] (?:was not declared in this scope|has not been declared|is not a member of )"
    r"|.* has no member named ['‘](\w+)['’])"
)
"""The errors of nvcc and g++ that name what isn't declared."""
_ASKED_S = 20


def is_final(log: str, ours: Path) -> bool:
    """Say whether a log of errors shows that no other headers would help: an error of the assembler, a name that no
    header has, or none but errors of the language. `ours` are headers of our own, whose lines name nothing."""
    messages = [match["message"] for match in _ERROR.finditer(log)]
    if _OF_ASSEMBLER.search(log) or (messages and all(map(_OF_LANGUAGE.search, messages))):
        return True
    try:
        return bool(names_unknown_to_all_headers(log, ours))
    except (OSError, subprocess.SubprocessError):
        return False


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
