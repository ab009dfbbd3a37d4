"""The structure of what a call returns: a tensor, or tuples, lists and dicts of tensors."""

from __future__ import annotations

from typing import Any

import torch

_LONGEST = 1000
"""Characters of a structure. Longer ones are cut: the number of outputs is compared as well."""


def unpack(returned: Any) -> tuple[str, list[Any]]:
    """Return the structure, such as 'tensor', 'tuple' or 'tuple(tensor, dict(h: tensor))', and the outputs in order,
    those of a dict by its keys. What stands in a tensor's place is an output, whatever it is; of another type alone
    there is none.
    """
    outputs: list[Any] = []
    structure = _take_apart(returned, outputs)
    if structure == "tensor":
        return ("tensor", outputs) if isinstance(returned, torch.Tensor) else (str(type(returned).__name__), [])
    is_flat = type(returned) is not dict and structure.count("(") == 1
    return type(returned).__name__ if is_flat else structure[:_LONGEST], outputs


def _take_apart(value: Any, outputs: list[Any]) -> str:
    kind = type(value)
    if kind is tuple or kind is list:
        parts = [_take_apart(one, outputs) for one in value]
    elif kind is dict and all(type(key) is str for key in value):
        parts = [f"{key}: {_take_apart(value[key], outputs)}" for key in sorted(value)]
    else:
        outputs.append(value)
        return "tensor"
    return f"{kind.__name__}({', '.join(parts)})"
