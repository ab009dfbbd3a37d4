"""`harness config`: which settings hold and where each comes from; the schemas of a workspace's YAML files, for
editors."""

from __future__ import annotations

import enum
import json as json_module
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from harness.cli import settings
from harness.cli.printing import print_json, print_report
from harness.cli.settings import DEFAULTS, Command, CommandPath, Options, SettableOption, keys_of, settable_options
from harness.errors import UsageError, refused
from harness.suggest import did_you_mean

config_app = typer.Typer(no_args_is_help=True, help="Which settings hold, and why; schemas for editors.")

FOLDER = Path(".harness", "schemas")
"""The folder in a workspace; the first line of each scaffolded YAML file points there."""


@config_app.command("show")
def show(
    context: typer.Context,
    command: Annotated[list[str] | None, typer.Argument(help="Only this command: run, or snapshot accept.")] = None,
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
        print_json({"files": found.files, "options": rows}, indent=2)
    else:
        _print(rows, found.files, origin)


@config_app.command("schema")
def schema(
    context: typer.Context,
    output: Annotated[Path | None, typer.Option("--output", help="Write one file per schema into this folder.")] = None,
) -> None:
    """Write JSON schemas of the YAML files, so that editors complete and check them.

    Without --output all of them go to stdout as one JSON object. Example: harness config schema --output schemas
    """
    texts = schema_texts(context.find_root().command)
    if output is None:
        print_json({name: json_module.loads(text) for name, text in texts.items()}, indent=2)
        return
    with refused(UsageError, f"can't write into {output}", "name another folder with --output"):
        output.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            (output / name).write_text(text, encoding="utf-8")
            typer.echo(f"wrote {output / name}")


def schema_texts(command_line: Command) -> dict[str, str]:
    """File names and their JSON, as `harness config schema` writes them."""
    from harness.gate import Policy
    from harness.model.config import Config
    from harness.workspace.problem import ProblemFile
    from harness.workspace.solution import SolutionFile

    files = {
        "problem": _file("problem.yaml of a harness workspace", _schema(ProblemFile)),
        "solution": _file("solution.yaml of a harness workspace", _schema(SolutionFile)),
        "config": _file("A file in configs/ of a harness workspace", _schema(Config)),
        "gate": _file("gate.yaml: what a gate demands", _schema(Policy)),
        "harness": _settings_schema(command_line),
    }
    return {f"{name}.schema.json": json_module.dumps(schema, indent=2) + "\n" for name, schema in files.items()}


def write_schemas(root: Path, command_line: Command) -> list[Path]:
    """Write those that a workspace lacks; returns what was written. Raises: UsageError."""
    written = []
    with refused(UsageError, f"can't write the schemas for editors into {root / FOLDER}"):
        for name, text in schema_texts(command_line).items():
            path = root / FOLDER / name
            if not path.exists():
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
                written.append(path)
    return written


def _wanted(options: Options, path: CommandPath) -> list[CommandPath]:
    """Commands that have options, below `path`."""
    found = [words for words in options if words[: len(path)] == path]
    if not found:
        valid = {" ".join(words) for words in options}
        raise UsageError(f"no command '{' '.join(path)}'.{did_you_mean(' '.join(path), valid)}")
    return [words for words in found if options[words]]


def _effective(context: typer.Context, option: SettableOption, found: settings.Settings) -> dict[str, Any]:
    """The value of an option where the command line says nothing: ask the parser itself, in a context of the option's
    command."""
    inner = context.find_root()
    for word in option.command:
        inner = type(inner)(inner.command.commands[word], parent=inner, info_name=word)  # type: ignore[attr-defined]
    value, source = option.option.consume_value(inner, {})
    _, file = found.values.get((option.command, option.parameter), (None, None))
    origins = {"ENVIRONMENT": option.variable, "DEFAULT_MAP": file}
    try:
        value = option.option.process_value(inner, value) if value is not None else None
    except typer.BadParameter as error:
        raise UsageError(f"{origins.get(source.name, option.name)}: {settings.in_plain_words(error)}") from None
    return {
        "command": " ".join(option.command),
        "option": option.name,
        "value": _plain(value),
        "origin": origins.get(source.name) or "default",
        "variable": option.variable,
    }


def _plain(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, enum.Enum):  # of an option that may be repeated
        return value.value
    return str(value) if isinstance(value, Path) else value


def _print(rows: list[dict[str, Any]], files: tuple[str, ...], with_origin: bool) -> None:
    from rich.console import Group, RenderableType
    from rich.table import Table
    from rich.text import Text

    parts: list[RenderableType] = [Text(f"read {name}", style="dim") for name in files]
    for command in dict.fromkeys(row["command"] for row in rows):
        parts.append(Text(command, style="bold"))
        table = Table(box=None, show_header=False, pad_edge=True)
        columns = ("option", "value", "origin") if with_origin else ("option", "value")
        for column in columns:
            table.add_column(column, overflow="fold")
        for row in rows:
            if row["command"] == command:
                table.add_row(*(Text(_shown(row[column])) for column in columns))
        parts.append(table)
    print_report(Group(*parts))


def _shown(value: Any) -> str:
    if value is None:
        return "not set"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)


def _file(title: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": title, **schema}


def _schema(kind: Any) -> dict[str, Any]:
    """Describe a type's values in YAML, by pydantic; leave out its titles, which only repeat the keys."""
    from pydantic import TypeAdapter
    from pydantic.json_schema import GenerateJsonSchema

    class Untitled(GenerateJsonSchema):
        def field_title_should_be_set(self, schema: Any) -> bool:
            return False

    found = TypeAdapter(kind).json_schema(schema_generator=Untitled)
    for part in (found, *found.get("$defs", {}).values()):
        part.pop("title", None)
    return found


def _settings_schema(command_line: Command) -> dict[str, Any]:
    """harness.yaml: a section per command, and `defaults` with every option."""
    top = _section(keys_of(settable_options(command_line)))
    top["properties"][DEFAULTS] |= {
        "description": "For every command that has the option; a command's own section is stronger."
    }
    return _file("harness.yaml: what the command line's options are set to", top)


def _section(keys: Mapping[str, Any]) -> dict[str, Any]:
    """Commands stand in their order, options by name."""
    ordered = sorted(keys.items(), key=lambda item: "" if isinstance(item[1], dict) else item[0])
    properties = {name: _section(one) if isinstance(one, dict) else _option_schema(one[-1]) for name, one in ordered}
    return {"type": "object", "additionalProperties": False, "properties": properties}


def _option_schema(option: SettableOption) -> dict[str, Any]:
    kind = {"type": "string"} if option.hint is Path else _schema(option.hint)
    limits = {"minimum": getattr(option.option, "min", None), "maximum": getattr(option.option, "max", None)}
    kind |= {name: limit for name, limit in limits.items() if limit is not None}
    schema = {"anyOf": [kind, {"type": "array", "items": kind}]} if option.is_list else kind
    return {**schema, "description": option.option.help or ""}
