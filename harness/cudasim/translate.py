"""CUDA C++ to C++: a source and its own headers, with every line where it was."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from harness.cudasim.inline_ptx import PTX_HEADER, PTX_MARK, with_inline_ptx
from harness.cudasim.kernel_addresses import with_kernel_names
from harness.cudasim.launches import refuse_nested_launches, with_launch_bounds, with_launches
from harness.cudasim.shared_memory import with_shared_memory
from harness.cudasim.spinning import with_turns
from harness.cudasim.tokens import tokenize
from harness.cudasim.unsupported import Unsupported, with_refusals, without_unused

_INCLUDE = re.compile(r'#\s*include\s*(?P<open>["<])(?P<name>[^">]+)[">]')
_PER_LITERAL = 8_000


def translate(source: str, path: str, include: Callable[[str], str] = str, is_header: bool = False) -> str:
    """Return the C++ of a `.cu` file, or of a header of one, that the compiler will know as `path`.

    `include` gives each `#include` line its new text. Raises Unsupported for what the simulator has no counterpart for.
    """
    tokens = with_refusals(with_inline_ptx(without_unused(tokenize(source))), _named(path, is_header))
    refuse_nested_launches(tokens)
    tokens = [replace(t, text=include(t.text)) if t.kind == "directive" else t for t in tokens]
    tokens = with_kernel_names(with_turns(tokens))
    tokens = with_launches(with_shared_memory(with_launch_bounds(tokens), is_header))
    quoted = path.replace("\\", "\\\\").replace('"', '\\"')
    text = "".join(token.text for token in tokens)
    return (PTX_HEADER if PTX_MARK in text else "") + f'#line 1 "{quoted}"\n{text}'


def _named(path: str, is_header: bool) -> str | None:
    """Return a file's name for a refusal; None for the one source that load_inline() writes."""
    name = Path(path).name
    return None if name == "cuda.cu" and not is_header else name


@dataclass
class Translation:
    """A source and the headers that it includes from its own folder or from `folders` (the user's -I)."""

    folders: Sequence[Path]
    into: Path
    """The folder for copies of headers."""
    copies: dict[Path, Path] = field(default_factory=dict)
    """Copies by their originals."""
    texts: dict[Path, str] = field(default_factory=dict)
    """Texts by their originals."""

    def translate(self, source: Path) -> str:
        """Return the C++ of `source`. Raises OSError, and Unsupported, which names the header if it is one."""
        return self._translated(source, is_header=False)

    def _translated(self, path: Path, is_header: bool) -> str:
        text = path.read_text(errors="replace")
        self.texts[path] = text

        def include(directive: str) -> str:
            return self._redirected(directive, path.parent)

        try:
            return translate(text, str(path), include, is_header)
        except Unsupported as unsupported:
            file = unsupported.file or _named(str(path), is_header)
            raise Unsupported(unsupported.construct, unsupported.line, file) from None

    def _redirected(self, directive: str, folder: Path) -> str:
        match = _INCLUDE.match(directive)
        if match is None:
            return directive
        folders = [folder, *self.folders] if match["open"] == '"' else self.folders
        original = next((f / match["name"] for f in folders if (f / match["name"]).is_file()), None)
        if original is None:
            return directive
        return f'{directive[: match.start("open")]}"{self._copy(original)}"{directive[match.end() :]}'

    def _copy(self, header: Path) -> Path:
        original = Path(os.path.abspath(header))
        if original not in self.copies:
            digest = hashlib.sha256(str(original).encode()).hexdigest()[:8]
            # Known before it is written: headers may include each other.
            self.copies[original] = copy = self.into / f"{digest}-{original.name}"
            text = self._translated(original, is_header=True)
            self.into.mkdir(parents=True, exist_ok=True)
            copy.write_text(text)
        return self.copies[original]

    def name_originals(self, dependencies: Path) -> None:
        """Name the headers that the user edits in ninja's list, instead of their copies."""
        text = dependencies.read_text()
        for original, copy in self.copies.items():
            text = text.replace(str(copy), str(original).replace(" ", "\\ "))
        dependencies.write_text(text)


def registrations(texts: Mapping[Path, str]) -> str:
    """Write C++, to follow the source, that hands texts by their paths to the runtime when the extension is loaded."""
    return "".join(_registration(str(path), text, number) for number, (path, text) in enumerate(texts.items()))


def _registration(path: str, text: str, number: int) -> str:
    pieces = [text[start : start + _PER_LITERAL] for start in range(0, len(text), _PER_LITERAL)] or [""]
    literals = "\n".join(_literal(piece) for piece in pieces)
    return f"\nstatic const bool sim_source_is_known_{number} = sim_add_source({_literal(path)},\n{literals});\n"


def _literal(text: str) -> str:
    """Write each byte but letters, digits and blanks in octal, which no macro or trigraph changes."""
    encoded = text.encode(errors="replace")
    plain = (byte == 32 or (chr(byte).isalnum() and byte < 128) for byte in encoded)
    return '"' + "".join(chr(b) if is_plain else f"\\{b:03o}" for b, is_plain in zip(encoded, plain, strict=True)) + '"'
