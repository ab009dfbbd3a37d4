"""The `harness` command and its subcommands."""

from __future__ import annotations

import errno
import os
import re
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer
import typer.core

from harness import __version__
from harness.cli import exit_codes, settings
from harness.cli.check_problem import check_problem
from harness.cli.config import config_app
from harness.cli.doctor import doctor
from harness.cli.export import export, score
from harness.cli.gate import gate
from harness.cli.history import history, plot
from harness.cli.leaderboard import leaderboard
from harness.cli.list import check, list_workspace, prompt
from harness.cli.mcp import mcp
from harness.cli.new import import_app, init, new_app
from harness.cli.nvidia_tools import profile, sanitize
from harness.cli.printing import print_json
from harness.cli.run import compare, run
from harness.cli.serve import serve
from harness.cli.show import diff, explain, feedback, show
from harness.cli.snapshot import snapshot_app
from harness.cli.store import index
from harness.cli.watch import watch
from harness.errors import HarnessError, UsageError
from harness.reports import quoted
from harness.suggest import did_you_mean
from harness.workspace.settings import find_settings

_EPILOG = """Examples:

harness run maxpool2d

harness run avgpool2d column_sums --case small --json

harness compare        harness gate        harness leaderboard        harness doctor

Every option can be set by a variable HARNESS_<COMMAND>_<OPTION>, in harness.yaml and in tool.harness of
pyproject.toml; 'harness config show --origin' tells what holds, and why.

Exit codes: 0 all as expected, 1 a solution failed, 2 usage, 3 the harness or the machine, 4 the gate is undecided,
130 interrupted."""

_Command = Callable[..., None] | typer.Typer

COMMANDS: dict[str, dict[str, tuple[_Command, str]]] = {
    "Every day": {
        "run": (run, "Judge and time the solutions of a problem."),
        "compare": (compare, "Judge all solutions of all problems, and rank them."),
        "watch": (watch, "Judge a solution after every save."),
        "gate": (gate, "Judge for CI: exit 0 if all is as accepted."),
        "leaderboard": (leaderboard, "Rank solutions, from recorded results."),
    },
    "Look closer": {
        "show": (show, "One evaluation in full."),
        "explain": (explain, "What a verdict or a word of a report means."),
        "profile": (profile, "What limits a kernel on the GPU."),
        "sanitize": (sanitize, "Accesses out of bounds, races, unreached barriers."),
        "diff": (diff, "Two evaluations side by side."),
        "history": (history, "How solutions did over time."),
        "plot": (plot, "Times and roofline of an evaluation as a picture."),
    },
    "Workspace": {
        "init": (init, "Make a workspace with an example."),
        "new": (new_app, "Start a problem or a solution."),
        "import": (import_app, "Take over KernelBench's problems and runs."),
        "list": (list_workspace, "Problems, solutions and their last verdicts."),
        "check": (check, "What is wrong in problems, solutions and configs."),
        "check-problem": (check_problem, "Which wrong answers a problem would let pass."),
        "doctor": (doctor, "What this machine has, and what is missing."),
        "config": (config_app, "Which settings hold, and why."),
    },
    "Results and models": {
        "serve": (serve, "Judge what others send over HTTP, from a queue."),
        "mcp": (mcp, "Tools for an agent: judge, show, explain, profile, sanitize."),
        "prompt": (prompt, "A problem as a task for a language model."),
        "feedback": (feedback, "An evaluation for a model's next attempt."),
        "score": (score, "fast_p and pass@k of runs, as KernelBench has them."),
        "export": (export, "Evaluations as CSV, JSON lines and KernelBench's files."),
        "snapshot": (snapshot_app, "Accepted evaluations, for a gate."),
        "index": (index, "What the results folder holds."),
    },
}
"""The commands by the heading under which `harness --help` lists them, each with its line there."""


class _InGroups(typer.core.TyperGroup):
    """Lists the commands under their headings."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        for heading, commands in COMMANDS.items():
            with formatter.section(heading):
                formatter.write_dl([(name, line) for name, (_, line) in commands.items()])


class _PlainCommand(typer.core.TyperCommand):
    """Lists arguments by their names alone: newer versions of typer add Python's types, `solution <str>`. Names the
    problems where one is missing, the variable whose value is wrong, and the option that takes a problem."""

    allow_extra_args = True  # refused below

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        try:
            left = super().parse_args(ctx, args)
        except typer.BadParameter as error:
            if error.param is not None and error.param.name == "problem" and not error.message:  # it is missing
                from harness.workspace.workspace import find_workspace

                error.message = did_you_mean("", find_workspace().problem_names()).strip()
            if (option := error.param) is not None:
                source = ctx.get_parameter_source(option.name)
                error.param_hint = option.envvar if source and source.name == "ENVIRONMENT" else error.param_hint
            error.message = settings.in_plain_words(error)
            raise
        if left and not ctx.resilient_parsing:
            by_option = any(param.name == "problem" and param.param_type_name == "option" for param in self.params)
            meant = f"; a problem is named by an option: --problem {left[0]}" if by_option else ""
            ctx.fail(f"too many arguments: {' '.join(left)}{meant}")
        return left

    def format_options(self, ctx: Any, formatter: Any) -> None:
        write = formatter.write_dl
        formatter.write_dl = lambda rows: write([(re.sub(r" <[^>]*>$", "", name), words) for name, words in rows])
        super().format_options(ctx, formatter)


app = typer.Typer(
    name="harness",
    cls=_InGroups,
    help="Is this GPU kernel right, and how fast is it really?",
    epilog=_EPILOG,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"harness {__version__}")
        raise typer.Exit


@app.callback()
def harness(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option("-V", "--version", callback=_show_version, is_eager=True, help="Print the version and leave."),
    ] = False,
    workspace: Annotated[
        Path | None,
        typer.Option("-C", "--workspace", metavar="DIR", help="The folder that holds problems/ and solutions/."),
    ] = None,
) -> None:
    if workspace is not None:
        if not workspace.is_dir():
            raise UsageError(f"--workspace {workspace}: no such folder")
        os.chdir(workspace)
    _apply_settings(context)


for _name, (_command, _) in (one for _commands in COMMANDS.values() for one in _commands.items()):
    if isinstance(_command, typer.Typer):
        for _below in _command.registered_commands:
            _below.cls = _PlainCommand
        app.add_typer(_command, name=_name)
    else:
        app.command(_name, cls=_PlainCommand)(_command)


def _apply_settings(context: typer.Context) -> None:
    """Settings files become the defaults of the command that follows; see harness.cli.settings."""
    options = settings.settable_options(context.command)
    for complaint in settings.misspelt_variables(options):
        typer.echo(f"harness: {complaint}", err=True)
    found = settings.read_settings(find_settings(Path.cwd()), options, context)
    context.default_map = found.default_map()
    context.meta[settings.META_KEY] = (options, found)


def main() -> None:
    """Entry point: expected errors become a sentence and an exit code, Ctrl-C becomes 130."""
    try:
        try:
            settings.prepare(app)(prog_name="harness", standalone_mode=True)
        except (HarnessError, SystemExit) as error:
            _tell_as_json(error)
            raise
        finally:  # while a failure can still be reported
            if sys.stdout is not None:  # closed by who started us
                sys.stdout.flush()
    except HarnessError as error:
        print(quoted(str(error), "harness: "), file=sys.stderr)
        sys.exit(exit_codes.USAGE if isinstance(error, UsageError) else exit_codes.MACHINE)
    except SystemExit as ending:  # typer makes this of Ctrl-C, and of a reader that left
        if _has_lost_its_reader(ending.__context__):
            _give_up_printing()
            sys.exit(exit_codes.MACHINE)
        if ending.code == exit_codes.INTERRUPTED:
            print("harness: interrupted; results so far are kept", file=sys.stderr)
        raise
    except Exception as error:  # the outermost border: a crash of ours is no failure of a solution
        if _is_of_stdout(error):
            _give_up_printing()
            if not _has_lost_its_reader(error):
                print(f"harness: can't print: {error}; results so far are in their journals", file=sys.stderr)
        else:
            print(quoted(traceback.format_exc().rstrip(), "| "), file=sys.stderr)
        sys.exit(exit_codes.MACHINE)


def _tell_as_json(error: HarnessError | SystemExit) -> None:
    """Print the error on stdout, too, where JSON is asked for."""
    mistake = getattr(error.__context__, "format_message", None)  # of the line: the parser has told it, and ended
    if "--json" in sys.argv and (mistake or isinstance(error, HarnessError)):
        print_json({"error": mistake() if mistake else str(error)})


def _has_lost_its_reader(error: BaseException | None) -> bool:
    return isinstance(error, OSError) and error.errno == errno.EPIPE


def _is_of_stdout(error: Exception) -> bool:
    """An error of writing names no file: whether an empty line can be written tells."""
    if not isinstance(error, OSError) or error.filename is not None:
        return False
    try:
        print(flush=True)
    except OSError:
        return True
    return False


def _give_up_printing() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
