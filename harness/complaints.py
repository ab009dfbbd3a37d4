"""Complaints of pydantic about data, in our words: the place, what stands there, and the nearest valid word."""

from __future__ import annotations

import dataclasses
import enum
import types
from collections.abc import Sequence
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from pydantic import ValidationError

from harness.suggest import did_you_mean

_NAMES = {str: "a text", int: "a whole number", float: "a number", bool: "true or false", list: "a list"}
_NAMES |= {dict: "a mapping", type(None): "nothing"}
"""Types as someone who writes a YAML file calls them."""

_EXPECTED = {
    "string_type": "a text",
    "int_type": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "tuple_type": "a list",
    "dict_type": "a mapping",
    "dataclass_type": "a mapping",
}
_UNKNOWN = "unexpected_keyword_argument"
_LIMITS = {
    "greater_than_equal": "at least {ge:g}",
    "greater_than": "above {gt:g}",
    "less_than_equal": "at most {le:g}",
    "less_than": "below {lt:g}",
    "finite_number": "finite",
}


_MOST = 20
_WORTH_READING = 10_000
"""The most faults that are looked at: pydantic takes 10 µs for each."""

Place = tuple[str | int, ...]
"""Keys and numbers of items that lead to a value."""


def complaint(error: ValidationError, kind: Any) -> str:
    """The gravest fault of data that should have been a `kind`: "unknown key 'blok'. Did you mean 'blocks'?"."""
    if error.error_count() > _WORTH_READING:
        return f"{error.error_count()} faults"
    return _words_of(max(error.errors(), key=_weight), kind)


def complaints(error: ValidationError, kind: Any) -> dict[Place, str]:
    """Every fault by its place, the gravest first; of very many, the first of these."""
    found: dict[Place, str] = {}
    misspelt: set[Place] = set()
    for fault in sorted(error.errors(), key=_weight, reverse=True)[:_MOST]:
        outer = tuple(_follow(kind, fault["loc"][:-1])[0])
        is_unknown, is_missing = fault["type"] == _UNKNOWN, fault["type"] == "missing"
        place = (*outer, fault["loc"][-1]) if is_unknown else tuple(_follow(kind, fault["loc"])[0])
        misspelt |= {outer} if is_unknown else set()
        is_told = any(known[: len(place)] == place for known in found)
        if not (is_missing and outer in misspelt) and (is_missing or not is_told):
            found[(*outer, fault["loc"][-1]) if is_missing else place] = _words_of(fault, kind)
    return found


def _weight(fault: Any) -> tuple[int, bool]:
    """The gravity: of a union's members the one that fits furthest counts; a misspelt key more than a missing one."""
    return len(fault["loc"]), fault["type"] == _UNKNOWN


def _words_of(fault: Any, kind: Any) -> str:
    what, given, context = fault["type"], fault["input"], fault.get("ctx", {})
    *outer, last = fault["loc"] or [""]
    if what == _UNKNOWN:
        place, found = _follow(kind, outer)
        return f"unknown key '{_joined([*place, last])}'.{did_you_mean(str(last), _keys(found))}"
    if what == "json_invalid":
        return "not JSON"
    if what == "missing":
        return _at(_follow(kind, outer)[0], f"key '{last}' is missing")
    place, found = _follow(kind, fault["loc"])
    if what == "value_error":
        return _at(place, str(context["error"]))
    if what in ("literal_error", "enum"):
        mappings = [f"a mapping with {' and '.join(keys)}" for kind in found if (keys := _keys([kind]))]
        return _at(place, f"{given!r} is none of its words.{did_you_mean(str(given), _words(found) + mappings)}")
    if what.startswith("date"):
        return _at(place, f"{given!r} is no date; write it as 2026-12-31")
    if what in _LIMITS:
        return _at(place, f"must be {_LIMITS[what].format(**context)}; not {given!r}")
    if what == "string_too_short":
        return _at(place, "must not be empty")
    if what in _EXPECTED:
        quotes = f"; '{given}' in quotes is one" if what == "string_type" and type(given) in (int, float) else ""
        return _at(place, f"{_NAMES.get(type(given), type(given).__name__)} where {_EXPECTED[what]} belongs{quotes}")
    return _at(place, fault["msg"])


def _at(place: Sequence[str | int], what: str) -> str:
    return f"{_joined(place)}: {what}" if place else what


def _joined(place: Sequence[str | int]) -> str:
    """Join a location into words such as 'checks[0].seed'."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in place).lstrip(".")


def _follow(kind: Any, location: Sequence[str | int]) -> tuple[list[str | int], list[Any]]:
    """The keys of a location, without the names of unions' members; and the types that a value there may have."""
    place: list[str | int] = []
    found = _members(kind)
    for part in location:
        below = [member for one in found for member in _below(one, part)]
        if below:
            place.append(part)
            found = below
    return place, found


def _below(kind: Any, part: str | int) -> list[Any]:
    if dataclasses.is_dataclass(kind):
        hints = get_type_hints(kind, include_extras=True)
        return _members(hints[part]) if part in _keys([kind]) else []
    if get_origin(kind) is dict and isinstance(part, str):
        return _members(get_args(kind)[1])
    if get_origin(kind) is tuple and isinstance(part, int):
        items = get_args(kind)
        return _members(items[0] if items[-1] is Ellipsis else items[part])
    return []


def _members(kind: Any) -> list[Any]:
    """A union's types, else the type alone."""
    if get_origin(kind) is Annotated:
        return _members(get_args(kind)[0])
    if get_origin(kind) in (Union, types.UnionType):
        return [member for one in get_args(kind) for member in _members(one)]
    return [kind]


def _keys(kinds: Sequence[Any]) -> list[str]:
    return [field.name for kind in kinds if dataclasses.is_dataclass(kind) for field in dataclasses.fields(kind)]


def _words(kinds: Sequence[Any]) -> list[str]:
    literals = [str(word) for kind in kinds if get_origin(kind) is Literal for word in get_args(kind)]
    enums = (kind for kind in kinds if isinstance(kind, type) and issubclass(kind, enum.Enum))
    return literals + [str(word.value) for kind in enums for word in kind]
