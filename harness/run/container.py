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
from harness.sandbox.wire.means import IN_CONTAINER

_TOOLS = ("podman", "docker")
_RIGHTS = ("CHOWN", "DAC_OVERRIDE", "FOWNER", "KILL", "SETGID", "SETUID", "SYS_PTRACE")
"""A worker's own user takes them, and counting what its processes hold."""
_CACHE = "/var/cache/harness"
_TOOLS_OWN_CODES = (125, 126, 127)
"""The tool itself failed, or the image has no harness (podman-run(1), Exit Status)."""
_OF_GPUS = Path("/dev/nvidiactl")


def is_inside() -> bool:
    """Say whether this process is of such a run."""
    return bool(os.environ.get(IN_CONTAINER))


def run_inside(image: str, read: Collection[Path], results: Path, arguments: Sequence[str], may_use_gpu: bool) -> int:
    """Run `harness` with these arguments in a container that can read some folders; return its exit code.

    Raises: UsageError where there is no tool; MachineError where it fails itself, which it has said on stderr.
    """
    tool = next(filter(shutil.which, _TOOLS), None)
    if tool is None:
        raise UsageError("--container needs podman or docker on the PATH; without it leave the option out")
    results.mkdir(parents=True, exist_ok=True)
    written = [results]
    if has_gpu := may_use_gpu and _OF_GPUS.exists():
        written += lock_files()
    command = [tool, "run", *_options(tool, read, written, has_gpu), image, *arguments]
    process = subprocess.Popen(command)

    def pass_on(number: int, frame: FrameType | None) -> None:
        if number != signal.SIGINT:  # the terminal sends that to both
            process.send_signal(number)

    before = {number: signal.signal(number, pass_on) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    try:
        code = process.wait()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if code in _TOOLS_OWN_CODES or code < 0:
        raise MachineError(
            f"{tool} ran no harness of the image '{image}' (its words stand above); "
            f"'{tool} build -t harness .' in a checkout of harness makes one, for '--container harness'"
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


def _options(tool: str, read: Collection[Path], written: Collection[Path], has_gpu: bool) -> list[str]:
    own = {IN_CONTAINER: tool, "HARNESS_CACHE": _CACHE}
    passed = [name for name in os.environ if name.startswith("HARNESS_") and name not in own]
    gpus = ["--gpus=all"] if tool == "docker" else ["--device=nvidia.com/gpu=all"]
    is_terminal = all(stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr))
    return [
        *("--rm", "--init", "--pull=never", "--network=none", "--read-only", "--pids-limit=-1", "--volume=/tmp"),
        *("--entrypoint=harness", "--security-opt=no-new-privileges", "--cap-drop=all"),
        *(f"--cap-add={right}" for right in _RIGHTS),
        *(gpus if has_gpu else ()),
        *(["--interactive", "--tty"] if is_terminal else ()),
        *(f"--volume={path}:{path}:ro" for path in sorted({path.absolute() for path in read})),
        *(f"--volume={path}:{path}" for path in map(Path.absolute, written)),
        f"--volume=harness-cache:{_CACHE}",
        f"--workdir={Path.cwd()}",
        *(f"--env={name}={value}" for name, value in own.items()),
        *(f"--env={name}" for name in passed),
    ]
