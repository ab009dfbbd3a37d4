"""A solution's own headers: what CUDA they hold is translated as well, into copies that the translated source names."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from harness.cudasim.translate import Unsupported, translate

_INCLUDE = re.compile(r'#\s*include\s*(?P<open>["<])(?P<name>[^">]+)[">]')


@dataclass
class Translation:
    """A source and the headers that it includes from its own folder or from `folders` (the user's -I)."""

    folders: Sequence[Path]
    into: Path
    """The folder for copies of headers."""
    copies: dict[Path, Path] = field(default_factory=dict)
    """By original."""
    texts: dict[Path, str] = field(default_factory=dict)
    """By original."""

    def translate(self, source: Path) -> str:
        """The C++ of `source`. Raises Unsupported, naming the header if it is one, and OSError."""
        return self._translated(source, is_header=False)

    def _translated(self, path: Path, is_header: bool) -> str:
        text = path.read_text(errors="replace")
        self.texts[path] = text

        def include(directive: str) -> str:
            return self._redirected(directive, path.parent)

        try:
            return translate(text, str(path), include, is_header)
        except Unsupported as unsupported:
            file = unsupported.file or (path.name if is_header else None)
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
        """Ninja must look at the headers that the user edits, not at their copies."""
        text = dependencies.read_text()
        for original, copy in self.copies.items():
            text = text.replace(str(copy), str(original).replace(" ", "\\ "))
        dependencies.write_text(text)
