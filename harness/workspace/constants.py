"""A problem's constants: other values for them, put into its source text so that derived constants follow.

And arithmetic over them: what problem.yaml says that a call can't do without. Both are read, never executed.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Iterator, Mapping
from typing import Literal, TypeAlias

from pydantic.dataclasses import dataclass

from harness.model.record import SETTINGS
from harness.python_text import parse, parse_expression
from harness.suggest import did_you_mean

Number: TypeAlias = "int | float"
Operand: TypeAlias = "Number | tuple[Number, ...]"

Amount = Literal["bytes", "operations"]

_LEAST: dict[Amount, int] = {"bytes": 1, "operations": 0}
_BEYOND = 2**63

_MOST_CHARACTERS = 1000
_MOST_DEEP = 50
_LARGEST = 2.0**127
_LARGEST_EXPONENT = 64

_BINARY: dict[type[ast.operator], Callable[[Number, Number], Number]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}
_FUNCTIONS: dict[str, tuple[Callable[..., Number], range]] = {
    "min": (min, range(2, 100)),
    "max": (max, range(2, 100)),
    "ceil": (math.ceil, range(1, 2)),
    "log2": (math.log2, range(1, 2)),
}
"""The functions, with how many arguments they take."""


def module_constants(source: str) -> dict[str, ast.expr]:
    """Names assigned once at the top level of a module, with the expressions they are assigned.

    Raises:
        SyntaxError: `source` is not Python.
    """
    found: dict[str, list[ast.expr]] = {}
    for node in parse(source).body:
        for name, value in _assignments(node):
            found.setdefault(name, []).append(value)
    return {name: values[0] for name, values in found.items() if len(values) == 1}


def with_constants(source: str, values: Mapping[str, object]) -> str:
    """Return `source` with the right-hand sides of the named assignments replaced; line numbers stay.

    Raises:
        KeyError: a name that the module doesn't assign at its top level.
    """
    assigned = module_constants(source)
    lines = source.encode().splitlines(keepends=True)  # ast counts columns in UTF-8 bytes
    spans = [(assigned[name], _literal(value)) for name, value in values.items()]
    for node, text in sorted(spans, key=lambda span: (span[0].lineno, span[0].col_offset), reverse=True):
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        first, last = node.lineno - 1, node.end_lineno - 1
        tail = lines[last][node.end_col_offset :]
        is_whole = tail.strip() == b"" or tail.lstrip().startswith(b"#")
        padding = b"\n" * (last - first) if is_whole else b""
        lines[first : last + 1] = [lines[first][: node.col_offset] + text.encode() + tail + padding]
    return b"".join(lines).decode()


class FormulaError(ValueError):
    """The fault of a formula, without its place."""


@dataclass(frozen=True, config=SETTINGS)
class WorkFormulas:
    """A number each, or a formula over the constants of problem.py; None leaves it to the count."""

    bytes: float | str | None = None
    """The bytes that a call must read and write: + - * / // % **, min, max, ceil and log2 over the constants of
    problem.py, for cases without init_inputs of their own. Default: each tensor once."""
    operations: float | str | None = None
    """Multiplications and additions that a call must do, as bytes; 0 for none. Default: those that torch counts."""

    def amount(self, what: Amount, source: str) -> int | None:
        """Return the amount by the constants of `source`, rounded up; None where it is left to the count. Raises:
        FormulaError."""
        formula = self.bytes if what == "bytes" else self.operations
        if formula is None:
            return None
        value = value_of(formula, numeric_constants(source)) if isinstance(formula, str) else formula
        if not _LEAST[what] <= value < _BEYOND:  # nor is NaN
            raise FormulaError(f"gives {value:g}; a number from {_LEAST[what]} to 2^63 belongs here")
        return math.ceil(value)


def value_of(formula: str, constants: Mapping[str, Operand]) -> Number:
    """The formula's value: + - * / // % **, parentheses, min, max, ceil and log2 over numbers and constants; an element
    of a constant that is a tuple by its place, as in kernel_size[0].

    Raises: FormulaError: anything else, a name that is no constant, a value that is no finite number.
    """
    if len(formula) > _MOST_CHARACTERS:
        raise FormulaError(f"{len(formula)} characters; {_MOST_CHARACTERS} at most")
    try:
        tree = parse_expression(formula.strip())
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise FormulaError(f"'{formula}' is no formula ({getattr(error, 'msg', error)})") from None
    value = _value(tree.body, constants, 0)
    if isinstance(value, tuple):
        raise FormulaError("a tuple where a number belongs: name an element, as in kernel_size[0]")
    return value


def numeric_constants(source: str) -> dict[str, Operand]:
    """The constants of a module that are numbers or tuples of numbers, by literals or by arithmetic over such ones."""
    found: dict[str, Operand] = {}
    for name, expression in module_constants(source).items():
        try:
            found[name] = _value(expression, found, 0)
        except FormulaError:
            continue
    return found


def _assignments(node: ast.stmt) -> Iterator[tuple[str, ast.expr]]:
    """Yield `a = 1`, `a: int = 1` and `a, b = 1, 2`, name by name."""
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
        yield node.target.id, node.value
    elif isinstance(node, ast.Assign) and len(node.targets) == 1:
        target, value = node.targets[0], node.value
        pairs = [(target, value)]
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
            pairs = list(zip(target.elts, value.elts, strict=True))
        for name, part in pairs:
            if isinstance(name, ast.Name):
                yield name.id, part


def _literal(value: object) -> str:
    """Return `value` as source; the infinities and NaN have no literal of their own."""
    return f"float('{value}')" if isinstance(value, float) and not math.isfinite(value) else repr(value)


def _value(node: ast.expr, constants: Mapping[str, Operand], depth: int) -> Operand:
    if depth > _MOST_DEEP:
        raise FormulaError("too deeply nested")
    if isinstance(node, (ast.Tuple, ast.List)):
        return tuple(_number(element, constants, depth) for element in node.elts)
    if isinstance(node, ast.Name):
        if node.id not in constants:
            raise FormulaError(f"problem.py has no number '{node.id}'.{did_you_mean(node.id, constants)}")
        return constants[node.id]
    return _bounded(_computed(node, constants, depth))


def _computed(node: ast.expr, constants: Mapping[str, Operand], depth: int) -> Number:
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        return node.value  # type: ignore[return-value]  # mypy doesn't see through type()
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
        operand = _number(node.operand, constants, depth)
        return -operand if isinstance(node.op, ast.USub) else operand
    if isinstance(node, ast.BinOp) and type(node.op) in _BINARY:
        left, right = (_number(side, constants, depth) for side in (node.left, node.right))
        if isinstance(node.op, ast.Pow) and abs(right) > _LARGEST_EXPONENT:
            raise FormulaError(f"an exponent of {right}; {_LARGEST_EXPONENT} at most")
        return _called(_BINARY[type(node.op)], left, right)
    if isinstance(node, ast.Call):
        return _function(node, constants, depth)
    if isinstance(node, ast.Subscript):
        return _element(node, constants, depth)
    raise FormulaError(f"'{ast.unparse(node)}' is more than + - * / // % **, min, max, ceil and log2 of numbers")


def _number(node: ast.expr, constants: Mapping[str, Operand], depth: int) -> Number:
    value = _value(node, constants, depth + 1)
    if isinstance(value, tuple):
        raise FormulaError(f"'{ast.unparse(node)}' is a tuple: name an element, as in kernel_size[0]")
    return value


def _function(node: ast.Call, constants: Mapping[str, Operand], depth: int) -> Number:
    name = node.func.id if isinstance(node.func, ast.Name) else ast.unparse(node.func)
    if name not in _FUNCTIONS:
        raise FormulaError(f"'{name}' is no function of formulas.{did_you_mean(name, _FUNCTIONS)}")
    function, counts = _FUNCTIONS[name]
    if node.keywords or len(node.args) not in counts:
        raise FormulaError(f"'{ast.unparse(node)}': {name} takes {'two or more numbers' if len(counts) > 1 else 'one'}")
    return _called(function, *(_number(argument, constants, depth) for argument in node.args))


def _element(node: ast.Subscript, constants: Mapping[str, Operand], depth: int) -> Number:
    whole, place = _value(node.value, constants, depth + 1), _number(node.slice, constants, depth)
    if not isinstance(whole, tuple) or not isinstance(place, int) or not -len(whole) <= place < len(whole):
        raise FormulaError(f"'{ast.unparse(node)}' is no element of a tuple")
    return whole[place]


def _called(function: Callable[..., Number], *numbers: Number) -> Number:
    try:
        return function(*numbers)
    except ZeroDivisionError:
        raise FormulaError(f"a division of {numbers[0]} by zero") from None
    except (ArithmeticError, ValueError) as error:
        raise FormulaError(f"{error} ({', '.join(map(str, numbers))})") from None


def _bounded(value: Number) -> Number:
    """A power of a negative number to a fraction is complex; numbers beyond any memory's size only cost time."""
    if isinstance(value, complex) or not abs(value) <= _LARGEST:  # nor is NaN
        raise FormulaError("a value beyond any number of bytes or operations")
    return value
