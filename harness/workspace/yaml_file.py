"""YAML files into dataclasses; every complaint names file, key and the nearest valid word."""

from __future__ import annotations

import dataclasses
import re
import types
from pathlib import Path
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

import yaml

from harness.codec import CodecError, decode
from harness.errors import InvalidFile
from harness.suggest import did_you_mean

T = TypeVar("T")


class _Loader(yaml.SafeLoader):
    """YAML 1.2's floats (PyYAML takes 1e-3, without a point, for a string), and no key twice."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        names = [key.value for key, _ in node.value]
        if twice := {str(name) for name in names if names.count(name) > 1}:
            raise ValueError(f"key '{sorted(twice)[0]}' stands twice, in line {node.start_mark.line + 1} and below")
        return super().construct_mapping(node, deep)


_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(r"^[-+]?(\d+\.?\d*|\.\d+)[eE][-+]?\d+$"), list("-+.0123456789")
)


def read_yaml(cls: type[T], path: Path) -> T:
    """The file's mapping as a `cls`; an empty file gives the defaults.

    Raises:
        InvalidFile: broken YAML, an unknown key, a value of the wrong type.
    """
    return _decoded(cls, read_mapping(path), str(path))


def parse_yaml(cls: type[T], text: str, source: str) -> T:
    """As read_yaml(), of a text; `source` is what complaints call it."""
    return _decoded(cls, _mapping(text, source), source)


def read_mapping(path: Path) -> dict[str, Any]:
    """The file's mapping as it is written; an empty file gives an empty one. Raises: InvalidFile."""
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise InvalidFile(f"{path}: not valid YAML: {error}") from None
    except OSError as error:
        raise InvalidFile(f"{path}: can't be read: {error.strerror}") from None
    return _mapping(text, str(path))


def _mapping(text: str, source: str) -> dict[str, Any]:
    try:
        data = yaml.load(text, _Loader)
    except (yaml.YAMLError, ValueError, RecursionError) as error:  # ValueError: also a date of month 13
        words = str(error).replace('in "<unicode string>", ', "in ")
        raise InvalidFile(f"{source}: not valid YAML: {' '.join(words.split())}") from None
    if data is None:
        return {}
    if not isinstance(data, dict):
        raise InvalidFile(f"{source}: {type(data).__name__} where a mapping of keys belongs")
    return data


def _decoded(cls: type[T], data: dict[str, Any], source: str) -> T:
    _refuse_unknown_keys(cls, data, source, "")
    try:
        return decode(cls, data, where="file")
    except CodecError as error:
        raise InvalidFile(f"{source}: {str(error).removeprefix('file').lstrip('.: ')}") from None


def _refuse_unknown_keys(cls: Any, data: Any, source: str, prefix: str) -> None:
    if not isinstance(data, dict):
        return
    if get_origin(cls) in (Union, types.UnionType):
        cls = next((arg for arg in get_args(cls) if dataclasses.is_dataclass(arg)), None)
    if get_origin(cls) is dict:
        for key, value in data.items():
            _refuse_unknown_keys(get_args(cls)[1], value, source, f"{prefix}{key}.")
    if not dataclasses.is_dataclass(cls):
        return
    valid = {field.name for field in dataclasses.fields(cls)}
    hints = get_type_hints(cls)
    for key, value in data.items():
        if key not in valid:
            raise InvalidFile(f"{source}: unknown key '{prefix}{key}'.{did_you_mean(str(key), valid)}")
        _refuse_unknown_keys(hints[key], value, source, f"{prefix}{key}.")
