"""A small case for a problem that has only its full shape: its module's constants, shrunk until it can be simulated."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from harness.referee.answers.invalid_problem import InvalidProblem
from harness.referee.answers.output_spec import tensor_bytes
from harness.referee.ceilings.work import work_of
from harness.referee.sampling import COMPLETE_BYTES
from harness.referee.setting import Setting, prepare_setting
from harness.workspace.constants import constants_of_inputs, module_constants
from harness.workspace.problem import Case, Problem

SHRUNK = "shrunk"
"""The name of the case. Nobody wrote it, so a failure in it alone blames nobody: a kernel may be made for its shape."""

_MOST_BYTES, _MOST_OPERATIONS = 2**20, 10**8
"""The most that a call takes; a case takes some twenty of them."""
_ROOM = 8
"""The factor by which both are larger where all constants of the module stay."""
_BEARABLE_OPERATIONS = 10**10
"""The most that a call takes where nothing smaller shows whether values are right: some minutes for a case."""
_UNITS = (32, 8, 4)
_SCALES = tuple(2**power for power in range(1, 25))
_NUMBER = re.compile(r"\b\d+\b")


def with_shrunk_case(full: Setting) -> Iterator[Problem]:
    """The problem with a small case beside the full one, on which the reference has run; then with smaller ones.

    Sizes that only `get_inputs` knows come alone first, and may stay larger: a kernel is made for heads and groups that
    the module names.
    """
    own = _sizes_of_inputs(full)
    found: list[dict[str, Any]] = []
    roomy: list[Setting] = []
    for constants, small in _shrunk(full, _candidates(own)):
        if _is_small(small, 1) and _has_answer(small):
            found.append(constants)
            yield small.problem
        elif _is_small(small, _ROOM):
            roomy.append(small)
    yield from (small.problem for small in roomy if not found and _has_answer(small))
    for constants, small in _shrunk(full, _candidates({**_module_sizes(full), **own})):
        if constants not in found and _is_small(small, 1) and _has_answer(small):
            yield small.problem


def with_bearable_case(full: Setting) -> Iterator[Problem]:
    """The problem with the smallest case that can be made of it, where that takes long, but can be run whole: a shape
    that no constant names stays."""
    candidates = list(_candidates({**_module_sizes(full), **_sizes_of_inputs(full)}))
    _, smallest = next(_shrunk(full, reversed(candidates)), (None, None))
    if smallest is not None and _is_bearable(smallest) and _has_answer(smallest):
        yield smallest.problem


def with_fitting_case(full: Setting, texts: Iterable[str]) -> Iterator[Problem]:
    """The problem with small cases that keep the sizes which a solution's texts name: its kernels may be made for them.
    None where they name no size."""
    named = {int(number) for text in texts for number in _NUMBER.findall(text)}
    sizes = {**_module_sizes(full), **_sizes_of_inputs(full)}
    free = {name: value for name, value in sizes.items() if named.isdisjoint(_parts(value))}
    for _, small in _shrunk(full, _candidates(free) if len(free) < len(sizes) else ()):
        if _is_small(small, _ROOM) and _has_answer(small):
            yield small.problem


def describe_shrunk(problem: Problem) -> str:
    constants = problem.cases[SHRUNK].constants
    return f"{SHRUNK}: shrunk by the referee to " + ", ".join(f"{name} = {value}" for name, value in constants.items())


def _shrunk(full: Setting, candidates: Iterable[dict[str, Any]]) -> Iterator[tuple[dict[str, Any], Setting]]:
    """Yield those that the reference takes, each with the case's setting."""
    problem = full.problem
    for constants in candidates:
        tried = replace(problem, cases={**problem.cases, SHRUNK: Case(constants)})
        with suppress(InvalidProblem):  # these sizes don't fit together
            small = prepare_setting(tried, SHRUNK, full.master_seed, "cpu")
            if _has_form_of(small, full):
                yield constants, small


def _has_answer(small: Setting) -> bool:
    try:
        small.oracle.answer(small.reference.make_inputs(small.seed("tried")))
    except InvalidProblem:
        return False
    return True


def _candidates(sizes: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield ever smaller constants, all by the same scale: equal sizes stay equal, powers of two keep their ratios."""
    seen: list[dict[str, Any]] = []
    for unit in _UNITS:
        for scale in _SCALES:
            reduced = {name: _reduced(name, value, scale, unit) for name, value in sizes.items()}
            changed = {name: value for name, value in reduced.items() if value != sizes[name]}
            if changed and changed not in seen:
                seen.append(changed)
                yield changed


def _module_sizes(full: Setting) -> dict[str, Any]:
    """Sizes at the module's top level that aren't made of other constants."""
    found = {
        name: full.reference.constant(name)
        for name, expression in module_constants(full.problem.source).items()
        if not any(isinstance(node, ast.Name) for node in ast.walk(expression))
    }
    return {name: value for name, value in found.items() if _is_size(value)}


def _sizes_of_inputs(full: Setting) -> dict[str, Any]:
    """Sizes that only `get_inputs` knows."""
    found = {}
    for name, expression in constants_of_inputs(full.problem.source).items():
        with suppress(ValueError):  # no literal
            found[name] = ast.literal_eval(expression)
    return {name: value for name, value in found.items() if _is_size(value)}


def _is_size(value: Any) -> bool:
    """Say whether it is a whole number, or a tuple or list of them."""
    parts = _parts(value)
    return bool(parts) and all(type(part) is int for part in parts)


def _parts(value: Any) -> Sequence[Any]:
    return value if isinstance(value, (tuple, list)) else [value]


def _reduced(name: str, value: Any, scale: int, unit: int) -> Any:
    """Return `value` in fewer units, with the same remainder; a batch, whose rows are alike, is cut to two or three."""
    if isinstance(value, (tuple, list)):
        return type(value)(_reduced(name, part, scale, unit) for part in value)
    if "batch" in name.lower() or name == "B":
        return min(value, max(2, value // scale) | (value & 1))
    if value <= 2 * unit:
        return value
    units, remainder = divmod(value, unit)
    return max(1, units // scale) * unit + remainder


def _is_small(setting: Setting, room: int) -> bool:
    work = work_of(setting)
    if work is None or work.least_bytes > room * _MOST_BYTES:
        return False
    return (work.operations or 0) <= room * _MOST_OPERATIONS


def _is_bearable(setting: Setting) -> bool:
    work, nbytes = work_of(setting), tensor_bytes(setting.meta_inputs or ()) + setting.spec.nbytes
    return work is not None and nbytes <= COMPLETE_BYTES and (work.operations or 0) <= _BEARABLE_OPERATIONS


def _has_form_of(small: Setting, full: Setting) -> bool:
    ranks = [[len(shape) for shape in setting.spec.shapes] for setting in (small, full)]
    return ranks[0] == ranks[1] and small.spec.structure == full.spec.structure
