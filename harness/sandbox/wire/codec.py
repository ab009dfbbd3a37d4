"""The coding of messages, frozen dataclasses, to JSON and back, strictly: what doesn't fit its annotation is refused.

It does without pydantic, which a worker would need a quarter of a second to import.

Plain Python values (init inputs, non-tensor inputs) have a form of their own, in which tuples stay tuples and torch's
dtypes go by name: encode_value() and decode_value().
"""

from __future__ import annotations

import dataclasses
import functools
import math
import types
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

Json = Any  # JSON's own recursive type; checked at run time by decode()
T = TypeVar("T")

_NAMES: dict[Any, str] = {
    str: "a text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    list: "a list",
    dict: "a mapping",
    type(None): "nothing",
}


class CodecError(ValueError):
    """Data that doesn't fit the type it should have; names the place."""


def encode(value: object) -> Json:
    """The JSON form of a record: dataclasses become objects, tuples become arrays."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: encode(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, (list, tuple)):
        return [encode(item) for item in value]
    if isinstance(value, dict):
        return {str(key): encode(item) for key, item in value.items()}
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise CodecError(f"{type(value).__name__} has no JSON form")


def decode(cls: type[T], data: Json) -> T:
    """Build a `cls` from JSON data.

    Raises:
        CodecError: a key is missing or unknown, or a value has the wrong type; or the class's own
            validation refused the combination.
    """
    result: T = _decode(cls, data, cls.__name__)
    return result


@functools.cache
def _fields(cls: type) -> dict[str, tuple[Any, bool]]:
    """The annotation of each field, and whether it must be there."""
    hints, missing = get_type_hints(cls), dataclasses.MISSING
    return {
        field.name: (hints[field.name], field.default is missing and field.default_factory is missing)
        for field in dataclasses.fields(cls)
    }


def _decode(hint: Any, data: Json, where: str) -> Any:
    if hint is Any:
        return data
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return _decode_dataclass(hint, data, where)
    origin = get_origin(hint)
    if origin in (Union, types.UnionType):
        return _decode_optional(hint, data, where)
    if origin is Literal:
        if data not in get_args(hint):
            raise CodecError(f"{where}: {data!r} is none of its words")
        return data
    if origin is tuple:
        return _decode_tuple(get_args(hint), data, where)
    if origin is dict:
        item = get_args(hint)[1]
        return {
            _readable(_expect(str, key, f"{where}.{key}")): _decode(item, value, f"{where}.{key}")
            for key, value in _expect(dict, data, where).items()
        }
    return _decode_scalar(hint, data, where)


def _decode_dataclass(cls: Any, data: Json, where: str) -> Any:
    _expect(dict, data, where)
    fields = _fields(cls)
    if unknown := set(data) - set(fields):
        raise CodecError(f"{where}: unknown key {sorted(unknown)[0]!r}")
    values = {}
    for name, (hint, is_required) in fields.items():
        if name in data:
            value = data[name]
            is_scalar = hint is type(value) and hint in (int, bool, float)
            values[name] = value if is_scalar else _decode(hint, value, f"{where}.{name}")
        elif is_required:
            raise CodecError(f"{where}: key {name!r} is missing")
    try:
        return cls(**values)
    except ValueError as error:
        raise CodecError(f"{where}: {error}") from error


def _decode_optional(hint: Any, data: Json, where: str) -> Any:
    if data is None and type(None) in get_args(hint):
        return None
    choices = [arg for arg in get_args(hint) if arg is not type(None)]
    for choice in choices[:-1]:
        try:
            return _decode(choice, data, where)
        except CodecError:
            continue
    return _decode(choices[-1], data, where)


def _decode_tuple(args: tuple[Any, ...], data: Json, where: str) -> tuple[Any, ...]:
    items = _expect(list, data, where)
    if len(args) == 2 and args[1] is Ellipsis:
        if args[0] is int and all(type(item) is int for item in items):  # thousands of samples in a record
            return tuple(items)
        return tuple(_decode(args[0], item, f"{where}[{i}]") for i, item in enumerate(items))
    if len(items) != len(args):
        raise CodecError(f"{where}: {len(items)} items where {len(args)} belong")
    return tuple(_decode(arg, item, f"{where}[{i}]") for i, (arg, item) in enumerate(zip(args, items, strict=True)))


def _decode_scalar(hint: Any, data: Json, where: str) -> Any:
    if hint is float:
        if isinstance(data, (int, float)) and not isinstance(data, bool):
            try:
                return float(data)
            except OverflowError:
                raise CodecError(f"{where}: a number too large for a float") from None
    elif hint is int:
        if isinstance(data, int) and not isinstance(data, bool):
            return data
    elif hint is str and isinstance(data, str):
        return _readable(data)
    elif isinstance(data, hint):
        return data
    raise CodecError(f"{where}: {_named(type(data))} where {_named(hint)} belongs")


def _readable(text: str) -> str:
    """Replace halves of surrogate pairs, which JSON can carry and no record can keep."""
    return text if text.isascii() else text.encode(errors="replace").decode()


def _expect(kind: type, data: Json, where: str) -> Any:
    if not isinstance(data, kind):
        raise CodecError(f"{where}: {_named(type(data))} where {_named(kind)} belongs")
    return data


def _named(kind: Any) -> str:
    """Name a type in words."""
    return _NAMES[kind] if kind in _NAMES else str(getattr(kind, "__name__", kind))


Value = Any  # None, bool, int, float, str, list, tuple, dict[str, Value]
Encoded = Any  # JSON


class NotPlain(TypeError):
    """A value that is not made of plain Python types."""


def encode_value(value: Value) -> Encoded:
    """Encode a plain value as JSON. Raises: NotPlain."""
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": repr(value)}
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, list):
        return [encode_value(item) for item in value]
    if isinstance(value, tuple):
        return {"tuple": [encode_value(item) for item in value]}
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {"dict": {key: encode_value(item) for key, item in value.items()}}
    if type(value).__module__ == "torch" and type(value).__name__ == "dtype":
        return {"dtype": str(value).removeprefix("torch.")}
    raise NotPlain(f"{type(value).__module__}.{type(value).__qualname__}")


def decode_value(data: Encoded) -> Value:
    if isinstance(data, list):
        return [decode_value(item) for item in data]
    if isinstance(data, dict):
        ((kind, content),) = data.items()
        if kind == "float":
            return float(content)
        if kind == "dtype":
            import torch  # only who sends dtypes needs it

            return getattr(torch, content)
        if kind == "tuple":
            return tuple(decode_value(item) for item in content)
        return {key: decode_value(item) for key, item in content.items()}
    return data
