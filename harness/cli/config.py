"""`harness config`: which settings hold and where each comes from; schemas for editors."""

from __future__ import annotations

import enum
import json as json_module
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from harness.cli import settings
from harness.cli.printing import print_json
from harness.cli.tree import CommandPath, Options, SettableOption
from harness.errors import UsageError

config_app = typer.Typer(no_args_is_help=True, help="Which settings hold, and why; schemas for editors.")


@dataclass(frozen=True)
class _Effective:
    """The value of an option where the command line says nothing."""

    command: str
    option: str
    value: Any
    origin: str
    variable: str


@config_app.command("show")
def show(
    context: typer.Context,
    command: Annotated[
        list[str] | None, typer.Argument(help="Only this command: run, or snapshot accept.", show_default=False)
    ] = None,
    origin: Annotated[bool, typer.Option("--origin", help="Also where each value comes from.")] = False,
    json: Annotated[bool, typer.Option("--json", help="As one JSON object, origins and variables included.")] = False,
) -> None:
    """Show what every option is set to: by a variable, a settings file, or its default.

    Example: harness config show run --origin
    """
    options, found = context.meta[settings.META_KEY]
    wanted = _wanted(options, tuple(command or ()))
    rows = [_effective(context, option, found) for path in wanted for option in options[path].values()]
    if json:
        print_json({"files": found.files, "options": [asdict(row) for row in rows]}, indent=2)
    else:
        _print(rows, found.files, origin)


@config_app.command("schema")
def schema(
    context: typer.Context,
    output: Annotated[
        Path | None, typer.Option("--output", help="Write one file per schema into this folder.", show_default=False)
    ] = None,
) -> None:
    """Write JSON schemas of the YAML files, so that editors complete and check them.

    Without --output all of them go to stdout as one JSON object. Example: harness config schema --output schemas
    """
    from harness.cli.schemas import schema_texts

    texts = schema_texts(context.find_root().command)
    if output is None:
        print_json({name: json_module.loads(text) for name, text in texts.items()}, indent=2)
        return
    try:
        output.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            (output / name).write_text(text, encoding="utf-8")
            typer.echo(f"wrote {output / name}")
    except OSError as error:
        raise UsageError(f"can't write into {output}: {error.strerror}; name another folder with --output") from None


def _wanted(options: Options, path: CommandPath) -> list[CommandPath]:
    """Commands that have options, below `path`."""
    from harness.suggest import did_you_mean

    found = [words for words in options if words[: len(path)] == path]
    if not found:
        valid = {" ".join(words) for words in options}
        raise UsageError(f"no command '{' '.join(path)}'.{did_you_mean(' '.join(path), valid)}")
    return [words for words in found if options[words]]


def _effective(context: typer.Context, option: SettableOption, found: settings.Settings) -> _Effective:
    """Ask the parser itself, in a context of the option's command."""
    inner = context.find_root()
    for word in option.command:
        inner = type(inner)(inner.command.commands[word], parent=inner, info_name=word)  # type: ignore[attr-defined]
    value, source = option.option.consume_value(inner, {})
    _, file = found.values.get((option.command, option.parameter), (None, None))
    origins = {"ENVIRONMENT": option.variable, "DEFAULT_MAP": file}
    try:
        value = option.option.process_value(inner, value) if value is not None else None
    except typer.BadParameter as error:
        raise UsageError(f"{origins.get(source.name, option.name)}: {error.message}") from None
    return _Effective(
        command=" ".join(option.command),
        option=option.name,
        value=_plain(value),
        origin=origins.get(source.name) or "default",
        variable=option.variable,
    )


def _plain(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, enum.Enum):  # of an option that may be repeated
        return value.value
    return str(value) if isinstance(value, Path) else value


def _print(rows: list[_Effective], files: tuple[str, ...], with_origin: bool) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(highlight=False)
    for name in files:
        console.print(Text(f"read {name}", style="dim"))
    for command in dict.fromkeys(row.command for row in rows):
        console.print(Text(command, style="bold"))
        table = Table(box=None, show_header=False, pad_edge=True)
        for column in ("option", "value", "origin") if with_origin else ("option", "value"):
            table.add_column(column, overflow="fold")
        for row in rows:
            if row.command == command:
                cells = [row.option, _shown(row.value), *([row.origin] if with_origin else [])]
                table.add_row(*(Text(cell) for cell in cells))
        console.print(table)


def _shown(value: Any) -> str:
    if value is None:
        return "not set"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)
