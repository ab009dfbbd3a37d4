"""Formulas of problem.yaml: arithmetic over constants, and nothing else."""

from __future__ import annotations

import pytest

from harness.workspace.constants import FormulaError, Operand, numeric_constants, value_of

CONSTANTS: dict[str, Operand] = {"rows": 6, "columns": 4, "ratio": 0.5, "kernel_size": (5, 7)}


@pytest.mark.parametrize(
    ("formula", "value"),
    [
        ("8", 8),
        ("4 * rows * columns", 96),
        ("-rows + +columns", -2),
        ("(rows + columns) // 3", 3),
        ("rows / columns", 1.5),
        ("rows % columns", 2),
        ("2 ** rows", 64),
        ("rows ** -1", 1 / 6),
        ("min(rows, columns, 9) + max(rows, columns)", 10),
        ("ceil(rows * ratio / 2)", 2),
        ("rows * log2(columns)", 12.0),
        ("kernel_size[0] * kernel_size[-1]", 35),
        ("\n  rows\n", 6),
    ],
)
def test_a_formula_gives_its_value(formula: str, value: float) -> None:
    assert value_of(formula, CONSTANTS) == value


@pytest.mark.parametrize(
    ("formula", "complaint"),
    [
        ("rws * 4", "problem.py has no number 'rws'. Did you mean 'rows'?"),
        ("rows *", "'rows *' is no formula (invalid syntax)"),
        ("", "'' is no formula (invalid syntax)"),
        ("rows; columns", "is no formula"),
        ("rows.__class__", "'rows.__class__' is more than + - * / // % **"),
        ("__import__('os').system('true')", "'__import__('os').system' is no function of formulas"),
        ("open('/etc/passwd')", "'open' is no function of formulas. Valid: ceil, log2, max, min."),
        ("mim(rows, 2)", "'mim' is no function of formulas. Did you mean 'min'?"),
        ("ceil(rows, 2)", "'ceil(rows, 2)': ceil takes one"),
        ("min(rows)", "'min(rows)': min takes two or more numbers"),
        ("min(*kernel_size, 1)", "'*kernel_size' is more than"),
        ("max(rows, columns, key=rows)", "max takes two or more numbers"),
        ("[x for x in kernel_size][0]", "is more than"),
        ("(lambda: 1)()", "is no function of formulas"),
        ("rows if rows else 1", "is more than"),
        ("rows < columns", "is more than"),
        ("'4'", "''4'' is more than"),
        ("True", "'True' is more than"),
        ("1j", "'1j' is more than"),
        ("kernel_size", "a tuple where a number belongs: name an element, as in kernel_size[0]"),
        ("kernel_size * 2", "'kernel_size' is a tuple: name an element, as in kernel_size[0]"),
        ("kernel_size[2]", "'kernel_size[2]' is no element of a tuple"),
        ("kernel_size[0:1]", "'0:1' is more than"),
        ("rows[0]", "'rows[0]' is no element of a tuple"),
        ("rows / (columns - 4)", "a division of 6 by zero"),
        ("log2(0)", "(0)"),
        ("9 ** 9 ** 9", "an exponent of 387420489; 64 at most"),
        ("((9 ** 40) ** 40) ** 40", "a value beyond any number of bytes or operations"),
        ("(-8) ** ratio", "a value beyond any number of bytes or operations"),
        ("1e999", "a value beyond any number of bytes or operations"),
        ("1" * 1001, "1001 characters; 1000 at most"),
        ("(" * 300 + ")" * 300, "is no formula"),
        ("-" * 60 + "1", "too deeply nested"),
    ],
)
def test_anything_else_is_refused(formula: str, complaint: str) -> None:
    with pytest.raises(FormulaError) as caught:
        value_of(formula, CONSTANTS)
    assert complaint in str(caught.value)


def test_constants_of_a_module_are_its_numbers() -> None:
    source = """\
import math
rows = 6
columns: int = rows * 2
kernel_size, name = (5, rows - 1), "tiled"
side = math.isqrt(64)
first = last
last = first
twice = 1
twice = 2
flag = True
area = max(kernel_size[0], rows) ** 2
"""
    assert numeric_constants(source) == {"rows": 6, "columns": 12, "kernel_size": (5, 5), "area": 36}
