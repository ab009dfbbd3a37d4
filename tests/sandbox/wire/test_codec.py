"""Dataclasses to JSON and back: what doesn't fit its annotation is refused."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Literal

import pytest

from harness.sandbox.wire.codec import CodecError, decode, encode


@dataclass(frozen=True)
class Point:
    x: int
    y: float = 0.5


@dataclass(frozen=True)
class Shape:
    name: str
    closed: bool
    kind: Literal["line", "area"]
    points: tuple[Point, ...]
    size: tuple[int, float]
    weights: dict[str, float]
    label: str | None = None
    extra: Any = None
    limit: Point | bool | None = None


@dataclass(frozen=True)
class Positive:
    value: float

    def __post_init__(self) -> None:
        if self.value <= 0:
            raise ValueError("a value is positive")


@dataclass(frozen=True)
class Holder:
    inner: Positive


SHAPE = Shape(
    "hull",
    True,
    "area",
    (Point(1, 2.5), Point(-3)),
    (4, 1.5),
    {"a": 0.25},
    "x",
    [1, {"k": None}],
    Point(9),
)
JSON = {
    "name": "hull",
    "closed": True,
    "kind": "area",
    "points": [{"x": 1, "y": 2.5}, {"x": -3, "y": 0.5}],
    "size": [4, 1.5],
    "weights": {"a": 0.25},
    "label": "x",
    "extra": [1, {"k": None}],
    "limit": {"x": 9, "y": 0.5},
}


def test_a_record_becomes_plain_json() -> None:
    assert encode(SHAPE) == JSON


def test_a_record_comes_back_as_it_was() -> None:
    assert decode(Shape, json.loads(json.dumps(encode(SHAPE)))) == SHAPE


def test_missing_keys_take_their_defaults() -> None:
    assert decode(Point, {"x": 3}) == Point(3, 0.5)


def test_an_integer_serves_as_a_float() -> None:
    y = decode(Point, {"x": 1, "y": 2}).y
    assert (y, type(y)) == (2.0, float)


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"nam": "hull"}, r"Shape: unknown key 'nam'"),
        ({"name": 3}, r"Shape\.name: a whole number where a text belongs"),
        ({"closed": 1}, r"Shape\.closed: a whole number where true or false belongs"),
        ({"kind": "volume"}, r"Shape\.kind: 'volume' is none of its words"),
        ({"points": {"x": 1}}, r"Shape\.points: a mapping where a list belongs"),
        ({"points": [{"x": 1}, {"x": True}]}, r"Shape\.points\[1\]\.x: true or false where a whole number belongs"),
        ({"points": [{"x": 1.0}]}, r"Shape\.points\[0\]\.x: a number where a whole number belongs"),
        ({"points": [{"x": 1, "y": False}]}, r"Shape\.points\[0\]\.y: true or false where a number belongs"),
        ({"points": [{"x": 1, "y": "NaN"}]}, r"Shape\.points\[0\]\.y: a text where a number belongs"),
        ({"points": [{"y": 1.0}]}, r"Shape\.points\[0\]: key 'x' is missing"),
        ({"points": [[1, 2.5]]}, r"Shape\.points\[0\]: a list where a mapping belongs"),
        ({"size": [4]}, r"Shape\.size: 1 items where 2 belong"),
        ({"size": [4, None]}, r"Shape\.size\[1\]: nothing where a number belongs"),
        ({"weights": {"a": "b"}}, r"Shape\.weights\.a: a text where a number belongs"),
        ({"weights": []}, r"Shape\.weights: a list where a mapping belongs"),
        ({"label": 5}, r"Shape\.label: a whole number where a text belongs"),
        ({"limit": "all"}, r"Shape\.limit: "),
        ({"name": None}, r"Shape\.name: nothing where a text belongs"),
    ],
)
def test_what_does_not_fit_is_refused_with_its_place(changes: dict[str, Any], complaint: str) -> None:
    with pytest.raises(CodecError, match=f"^{complaint}"):
        decode(Shape, {**JSON, **changes})


def test_a_missing_key_is_named() -> None:
    with pytest.raises(CodecError, match=r"^Shape: .*'kind' is missing"):
        decode(Shape, {key: value for key, value in JSON.items() if key != "kind"})


@pytest.mark.parametrize(("data", "value"), [(None, None), (True, True), ({"x": 2, "y": 1.0}, Point(2, 1.0))])
def test_a_union_takes_any_of_its_members(data: Any, value: Any) -> None:
    assert decode(Shape, {**JSON, "limit": data}).limit == value


def test_the_class_s_own_refusal_names_the_place() -> None:
    with pytest.raises(CodecError, match=r"^Holder\.inner: .*positive"):
        decode(Holder, {"inner": {"value": -1.0}})


def test_what_has_no_json_form_is_refused() -> None:
    with pytest.raises(CodecError, match=r"^bytes .*JSON"):
        encode(Shape(**{**SHAPE.__dict__, "extra": b"raw"}))


def test_an_integer_too_large_for_a_float_is_refused() -> None:
    with pytest.raises(CodecError, match=r"^Point\.y"):
        decode(Point, {"x": 1, "y": 10**400})


def test_a_key_that_is_no_string_is_refused() -> None:
    with pytest.raises(CodecError, match=r"^Shape\.weights"):
        decode(Shape, {**JSON, "weights": {1: 0.25}})
