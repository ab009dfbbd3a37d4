"""Options that several commands have, worded once."""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, get_type_hints

import typer

import harness
from harness.cli import completion
from harness.model.arms import BASELINES
from harness.suggest import did_you_mean

BackendChoice = Literal["auto", "cuda", "sim"]


def _baseline_names(given: list[str] | None) -> list[str]:
    """Each name once, of one or several an option. Raises: typer.BadParameter for one that there isn't."""
    names = [name.strip() for text in given or [] for name in text.split(",") if name.strip()]
    for name in names:
        if name not in BASELINES:
            raise typer.BadParameter(f"there is no baseline '{name}'.{did_you_mean(name, BASELINES)}")
    return list(dict.fromkeys(names))


ProblemPatterns = Annotated[
    list[str] | None,
    typer.Option(
        "-p",
        "--problem",
        metavar="NAME",
        help="A name or pattern (* ? [ ]) of problems; repeatable. Default: all.",
        autocompletion=completion.problems,
    ),
]
SolutionPatterns = Annotated[
    list[str] | None,
    typer.Option(
        "-s",
        "--solution",
        metavar="NAME",
        help="A name or pattern of solutions; repeatable. Default: all.",
        autocompletion=completion.solutions,
    ),
]
CaseNames = Annotated[
    list[str] | None,
    typer.Option(
        "-c", "--case", metavar="NAME", help="A case; repeatable. Default: all.", autocompletion=completion.cases
    ),
]
BackendOption = Annotated[BackendChoice, typer.Option(help="auto: the GPU where there is one, else the simulator.")]
ConfigName = Annotated[
    str | None,
    typer.Option("--config", metavar="NAME", help="A name in configs/ or a file.", autocompletion=completion.configs),
]
SeedOption = Annotated[int | None, typer.Option(metavar="N", help="Repeat a run's inputs. Default: drawn anew.")]
ResultsFolder = Annotated[Path | None, typer.Option(metavar="DIR", help="The journals' folder. Default: results/.")]
QuietFlag = Annotated[bool, typer.Option("-q", "--quiet", help="No progress on stderr.")]
VerboseFlag = Annotated[bool, typer.Option("-v", "--verbose", help="Details of failures, and remarks.")]
JsonFlag = Annotated[bool, typer.Option("--json", help="As one JSON object.")]
TIMING = typer.Option("--timing/--no-timing", help="Measure speed as well.  [default: yes]", show_default=False)

# Arguments of the commands that look things up; their completions come with them.
ProblemName = Annotated[str, typer.Argument(help="A folder name under problems/.", autocompletion=completion.problems)]
SolutionName = Annotated[
    str, typer.Argument(help="A folder name under solutions/PROBLEM/.", autocompletion=completion.solutions)
]
EvaluationName = Annotated[
    str,
    typer.Argument(
        metavar="PROBLEM|ID",
        help="A problem, PROBLEM/SOLUTION, or an evaluation's identifier, of which the beginning is enough.",
        show_default=False,
        autocompletion=completion.problems_and_evaluations,
    ),
]
OfSolution = Annotated[
    str | None, typer.Argument(help="One of the problem's solutions.", autocompletion=completion.solutions)
]
RequireConfinement = Annotated[
    Literal["none", "files", "full", "container"] | None,
    typer.Option(metavar="LEVEL", help="none, files, full or container at least."),
]
RunName = Annotated[
    str | None,
    typer.Option("--run", metavar="NAME", help="A folder name under results/.", autocompletion=completion.runs),
]


@dataclass(frozen=True)
class JudgingOptions:
    """Options of run, compare and watch: how solutions are judged."""

    case: CaseNames = None
    backend: BackendOption = "auto"
    config: ConfigName = None
    seed: SeedOption = None
    nvcc: Annotated[
        bool,
        typer.Option(
            "--nvcc/--no-nvcc",
            help="Simulator: compile with nvcc, too, if it is there.  [default: yes]",
            show_default=False,
        ),
    ] = True
    sanitize: Annotated[
        bool, typer.Option("--sanitize", help="Simulator: look at every access; several times slower.")
    ] = False
    require_confinement: RequireConfinement = None
    results: ResultsFolder = None
    verbose: VerboseFlag = False

    def settings(self, workspace: harness.Workspace) -> harness.Config:
        """The config that is named, with these options on top. Raises: UsageError, InvalidFile."""
        config = workspace.config(self.config).but("limits", confinement=self.require_confinement)
        config = config.but("correctness", sanitize=self.sanitize or None)
        return config.but("nvcc", enabled=None if self.nvcc else False)


@dataclass(frozen=True)
class EvaluatingOptions(JudgingOptions):
    """Options of run and compare: what is measured, and how a run goes on."""

    baseline: Annotated[
        list[str] | None,
        typer.Option(
            "-b",
            "--baseline",
            help=f"{', '.join(BASELINES)}; commas between several. The headline refers to the first. Default: eager.",
            metavar="NAME[,NAME]",
            callback=_baseline_names,
            autocompletion=completion.baselines,
        ),
    ] = None
    timing: Annotated[bool, TIMING] = True
    lock_clocks: Annotated[
        int | None,
        typer.Option("--lock-clocks", min=1, metavar="MHZ", help="Lock the GPU's SM clock meanwhile; needs root."),
    ] = None
    min_own_share: Annotated[
        float | None,
        typer.Option(min=0, max=1, metavar="SHARE", help="The share of the GPU's time that own kernels must take."),
    ] = None
    no_source: Annotated[bool, typer.Option("--no-source", help="Keep no text of solutions in the records.")] = False
    jobs: Annotated[
        int | None, typer.Option("-j", "--jobs", min=1, metavar="N", help="Builds at once. Default: by the cores.")
    ] = None
    max_failures: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Stop after so many unexpected verdicts.")
    ] = None
    last_failed: Annotated[
        bool, typer.Option("--last-failed", help="Only those whose newest verdict isn't the expected one.")
    ] = False
    resume: Annotated[bool, typer.Option("--resume", help="Keep results of what is unchanged since.")] = False
    dry_run: Annotated[bool, typer.Option("--dry-run", help="List what would be judged, and leave.")] = False
    container: Annotated[
        str | None, typer.Option(metavar="IMAGE", help="All of it in a container (podman, Docker).")
    ] = None
    json: Annotated[bool, typer.Option("--json", help="The journal's records on stdout, a line each.")] = False
    quiet: QuietFlag = False

    def settings(self, workspace: harness.Workspace) -> harness.Config:
        """The config that is named, with these options on top. Raises: UsageError, InvalidFile."""
        config = super().settings(workspace).but("correctness", min_own_share=self.min_own_share)
        config = config.but("timing", lock_sm_mhz=self.lock_clocks, baselines=tuple(self.baseline or ()) or None)
        return config.but("timing", enabled=None if self.timing else False)


@dataclass(frozen=True)
class EngineOptions:
    """Options of compare: where it judges."""

    engine: Annotated[
        Literal["local", "ray"], typer.Option(help="This machine (default), or a Ray cluster.", show_default=False)
    ] = "local"
    ray_address: Annotated[
        str, typer.Option(metavar="ADDRESS", help="The cluster. Default: auto, the one here.", show_default=False)
    ] = "auto"
    ray_gpu: Annotated[str | None, typer.Option(metavar="MODEL", help="One model of its GPUs, such as H100.")] = None


def spread(command: Callable[..., None]) -> Callable[..., None]:
    """The command as typer is to see it: each parameter that is a dataclass gives way to its fields."""
    hints = get_type_hints(command, include_extras=True)
    parameters: list[inspect.Parameter] = []
    groups: dict[str, Any] = {}
    for name, parameter in inspect.signature(command).parameters.items():
        kind = hints[name]
        if isinstance(kind, type) and dataclasses.is_dataclass(kind):
            groups[name] = kind
            of_fields = get_type_hints(kind, include_extras=True)
            parameters += [
                _option(field.name, of_fields[field.name], field.default) for field in dataclasses.fields(kind)
            ]
        else:
            parameters.append(_option(name, hints[name], parameter.default))

    @functools.wraps(command)
    def spread_out(**given: Any) -> None:
        for name, kind in groups.items():
            given[name] = kind(**{field.name: given.pop(field.name) for field in dataclasses.fields(kind)})
        command(**given)

    spread_out.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    spread_out.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return spread_out


def _option(name: str, hint: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hint)
