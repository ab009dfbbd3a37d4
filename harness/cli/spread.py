"""Options that several commands share: a dataclass of them is one parameter, and each of its fields an option."""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Callable
from typing import Any, get_type_hints


def spread(command: Callable[..., None]) -> Callable[..., None]:
    """The command as typer is to see it: each parameter that is a dataclass gives way to its fields."""
    hints = get_type_hints(command, include_extras=True)
    parameters: list[inspect.Parameter] = []
    groups: dict[str, Any] = {}
    for name, parameter in inspect.signature(command).parameters.items():
        kind = hints[name]
        if isinstance(kind, type) and dataclasses.is_dataclass(kind):
            groups[name] = kind
            of_fields = get_type_hints(kind, include_extras=True)
            parameters += [
                _option(field.name, of_fields[field.name], field.default) for field in dataclasses.fields(kind)
            ]
        else:
            parameters.append(_option(name, hints[name], parameter.default))

    @functools.wraps(command)
    def spread_out(**given: Any) -> None:
        for name, kind in groups.items():
            given[name] = kind(**{field.name: given.pop(field.name) for field in dataclasses.fields(kind)})
        command(**given)

    spread_out.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    spread_out.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return spread_out


def _option(name: str, hint: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hint)
