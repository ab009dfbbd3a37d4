"""The places where what is built once is kept: extensions, the simulator's toolkit, and torch's compiled modules.

Torch's are kept where Python keeps none beside its source. Installers such as uv compile nothing, and container images
forbid Python to write (PYTHONDONTWRITEBYTECODE): every process then compiles torch anew when it imports it, which takes
3.6 of 5.2 s on an H100's host.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path

_OPEN_CACHE = Path("/var/cache/harness")
"""The place of root's where its own cache is closed to others."""


def cache_folder() -> Path:
    """Return $HARNESS_CACHE, else harness/ in the user's cache folder."""
    if chosen := os.environ.get("HARNESS_CACHE"):
        return Path(chosen).absolute()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache").absolute() / "harness"


def keep_bytecode(cache: Path) -> None:
    """Keep torch's bytecode where workers may read it, too (builder.bytecode). This is called before torch is imported,
    and before processes are started that import it."""
    if sys.pycache_prefix is None and not _lies_beside_torch():
        kept = next((place for place in (cache, _OPEN_CACHE) if _may_be_read(place)), cache)
        sys.pycache_prefix = os.environ["PYTHONPYCACHEPREFIX"] = str(kept / "bytecode")
        sys.dont_write_bytecode = False


def keep_inductors_folder(cache: Path) -> None:
    """Have torch make the folder of its compiler's files, as it does in any process that counts operations, in the
    cache and not in the temporary folder, where it stays. This is called before torch is imported."""
    os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", str(cache / "inductor"))


def _may_be_read(place: Path) -> bool:
    """Say whether workers may read what this process puts there: root's have other users, and its home is closed."""
    if os.geteuid() != 0:
        return True
    try:
        place.mkdir(parents=True, exist_ok=True)
        return all(folder.stat().st_mode & 0o001 for folder in (place, *place.parents))
    except OSError:
        return False


def _lies_beside_torch() -> bool:
    found = importlib.util.find_spec("torch")
    return found is None or found.origin is None or (Path(found.origin).parent / "__pycache__").is_dir()
