"""Settings files and variables against the options there are: what may be set, what is set, and by whom.

Strongest first: the command line, HARNESS_<COMMAND>_<OPTION>, harness.yaml, [tool.harness] of pyproject.toml, default.
Within a file a command's own section is stronger than `defaults`, which every command with such an option takes. The
parser itself joins these layers: files become its default_map.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import typer

from harness.cli.tree import CommandPath, Options, SettableOption
from harness.errors import InvalidFile
from harness.suggest import did_you_mean
from harness.workspace.settings import SettingsFile

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


def read_settings(files: Sequence[SettingsFile], options: Options, context: typer.Context) -> Settings:
    """Every value of the files, checked as the command line would check it; the first file is the strongest.

    Raises:
        InvalidFile: an unknown command or option, or a value that its option doesn't take.
    """
    settings = Settings(tuple(file.label for file in files))
    for file in reversed(files):
        for section in sorted(file.values, key=lambda name: name != DEFAULTS):  # what comes later is stronger
            for option, value in _section(file, options, section):
                checked = _value(file, option, value, context)
                settings.values[option.command, option.parameter] = checked, file.label
    return settings


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


def _section(file: SettingsFile, options: Options, name: Any) -> Iterator[tuple[SettableOption, Any]]:
    """Options with their values below one key at the top of a file."""
    written = file.values[name]
    if name != DEFAULTS:
        yield from _command(file, options, (str(name),), written)
        return
    for key, value in _mapping(file, written, (DEFAULTS,)).items():
        having = [of_command[_spelt(key)] for of_command in options.values() if _spelt(key) in of_command]
        if not having:
            valid = {option for of_command in options.values() for option in of_command}
            near = did_you_mean(_spelt(key), valid)
            raise InvalidFile(f"{file.label}: {DEFAULTS}.{key}: no command has this option.{near}")
        yield from ((option, value) for option in having)


def _command(
    file: SettingsFile, options: Options, path: CommandPath, written: Any
) -> Iterator[tuple[SettableOption, Any]]:
    """Options with their values below the key of a command, or of a group of commands."""
    below = {words[len(path)] for words in options if words[: len(path)] == path and len(words) > len(path)}
    if path not in options and not below:
        valid = {words[len(path) - 1] for words in options if words[: len(path) - 1] == path[:-1]}
        valid |= {DEFAULTS} if len(path) == 1 else set()
        raise InvalidFile(f"{file.label}: no command '{' '.join(path)}'.{did_you_mean(path[-1], valid)}")
    known = options.get(path, {})
    for key, value in _mapping(file, written, path).items():
        if key in below:
            yield from _command(file, options, (*path, key), value)
        elif _spelt(key) in known:
            yield known[_spelt(key)], value
        else:
            near = did_you_mean(_spelt(key), {*known, *below})
            raise InvalidFile(f"{file.label}: {'.'.join(path)}: unknown option '{key}'.{near}")


def _value(file: SettingsFile, option: SettableOption, value: Any, context: typer.Context) -> Any:
    """Return what the command line's parser takes: text, a list of texts, or a boolean for a flag."""
    where = f"{file.label}: {'.'.join(option.command)}.{option.name}"
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
        raise InvalidFile(f"{where}: {error.message.rstrip('.')}") from None
    return given


def _text(where: str, option: SettableOption, file: SettingsFile, value: Any) -> str:
    if value is None or isinstance(value, (bool, list, dict)):
        raise InvalidFile(f"{where}: {type(value).__name__} where one value belongs")
    if option.hint is Path:  # written in a file, so meant from there, wherever the command is called
        return str(file.path.parent / Path(str(value)).expanduser())
    return str(value)


def _mapping(file: SettingsFile, written: Any, path: CommandPath) -> Mapping[str, Any]:
    if written is None:
        return {}
    if not isinstance(written, dict):
        where = f"{file.label}: {'.'.join(path)}"
        raise InvalidFile(f"{where}: {type(written).__name__} where a mapping of options belongs")
    return written


def _spelt(key: object) -> str:
    """max_failures is max-failures."""
    return str(key).replace("_", "-")
