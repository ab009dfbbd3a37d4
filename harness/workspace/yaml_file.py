"""YAML files into dataclasses; every complaint names file, key and the nearest valid word."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any, TypeVar

import yaml

from harness.errors import InvalidFile, refused
from harness.plain_file import LONGEST_TEXT, read_text

try:
    from yaml import CSafeLoader as _SafeLoader
except ImportError:  # PyYAML was built without libyaml: the same, ten times as slow
    from yaml import SafeLoader as _SafeLoader  # type: ignore[assignment]

T = TypeVar("T")

_BYTES_A_VALUE = 16
_DEEPEST = 50
_LONGEST_NUMBER = 100


class _Loader(_SafeLoader):
    """YAML 1.2's floats (PyYAML takes 1e-3, without a point, for a string); dates are texts, and so are keys, of which
    none stands twice."""

    def resolve(self, kind: type[yaml.Node], value: Any, implicit: Any) -> str:
        """Take what is too long for a number as text: 1:1:1… is a number to the base 60, and takes its time."""
        is_long = kind is yaml.ScalarNode and len(value) > _LONGEST_NUMBER
        tag = str(super().resolve(kind, value, (False, True) if is_long else implicit))  # type: ignore[no-untyped-call]
        return "tag:yaml.org,2002:str" if tag == "tag:yaml.org,2002:timestamp" else tag

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        times = Counter(str(key.value) for key, _ in node.value)
        if twice := sorted(name for name, count in times.items() if count > 1):
            raise ValueError(f"key '{twice[0]}' stands twice, in line {node.start_mark.line + 1} and below")
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
    return _validated(cls, *_mapping(text, source), source)


def read_mapping(path: Path) -> dict[str, Any]:
    """The file's mapping as it is written; an empty file gives an empty one. Raises: InvalidFile."""
    return _mapping(_text(path), str(path))[0]


def _text(path: Path) -> str:
    try:
        with refused(InvalidFile, f"{path}: can't be read"):
            return read_text(path)
    except UnicodeDecodeError as error:
        raise InvalidFile(f"{path}: not valid YAML: {error}") from None


def _mapping(text: str, source: str) -> tuple[dict[str, Any], yaml.Node | None]:
    """Return the data, and the nodes it was made of, which know their lines."""
    try:
        _require_modest(text)
        root: yaml.Node | None = yaml.compose(text, _Loader)
        data = None if root is None else _Loader("").construct_document(root)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f"{source}:{mark.line + 1}:{mark.column + 1}" if mark else source
        words = ", ".join(filter(None, (error.problem, error.context)))
        if mark and error.context_mark and error.context_mark.line < mark.line:  # such as of a bracket that stays open
            words += f" that begins in line {error.context_mark.line + 1}"
        raise InvalidFile(f"{place}: not valid YAML: {words}") from None
    except (yaml.YAMLError, ValueError) as error:
        raise InvalidFile(f"{source}: not valid YAML: {' '.join(str(error).split())}") from None
    if data is None:
        return {}, None
    if not isinstance(data, dict):
        raise InvalidFile(f"{source}: {type(data).__name__} where a mapping of keys belongs")
    return data, root


def _require_modest(text: str) -> None:
    """Refuse, before anything is made of it, what is too much with each alias counted as what it names, or nested too
    deep; and tags, whose values PyYAML doesn't check. Raises: ValueError, YAMLError."""
    if len(text) > LONGEST_TEXT:
        raise ValueError(f"{len(text)} characters, and {LONGEST_TEXT} are read at most; shorten it")
    size, named = 0, dict[str | None, int]()
    opened: list[tuple[str | None, int]] = []
    for event in yaml.parse(text, _Loader):
        size += _BYTES_A_VALUE
        line = event.start_mark.line + 1 if event.start_mark else 1
        if isinstance(event, yaml.AliasEvent):
            if event.anchor in dict(opened):
                raise ValueError(f"an alias stands within what it names, in line {line}")
            size += named.get(event.anchor, 0)
        elif isinstance(event, yaml.ScalarEvent):
            named[event.anchor] = len(event.value)
            size += len(event.value)
        elif isinstance(event, yaml.CollectionStartEvent):
            opened.append((event.anchor, size))
        elif isinstance(event, yaml.CollectionEndEvent):
            anchor, before = opened.pop()
            named[anchor] = size - before
        if tag := getattr(event, "tag", None):
            raise ValueError(f"{tag} in line {line}: a tag; leave it out, and quote what is a text")
        if len(opened) > _DEEPEST:
            raise ValueError(f"nested more than {_DEEPEST} deep, in line {line}")
        if size > LONGEST_TEXT:
            raise ValueError(f"too many values, in line {line}: shorten it, or name less by aliases")


def _validated(cls: type[T], data: dict[str, Any], root: yaml.Node | None, source: str) -> T:
    from pydantic import TypeAdapter, ValidationError  # settings files are read without it

    from harness.complaints import complaints

    try:
        return TypeAdapter(cls).validate_json(json.dumps(data), strict=True)
    except ValidationError as error:
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
