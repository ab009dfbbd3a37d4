"""An evaluation as a line of JSON, and back."""

from __future__ import annotations

import json
from typing import TypeVar

from pydantic import TypeAdapter, ValidationError

from harness.complaints import complaint
from harness.model.evaluation import SCHEMA, Evaluation
from harness.model.record import as_json
from harness.store.migration import UnknownSchema, upgrade

T = TypeVar("T")

_RECORD = TypeAdapter(Evaluation)
_OURS = f'"schema":{SCHEMA}}}'.encode()
"""How a line ends that to_line() has written."""


class NoRecord(ValueError):
    """A line that holds no evaluation; says why."""


def to_line(evaluation: Evaluation) -> str:
    """The record as one line of JSON, without its newline."""
    return json.dumps(as_json(evaluation), separators=(",", ":"), allow_nan=False)


def from_line(line: str | bytes) -> Evaluation:
    """An evaluation of this schema or an older one. Raises: NoRecord."""
    return read_line(line, _RECORD)


def read_line(line: str | bytes, record: TypeAdapter[T]) -> T:
    """A line as another type than Evaluation, which needs less of it. Raises: NoRecord."""
    data = line.encode(errors="replace") if isinstance(line, str) else line
    if data.rstrip().endswith(_OURS):
        try:
            return record.validate_json(data)
        except ValidationError:
            pass  # what pydantic's parser has no words for, Python's may read: half of a surrogate pair
    return _read_carefully(data, record)


def _read_carefully(line: bytes, record: TypeAdapter[T]) -> T:
    """A line of an older schema, or one that somebody else has written."""
    try:
        data = upgrade(json.loads(line.decode(errors="replace")))
        return record.validate_json(json.dumps(data, ensure_ascii=False).encode(errors="replace"))
    except UnknownSchema as error:
        raise NoRecord(str(error)) from None
    except ValidationError as error:
        raise NoRecord(complaint(error, Evaluation)) from None
    except (ValueError, RecursionError) as error:  # ValueError: also numbers of too many digits
        raise NoRecord(f"not JSON: {error}") from None
