"""An MCP server: what an agent needs to judge a kernel, and to read why it is wrong or slow."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import anyio.to_thread
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import Field

import harness
from harness import reports, tools  # torch comes in when tools are used: an agent's host doesn't wait long
from harness.api.loading import Scratch
from harness.devices import Choice, choose_backend
from harness.errors import HarnessError, UsageError
from harness.model.config import ConfinementLevel
from harness.model.evaluation import Evaluation
from harness.model.instruments import SANITIZER_TOOLS
from harness.store.index import open_index
from harness.workspace.selection import tasks_of
from harness.workspace.workspace import Workspace

_MOST_NAMES = 50
_LONGEST = 20_000
"""The most characters of an answer: an agent reads each."""
_TIMEOUT_S = 600.0
_LAUNCHES = 20
_GRACE_S = 5.0

Problem = Annotated[str, Field(description="A problem's name.")]
Solution = Annotated[str | None, Field(description="The name of a solution; or give `code`.")]
Code = Annotated[str | None, Field(description="The text of a solution.py, which defines ModelNew.")]
Case = Annotated[str | None, Field(description="One of the problem's cases.")]


class KernelTools(AbstractContextManager["KernelTools"]):
    """The tools of the server. A context manager; one evaluation or inspection is under way at a time.

    trusts_code: NVIDIA's tools look at code that the agent sends, too. They run it with the user's rights.
    least: the confinement without which nothing is judged. None: the config's, and `files` at least unless code is
    trusted.
    """

    def __init__(
        self,
        workspace: Workspace,
        results: Path | None = None,
        backend: Choice = "auto",
        config: str | None = None,
        trusts_code: bool = False,
        least: ConfinementLevel | None = None,
    ) -> None:
        """Raises: UsageError, InvalidFile for a config that there isn't or that breaks its rules."""
        self._workspace = workspace
        self._results = (results or workspace.results).absolute()
        self._backend: Choice = backend
        self._config = workspace.config(config).but("limits", confinement=least)
        if least is None and not trusts_code and self._config.limits.confinement == "none":
            self._config = self._config.but("limits", confinement="files")
        self._trusts_code = trusts_code
        self._alone = threading.Lock()
        self._stack = ExitStack()
        self._evaluators: dict[bool, harness.Evaluator] = {}

    def __exit__(self, *_: object) -> None:
        self._stack.close()
        self._alone.acquire(timeout=_GRACE_S)  # what was under way ends with its session, and clears up

    def run(
        self,
        problem: Problem,
        solution: Annotated[
            str | None, Field(description="A name or pattern. Default: all, unless code is given.")
        ] = None,
        code: Code = None,
        cases: Annotated[tuple[str, ...], Field(description="Some of the problem's cases. Default: all.")] = (),
    ) -> str:
        """Judge solutions of a problem: compile, check against the reference, time on a GPU. Without a GPU their CUDA
        code is simulated, and not timed."""
        return self._judge(problem, solution, code, cases, is_sanitized=False)

    def show(
        self,
        what: Annotated[str, Field(description="A problem, or the id of an evaluation. Default: the newest.")] = "last",
        solution: Annotated[str | None, Field(description="One of the problem's solutions, as `run` names it.")] = None,
    ) -> str:
        """Show an evaluation in full: verdict, times, checks, kernels, environment, and how to repeat it."""
        with open_index(self._results) as index:
            found = index.evaluation(what if solution is None else f"{what}/{solution}")
        return reports.plain_text(reports.show_report(found, self._cases_of(found)))

    def explain(
        self, word: Annotated[str | None, Field(description="Such as wrong_values. Default: a list.")] = None
    ) -> str:
        """Explain a verdict, a check or another word of a report: what it means, what causes it, what to do."""
        return reports.plain_text(
            reports.all_explained() if word is None else reports.explained(*reports.explanation_of(word))
        )

    def profile(self, problem: Problem, solution: Solution = None, code: Code = None, case: Case = None) -> str:
        """Show what limits a solution's kernels: bandwidth, occupancy, registers, bank conflicts, stalls; and the
        timeline. It needs a GPU."""
        with self._inspecting("ncu", "profiles", problem, solution, code, case) as asked:
            counted = tools.CounterRequest("detailed", None, _LAUNCHES)
            return reports.plain_text(reports.profile_report(tools.run_profile(asked, counted, _ignore)))

    def sanitize(self, problem: Problem, solution: Solution = None, code: Code = None, case: Case = None) -> str:
        """Look for accesses out of bounds, races, uninitialised reads and unreached barriers: on a GPU with
        compute-sanitizer, else on the simulator."""
        if choose_backend(self._backend) == "sim":
            return self._judge(problem, solution, code, (case,) if case else (), is_sanitized=True)
        with self._inspecting("compute-sanitizer", "sanitizer", problem, solution, code, case) as asked:
            return reports.plain_text(reports.sanitizing_report(tools.run_sanitizer(asked, SANITIZER_TOOLS, _ignore)))

    def _judge(
        self, problem: str, solution: str | None, code: str | None, cases: tuple[str, ...], is_sanitized: bool
    ) -> str:
        _require_one(solution, code)
        if code is not None:
            chosen = self._workspace.problem(problem)
            with self._alone:
                return reports.plain_text(
                    reports.run_report([self._evaluator(is_sanitized).evaluate(chosen, code, cases=cases)], True)
                )
        tasks, broken = tasks_of(self._workspace, problem, [solution] if solution else [], cases)
        if not tasks:
            raise broken[0].error
        with self._alone:
            found = list(self._evaluator(is_sanitized).iter_tasks(tasks))
        left_out = "".join(f"left out: {one.solution}: {one.error}\n" for one in broken)
        return reports.plain_text(reports.run_report(found, len(found) == 1)) + left_out

    def _evaluator(self, is_sanitized: bool) -> harness.Evaluator:
        """One that stays open, so that the next evaluation finds all ready."""
        if is_sanitized not in self._evaluators:
            config = self._config.but("correctness", sanitize=is_sanitized or None)
            opened = harness.Evaluator(
                backend=self._backend, config=config, results=self._results, workspace=self._workspace.root
            )
            self._evaluators[is_sanitized] = self._stack.enter_context(opened)
        return self._evaluators[is_sanitized]

    @contextmanager
    def _inspecting(
        self, program: str, kind: str, problem: str, solution: str | None, code: str | None, case: str | None
    ) -> Iterator[tools.Inspection]:
        """Raises: ToolError where the solution fails."""
        _require_one(solution, code)
        if code is not None and not self._trusts_code:
            raise UsageError(
                "this tool would run the code with the user's rights: put it into the workspace as a solution, or have "
                "the user start 'harness mcp --trust-code'"
            )
        with Scratch(self._workspace.root) as scratch, self._alone:
            is_small = program != "ncu"
            target = tools.choose_target(self._workspace, problem, solution, case, code is not None, is_small)
            if code is not None:
                target = replace(target, solution=scratch.solution(code, target.problem))
            try:
                yield tools.inspection(target, program, kind, None, self._results, _TIMEOUT_S)
            except tools.ArmFailed as failed:
                raise ToolError(f"{failed}\n{failed.details}".rstrip()) from None

    def _cases_of(self, evaluation: Evaluation) -> tuple[str, ...]:
        """The problem's cases, where it is in the workspace."""
        try:
            return tuple(self._workspace.problem(evaluation.problem.name).cases)
        except UsageError:
            return ()

    def told(self, text: str) -> str:
        """A text fit for an agent: harmless, no longer than it should read, without the folders that are ours."""
        package, home = Path(harness.__file__).parents[1], Path.home()
        for folder, instead in ((self._workspace.root, ""), (package, ""), (home, "~/")):
            text = text.replace(f"{folder}/", instead)
        return reports.shortened(text, _LONGEST)

    @property
    def instructions(self) -> str:
        names = self._workspace.problem_names()
        more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
        return (
            "harness judges GPU kernels. A solution defines ModelNew, which computes what the problem's Model does, "
            f"faster. Problems: {', '.join(names[:_MOST_NAMES]) or 'none yet'}{more}."
        )


def create_server(offered: KernelTools) -> MCPServer:
    """The server, whose run() speaks over stdin and stdout. What is `offered` is open, and stays so as long as it
    runs."""
    server = MCPServer("harness", version=harness.__version__, instructions=offered.instructions, log_level="WARNING")
    for tool in (offered.run, offered.show, offered.explain, offered.profile, offered.sanitize):
        server.add_tool(_answering(tool, offered.told), structured_output=False)
    return server


def _answering(tool: Callable[..., str], told: Callable[[str], str]) -> Callable[..., Coroutine[Any, Any, str]]:
    """Have a tool answer what is wrong with a request or this machine, too. It works in a thread of its own, which
    nobody waits for once the agent is gone."""

    @functools.wraps(tool)
    async def answer(**given: object) -> str:
        try:
            return told(await anyio.to_thread.run_sync(lambda: tool(**given), abandon_on_cancel=True))
        except (HarnessError, ToolError) as error:
            raise ToolError(told(str(error))) from None

    return answer


def _require_one(solution: str | None, code: str | None) -> None:
    if solution is not None and code is not None:
        raise UsageError("give the name of a solution or code, not both")


def _ignore(what: str) -> None:
    """Progress that nobody sees."""
