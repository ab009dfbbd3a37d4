"""The structure of what a call returns: a tensor, or tuples, lists and dicts of tensors."""

from __future__ import annotations

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
    kind = next((one for one in (tuple, list) if one in type(value).__mro__), None)
    if kind is not None:  # by its own iterator: a subclass's would compute after the clock has stopped
        return f"tuple({', '.join(_take_apart(one, outputs) for one in kind.__iter__(value))})"
    if type(value) is dict and all(type(key) is str for key in value):
        return f"dict({', '.join(f'{key}: {_take_apart(value[key], outputs)}' for key in sorted(value))})"
    outputs.append(value)
    return "tensor"
