"""Plain Python values (init inputs, non-tensor inputs) as JSON; tuples stay tuples, torch's dtypes go by name."""

from __future__ import annotations

import math
from typing import Any

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
