"""The structure of what a call returns: a tensor, or tuples, lists and dicts of tensors."""

from __future__ import annotations

import contextlib
from typing import Any

import torch

_LONGEST = 1000
"""Characters of a structure. Longer ones are cut: the number of outputs is compared as well."""


def unpack(returned: Any) -> tuple[str, list[Any]]:
    """Return the structure, such as 'tensor', 'tuple' or 'tuple(tensor, dict(h: tensor))', and the outputs in order,
    those of a dict by its keys. A list, which C++ returns for several tensors, counts as a tuple, as does a named one.
    What stands in a tensor's place is an output, whatever it is; of another type alone there is none.
    """
    outputs: list[Any] = []
    structure = _take_apart(returned, outputs)
    if structure == "tensor":
        return ("tensor", outputs) if isinstance(returned, torch.Tensor) else (str(type(returned).__name__), [])
    is_flat = structure.startswith("tuple") and structure.count("(") == 1
    return "tuple" if is_flat else structure[:_LONGEST], outputs


def _take_apart(value: Any, outputs: list[Any]) -> str:
    items = _items(value)
    if items is not None:
        return f"tuple({', '.join(_take_apart(one, outputs) for one in items)})"
    if type(value) is dict and all(type(key) is str for key in value):
        return f"dict({', '.join(f'{key}: {_take_apart(value[key], outputs)}' for key in sorted(value))})"
    outputs.append(value)
    return "tensor"


def _items(value: Any) -> list[Any] | None:
    """List what a tuple or a list holds by its kind's own iterator; a subclass's could compute after the clock has
    stopped. None for anything else."""
    for kind in (tuple, list):
        with contextlib.suppress(TypeError):
            return [*kind.__iter__(value)]
    return None
