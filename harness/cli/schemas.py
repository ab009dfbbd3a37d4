"""The schemas of the YAML files of a workspace, and where they lie in it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from harness.cli.settings import DEFAULTS
from harness.cli.tree import Command, SettableOption, settable_options
from harness.errors import UsageError

FOLDER = Path(".harness", "schemas")
"""The folder in a workspace; the first line of each scaffolded YAML file points there."""


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
    return {f"{name}.schema.json": json.dumps(schema, indent=2) + "\n" for name, schema in files.items()}


def write_schemas(root: Path, command_line: Command) -> list[Path]:
    """Write those that a workspace lacks; returns what was written. Raises: UsageError."""
    written = []
    try:
        for name, text in schema_texts(command_line).items():
            path = root / FOLDER / name
            if not path.exists():
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
                written.append(path)
    except OSError as error:
        raise UsageError(f"can't write the schemas for editors into {root / FOLDER}: {error.strerror}") from None
    return written


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
    options = settable_options(command_line)
    top = _section()
    every = {name: option for of_command in options.values() for name, option in of_command.items()}
    top["properties"][DEFAULTS] = _section(every) | {
        "description": "For every command that has the option; a command's own section is stronger."
    }
    for path, of_command in options.items():
        section = top
        for word in path:
            section = section["properties"].setdefault(word, _section())
        section["properties"].update(_section(of_command)["properties"])
    return _file("harness.yaml: what the command line's options are set to", top)


def _section(options: Mapping[str, SettableOption] | None = None) -> dict[str, Any]:
    properties = {name: _option_schema(option) for name, option in sorted((options or {}).items())}
    return {"type": "object", "additionalProperties": False, "properties": properties}


def _option_schema(option: SettableOption) -> dict[str, Any]:
    kind = {"type": "string"} if option.hint is Path else _schema(option.hint)
    limits = {"minimum": getattr(option.option, "min", None), "maximum": getattr(option.option, "max", None)}
    kind |= {name: limit for name, limit in limits.items() if limit is not None}
    schema = {"anyOf": [kind, {"type": "array", "items": kind}]} if option.is_list else kind
    return {**schema, "description": option.option.help or ""}
