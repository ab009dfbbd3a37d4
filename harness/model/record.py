"""The form of all records: frozen, without unknown keys, in JSON with words for NaN and the infinities; and the hash by
which they name files."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from typing import Annotated, Any

from pydantic import ConfigDict, Field
from pydantic_core import PydanticSerializationError, to_json, to_jsonable_python

Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
NotNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]

RECORD = ConfigDict(extra="forbid", ser_json_inf_nan="constants")
"""The settings by which pydantic reads and writes a record."""

SETTINGS = ConfigDict(extra="forbid", ser_json_inf_nan="constants", use_attribute_docstrings=True)
"""A record that people also write, into a YAML file: what stands below its fields explains them to an editor."""


def as_json(record: object) -> dict[str, Any]:
    """Turn a record into plain data: objects for dataclasses, lists for tuples, 'NaN', 'Infinity' and '-Infinity' for
    what JSON lacks."""
    try:
        text: str | bytes = to_json(record, inf_nan_mode="constants")
    except PydanticSerializationError:  # half of a surrogate pair, for which UTF-8 has no bytes
        text = json.dumps(to_jsonable_python(record))
    data: dict[str, Any] = json.loads(text, parse_constant=str)
    return data


def hash_contents(contents: Iterable[tuple[str, bytes]]) -> str:
    """Return the SHA-256 over names and contents, in their order."""
    digest = hashlib.sha256()
    for name, content in contents:
        for piece in (name.encode(errors="surrogateescape"), content):
            digest.update(len(piece).to_bytes(8, "big") + piece)
    return digest.hexdigest()


def is_prose(name: str) -> bool:
    """Say whether a file of a solution's is a log or a description, which the solution itself never sees: what was
    measured can be written down there, and remains a measurement of the same solution."""
    return name.endswith(".md")
