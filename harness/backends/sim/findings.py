"""What the simulator can see while a kernel runs: the closed list of findings, and what each means."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from harness.backends.base import Finding
from harness.backends.sim.index_use import feeds_an_index, is_row_of_shared_array
from harness.backends.sim.source_lines import Instruction, SourceLine, source_line

Verdict = Literal["memory_error", "runtime_error", "nondeterministic", "wrong_values"]


@dataclass(frozen=True)
class FindingKind:
    """One line of the list. `verdict` is what a fault leads to; a remark (None) leads to none."""

    meaning: str
    verdict: Verdict | None
    next_step: str
    only_checked: bool = False
    """Whether it takes the checked build (`--sanitize`) to see it."""

    @property
    def severity(self) -> Literal["fault", "remark"]:
        return "remark" if self.verdict is None else "fault"


def _fast(meaning: str, verdict: Verdict | None, next_step: str) -> FindingKind:
    return FindingKind(meaning, verdict, next_step)


def _checked(meaning: str, verdict: Verdict | None, next_step: str) -> FindingKind:
    return FindingKind(meaning, verdict, next_step, only_checked=True)


FINDING_KINDS: Mapping[str, FindingKind] = {
    "illegal-address": _fast(
        "an access outside every device allocation",
        "memory_error",
        "compare the index with the tensor's size: blocks at the border, and 64-bit indices for large tensors",
    ),
    "host-pointer": _fast(
        "a kernel was given memory that only the host can read",
        "memory_error",
        "move the tensor to the GPU, or copy the value into the kernel's arguments",
    ),
    "freed-pointer": _fast(
        "a kernel was given device memory that was freed",
        "memory_error",
        "keep the tensor until after the launch: data_ptr() of a temporary, as of x.contiguous(), ends with it",
    ),
    "shared-out-of-bounds": _fast(
        "an access outside the block's shared memory",
        "memory_error",
        "compare the index with the array's size, and the launch's dynamic bytes with what the kernel lays over them",
    ),
    "misaligned-address": _fast(
        "a vector access not aligned to its size",
        "memory_error",
        "use the vector type only where offset and row length are multiples of it, scalars elsewhere",
    ),
    "stack-overflow": _fast(
        "more local memory than a thread has", "memory_error", "shrink local arrays, or end the recursion earlier"
    ),
    "array-index-out-of-bounds": _checked(
        "an index outside the declared array",
        "memory_error",
        "compare the index with the declared size",
    ),
    "uninitialised-shared-read": _checked(
        "shared memory was read that no thread of the block had written",
        "memory_error",
        "fill every element that is read, halo and remainder too, and put __syncthreads() between",
    ),
    "uninitialised-global-read": _checked(
        "memory from torch.empty or cudaMalloc was read before anything was written there",
        "memory_error",
        "start from torch.zeros, or write before you read",
    ),
    "input-write": _checked(
        "a kernel wrote into an input of the call", "wrong_values", "write to a tensor that forward() has allocated"
    ),
    "const-write": _checked(
        "a kernel wrote through a pointer that it was given as const",
        "memory_error",
        "pass data_ptr() of a tensor that may change, and take the const away",
    ),
    "unwritten-output": _checked(
        "elements of an output were never written",
        "wrong_values",
        "write every element: look at the grid's size and at conditions before the store",
    ),
    "index-overflow": _checked(
        "a 32-bit number that an index is made from overflowed",
        "memory_error",
        "compute indices and sizes in int64_t: cast before the product, not after it",
    ),
    "signed-overflow": _checked(
        "a signed number overflowed, which C++ leaves undefined", None, "use unsigned numbers where they are to wrap"
    ),
    "array-row-overrun": _checked(
        "an index ran over a row of a shared array into the next one",
        None,
        "index each dimension, or a pointer to the first element",
    ),
    "shared-race": _checked(
        "threads of a block used the same shared memory, one of them writing, with no barrier between",
        "nondeterministic",
        "put __syncthreads() (within a warp __syncwarp()) between the two lines, or use atomics",
    ),
    "global-race": _checked(
        "threads used the same global memory, one of them writing, with nothing to order them",
        "nondeterministic",
        "give each element one thread that writes it, use atomics, or split the kernel in two",
    ),
    "same-value-write": _checked(
        "two threads wrote the same value to the same place", None, "nothing, if that is meant; else let one write"
    ),
    "launch-error": _fast(
        "a launch failed and nobody looked",
        "runtime_error",
        "look at grid, block and shared memory; C10_CUDA_KERNEL_LAUNCH_CHECK() after the launch raises at once",
    ),
    "barrier-deadlock": _fast(
        "threads of a block wait for each other for ever",
        "runtime_error",
        "let all threads of the block, or of the mask, reach the same barrier",
    ),
    "device-assert": _fast("an assertion in a kernel failed", "runtime_error", "look at the condition's values"),
    "integer-divide-by-zero": _fast(
        "an integer was divided by zero", "runtime_error", "look at what the divisor is made from"
    ),
    "warp-inactive-lane": _fast(
        "a shuffle reads a lane that takes no part",
        "runtime_error",
        "name only lanes that call the shuffle, and read only lanes of the mask",
    ),
    "warp-mask": _fast(
        "a lane is not in the mask that it passes", "runtime_error", "build the mask from the lanes that get there"
    ),
    "barrier-after-exit": _fast(
        "threads exited before a barrier of their block",
        None,
        "let all threads reach the barrier, and guard loads and stores instead",
    ),
    "barrier-divergence": _fast(
        "threads of a block met at different barriers", None, "take the barrier out of the branches"
    ),
}


@dataclass(frozen=True)
class Report:
    """The runtime's account since the last one. `kernels` and `operators` (of torch) count runs by name."""

    findings: tuple[Finding, ...]
    launches: int
    kernels: Mapping[str, int]
    operators: Mapping[str, int]


def parse_report(report: str) -> Report:
    """From the runtime's JSON."""
    data = json.loads(report)
    findings = _one_a_line(_finding(entry, data["sources"]) for entry in data["findings"])
    return Report(findings, int(data["launches"]), data["kernels"], data["operators"])


def _finding(entry: dict[str, Any], sources: Mapping[str, str]) -> Finding:  # Any: JSON that the runtime wrote
    place = SourceLine(entry["file"], entry["line"]) if entry["line"] else source_line(_instructions(entry["trace"]))
    in_kernel = entry["kind"] not in ("launch-error", "host-pointer", "freed-pointer")
    x, y, z = entry["block"]
    tx, ty, tz = entry["thread"]
    text = sources.get(place.file, "") if place else ""
    return Finding(
        kind=_kind(entry["kind"], text, place),
        detail=entry["detail"].replace(" @OTHER@", _other_place(entry["other"], place)),
        kernel=entry["kernel"] or None,
        file=place.file if place else None,
        line=place.line if place else None,
        block=(x, y, z) if in_kernel else None,
        thread=(tx, ty, tz) if in_kernel else None,
        count=entry["count"],
        code=_line_of(text, place),
    )


def _one_a_line(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """The first of each kind, counted for all of them: a line of a kernel makes several instructions."""
    first: dict[object, Finding] = {}
    for finding in findings:
        place = (finding.kind, finding.kernel, finding.file, finding.line or finding.detail)
        known = first.get(place)
        first[place] = replace(known, count=known.count + finding.count) if known else finding
    return tuple(first.values())


def _instructions(places: Sequence[dict[str, Any]]) -> list[Instruction]:
    return [Instruction(place["library"], place["offset"]) for place in places]


def _kind(kind: str, text: str, place: SourceLine | None) -> str:
    """What the runtime can't tell from the instruction alone."""
    if place and kind == "signed-overflow" and feeds_an_index(text, place.line):
        return "index-overflow"
    if place and kind == "array-index-out-of-bounds" and is_row_of_shared_array(text, place.line):
        return "array-row-overrun"
    return kind


def _other_place(trace: Sequence[dict[str, Any]], place: SourceLine | None) -> str:
    other = source_line(_instructions(trace))
    if other is None:
        return ""
    return f" at line {other.line}" if place and other.file == place.file else f" at {other.file}:{other.line}"


def _line_of(text: str, place: SourceLine | None) -> str | None:
    lines = text.splitlines()
    return lines[place.line - 1].strip() if place and 0 < place.line <= len(lines) else None
