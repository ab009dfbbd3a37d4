"""Texts for a language model: its task, and how its last attempt did."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from harness.model.evaluation import Evaluation, Failure
from harness.model.timing import Timing
from harness.reports.bare_files import by_its_files
from harness.reports.markdown import fenced
from harness.reports.numbers import format_speedup
from harness.reports.untrusted import harmless, one_line, shortened

_LONGEST_DETAILS = 6_000

_RULES = """\
- Define a class ModelNew. Its constructor and its forward() take what Model's take, and forward() returns what
  Model's returns: the same shapes and dtypes.
- Give parameters and buffers the names and shapes that Model gives them: the reference's values are loaded by name.
- Write kernels of your own, in CUDA C++ (torch.utils.cpp_extension.load_inline, at module level) or in Triton. Any
  part of the work may stay with torch, but a solution whose own kernels do nothing is rejected.
- Modules are called in eval(). A normalisation may take the batch's statistics, as in training mode, or the kept ones.
- Compute anew on every call: outputs of earlier calls, and values that only these inputs have, are not to be used.
- Return new memory from every call: who holds an earlier output must not see it change. Workspaces may be kept.
- Launch on the current stream, and don't synchronise in forward().
- Outputs are compared with the reference in float64, on several seeds and on changed inputs. Speed
  counts only where values are right."""
_PRECISION = "\n- The declared precision is {}."
_STATE = "\n- Calls change {} for later ones: leave in it what Model leaves, in place."
_STEP = """
- A call is a training step: forward(), then backward with random gradients of the outputs. The gradients of inputs and
  parameters are compared and timed as well: call your kernels in a torch.autograd.Function."""


def prompt_text(
    title: str,
    source: str,
    precision: str | None,
    cases: Mapping[str, Mapping[str, Any]],
    description: str = "",
    backward: bool = False,
    state: Sequence[str] = (),
) -> str:
    """`source` is the reference's; `cases` are the problem's, with what each changes of it. `backward`: a call is a
    training step. `state`: the arguments that it changes for later calls."""
    rules = _RULES + (_PRECISION.format(precision) if precision else "") + (_STEP if backward else "")
    rules += "".join(map(_STATE.format, state))
    pieces = [
        "Write a faster replacement for the PyTorch module Model below, with GPU kernels of your own.",
        f"# Task: {harmless(title)}\n\n{harmless(description).strip()}".rstrip(),
        f"# Rules\n\n{rules}",
        f"# Cases\n\n{_cases(cases)}",
        f"# Reference\n\n{fenced(source, 'python')}",
        "# Answer\n\nAnswer with the whole file in one Python block: imports, kernels, and ModelNew.",
    ]
    return "\n\n".join(pieces) + "\n"


def feedback_text(evaluation: Evaluation) -> str:
    """Verdict, what failed and what to do next, what the compiler said, times, and the source that was judged."""
    return "\n\n".join(_pieces(evaluation)) + "\n"


def _cases(cases: Mapping[str, Mapping[str, Any]]) -> str:
    if len(cases) == 1:
        return "The sizes are those of the reference as it stands."
    lines = ["It must be right in each of these:", ""]
    for name, changes in cases.items():
        words = ", ".join(f"{key} = {value}" for key, value in changes.items()) or "the reference as it stands"
        lines.append(f"- {harmless(name)}: {harmless(words)}")
    return "\n".join(lines)


def _pieces(evaluation: Evaluation) -> Iterator[str]:
    verdict = evaluation.verdict
    yield f"# Your last attempt at {one_line(evaluation.problem.name)}: {verdict.value}"
    if not verdict.passed and not verdict.blames_solution:
        yield "This says nothing of your solution: it couldn't be judged."
    if evaluation.failure:
        yield from _failure(evaluation, evaluation.failure)
    if evaluation.timing:
        yield "\n".join(["# Speed", "", *_times(evaluation, evaluation.timing)])
    elif verdict.passed:
        cases = ", ".join(map(one_line, dict.fromkeys(check.case for check in evaluation.checks)))
        yield f"It computes the right values where they were compared (case {cases}). It wasn't timed."
    if kernels := list(_kernels(evaluation)):
        yield "\n".join(["# Kernels", "", *kernels])
    if evaluation.remarks:
        yield "\n".join(
            ["# Remarks", "", *(f"- {one_line(by_its_files(evaluation, one))}" for one in evaluation.remarks)]
        )
    for name, text in evaluation.solution.files.items():
        if name.endswith((".py", ".cu", ".cuh", ".cpp", ".h")):
            yield f"# {one_line(by_its_files(evaluation, name))}, as it was judged\n\n{fenced(text)}"


def _failure(evaluation: Evaluation, failure: Failure) -> Iterator[str]:
    where = f" (case {one_line(failure.case)})" if failure.case else ""
    yield f"# What failed{where}\n\n{one_line(by_its_files(evaluation, failure.reason))}"
    if failure.evidence:
        yield f"Seen by: {failure.seen_by}"
    if failure.details:
        yield fenced(shortened(by_its_files(evaluation, failure.details), _LONGEST_DETAILS))
    yield f"# What to do next\n\n{one_line(by_its_files(evaluation, failure.next_step))}"


def _times(evaluation: Evaluation, timing: Timing) -> Iterator[str]:
    yield f"- your solution: {timing.time_ns('solution') / 1e6:.4g} ms a call"
    for name in timing.baselines:
        speedup = timing.speedup_over(name)
        over = f"; you are {timing.speed_over(name)}, speed-up {format_speedup(speedup)}" if speedup else ""
        yield f"- {name}: {timing.time_ns(name) / 1e6:.4g} ms{over}"
    if evaluation.share_of_light is not None:
        yield f"- {evaluation.share_of_light:.0%} of what the device could do at best"


def _kernels(evaluation: Evaluation) -> Iterator[str]:
    """Say what the compiler says of each: spills and registers bound the occupancy."""
    for build in evaluation.builds:
        for kernel in build.kernels:
            yield (
                f"- {one_line(kernel.kernel)}: {kernel.registers} registers, "
                f"{kernel.shared_bytes} bytes of shared memory, {kernel.spill_store_bytes} bytes spilled"
            )
