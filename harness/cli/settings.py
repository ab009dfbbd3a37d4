"""The options of all commands, and settings files and variables against them: what may be set, what is set, by whom.

Strongest first: the command line, HARNESS_<COMMAND>_<OPTION>, harness.yaml, [tool.harness] of pyproject.toml, default.
Within a file a command's own section is stronger than `defaults`, which every command with such an option takes. The
parser itself joins these layers: files become its default_map.
"""

from __future__ import annotations

import difflib
import os
import types
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Union, get_args, get_origin, get_type_hints

import typer

from harness.errors import InvalidFile
from harness.suggest import did_you_mean
from harness.workspace.settings import SettingsFile

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


_METAVARS = {int: "N", float: "X", Path: "PATH"}

Options = Mapping[CommandPath, Mapping[str, SettableOption]]
"""The options by command, then by name."""

DEFAULTS = "defaults"

META_KEY = "harness.settings"
"""The key under which the context of a command keeps (Options, Settings)."""


@dataclass(frozen=True)
class Settings:
    """The options' values that files set, by command and parameter, and the file that says so."""

    files: tuple[str, ...] = ()
    values: dict[tuple[CommandPath, str], tuple[Any, str]] = field(default_factory=dict)

    def default_map(self) -> dict[str, Any]:
        """The nested form that the command line's parser takes: words of the command, then parameters."""
        nested: dict[str, Any] = {}
        for (path, parameter), (value, _) in self.values.items():
            section = nested
            for word in path:
                section = section.setdefault(word, {})
            section[parameter] = value
        return nested


@cache
def prepare(app: typer.Typer) -> Command:
    """The command line with the variable HARNESS_<COMMAND>_<OPTION> for each option.

    Help doesn't repeat the variables: their names follow from those of the options.
    """
    group = typer.main.get_command(app)
    for path, command in walk(group):
        for one in _options(path, command):
            one.option.envvar = one.variable
            one.option.show_envvar = False
            one.option.metavar = one.option.metavar or _metavar(one.hint)
    return group


def _metavar(hint: Any) -> str:
    """The word for a value in help: the choices, or what kind of value it is."""
    return "|".join(map(str, get_args(hint))) or _METAVARS.get(hint, "TEXT")


def walk(group: Command, path: CommandPath = ()) -> Iterator[tuple[CommandPath, Command]]:
    """The group itself and everything below it."""
    yield path, group
    for name, command in getattr(group, "commands", {}).items():
        yield from walk(command, (*path, name))


@cache
def settable_options(group: Command) -> Options:
    """The options of every command below a group; groups themselves have none that can be set."""
    return {
        path: {one.name: one for one in _options(path, command)}
        for path, command in walk(group)
        if not hasattr(command, "commands")
    }


def keys_of(options: Options) -> dict[str, Any]:
    """The keys that a file may have: a section for each command, and DEFAULTS, where a key sets the option of every
    command that has it. At the end of a way stands the list of options that are set."""
    keys: dict[str, Any] = {DEFAULTS: {}}
    for path, of_command in options.items():
        section = keys
        for word in path:
            section = section.setdefault(word, {})
        for name, option in of_command.items():
            section[name] = [option]
            keys[DEFAULTS].setdefault(name, []).append(option)
    return keys


def read_settings(files: Sequence[SettingsFile], options: Options, context: typer.Context) -> Settings:
    """Every value of the files, checked as the command line would check it; the first file is the strongest.

    Raises:
        InvalidFile: an unknown command or option, or a value that its option doesn't take.
    """
    settings = Settings(tuple(file.label for file in files))
    for file in reversed(files):
        for path, option, value in _set_by(file, keys_of(options), file.values):
            checked = _value(file, f"{file.label}: {'.'.join((*path, option.name))}", option, value, context)
            settings.values[option.command, option.parameter] = checked, file.label
    return settings


def in_plain_words(error: typer.BadParameter) -> str:
    """The message without the type that newer versions of typer put in front."""
    return error.message.removeprefix("Value error, ")


def misspelt_variables(options: Options) -> Iterator[str]:
    """A complaint for each variable that is nearly one of ours. Other programs use names in HARNESS_ too, so a variable
    that resembles none is left alone."""
    known = {option.variable for of_command in options.values() for option in of_command.values()}
    for path, of_command in options.items():
        prefix = "_".join(("HARNESS", *path, "")).replace("-", "_").upper()
        words = [option.variable.removeprefix(prefix) for option in of_command.values()]
        for name in sorted(os.environ):
            if name.startswith(prefix) and name not in known:
                for near in difflib.get_close_matches(name.removeprefix(prefix), words, n=1, cutoff=0.7):
                    yield f"{name} sets no option. Did you mean '{prefix}{near}'?"


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


def _set_by(
    file: SettingsFile, keys: Mapping[str, Any], written: Any, path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], SettableOption, Any]]:
    """Options with the section that sets them, and their values; what comes later is stronger."""
    if not isinstance(written, dict | None):
        where = f"{file.label}: {'.'.join(path)}"
        raise InvalidFile(f"{where}: {type(written).__name__} where a mapping of options belongs")
    for key, value in sorted((written or {}).items(), key=lambda item: item[0] != DEFAULTS):
        spelt = str(key) if str(key) in keys else str(key).replace("_", "-")  # max_failures is max-failures
        found = keys.get(spelt)
        if isinstance(found, dict):
            yield from _set_by(file, found, value, (*path, spelt))
        elif found:
            yield from ((path, option, value) for option in found)
        else:
            what = f"{'.'.join(path)}: unknown option '{key}'" if path else f"no command '{key}'"
            what = f"{DEFAULTS}.{key}: no command has this option" if path == (DEFAULTS,) else what
            raise InvalidFile(f"{file.label}: {what}.{did_you_mean(spelt, keys)}")


def _value(file: SettingsFile, where: str, option: SettableOption, value: Any, context: typer.Context) -> Any:
    """Return what the command line's parser takes: text, a list of texts, or a boolean for a flag."""
    if option.is_list:
        given: Any = [_text(where, option, file, item) for item in (value if isinstance(value, list) else [value])]
    elif option.hint is bool:
        if not isinstance(value, bool):
            raise InvalidFile(f"{where}: {value!r} where true or false belongs")
        given = value
    else:
        given = _text(where, option, file, value)
    try:
        option.option.process_value(context, given)
    except typer.BadParameter as error:
        raise InvalidFile(f"{where}: {in_plain_words(error).rstrip('.')}") from None
    return given


def _text(where: str, option: SettableOption, file: SettingsFile, value: Any) -> str:
    if value is None or isinstance(value, (bool, list, dict)):
        raise InvalidFile(f"{where}: {type(value).__name__} where one value belongs")
    if option.hint is Path:  # written in a file, so meant from there, wherever the command is called
        return str(file.path.parent / Path(str(value)).expanduser())
    return str(value)
