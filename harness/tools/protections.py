"""The means of confinement that this machine has: a child of ours confines itself and says."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from typing import Any

from harness.model.environment import MachineFinding
from harness.sandbox.environment import of_own_folder, own_python, scrubbed
from harness.sandbox.folder import make_folder, remove_folder
from harness.sandbox.wire.sandbox import Sandbox

_TIMEOUT_S = 30
_ALWAYS = "clean environment, own folder, own descriptors"


def examine_protections() -> list[MachineFinding]:
    """A finding for each means, in force or missing."""
    told = _try_out()
    if isinstance(told, str):
        return [MachineFinding("confinement", "missing", told, "say so, with this text, to who maintains harness")]
    active, missing = told["active"], told["missing"]
    findings = [MachineFinding("confinement", "good", _ALWAYS)]
    findings += [MachineFinding(f"confinement: {name}", "good", "in force") for name in active]
    findings += [MachineFinding(f"confinement: {one['name']}", "warning", one["why"], one["remedy"]) for one in missing]
    return findings


def _try_out() -> dict[str, Any] | str:
    """Return what the child says, or how it failed."""
    folder = make_folder()
    home = os.path.expanduser("~")
    sandbox, server = (Sandbox(place, (), home, os.getpid()) for place in (str(folder), tempfile.gettempdir()))
    try:
        with open(os.devnull, "rb") as nothing:
            done = subprocess.run(
                own_python(
                    "harness.worker.confinement", str(nothing.fileno()), sandbox.to_argument(), server.to_argument()
                ),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                pass_fds=[nothing.fileno()],
                env={**scrubbed(os.environ, ()), **of_own_folder(folder, "doctor")},
                timeout=_TIMEOUT_S,
                check=False,
            )
        if done.returncode == 0:
            told: dict[str, Any] = json.loads(done.stdout)
            return told
        return (done.stderr.decode(errors="replace").splitlines() or ["it ended without a word"])[-1]
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        return str(error)
    finally:
        remove_folder(folder)
