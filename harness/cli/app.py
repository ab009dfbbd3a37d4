"""The `harness` command and its subcommands."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from harness import __version__
from harness.cli import exit_codes
from harness.cli.doctor import doctor
from harness.cli.init import init
from harness.cli.list import list_workspace
from harness.cli.run import run
from harness.errors import HarnessError, UsageError

_EPILOG = """Examples:

harness run --problem maxpool2d

harness run --problem avgpool2d --solution column_sums --case small --json

harness list        harness doctor

Exit codes: 0 all passed, 1 a solution failed, 2 usage, 3 the harness or the machine, 130 interrupted."""

app = typer.Typer(
    name="harness",
    help="Is this GPU kernel right, and how fast is it really?",
    epilog=_EPILOG,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"harness {__version__}")
        raise typer.Exit


@app.callback()
def harness(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and leave.")
    ] = False,
    workspace: Annotated[
        Path | None, typer.Option("-C", "--workspace", help="The folder that holds problems/ and solutions/.")
    ] = None,
) -> None:
    if workspace is not None:
        if not workspace.is_dir():
            raise UsageError(f"--workspace {workspace}: no such folder")
        os.chdir(workspace)


app.command("run")(run)
app.command("list")(list_workspace)
app.command("doctor")(doctor)
app.command("init")(init)


def main() -> None:
    """Entry point: expected errors become a sentence and an exit code, Ctrl-C becomes 130."""
    try:
        app(standalone_mode=True)
    except HarnessError as error:
        print(f"harness: {error}", file=sys.stderr)
        sys.exit(exit_codes.USAGE if isinstance(error, UsageError) else exit_codes.MACHINE)
    except BrokenPipeError:  # the reader of our output left
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(exit_codes.MACHINE)
    except SystemExit as ending:  # typer makes this of Ctrl-C
        if ending.code == exit_codes.INTERRUPTED:
            print("harness: interrupted; results so far are kept", file=sys.stderr)
        raise
