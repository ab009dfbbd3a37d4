"""YAML files into dataclasses; every complaint names file, key and the nearest valid word."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any, TypeVar, get_type_hints

import yaml

from harness.codec import CodecError, decode
from harness.errors import InvalidFile
from harness.workspace.suggest import did_you_mean

T = TypeVar("T")


def read_yaml(cls: type[T], path: Path) -> T:
    """The file's mapping as a `cls`; an empty file gives the defaults.

    Raises:
        InvalidFile: broken YAML, an unknown key, a value of the wrong type.
    """
    data = _read_mapping(path)
    _refuse_unknown_keys(cls, data, path, "")
    try:
        return decode(cls, data, where=path.name)
    except CodecError as error:
        raise InvalidFile(f"{path}: {error}") from None


def _read_mapping(path: Path) -> dict[str, Any]:
    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise InvalidFile(f"{path}: not valid YAML: {' '.join(str(error).split())}") from None
    except OSError as error:
        raise InvalidFile(f"{path}: can't be read: {error.strerror}") from None
    if data is None:
        return {}
    if not isinstance(data, dict):
        raise InvalidFile(f"{path}: {type(data).__name__} where a mapping of keys belongs")
    return data


def _refuse_unknown_keys(cls: Any, data: Any, path: Path, prefix: str) -> None:
    if not (dataclasses.is_dataclass(cls) and isinstance(data, dict)):
        return
    valid = {field.name for field in dataclasses.fields(cls)}
    hints = get_type_hints(cls)
    for key, value in data.items():
        if key not in valid:
            raise InvalidFile(f"{path}: unknown key '{prefix}{key}'.{did_you_mean(str(key), valid)}")
        _refuse_unknown_keys(hints[key], value, path, f"{prefix}{key}.")
