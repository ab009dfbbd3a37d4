"""`--baseline`, of the commands that measure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from harness.cli import completion
from harness.model.arms import BASELINES
from harness.suggest import did_you_mean

if TYPE_CHECKING:
    from harness.model.config import Config


def _names(given: list[str] | None) -> list[str]:
    """Of one name or several an option, each once. Raises: typer.BadParameter for one that there isn't."""
    names = [name.strip() for text in given or [] for name in text.split(",") if name.strip()]
    for name in names:
        if name not in BASELINES:
            raise typer.BadParameter(f"there is no baseline '{name}'.{did_you_mean(name, BASELINES)}")
    return list(dict.fromkeys(names))


Baselines = Annotated[
    list[str] | None,
    typer.Option(
        "-b",
        "--baseline",
        help=f"{', '.join(BASELINES)}; commas between several, or repeat it. "
        "The headline refers to the first. Default: the config's, eager.",
        metavar="NAME[,NAME]",
        callback=_names,
        autocompletion=completion.baselines,
        show_default=False,
    ),
]


def measuring(config: Config, timing: bool, baselines: Sequence[str] | None, nvcc: bool) -> Config:
    """The config, against these baselines where there are some, and without timing, or nvcc beside the simulator, where
    none is wanted."""
    names = tuple(baselines or config.timing.baselines)
    against = replace(config, timing=replace(config.timing, baselines=names))  # type: ignore[arg-type]
    asking = against if nvcc else against.without_nvcc()
    return asking if timing else asking.untimed()
