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
    """An option that a variable or a settings file may set."""

    command: CommandPath
    name: str
    """As on the command line, without dashes in front: 'max-failures'."""
    variable: str
    hint: Any
    """Its type, None and list taken off."""
    is_list: bool
    help: str
    option: Any

    @property
    def parameter(self) -> str:
        return str(self.option.name)


def prepare(app: typer.Typer, panels: Mapping[str, str]) -> Command:
    """The command line with a panel for each command, and for each option the variable HARNESS_<COMMAND>_<OPTION>.

    Help doesn't repeat the variables: their names follow from those of the options.
    """
    group = typer.main.get_command(app)
    for path, command in walk(group):
        if len(path) == 1 and path[0] in panels:
            command.rich_help_panel = panels[path[0]]
        for option in _options(command):
            option.envvar = option.envvar or variable(path, _name(option))
            option.show_envvar = False
    return group


def walk(group: Command, path: CommandPath = ()) -> Iterator[tuple[CommandPath, Command]]:
    """The group itself and everything below it."""
    yield path, group
    for name, command in getattr(group, "commands", {}).items():
        yield from walk(command, (*path, name))


def settable_options(app: typer.Typer, group: Command) -> dict[CommandPath, dict[str, SettableOption]]:
    """By command, by name; groups, and commands without an option, have none."""
    hints = dict(_hints(app))
    found: dict[CommandPath, dict[str, SettableOption]] = {}
    for path, command in walk(group):
        if path in hints:
            options = [_settable(path, option, hints[path].get(option.name)) for option in _options(command)]
            found[path] = {option.name: option for option in options}
    return found


def variable(path: CommandPath, option: str) -> str:
    """HARNESS_<COMMAND>_<OPTION>."""
    return "_".join(("harness", *path, option)).replace("-", "_").upper()


def _options(command: Command) -> list[Any]:
    """Without --help, --version and the like, which do something instead of setting something."""
    return [
        param
        for param in command.params
        if param.param_type_name == "option" and param.expose_value and not param.is_eager and not param.hidden
    ]


def _settable(path: CommandPath, option: Any, hint: Any) -> SettableOption:
    alternatives = [arg for arg in get_args(hint) if arg is not type(None)] if _is_union(hint) else [hint]
    is_list = get_origin(alternatives[0]) is list
    plain = get_args(alternatives[0])[0] if is_list else alternatives[0]
    of_option = option.envvar if isinstance(option.envvar, str) else option.envvar[0]
    return SettableOption(path, _name(option), of_option, plain, is_list, option.help or "", option)


def _hints(app: typer.Typer, path: CommandPath = ()) -> Iterator[tuple[CommandPath, dict[str, Any]]]:
    for command in app.registered_commands:
        assert command.callback is not None
        name = command.name or command.callback.__name__.replace("_", "-")
        yield (*path, name), get_type_hints(command.callback)
    for group in app.registered_groups:
        if group.typer_instance is not None and isinstance(group.name, str):
            yield from _hints(group.typer_instance, (*path, group.name))


def _name(option: Any) -> str:
    return str(max(option.opts, key=len)).lstrip("-")


def _is_union(hint: Any) -> bool:
    return get_origin(hint) in (Union, types.UnionType)
