"""Other values for constants, put into a module's source."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import Any

import pytest

from harness.workspace.constants import module_constants, with_constants


def run(source: str, values: Mapping[str, object]) -> dict[str, Any]:
    """The module's names after it ran with the values in place."""
    names: dict[str, Any] = {}
    exec(with_constants(source, values), names)
    return names


SHARED = "height = width = (\n    128  # pixels\n)\narea = height * width\n"


@pytest.mark.parametrize(
    ("source", "values", "found"),
    [
        ("height = 4\nwidth = height * 2\narea = height * width\n", {"height": 3}, {"width": 6, "area": 18}),
        ("n = (\n    5  # five\n)\nm = n + 1\n", {"n": 7}, {"m": 8}),
        ("kernel: int = 11\n", {"kernel": 3}, {}),
        ("a = 1; b = 22; c = 333\n", {"c": 6, "a": 1000, "b": 5}, {}),
        ("a = (1,\n     2); b = 3\nc = b\n", {"a": 0, "b": 9}, {"c": 9}),
        ("a, b = 1, 2\nc = a + b\n", {"b": 30}, {"a": 1, "c": 31}),
        (SHARED, {"height": 3}, {"area": 3 * 128}),
        (SHARED, {"width": 5, "height": 3}, {"area": 15}),
    ],
    ids=["derived", "brackets", "annotated", "one-line", "behind-several-lines", "tuple", "shared", "shared-both"],
)
def test_a_constant_is_replaced_and_what_is_derived_follows(
    source: str, values: dict[str, object], found: dict[str, object]
) -> None:
    assert {**found, **values}.items() <= run(source, values).items()


def test_the_rest_of_the_source_stays_as_it_is() -> None:
    source = "batch_size = 16  # images\n\ndef f():\n    batch_size = 1\n"
    changed = "batch_size = 16; batch_size = 2  # images\n\ndef f():\n    batch_size = 1\n"
    assert with_constants(source, {"batch_size": 2}) == changed


def test_no_values_change_nothing() -> None:
    source = "a = 1\r\nb = (2,\r\n 3)"
    assert with_constants(source, {}) == source


@pytest.mark.parametrize(
    ("source", "line"),
    [
        ("shape = (\n    1,\n    2,\n)\nraise_here = 1 / 0\n", 5),
        ("shape = (1,\n         2)\nraise_here = 1 / 0\n", 3),
        ("shape = (1,\n         2)  # rows, columns\nraise_here = 1 / 0\n", 3),
        ("shape = '''\n\n'''\nraise_here = 1 / 0\n", 4),
    ],
)
def test_lines_below_a_value_of_several_lines_keep_their_numbers(source: str, line: int) -> None:
    changed = with_constants(source, {"shape": (3, 4)})
    assert changed.splitlines()[line - 1] == "raise_here = 1 / 0"
    assert "shape = (3, 4)" in changed


def test_text_outside_ascii_shifts_nothing() -> None:
    source = "größe = 'äöü'; kernel = 11  # ×\n"
    assert with_constants(source, {"kernel": 3}) == "größe = 'äöü'; kernel = 11; kernel = 3  # ×\n"


@pytest.mark.parametrize("value", [True, None, -1, 2.5, float("-inf"), "o'clock\n", [1, [2]], {"k": (1,)}])
def test_a_plain_value_arrives_as_it_was_given(value: object) -> None:
    assert run("a = 1\n", {"a": value})["a"] == value


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(KeyError, match="hight"):
        with_constants("height = 4\n", {"hight": 3})


def test_constants_are_the_assignments_at_the_top_level() -> None:
    source = textwrap.dedent("""\
        import torch
        a = 1
        b: int = 2
        c: int
        d = e = 3
        f, g = 4, 5
        h += 1
        def i():
            j = 6
        class K:
            l = 7
        """)
    assert sorted(module_constants(source)) == ["a", "b", "d", "e", "f", "g"]


def test_a_name_that_is_assigned_twice_is_no_constant() -> None:
    """Replacing one of the two would leave what was derived from the other behind."""
    assert sorted(module_constants("n = 4\nm = 2 * n\nn = 8\n")) == ["m"]
