"""`harness explain`: what a verdict, a check, a word of a timing or a finding of the simulator means."""

from __future__ import annotations

import dataclasses
from typing import Annotated

import typer

from harness.cli import completion
from harness.cli.options import JsonFlag
from harness.cli.printing import print_json, print_report
from harness.errors import UsageError


def explain(
    word: Annotated[
        str | None,
        typer.Argument(
            metavar="[WORD]",
            help="A verdict, a check, a word of a timing, a finding of the simulator. Default: the list.",
            show_default=False,
            autocompletion=completion.explained_words,
        ),
    ] = None,
    json: JsonFlag = False,
) -> None:
    """Explain a verdict, a check, a word of a timing or a finding: how it is seen, what causes it, what to do.

    Example: harness explain wall_clock
    """
    from harness.reports import all_explained, everything_explained, explained

    known = everything_explained()
    word = word and word.lower()
    if word is not None and word not in known:
        from harness.suggest import did_you_mean

        raise UsageError(f"no verdict, check, word of a timing or finding is '{word}'.{did_you_mean(word, known)}")
    chosen = known if word is None else {word: known[word]}
    if json:
        texts = {name: dataclasses.asdict(explanation) for name, explanation in chosen.items()}
        print_json(texts if word is None else {"name": word, **texts[word]}, indent=2)
    else:
        print_report(all_explained() if word is None else explained(word, chosen[word]))
