"""YAML files into dataclasses; every complaint names file, key and the nearest valid word."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, TypeVar

import yaml

from harness.errors import InvalidFile

T = TypeVar("T")


class _Loader(yaml.SafeLoader):
    """YAML 1.2's floats (PyYAML takes 1e-3, without a point, for a string); keys are texts, and none stands twice."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        names = [key.value for key, _ in node.value]
        if twice := {str(name) for name in names if names.count(name) > 1}:
            raise ValueError(f"key '{sorted(twice)[0]}' stands twice, in line {node.start_mark.line + 1} and below")
        found = super().construct_mapping(node, deep)
        if other := [key for key in found if not isinstance(key, str)]:
            raise ValueError(f"key {other[0]!r} in line {node.start_mark.line + 1} or below is no text: quote it")
        return found


_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(r"^[-+]?(\d+\.?\d*|\.\d+)[eE][-+]?\d+$"), list("-+.0123456789")
)


def read_yaml(cls: type[T], path: Path) -> T:
    """The file's mapping as a `cls`; an empty file gives the defaults.

    Raises:
        InvalidFile: broken YAML, an unknown key, a value of the wrong type.
    """
    return parse_yaml(cls, _text(path), str(path))


def parse_yaml(cls: type[T], text: str, source: str) -> T:
    """Parse a text like read_yaml(); `source` is what complaints call it."""
    return _validated(cls, _mapping(text, source), text, source)


def read_mapping(path: Path) -> dict[str, Any]:
    """The file's mapping as it is written; an empty file gives an empty one. Raises: InvalidFile."""
    return _mapping(_text(path), str(path))


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise InvalidFile(f"{path}: not valid YAML: {error}") from None
    except OSError as error:
        raise InvalidFile(f"{path}: can't be read: {error.strerror}") from None


def _mapping(text: str, source: str) -> dict[str, Any]:
    try:
        data = yaml.load(text, _Loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f"{source}:{mark.line + 1}:{mark.column + 1}" if mark else source
        words = ", ".join(filter(None, (error.problem, error.context)))
        raise InvalidFile(f"{place}: not valid YAML: {words}") from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:  # ValueError: also a date of month 13
        raise InvalidFile(f"{source}: not valid YAML: {' '.join(str(error).split())}") from None
    if data is None:
        return {}
    if not isinstance(data, dict):
        raise InvalidFile(f"{source}: {type(data).__name__} where a mapping of keys belongs")
    return data


def _validated(cls: type[T], data: dict[str, Any], text: str, source: str) -> T:
    from pydantic import TypeAdapter, ValidationError  # settings files are read without it

    from harness.complaints import complaints

    try:
        plain = json.dumps(data, default=str)  # str: dates
    except ValueError:
        raise InvalidFile(f"{source}: not valid YAML: an alias stands within what it names") from None
    try:
        return TypeAdapter(cls).validate_json(plain, strict=True)
    except ValidationError as error:
        root = yaml.compose(text, _Loader)
        found = complaints(error, cls).items()
        raise InvalidFile(*(f"{source}:{_line_of(place, root)}: {words}" for place, words in found)) from None


def _line_of(place: tuple[str | int, ...], node: yaml.Node | None) -> int:
    """The line of a value's key, or of the nearest that there is above it."""
    line = 1
    for part in place:
        below: list[tuple[Any, yaml.Node]] = []
        if isinstance(node, yaml.MappingNode):
            below = [(value, key) for key, value in node.value if key.value == part]
        elif isinstance(node, yaml.SequenceNode) and isinstance(part, int):
            below = [(one, one) for one in node.value[part : part + 1]]
        if not below:
            break
        node, shown = below[-1]
        line = shown.start_mark.line + 1
    return line
