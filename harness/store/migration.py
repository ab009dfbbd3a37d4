"""Older journals: a line of a former schema becomes one of today's."""

from __future__ import annotations

import contextlib
from typing import Any

from harness.model.evaluation import SCHEMA
from harness.model.record import hash_contents, is_prose


class UnknownSchema(ValueError):
    """A record of a newer harness, or none at all; says what to do."""


def upgrade(data: Any) -> Any:
    """The data of an evaluation in today's schema, for pydantic to validate. Raises: UnknownSchema."""
    schema = data.get("schema") if isinstance(data, dict) else None
    if type(schema) is int and schema in (1, 2):
        return _from_2(_from_1(data) if schema == 1 else data)
    if schema != SCHEMA:
        newer = isinstance(schema, int) and schema > SCHEMA
        remedy = "update harness to read it" if newer else "not a record of harness"
        raise UnknownSchema(f"schema {schema!r}, {SCHEMA} is the newest known here: {remedy}")
    return data


def _from_1(data: dict[str, Any]) -> dict[str, Any]:
    """1 didn't say which cases were asked for; those that were judged or failed are known."""
    try:
        judged = [check["case"] for check in data.get("checks", [])]
        failed_in = (data.get("failure") or {}).get("case")
        cases = dict.fromkeys([*judged, *([failed_in] if failed_in else [])])
    except (AttributeError, KeyError, TypeError) as error:
        raise UnknownSchema(f"a record of schema 1 whose checks or failure can't be read: {error!r}") from None
    return {**data, "schema": 2, "cases": list(cases)}


def _from_2(data: dict[str, Any]) -> dict[str, Any]:
    """In 2 a solution's prose had a part in its hash. What it is without is known where the record has all files."""
    data = {**data, "schema": 3}
    with contextlib.suppress(AttributeError, KeyError, TypeError, UnicodeEncodeError):  # pydantic says what is wrong
        solution: dict[str, Any] = data["solution"]
        contents = [(name, text.encode()) for name, text in solution["files"].items()]
        if hash_contents(contents) == solution["sha256"]:
            judged = [(name, content) for name, content in contents if not is_prose(name)]
            data["solution"] = {**solution, "sha256": hash_contents(judged)}
    return data
