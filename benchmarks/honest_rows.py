"""The rows of benchmarks/honest_arms.py: written, read, merged from several files and summed up in Markdown."""

from __future__ import annotations

import json
import lzma
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

CRUDEST = ("zeros", "ones", "mean", "stale", "one_element")
"""Wrong answers that a problem must tell from the right one."""
CHEAPER = ("float16", "bfloat16")
NOT_APPLICABLE = "doesn't apply"

Row = dict[str, Any]
"""A row of an arm with its seed, or of a wrong answer, whose seed is None. It has an error or a reason."""


def read(path: Path) -> list[Row]:
    """The rows so far, of a .xz too; a line that was cut short doesn't count."""
    if not path.exists():
        return []
    rows = []
    with lzma.open(path, "rt") if path.suffix == ".xz" else path.open() as lines:
        for line in lines:
            with suppress(json.JSONDecodeError):
                rows.append(json.loads(line))
    return rows


def append(path: Path, row: Row) -> None:
    """Append in one write, since others append to the file."""
    with path.open("a") as file:
        file.write(json.dumps(row) + "\n")


def key(row: Row) -> tuple[Any, ...]:
    return row["problem"], row["seed"], row["arm"]


def merged(rows: Iterable[Row]) -> list[Row]:
    """One row of each comparison per machine and size: the last. A case that couldn't be prepared at first, but later
    could, counts as prepared."""
    last = {(*key(row), row["gpu"], row["torch"], row["shrink"]): row for row in rows}.values()
    prepared = {(row["problem"], row["seed"]) for row in last if is_comparison(row)}
    return [row for row in last if row["arm"] != "setting" or (row["problem"], row["seed"]) not in prepared]


def is_comparison(row: Row) -> bool:
    return row["seed"] is not None and row["worst"] is not None


def report(rows: Sequence[Row], arms: Sequence[str]) -> Iterator[str]:
    """Report in Markdown. 'cleared': beyond the tolerance, which the reference's own error on these inputs excuses."""
    found = [row for row in rows if is_comparison(row)]
    alarms = [row for row in found if row["alarm"]]
    wrong = [row for row in rows if row["seed"] is None]
    mute = {row["problem"] for row in wrong if row["arm"] in CRUDEST and _told(row) == "not"}
    problems = len({row["problem"] for row in found})
    blind = sum(row["problem"] in mute for row in alarms)
    yield f"{len(found)} comparisons, {problems} problems, {len(alarms)} alarms ({blind} where the problem can't tell)."
    yield ""
    places = Counter(f"{row['gpu']}, torch {row['torch']}, batch / {row['shrink']}" for row in found)
    yield from _table(("environment", "comparisons"), sorted(places.items()))
    yield from _table(
        ("arm", "comparisons", "problems", "alarms", "cleared", "largest error / tolerance", "of", "without an answer"),
        [_of_arm(arm, [row for row in rows if row["arm"] == arm]) for arm in arms],
    )
    if alarms:
        yield from _table(("accused", "arm", "seeds", "largest error / tolerance", "can tell"), _accused(alarms, mute))
    yield from _table(
        ("wrong answer", "told as drawn", "by a variant alone", "not told", "of"),
        [_of_mutant(name, [row for row in wrong if row["arm"] == name]) for name in (*CRUDEST, *CHEAPER)],
    )
    failed = Counter((row["problem"], row["arm"], row["reason"]) for row in rows if _has_failed(row))
    if failed:
        yield from _table(("without an answer", "of", "why", "times"), [(*one, failed[one]) for one in sorted(failed)])


def _of_arm(arm: str, rows: Sequence[Row]) -> tuple[Any, ...]:
    found = [row for row in rows if is_comparison(row)]
    largest = max(found, key=lambda row: float(row["worst"]), default={"worst": 0.0, "problem": "—"})
    return (
        arm,
        len(found),
        len({row["problem"] for row in found}),
        sum(row["alarm"] for row in found),
        sum(row["worst"] > 1 and not row["alarm"] for row in found),
        f"{largest['worst']:.3f}",
        largest["problem"],
        sum(map(_has_failed, rows)),
    )


def _accused(alarms: Sequence[Row], mute: set[str]) -> Iterator[tuple[Any, ...]]:
    for problem, arm in sorted({(row["problem"], row["arm"]) for row in alarms}):
        own = [float(row["worst"]) for row in alarms if (row["problem"], row["arm"]) == (problem, arm)]
        yield problem, arm, len(own), f"{max(own):.3g}", "no" if problem in mute else "yes"


def _of_mutant(name: str, rows: Sequence[Row]) -> tuple[Any, ...]:
    by = {how: sorted({row["problem"] for row in rows if _told(row) == how}) for how in ("drawn", "variant", "not")}
    return name, len(by["drawn"]), len(by["variant"]), len(by["not"]), ", ".join(by["not"]) or "—"


def _told(row: Row) -> str | None:
    """Say which inputs told it; None where nobody knows."""
    if row["told_by"]:
        return "drawn" if row["told_by"] == "as drawn" else "variant"
    return None if "reason" in row else "not"


def _has_failed(row: Row) -> bool:
    return bool(row.get("reason", NOT_APPLICABLE) != NOT_APPLICABLE)


def _table(heads: Sequence[str], rows: Iterable[Sequence[Any]]) -> Iterator[str]:
    yield f"| {' | '.join(heads)} |"
    yield "|---" * len(heads) + "|"
    for row in rows:
        yield f"| {' | '.join(map(str, row))} |"
    yield ""
