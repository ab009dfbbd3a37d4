"""The quick way from a line to what an Entry needs: a quarter of the time of the whole record."""

from __future__ import annotations

import dataclasses
from typing import Any

from harness.codec import Json, decode
from harness.records.arms import BASELINES, METRICS
from harness.records.evaluation import Evaluation
from harness.records.line import parse_line
from harness.records.timing import Floors, GpuState, Timing, Turn


def outline_from_line(line: str | bytes) -> Evaluation:
    """The evaluation without its builds, what compiling baselines took, and the timing's further metrics and memory,
    with the first check alone.

    Raises: CodecError. What is left out isn't looked at: a line with a fault there passes.
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


_REQUIRED = {"case", "turns", "baselines"}
_LOOKED_AT = _REQUIRED | {"metric", "floors", "fresh_at"}
_LEFT_OUT = {"rows", "memory"}
_SERIES = ("call_ns", "tail_ns", "launch_ns")


def _plain_timing(data: Json) -> Timing | None:
    """Samples are most of a record: where they are as to_line() writes them, decode() would only take longer."""
    try:
        is_plain = (
            _REQUIRED <= data.keys() <= _LOOKED_AT | _LEFT_OUT
            and isinstance(data["case"], str)
            and set(data["baselines"]) <= set(BASELINES)
            and data.get("metric", METRICS[0]) in METRICS
            and all(type(number) is int for number in data.get("fresh_at", ()))
        )
        if not is_plain:
            return None
        floors = data.get("floors")
        return Timing(
            case=data["case"],
            turns=tuple(map(_plain_turn, data["turns"])),
            baselines=tuple(data["baselines"]),
            metric=data.get("metric", METRICS[0]),
            floors=None if floors is None else decode(Floors, floors),
            fresh_at=tuple(data.get("fresh_at", ())),
        )
    except (KeyError, TypeError, ValueError, AttributeError):
        return None


def _plain_turn(data: dict[str, Any]) -> Turn:
    """Raises: ValueError, TypeError where it isn't plain; decode() then says what is wrong, if anything is."""
    series = {name: tuple(data[name]) for name in _SERIES if name in data}
    queued, canary_ns, gpu = tuple(data.get("queued", ())), data.get("canary_ns"), data.get("gpu")
    numbers = (data["block"], data["wall_ns"], *(() if canary_ns is None else (canary_ns,)))
    are_integers = all(type(number) is int for values in (numbers, *series.values()) for number in values)
    if not are_integers or not all(type(proof) is bool for proof in queued):
        raise ValueError("not plain")
    facts = {**data, **series, "queued": queued, "gpu": None if gpu is None else _plain_state(gpu)}
    return Turn(**facts)


_STATE_TYPES: dict[str, type] = {
    **dict.fromkeys(("memory_mhz", "temperature_c", "other_processes"), int),
    **dict.fromkeys(("power_w", "energy_j"), float),
}


def _plain_state(data: dict[str, Any]) -> GpuState:
    clocks, words = data.get("sm_mhz"), data.get("throttled", [])
    are_plain = (
        (clocks is None or [type(mhz) for mhz in clocks] == [int, int])
        and all(type(word) is str for word in words)
        and all(data.get(name) is None or type(data[name]) is kind for name, kind in _STATE_TYPES.items())
    )
    if not are_plain:
        raise ValueError("not plain")
    return GpuState(**{**data, "sm_mhz": clocks and tuple(clocks), "throttled": tuple(words)})
