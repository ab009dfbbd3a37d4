"""A whole run in a container: whoever breaks out of a worker's confinement there finds results and a cache of its own.

podman or Docker is the tool. The image has harness, torch and the compilers in it; the repository's Dockerfile makes
one. Of this machine the container gets the GPUs, the workspace to read, and the results to write: no network, no other
process, no other file.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Collection, Sequence
from pathlib import Path
from types import FrameType

from harness.errors import MachineError, UsageError
from harness.run.gpu_lock import lock_files
from harness.sandbox.wire.means import IN_CONTAINER, is_in_container

_TOOLS = ("podman", "docker")
_RIGHTS = ("CHOWN", "DAC_OVERRIDE", "FOWNER", "KILL", "SETGID", "SETUID", "SYS_PTRACE")
"""A worker's own user takes them, and counting what its processes hold."""
_CACHE = "/var/cache/harness"
_SCRATCH = "/scratch"
_MOST, _INTERRUPTED = 4, 130
"""harness's own exit codes; others are the tool's, or say that something killed it (podman-run(1), Exit Status)."""
_PASSED = "CUDA_VISIBLE_DEVICES"
_OF_GPUS = Path("/dev/nvidiactl")


def is_inside() -> bool:
    """Say whether this process is of such a run."""
    return is_in_container()


def run_inside(
    image: str,
    read: Collection[Path],
    results: Path,
    arguments: Sequence[str],
    passed: Collection[str],
    may_use_gpu: bool,
) -> int:
    """Run `harness` with these arguments in a container that can read some files and folders, and has the variables of
    some names; return its exit code.

    Raises: UsageError where there is no tool, or a path has a colon; MachineError where the tool fails itself, which it
    has said on stderr.
    """
    tool = next(filter(shutil.which, _TOOLS), None)
    if tool is None:
        raise UsageError("--container needs podman or docker on the PATH; without it leave the option out")
    results.mkdir(parents=True, exist_ok=True)
    written = [results]
    if has_gpu := may_use_gpu and _OF_GPUS.exists():
        written += lock_files()
    is_terminal = all(stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr))
    terminal = ("--interactive", "--tty") if is_terminal else ()
    options = [*terminal, *_options(tool, read, written, passed, has_gpu)]
    # Signals come to this process alone: the tool reads a terminal's keys itself, and is in a session of its own else.
    process = subprocess.Popen([tool, "run", *options, image, *arguments], start_new_session=not is_terminal)

    def pass_on(number: int, frame: FrameType | None) -> None:
        process.send_signal(number)

    before = {number: signal.signal(number, pass_on) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    try:
        code = process.wait()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if code < 0 or (code > _MOST and code != _INTERRUPTED):
        raise MachineError(
            f"{tool} ended with {code} (its words stand above): it ran no harness of the image '{image}', or something "
            f"killed that; '{tool} build -t harness .' in a checkout of harness makes one, for '--container harness'"
        )
    return code


def without_workspace(arguments: Sequence[str]) -> list[str]:
    """A command line without its -C, which has been followed."""
    left = list(arguments)
    while left and left[0].startswith("-"):
        option = left.pop(0)
        if option in ("-C", "--workspace"):
            left.pop(0)
    return left


def _options(
    tool: str, read: Collection[Path], written: Collection[Path], passed: Collection[str], has_gpu: bool
) -> list[str]:
    own = {IN_CONTAINER: tool, "HARNESS_CACHE": _CACHE, "TMPDIR": _SCRATCH}
    known = [name for name in os.environ if name in (_PASSED, *passed) or name.startswith("HARNESS_")]
    gpus = ["--gpus=all"] if tool == "docker" else ["--device=nvidia.com/gpu=all"]
    seen = {path.absolute() for path in read} | {path.resolve() for path in read}  # by its name, and where it leads
    changed = [path.absolute() for path in written]
    if odd := next((path for path in (*seen, *changed) if ":" in str(path)), None):
        raise UsageError(f"{odd}: a container's volume can't have a colon in its name")
    return [
        *("--rm", "--init", "--pull=never", "--network=none", "--read-only", "--pids-limit=-1"),
        f"--volume={_SCRATCH}",
        *("--entrypoint=harness", "--security-opt=no-new-privileges", "--cap-drop=all"),
        *(f"--cap-add={right}" for right in _RIGHTS),
        *(gpus if has_gpu else ()),
        *(f"--volume={path}:{path}:ro" for path in sorted(seen)),
        *(f"--volume={path}:{path}" for path in changed),
        f"--volume=harness-cache:{_CACHE}",
        f"--workdir={Path.cwd()}",
        *(f"--env={name}={value}" for name, value in own.items()),
        *(f"--env={name}" for name in known if name not in own),
    ]
