"""Old and new shares of the speed of light side by side, of the newest timed record of each solution.

Old: as the record keeps it; before 0.3.0 ceilings were measured alone, and memory's rate was a mix of reading, writing
and copying. New: by the rule of harness.model.roofline, from the same work, times and measured rates, at the highest
clock that the record's turns saw. Records from before ceilings named the multiprocessors need --multiprocessors (132 on
an H100 SXM5 and an H200). Markdown, needs no GPU.

    python benchmarks/light_shares.py RESULTS.jsonl … [--multiprocessors 132]
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from harness.model.evaluation import Evaluation
from harness.model.roofline import arithmetic_of, at_clocks_seen, speed_of_light
from harness.reports.numbers import format_ms, format_share
from harness.store.line import from_line


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--multiprocessors", type=int)
    asked = parser.parse_args()
    print("| solution | GPU, clock | ms | old | new | limit by |\n|---|---|---:|---:|---:|---|")
    for evaluation in newest(asked.files):
        print(row(evaluation, asked.multiprocessors))


def newest(files: Sequence[Path]) -> list[Evaluation]:
    """Return the newest of each solution on each model of GPU, of what has work, ceilings and times; by name."""
    found: dict[tuple[str, str, str], Evaluation] = {}
    for one in sorted(_read(files), key=lambda one: one.started_at):
        if one.timing and one.work and one.ceilings and one.share_of_light:
            found[one.problem.name, one.solution.name, one.ceilings.device] = one
    return [found[key] for key in sorted(found)]


def row(evaluation: Evaluation, multiprocessors: int | None) -> str:
    assert evaluation.timing
    assert evaluation.work
    assert evaluation.ceilings
    ceilings = at_clocks_seen(evaluation.ceilings, evaluation.timing)
    ceilings = replace(
        ceilings,
        compute_capability=ceilings.compute_capability or evaluation.environment.compute_capability,
        multiprocessors=ceilings.multiprocessors or multiprocessors,
    )
    flags, declared = evaluation.environment.flags, evaluation.solution.precision
    arithmetic = arithmetic_of(declared, evaluation.problem.precision, flags, evaluation.work)
    light, ns = speed_of_light(evaluation.work, ceilings, arithmetic), evaluation.timing.time_ns("solution")
    cells = (
        f"`{evaluation.problem.name}/{evaluation.solution.name}`",
        f"{ceilings.device}, {ceilings.sm_mhz} MHz",
        format_ms(ns),
        format_share(evaluation.share_of_light, evaluation.light_source),
        format_share(light.ns / ns, light.source),
        light.bound,
    )
    return f"| {' | '.join(map(str, cells))} |"


def _read(files: Sequence[Path]) -> Iterator[Evaluation]:
    for file in files:
        with file.open(encoding="utf-8") as lines:
            yield from (from_line(line) for line in lines if line.strip())


if __name__ == "__main__":
    main()
