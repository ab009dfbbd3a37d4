"""JSON Schema of a dataclass, so that an editor completes and checks the YAML file that it describes."""

from __future__ import annotations

import ast
import dataclasses
import datetime
import enum
import inspect
import types
from collections.abc import Mapping
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from harness.codec import CodecError, encode

_SCALARS = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}


def file_schema(cls: type, title: str, descriptions: Mapping[str, str]) -> dict[str, Any]:
    """The schema of a whole file, for JSON Schema 2020-12.

    `descriptions`, by 'Class.field', explain what the class itself doesn't: a string below a field comes first.
    """
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": title,
        **type_schema(cls, descriptions),
    }


def type_schema(hint: Any, descriptions: Mapping[str, str] | None = None) -> dict[str, Any]:
    """What a value of a type looks like in YAML. Raises: TypeError for a type that no file of ours has."""
    described = descriptions or {}
    origin, arguments = get_origin(hint), get_args(hint)
    if hint is Any:
        return {}
    if hint in _SCALARS:
        return {"type": _SCALARS[hint]}
    if hint is datetime.date:
        return {"type": "string", "format": "date"}
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return _object_schema(hint, described)
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return {"enum": [member.value for member in hint]}
    if origin is Literal:
        return {"enum": list(arguments)}
    if origin in (Union, types.UnionType):
        return {"anyOf": [type_schema(argument, described) for argument in arguments]}
    if origin is list or (origin is tuple and arguments[1:] == (...,)):
        return {"type": "array", "items": type_schema(arguments[0], described)}
    if origin is dict:
        return {"type": "object", "additionalProperties": type_schema(arguments[1], described)}
    raise TypeError(f"{hint} has no schema")


def _object_schema(cls: Any, descriptions: Mapping[str, str]) -> dict[str, Any]:
    hints, documented = get_type_hints(cls), _documented(cls)
    properties, required = {}, []
    for field in dataclasses.fields(cls):
        schema = type_schema(hints[field.name], descriptions)
        if text := documented.get(field.name) or descriptions.get(f"{cls.__name__}.{field.name}"):
            schema["description"] = text
        if field.default is not dataclasses.MISSING:
            schema |= _default(field.default)
        elif field.default_factory is dataclasses.MISSING:
            required.append(field.name)
        properties[field.name] = schema
    schema = {"type": "object", "additionalProperties": False, "properties": properties}
    return {**schema, "required": required} if required else schema


def _default(value: object) -> dict[str, Any]:
    """None and what is empty say nothing that an editor should write down."""
    try:
        written = encode(value)
    except CodecError:
        return {}
    return {} if written in (None, "", [], {}) else {"default": written}


def _documented(cls: type) -> dict[str, str]:
    """The strings that stand below fields in the source of a class."""
    (definition,) = ast.parse(inspect.cleandoc(inspect.getsource(cls))).body
    assert isinstance(definition, ast.ClassDef)
    found = {}
    for field, below in zip(definition.body, definition.body[1:], strict=False):
        if (
            isinstance(field, ast.AnnAssign)
            and isinstance(field.target, ast.Name)
            and isinstance(below, ast.Expr)
            and isinstance(below.value, ast.Constant)
            and isinstance(below.value.value, str)
        ):
            found[field.target.id] = " ".join(below.value.value.split())
    return found
