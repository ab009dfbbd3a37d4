"""Running a tool and what it starts: everything printed goes to a file, and all of its processes are ended with it."""

from __future__ import annotations

import contextlib
import os
import select
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from harness.errors import MachineError, refused
from harness.sandbox.family import Family

_POLL_S = 0.2
_PIECE_BYTES = 2**16
_LOG_BYTES = 64 * 2**20
"""A solution may print without end; what comes later isn't kept."""
_ENDING_S = 10


@dataclass(frozen=True)
class Ended:
    """The end of a tool. `code` is that of subprocess; None where we ended it, for it took too long."""

    code: int | None
    seconds: float

    @property
    def words(self) -> str:
        if self.code is None:
            return f"not done after {self.seconds:.0f} s"
        return f"killed by signal {-self.code}" if self.code < 0 else f"exit code {self.code}"


def run_tool(
    command: Sequence[str],
    environment: dict[str, str],
    folder: Path,
    mark: str,
    log: Path,
    timeout_s: float,
) -> Ended:
    """Run `command` in `folder` until it ends or `timeout_s` have passed. `mark`: the worker's in `environment`,
    by which its processes are found. What they print goes to `log`.

    Raises: MachineError where the program can't be started.
    """
    started = time.monotonic()
    with refused(MachineError, f"{command[0]} can't be started"):
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=environment,
            cwd=folder,
            start_new_session=True,  # Ctrl-C is ours to act on
        )
    family = Family(process.pid, mark)
    try:
        with log.open("wb") as file:
            is_over = _follow(process, file, started + timeout_s)
    finally:
        family.end()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_ENDING_S)
        assert process.stdout is not None
        process.stdout.close()
    return Ended(process.returncode if is_over else None, time.monotonic() - started)


def _follow(process: subprocess.Popen[bytes], log: IO[bytes], deadline: float) -> bool:
    """True where the process ended by itself."""
    assert process.stdout is not None
    descriptor, left = process.stdout.fileno(), _LOG_BYTES
    while time.monotonic() < deadline:
        if not select.select([descriptor], [], [], _POLL_S)[0]:
            if process.poll() is not None:  # and a stray child holds the pipe open
                return True
            continue
        piece = os.read(descriptor, _PIECE_BYTES)
        if not piece:
            break
        log.write(piece[:left])
        left = max(0, left - len(piece))
    try:
        process.wait(max(0.0, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        return False
    return True
