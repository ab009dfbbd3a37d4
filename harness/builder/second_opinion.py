"""The changes that the real nvcc's word makes to what the simulator found: a GPU runs only what nvcc compiles.

nvcc refuses what was simulated: compile_error. It compiles what the simulator can't: unsupported, a gap of ours. Where
it could tell nothing, or isn't there, the simulator's own word stands.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from harness.builder.build import BuildOutcome, CompilerRefused
from harness.builder.compiler_log import first_line
from harness.builder.nvcc_check import Opinion, Opinions
from harness.model.build import ExtensionBuild, KernelResources
from harness.model.evaluation import Evaluation
from harness.model.own_lines import in_own_lines
from harness.model.verdict import Verdict
from harness.sandbox.outcome import SolutionFailed

_STAGE = "nvcc"
_MOST_REGISTERS = 255
"""The most registers of one thread (CUDA C++ Programming Guide, technical specifications per compute capability)."""
_STAND = (Verdict.CHEATING, Verdict.INVALID_PROBLEM, Verdict.HARNESS_ERROR)
"""Verdicts that say more than that something doesn't compile."""


def of_build(built: BuildOutcome, opinions: Opinions) -> BuildOutcome:
    """The outcome of a build, with what nvcc says of it."""
    failed = built.failed
    if failed is None or (isinstance(failed, CompilerRefused) and failed.nvcc_knows):
        failed = _refusal(built, opinions) or _accepted(failed, opinions) or failed
    return replace(built, builds=_with_opinions(built.builds, opinions), failed=failed)


def of_evaluation(evaluation: Evaluation, built: BuildOutcome, opinions: Opinions) -> Evaluation:
    """A simulated evaluation, with what nvcc has said meanwhile."""
    refusal = _refusal(built, opinions)
    if refusal is not None and evaluation.verdict not in _STAND:
        failure = in_own_lines(refusal.failure, evaluation.solution.files)
        evaluation = replace(evaluation, verdict=refusal.verdict, failure=failure)
    return with_remarks(replace(evaluation, builds=_with_opinions(evaluation.builds, opinions)), opinions)


def with_remarks(evaluation: Evaluation, opinions: Opinions) -> Evaluation:
    """Add remarks on what couldn't be checked and on registers that ran out, and the time that this took."""
    remarks = dict.fromkeys([*evaluation.remarks, *_remarks(evaluation.builds)])
    seconds = sum(one.check.seconds for one in opinions.values() if not one.check.was_cached)
    stages = {**evaluation.stages_s, _STAGE: seconds} if opinions else evaluation.stages_s
    return replace(evaluation, remarks=tuple(remarks), stages_s=stages)


def _refusal(built: BuildOutcome, opinions: Opinions) -> SolutionFailed | None:
    """Return nvcc's refusal of any extension."""
    for build in built.builds:
        check = opinions[build.key].check if build.key in opinions else None
        if check and check.outcome == "refused":
            reason = f"extension '{build.name}' doesn't compile with nvcc {check.nvcc}: {first_line(check.words)}"
            return SolutionFailed(Verdict.COMPILE_ERROR, reason, f"{check.words}\n\n{_where(check.architectures)}")
    return None


def _accepted(failed: SolutionFailed | None, opinions: Mapping[str, Opinion]) -> SolutionFailed | None:
    """Return the failure for what the simulator refused and nvcc compiles; None for any other."""
    if not isinstance(failed, CompilerRefused) or failed.key not in opinions:
        return None
    opinion = opinions[failed.key]
    if opinion.check.outcome != "accepted":
        return None
    compiled = f"nvcc {opinion.check.nvcc} compiles it ({_where(opinion.check.architectures)})"
    reason = f"extension '{failed.name}' can't be simulated: {first_line(failed.errors)}; {compiled}"
    kernels = "\n".join(_resources(kernel) for kernel in opinion.kernels)
    details = "\n\n".join(filter(None, (failed.errors, kernels, f"whole log: {failed.log}")))
    return SolutionFailed(Verdict.UNSUPPORTED, reason, details)


def _with_opinions(builds: tuple[ExtensionBuild, ...], opinions: Opinions) -> tuple[ExtensionBuild, ...]:
    return tuple(
        replace(build, nvcc=opinions[build.key].check, kernels=opinions[build.key].kernels)
        if build.key in opinions
        else build
        for build in builds
    )


def _remarks(builds: tuple[ExtensionBuild, ...]) -> Iterator[str]:
    for build in builds:
        if build.nvcc and build.nvcc.outcome == "unchecked":
            yield f"extension '{build.name}': nvcc {build.nvcc.nvcc} could not check it here: {build.nvcc.words}"
        for kernel in build.kernels if build.nvcc else ():
            if kernel.spill_store_bytes or kernel.spill_load_bytes:
                yield f"{_resources(kernel)}: what a thread's registers don't hold goes through memory"
            elif kernel.registers is not None and kernel.registers >= _MOST_REGISTERS:
                yield f"{_resources(kernel)}: a thread can have no more"


def _resources(kernel: KernelResources) -> str:
    """Describe a kernel's resources in a line, with spills where there are some."""
    name = kernel.kernel.partition("(")[0].removeprefix("void ")
    facts = [f"{kernel.registers} registers"]
    if kernel.shared_bytes:
        facts.append(f"{kernel.shared_bytes} B shared")
    if kernel.spill_store_bytes or kernel.spill_load_bytes:
        facts.append(f"{kernel.spill_store_bytes}/{kernel.spill_load_bytes} B spilled out/in")
    return f"{name} ({kernel.architecture}): {', '.join(facts)}"


def _where(architectures: tuple[str, ...]) -> str:
    return f"for {', '.join(architectures)}"
