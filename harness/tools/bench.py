"""Making one arm ready to run under a tool: built with line numbers, copied, and given a folder of its own."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.builder.build import BuildOutcome, build
from harness.builder.extension_cache import lend
from harness.builder.workers import Workers, seen_files
from harness.devices import CudaHost
from harness.errors import InvalidFile, MachineError, UsageError
from harness.model.build import ExtensionBuild
from harness.model.config import LimitsConfig
from harness.model.record import hash_contents
from harness.plain_file import open_plain, parse_json
from harness.referee.answers.invalid_problem import InvalidProblem
from harness.referee.answers.reference import Reference
from harness.run.cache import cache_folder
from harness.sandbox.folder import give_folders, make_folder, remove_folder, write_file
from harness.sandbox.outcome import SolutionFailed
from harness.sandbox.start import Surroundings, surroundings_of
from harness.sandbox.variables import of_own_folder, own_python, scrubbed
from harness.sandbox.wire.codec import decode, encode
from harness.sandbox.wire.layout import extensions_folder, lent_extensions, scratch_folder, solutions_folder
from harness.sandbox.wire.sandbox import Sandbox
from harness.tools.arm_task import REPORT, TRACE, ArmReport, ArmTask, Calls, Reached
from harness.tools.target import Target
from harness.tools.tool_process import Ended, run_tool

_FILE_BYTES = 512 * 2**20
_DETAILS_CHARS = 20_000
_WHERE: dict[Reached, str] = {
    "load": "while it was loaded",
    "construct": "in its constructor",
    "call": "when it was called",
}


class ArmFailed(Exception):
    """The arm raised, crashed or hung before it was done: its own fault, no tool's. `details`: a traceback, output."""

    def __init__(self, reason: str, details: str) -> None:
        super().__init__(reason)
        self.details = details


@dataclass(frozen=True)
class Bench:
    """A folder with the target's copy in it, and the environment of what runs there. `builds`: of its extensions."""

    target: Target
    folder: Path
    environment: dict[str, str]
    mark: str
    sandbox: Sandbox
    solution: Path | None
    builds: tuple[ExtensionBuild, ...]
    compilers: str | None = None

    def run(
        self,
        tool: Sequence[str],
        calls: Calls,
        log: Path,
        timeout_s: float,
        variables: dict[str, str] | None = None,
    ) -> Ended:
        """Run the target as the child of `tool`, a command that lacks its program (empty: by itself). All that both
        print goes to `log`. `variables` come on top of the environment. Raises: MachineError."""
        for name in (REPORT, TRACE):
            (scratch_folder(self.folder) / name).unlink(missing_ok=True)
        task = ArmTask(
            workspace=str(self.target.workspace.root),
            problem=self.target.problem.name,
            case=self.target.case,
            solution=None if self.solution is None else str(self.solution),
            calls=calls,
            sandbox=self.sandbox,
            compilers=self.compilers,
        )
        path = self.folder / "task.json"
        path.write_text(json.dumps(encode(task)), encoding="utf-8")
        command = [*tool, *own_python("harness.tools.arm_process", str(path))]
        work = scratch_folder(self.folder) / "work"
        return run_tool(command, {**self.environment, **(variables or {})}, work, self.mark, log, timeout_s)

    def report(self) -> ArmReport:
        """Return the last process's report on itself, the empty one where it said nothing that can be read."""
        with contextlib.suppress(OSError, ValueError):
            return decode(ArmReport, parse_json(self._scratch_file(REPORT)))
        return ArmReport()

    def require_done(self, ended: Ended, log: Path) -> ArmReport:
        """Raises: ArmFailed where the last process didn't get through all its calls; MachineError where it didn't even
        get to the arm."""
        report = self.report()
        if report.stage == "end":
            return report
        printed = log.read_text(encoding="utf-8", errors="replace")[-_DETAILS_CHARS:]
        details = report.error or printed
        if report.stage == "start":
            raise MachineError(f"the process that was to run {self.target.name} failed before it could:\n{details}")
        lines = [line for line in details.splitlines() if line.strip()]
        how = lines[-1] if report.error and lines else ended.words
        if ended.code is None:
            how = f"{ended.words}; a smaller case takes less, --timeout gives more"
        raise ArmFailed(f"{self.target.name} failed {_WHERE[report.stage]}: {how}", details)

    def trace(self) -> bytes | None:
        """The last process's Chrome trace; None where it has left none."""
        with contextlib.suppress(OSError):
            return self._scratch_file(TRACE)
        return None

    def _scratch_file(self, name: str) -> bytes:
        """A file that a process with a solution in it wrote: no link, no pipe, not endless. Raises: OSError."""
        with open_plain(scratch_folder(self.folder) / name, follows_link=False) as file:
            return file.read(_FILE_BYTES)


@contextlib.contextmanager
def bench_for(target: Target, results: Path, limits: LimitsConfig, say: Callable[[str], None]) -> Iterator[Bench]:
    """Build the target's extensions and lay everything out; what it has left is removed in the end.

    Raises: ArmFailed where a compiler refuses the solution; InvalidFile; MachineError; UsageError where the config
    wants it confined.
    """
    if limits.confinement != "none":
        raise UsageError(
            f"limits.confinement: {limits.confinement}: NVIDIA's tools run a solution with your rights; judge it with "
            "harness run, or let this config be without"
        )
    host = _LineInfoHost()
    around = surroundings_of(target.workspace.root, results, limits.pass_environment)
    built = _build(target, host, limits, around, say)
    folder = make_folder()
    try:
        mark = secrets.token_hex(16)
        environment = {
            **scrubbed(os.environ, around.passed),
            **of_own_folder(folder, mark),
            **host.worker_environment(for_build=False),
        }
        hidden = tuple(sorted({os.path.abspath(path) for path in (*around.hidden, cache_folder())}))
        sandbox = Sandbox(str(folder), hidden, os.path.expanduser("~"), os.getpid())
        place = _copy(target, folder, built.compilers)
        yield Bench(target, folder, environment, mark, sandbox, place, built.builds, built.compilers)
    finally:
        remove_folder(folder)


class _LineInfoHost(CudaHost):
    """Has nvcc name the sources' lines in the machine code (-lineinfo), and change none of that (nvcc's manual). Such
    builds are kept beside the others: the cache goes by this variable too."""

    def worker_environment(self, for_build: bool) -> dict[str, str]:
        flags = f"{os.environ.get('NVCC_APPEND_FLAGS', '')} -lineinfo".strip()
        return {**super().worker_environment(for_build), "NVCC_APPEND_FLAGS": flags}


def _build(
    target: Target, host: CudaHost, limits: LimitsConfig, around: Surroundings, say: Callable[[str], None]
) -> BuildOutcome:
    if target.solution is None:
        return BuildOutcome((), None, 0.0)
    say("building, with line numbers")
    try:
        init_inputs = Reference(target.problem, target.case, "cpu").init_inputs
    except InvalidProblem as error:
        raise InvalidFile(f"{target.problem.folder / 'problem.py'}: {error}") from error
    with Workers(host, cache_folder(), limits.worker_memory_gib, surroundings=around) as workers:
        outcome = build(workers, target.solution, init_inputs, limits)
    if isinstance(outcome.failed, SolutionFailed):
        raise ArmFailed(outcome.failed.failure.reason, outcome.failed.failure.details or "")
    if outcome.failed is not None:
        raise outcome.failed
    return outcome


def _copy(target: Target, folder: Path, compilers: str | None) -> Path | None:
    """Copy it like a worker's, with what was built for the very same files, and of the same texts."""
    if target.solution is None:
        return None
    place = solutions_folder(folder) / target.problem.name / target.solution.name
    files = seen_files(target.solution.folder)
    for name, content in files.items():
        write_file(place / name, content)
    give_folders(place, scratch_folder(folder))
    namespace = extensions_folder(cache_folder(), "cuda") / hash_contents(files.items())
    lend(namespace, compilers, lent_extensions(folder))
    return place / "solution.py"
