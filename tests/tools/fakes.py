"""A bench without a GPU, and tools that play a script instead of running what they are given."""

from __future__ import annotations

import json
import os
import secrets
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from harness.model.build import ExtensionBuild, KernelResources
from harness.model.config import LimitsConfig
from harness.sandbox.folder import make_folder, remove_folder
from harness.sandbox.wire.codec import encode
from harness.sandbox.wire.sandbox import MARK, Sandbox
from harness.tools.arm_task import ArmReport, Calls, InlineSource, Reached
from harness.tools.bench import Bench
from harness.tools.target import Inspection, Target, choose_target
from harness.workspace.workspace import Workspace

DATA = Path(__file__).parent / "data"
WORKSPACE = Path(__file__).parent / "workspace"
CALLS = Calls("plain", 1)


def target(solution: str = "overrun") -> Target:
    return choose_target(Workspace(WORKSPACE), "double", solution, None, of_reference=False, is_small=True)


def inspection(of: Target, program: Path, folder: Path, timeout_s: float = 60) -> Inspection:
    return Inspection(of, program, "a GPU", folder, folder, LimitsConfig(), timeout_s)


def built(kernel: str, spilled: int = 0) -> tuple[ExtensionBuild, ...]:
    """What the compiler said of a solution with one kernel."""
    resources = KernelResources(
        kernel, "sm_90", 16, 0, spill_store_bytes=spilled, spill_load_bytes=spilled, stack_bytes=0
    )
    return (ExtensionBuild("double_overrun", "0" * 32, False, 1.0, "/log", (resources,)),)


@contextmanager
def bench(of: Target, builds: tuple[ExtensionBuild, ...] = ()) -> Iterator[Bench]:
    folder = make_folder()
    try:
        sandbox = Sandbox(str(folder), (), os.path.expanduser("~"), os.getpid())
        mark = secrets.token_hex(16)  # its own: processes with it are ended, and tests run side by side
        environment = {**os.environ, MARK: mark}
        yield Bench(of, folder, environment, mark, sandbox, folder / "files" / "solution.py", builds)
    finally:
        remove_folder(folder)


def report(stage: Reached, error: str | None = None, source: str | None = None) -> ArmReport:
    sources = () if source is None else (InlineSource(source, 3),)
    return ArmReport(stage, error, sources)


def tool(path: Path, writes: dict[str, Path], said: ArmReport | None, prints: str = "", code: int = 0) -> Path:
    """A program at `path` that copies files to where options name a place, has the arm report, prints, and ends.

    With --import it prints the file that it was told to write, as Nsight Compute does.
    """
    about = json.dumps({name: str(file) for name, file in writes.items()})
    told = None if said is None else json.dumps(encode(said))
    path.write_text(
        f"""#!{sys.executable}
import json, pathlib, shutil, sys
words = sys.argv[1:]
if "--import" in words:
    print(pathlib.Path(words[words.index("--import") + 1]).read_text())
    sys.exit()
for option, file in {about}.items():
    shutil.copy(file, words[words.index(option) + 1])
told = {told!r}
if told is not None:
    folder = json.loads(pathlib.Path(words[-1]).read_text())["sandbox"]["folder"]
    pathlib.Path(folder, "scratch", "report.json").write_text(told)
print({prints!r})
sys.exit({code})
"""
    )
    path.chmod(0o755)
    return path
