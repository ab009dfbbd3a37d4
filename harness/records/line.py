"""An evaluation as a line of JSON, and back."""

from __future__ import annotations

import dataclasses
import enum
import functools
import json
from collections.abc import Callable
from typing import Any

from harness.codec import CodecError, Json, decode, encode
from harness.records.evaluation import Evaluation
from harness.records.migration import upgrade


def to_line(evaluation: Evaluation) -> str:
    """The record as one line of JSON, without its newline."""
    try:
        return _dumps(evaluation, default=_shallow)
    except ValueError:  # a NaN or an infinity in it: encode() has words for them
        return _dumps(encode(evaluation))


def from_line(line: str | bytes) -> Evaluation:
    """An evaluation of this schema or an older one. Raises: CodecError."""
    return decode(Evaluation, parse_line(line))


def parse_line(line: str | bytes) -> Json:
    """The data of an evaluation in today's schema, not yet checked. Raises: CodecError."""
    try:
        text = line if isinstance(line, str) else line.decode("utf-8", errors="replace")
        data = json.loads(text)
    except (ValueError, RecursionError) as error:  # ValueError: also numbers of too many digits
        raise CodecError(f"not JSON: {error}") from None
    return upgrade(data)


def _dumps(data: object, default: Callable[[object], Json] | None = None) -> str:
    return json.dumps(data, separators=(",", ":"), allow_nan=False, default=default)


def _shallow(value: Any) -> Json:
    """One level of encode(), for json's own encoder to go on from: three times as fast."""
    if isinstance(value, enum.Enum):
        return value.value
    kind: Any = type(value)
    names, facts = _field_names(kind), vars(value)
    return facts if len(facts) == len(names) else {name: facts[name] for name in names}  # else: cached properties, too


@functools.cache
def _field_names(cls: Any) -> tuple[str, ...]:
    return tuple(field.name for field in dataclasses.fields(cls))
