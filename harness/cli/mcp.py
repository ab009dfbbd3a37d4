"""`harness mcp`: an agent's tools to judge kernels."""

from __future__ import annotations

import os
from typing import Annotated

import typer

import harness
from harness.cli import exit_codes
from harness.cli.options import BackendOption, ConfigName, RequireConfinement, ResultsFolder
from harness.cli.printing import say
from harness.cli.signals import end_politely
from harness.errors import MachineError


def mcp(
    backend: BackendOption = "auto",
    config: ConfigName = None,
    require_confinement: RequireConfinement = None,
    results: ResultsFolder = None,
    trust_code: Annotated[
        bool,
        typer.Option("--trust-code", help="Run code that the agent sends with your rights, if nothing confines it."),
    ] = False,
) -> None:
    """Give an agent tools to judge kernels: run, show, explain, profile, sanitize (MCP over stdin and stdout).

    An agent's host starts it; -C names the workspace.

    Example: harness -C kernels mcp --config quick
    """
    workspace = harness.find_workspace()
    try:
        from harness.integrations import KernelTools, create_server
    except ImportError as error:
        raise MachineError(
            f"mcp needs version 2 of the package mcp ({error.name} is missing): pip install 'kernel-harness[mcp]'"
        ) from None
    end_politely(then_at_once=True)
    try:
        with KernelTools(workspace, results, backend, config, trust_code, require_confinement) as tools:
            create_server(tools).run()
    except KeyboardInterrupt:
        say("interrupted; results so far are kept")
        os._exit(exit_codes.INTERRUPTED)  # Python would wait for the thread that reads stdin
