"""nvcc whose host and device passes run side by side; started as a script in nvcc's place.

nvcc reads a file twice, for the host (cudafe++) and for the device (cicc), one after the other although neither needs
the other's output: with torch's headers each takes two seconds. Its own --dryrun says which commands it would run; they
are run as it wrote them, the passes side by side. The one thing they share is an identifier of the file, which the pass
that comes first makes up and the other reads: here both read ours. Where the commands aren't those of one file
compiled for one architecture, or one fails, nvcc itself does the work.

It imports nothing of the harness: it runs in an interpreter of its own.
"""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading
from dataclasses import dataclass
from pathlib import Path

_VARIABLES = ("PATH", "LD_LIBRARY_PATH", "CICC_PATH", "NVVMIR_LIBRARY_DIR")
_MAKE_ID = "--gen_module_id_file"
_ID_FILE = re.compile(r'--module_id_file_name "([^"]+)"')


@dataclass(frozen=True)
class Passes:
    """The commands of a compilation: two that may run side by side, each a list in order, and the last one."""

    host: tuple[str, ...]
    device: tuple[str, ...]
    last: str
    id_file: Path
    variables: dict[str, str]


def main(nvcc: str, arguments: list[str]) -> int:
    """Run in nvcc's place and return its exit status."""
    folder = tempfile.mkdtemp(prefix="nvcc-", dir=os.getcwd())  # where a build that is killed gets cleaned up
    try:
        passes = read_passes(_dry_run(nvcc, arguments, folder)) if "-c" in arguments else None
        if passes is not None:
            output = run(passes, arguments)
            if output is not None:
                sys.stderr.write(output)
                return 0
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return subprocess.run([nvcc, *arguments], check=False).returncode


def read_passes(dry_run: str) -> Passes | None:
    """Read what `nvcc --dryrun` says; None where it isn't the compilation of one file for one architecture."""
    lines = [line[3:].strip() for line in dry_run.splitlines() if line.startswith("#$ ")]
    assigned = dict(line.split("=", 1) for line in lines if re.match(r"\w+=", line))
    commands = [line for line in lines if line and not re.match(r"\w+=", line)]
    kinds: dict[str, list[str]] = {}
    for command in commands:
        kinds.setdefault(_kind(command), []).append(command)
    wanted = {"host preprocessor", "device preprocessor", "cudafe++", "cicc", "ptxas", "fatbinary", "compiler"}
    id_file = _ID_FILE.search("\n".join(commands))
    if set(kinds) - {"rm"} != wanted or any(len(kinds[kind]) > 1 for kind in wanted) or not id_file:
        return None
    one = {kind: of_kind[0].replace(_MAKE_ID, "") for kind, of_kind in kinds.items()}
    return Passes(
        host=(one["host preprocessor"], one["cudafe++"]),
        device=(one["device preprocessor"], one["cicc"], one["ptxas"], one["fatbinary"]),
        last=one["compiler"],
        id_file=Path(id_file[1]),
        variables={name: assigned[name] for name in _VARIABLES if name in assigned},
    )


def run(passes: Passes, arguments: list[str]) -> str | None:
    """Run the compilers and return what they said; None where one of them failed."""
    passes.id_file.write_text(_identifier(arguments))
    environment = {**os.environ, **passes.variables}
    outcomes: dict[str, subprocess.CompletedProcess[str]] = {}

    def follow(name: str, commands: tuple[str, ...]) -> None:
        outcomes[name] = subprocess.run(
            ["/bin/sh", "-c", " && ".join(commands)],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )

    device = threading.Thread(target=follow, args=("device", passes.device))
    device.start()
    follow("host", passes.host)
    device.join()
    if any(outcome.returncode for outcome in outcomes.values()):
        return None
    follow("last", (passes.last,))
    return None if outcomes["last"].returncode else "".join(outcome.stdout for outcome in outcomes.values())


def _kind(command: str) -> str:
    program = os.path.basename(shlex.split(command)[0])
    if program in ("cudafe++", "cicc", "ptxas", "fatbinary", "rm"):
        return program
    if " -E " in command:
        is_host = "cpp4.ii" in command
        return "host preprocessor" if is_host else "device preprocessor" if "cpp1.ii" in command else command
    return "compiler" if " -c " in command else command


def _identifier(arguments: list[str]) -> str:
    """Make an identifier as nvcc writes them: `_<hash>_<length>_<name>_<hash>`, part of the names of what a file keeps
    to itself."""
    source = next((argument for argument in arguments if argument.endswith((".cu", ".cpp", ".cc"))), "")
    name = re.sub(r"\W", "_", os.path.basename(source))
    text = hashlib.sha256(source.encode() + Path(source).read_bytes()).hexdigest()
    return f"_{text[:8]}_{len(name)}_{name}_{text[8:16]}"


def _dry_run(nvcc: str, arguments: list[str], folder: str) -> str:
    """Ask nvcc for its commands. Its temporary files get names in `folder`: it makes them of its process number, which
    may come again."""
    command = [nvcc, "--dryrun", *arguments]
    environment = {**os.environ, "TMPDIR": folder}
    return subprocess.run(command, env=environment, capture_output=True, text=True, errors="replace").stderr


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
