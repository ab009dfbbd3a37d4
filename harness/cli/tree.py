"""The commands as a tree: every option with its name, its type and the variable that sets it."""

from __future__ import annotations

import types
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Union, get_args, get_origin, get_type_hints

import typer

CommandPath = tuple[str, ...]
"""Words after `harness`: ('run',), ('config', 'show')."""

Command = Any  # click's or, in newer releases, typer's own class; their common ground is used


@dataclass(frozen=True)
class SettableOption:
    """An option that a variable or a settings file may set. `option` is the parser's own object."""

    command: CommandPath
    option: Any
    hint: Any
    """The type of one value."""

    @property
    def name(self) -> str:
        """The word on the command line, without dashes in front: 'max-failures'."""
        return str(max(self.option.opts, key=len)).lstrip("-")

    @property
    def parameter(self) -> str:
        return str(self.option.name)

    @property
    def variable(self) -> str:
        """HARNESS_<COMMAND>_<OPTION>."""
        return "_".join(("harness", *self.command, self.name)).replace("-", "_").upper()

    @property
    def is_list(self) -> bool:
        return bool(self.option.multiple)


Options = Mapping[CommandPath, Mapping[str, SettableOption]]
"""The options by command, then by name."""


def prepare(app: typer.Typer) -> Command:
    """The command line with the variable HARNESS_<COMMAND>_<OPTION> for each option.

    Help doesn't repeat the variables: their names follow from those of the options.
    """
    group = typer.main.get_command(app)
    for path, command in walk(group):
        for one in _options(path, command):
            one.option.envvar = one.variable
            one.option.show_envvar = False
    return group


def walk(group: Command, path: CommandPath = ()) -> Iterator[tuple[CommandPath, Command]]:
    """The group itself and everything below it."""
    yield path, group
    for name, command in getattr(group, "commands", {}).items():
        yield from walk(command, (*path, name))


def settable_options(group: Command) -> Options:
    """The options of every command below a group; groups themselves have none that can be set."""
    return {
        path: {one.name: one for one in _options(path, command)}
        for path, command in walk(group)
        if not hasattr(command, "commands")
    }


def _options(path: CommandPath, command: Command) -> list[SettableOption]:
    """Options but --help, --version and the like, which do something instead of setting something."""
    hints = get_type_hints(command.callback) if command.callback else {}
    return [
        SettableOption(path, param, _of_one_value(hints[param.name]))
        for param in command.params
        if param.param_type_name == "option" and param.expose_value and not param.is_eager and not param.hidden
    ]


def _of_one_value(hint: Any) -> Any:
    """`hint` without None and without list."""
    if get_origin(hint) in (Union, types.UnionType):
        hint = next(kind for kind in get_args(hint) if kind is not type(None))
    return get_args(hint)[0] if get_origin(hint) is list else hint
