"""An evaluation as a line of JSON, and back: whole or in outline, of this schema or an older one."""

from __future__ import annotations

import contextlib
import json
import re
from dataclasses import field
from typing import Any, TypeVar

from pydantic import ConfigDict, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from harness.complaints import complaint
from harness.errors import bounded
from harness.model.build import CompiledBaseline, ExtensionBuild
from harness.model.ceilings import Ceilings
from harness.model.check import Check, DerivedTolerance
from harness.model.config import CorrectnessConfig
from harness.model.evaluation import SCHEMA, Evaluation, Failure, SolutionRef, Work
from harness.model.record import as_json, hash_contents, is_prose
from harness.model.timing import PeakMemory, Row, Timing, Turn
from harness.plain_file import parse_json

T = TypeVar("T")

_OURS = f'"schema":{SCHEMA}}}'.encode()
"""The end of a line that to_line() has written."""

_ALWAYS_FEW = 2**20
_MOST_VALUES = 1_000_000
_TEXT = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"?', re.DOTALL)

_OUTLINE = ConfigDict(extra="ignore")


class NoRecord(ValueError):
    """A line that holds no evaluation; says why."""

    def __init__(self, why: str) -> None:
        super().__init__(bounded(why))


@dataclass(frozen=True, config=_OUTLINE)
class _SolutionOutline(SolutionRef):
    explanation: str = field(default="", init=False)
    files: dict[str, str] = field(default_factory=dict, init=False)


@dataclass(frozen=True, config=_OUTLINE)
class _TurnOutline(Turn):
    tail_ns: tuple[int, ...] = field(default=(), init=False)
    launch_ns: tuple[int, ...] = field(default=(), init=False)


@dataclass(frozen=True, config=_OUTLINE)
class _TimingOutline(Timing):
    turns: tuple[_TurnOutline, ...]
    rows: tuple[Row, ...] = field(default=(), init=False)
    memory: tuple[PeakMemory, ...] = field(default=(), init=False)


@dataclass(frozen=True, config=_OUTLINE)
class Outline(Evaluation):
    """An evaluation whose checks, builds and texts nobody has looked at: a line with a fault there passes."""

    solution: _SolutionOutline
    timing: _TimingOutline | None = None
    failure: Failure | None = field(default=None, init=False)
    builds: tuple[ExtensionBuild, ...] = field(default=(), init=False)
    checks: tuple[Check, ...] = field(default=(), init=False)
    tolerances: tuple[DerivedTolerance, ...] = field(default=(), init=False)
    compiled: tuple[CompiledBaseline, ...] = field(default=(), init=False)
    work: Work | None = field(default=None, init=False)
    ceilings: Ceilings | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        """Demand nothing: what Evaluation demands holds for the whole record."""


_RECORD, _OUTLINED = TypeAdapter(Evaluation), TypeAdapter(Outline)


def to_line(evaluation: Evaluation) -> str:
    """The record as one line of JSON, without its newline."""
    data = as_json(evaluation)
    if evaluation.decided_by is None:  # as lines of this schema were before there was the key
        del data["decided_by"]
    if evaluation.config.correctness.cascade == CorrectnessConfig.cascade:
        del data["config"]["correctness"]["cascade"]
    return json.dumps(data, separators=(",", ":"), allow_nan=False)


def from_line(line: str | bytes) -> Evaluation:
    """An evaluation of this schema or an older one. Raises: NoRecord."""
    return _read_line(line, _RECORD)


def outline_from_line(line: str | bytes) -> Outline:
    """Read what the index needs of a line; the rest, which is most of it, never becomes an object. Raises: NoRecord."""
    return _read_line(line, _OUTLINED)


def _read_line(line: str | bytes, record: TypeAdapter[T]) -> T:
    data = line.encode(errors="replace") if isinstance(line, str) else line
    if len(data) > _ALWAYS_FEW and _TEXT.sub(b"", data).count(b",") > _MOST_VALUES:
        raise NoRecord(f"above {_MOST_VALUES} values: not a record of harness")  # each may be a fault to pydantic
    if data.rstrip().endswith(_OURS):
        try:
            return record.validate_json(data)
        except ValidationError:
            pass  # what pydantic's parser has no words for, Python's may read: half of a surrogate pair
    return _read_carefully(data, record)


def _read_carefully(line: bytes, record: TypeAdapter[T]) -> T:
    """Read a line of an older schema, or one that somebody else has written."""
    try:
        data = _upgraded(parse_json(line.decode(errors="replace")))
        return record.validate_json(json.dumps(data, ensure_ascii=False).encode(errors="replace"))
    except NoRecord:
        raise
    except ValidationError as error:
        raise NoRecord(complaint(error, Evaluation)) from None
    except (ValueError, RecursionError) as error:  # ValueError: also numbers of too many digits
        raise NoRecord(f"not JSON: {error}") from None


def _upgraded(data: Any) -> Any:
    """The data of an evaluation in today's schema, for pydantic to validate. Raises: NoRecord."""
    schema = data.get("schema") if isinstance(data, dict) else None
    if type(schema) is int and schema in (1, 2):
        return _from_2(_from_1(data) if schema == 1 else data)
    if schema != SCHEMA:
        newer = isinstance(schema, int) and schema > SCHEMA
        remedy = "update harness to read it" if newer else "not a record of harness"
        raise NoRecord(f"schema {schema!r}, {SCHEMA} is the newest known here: {remedy}")
    return data


def _from_1(data: dict[str, Any]) -> dict[str, Any]:
    """Upgrade schema 1, which asked for no precision and didn't say which cases were asked for; those that were judged
    or failed are known."""
    try:
        judged = [check["case"] for check in data.get("checks", [])]
        failed_in = (data.get("failure") or {}).get("case")
        cases = dict.fromkeys([*judged, *([failed_in] if failed_in else [])])
        config = {**data["config"], "timing": {"precision": None, **data["config"]["timing"]}}
    except (AttributeError, KeyError, TypeError) as error:
        raise NoRecord(f"a record of schema 1 whose config, checks or failure can't be read: {error!r}") from None
    return {**data, "schema": 2, "cases": list(cases), "config": config}


def _from_2(data: dict[str, Any]) -> dict[str, Any]:
    """Upgrade schema 2, in which a solution's prose had a part in its hash. The hash without it is known where the
    record has all files."""
    data = {**data, "schema": 3}
    with contextlib.suppress(AttributeError, KeyError, TypeError, UnicodeEncodeError):  # pydantic says what is wrong
        solution: dict[str, Any] = data["solution"]
        contents = [(name, text.encode()) for name, text in solution["files"].items()]
        if hash_contents(contents) == solution["sha256"]:
            judged = [(name, content) for name, content in contents if not is_prose(name)]
            data["solution"] = {**solution, "sha256": hash_contents(judged)}
    return data
