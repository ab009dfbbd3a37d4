"""The quick way from a line to what an Entry needs: a quarter of the time of the whole record."""

from __future__ import annotations

import dataclasses

from harness.codec import Json, decode
from harness.records.evaluation import Evaluation
from harness.records.line import parse_line
from harness.records.timing import BASELINES, Timing, Turn


def outline_from_line(line: str | bytes) -> Evaluation:
    """The evaluation without its builds and what compiling baselines took, and with the first of its checks alone.

    What is left out isn't looked at: a line with a fault there passes. Raises: CodecError.
    """
    data = parse_line(line)
    checks = data.get("checks", [])
    first = checks[:1] if isinstance(checks, list) else checks
    data = {**data, "builds": [], "compiled": [], "checks": first}
    outline = decode(Evaluation, {**data, "timing": None})
    timing = data.get("timing")
    if timing is None:
        return outline
    samples = _plain_timing(timing) or decode(Timing, timing, "Evaluation.timing")
    try:
        return dataclasses.replace(outline, timing=samples)
    except ValueError:
        return decode(Evaluation, data)  # which says where


def _plain_timing(data: Json) -> Timing | None:
    """Samples are most of a record: where they are as to_line() writes them, decode() would only take longer."""
    try:
        turns = tuple(
            Turn(turn["arm"], turn["block"], tuple(turn["call_ns"]), turn["wall_ns"], tuple(turn.get("tail_ns", ())))
            for turn in data["turns"]
            if len(turn) == 4 + ("tail_ns" in turn)
        )
        baselines = tuple(data["baselines"])
        is_plain = (
            data.keys() == {"case", "turns", "baselines"}
            and isinstance(data["case"], str)
            and len(turns) == len(data["turns"])
            and set(baselines) <= set(BASELINES)
            and all(type(number) is int for t in turns for number in (t.block, t.wall_ns, *t.call_ns, *t.tail_ns))
        )
        return Timing(data["case"], turns, baselines) if is_plain else None
    except (KeyError, TypeError, ValueError, AttributeError):
        return None
