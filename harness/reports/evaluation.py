"""One evaluation, whole: for the terminal and for the page."""

from __future__ import annotations

import dataclasses
import json
import re
import shlex
from collections.abc import Collection, Iterator, Sequence

from harness.model.arms import ArmName
from harness.model.build import ExtensionBuild, KernelResources, NvccCheck
from harness.model.check import Check
from harness.model.config import Config
from harness.model.environment import Environment
from harness.model.evaluation import Evaluation, Failure, Work
from harness.model.languages import languages_in
from harness.model.roofline import light_of, shares_of_parts
from harness.model.verdict import Verdict
from harness.reports.bare_files import by_its_files
from harness.reports.blocks import Block, Column, Line, Pairs, Prose, Section, Span, Table, number, verdict_span
from harness.reports.evidence import evidence_blocks, short_name, trace_blocks
from harness.reports.numbers import (
    derived_words,
    format_error,
    format_flags,
    format_moment,
    format_share,
    light_words,
    scopes_and_variants,
    variants_of,
    work_words,
)
from harness.reports.terminal import Report
from harness.reports.timing import timing_blocks
from harness.reports.untrusted import harmless
from harness.store.entry import config_hash

_COMMAND_WIDTH = 74
_CONFIG_FILE = "repeat.yaml"
_QUOTED_LINE = re.compile(r" *\d+ \| ")
_SAYING = re.compile(r"[\w./:-]{1,200}: (?P<what>.*\S)")
"""A message behind the name of its exception, or behind its file and line."""
_DETAILS_AT_ONCE = {Verdict.COMPILE_ERROR, Verdict.WRONG_VALUES, Verdict.LOAD_ERROR, Verdict.RUNTIME_ERROR}


def show_report(evaluation: Evaluation, all_cases: Collection[str] | None) -> Report:
    """`all_cases` are the problem's, where known: they shorten the command that repeats it. None for bare files."""
    name = f"{evaluation.problem.name} / {evaluation.solution.name}"
    title = Line((Span(name, "strong"), "  ", *judgement(evaluation)))
    return Report(
        [title, record(evaluation), *findings(evaluation), *surroundings(evaluation), again(evaluation, all_cases)]
    )


def source_text(evaluation: Evaluation) -> str:
    """The files that were judged, each under its name; control characters taken out."""
    files = evaluation.solution.files
    if not files:
        return "this record keeps no sources: it was made with --no-source, or by harness 0.1\n"
    return "\n".join(f"# ==== {harmless(name)}\n{harmless(text).rstrip()}\n" for name, text in files.items())


def log_text(evaluation: Evaluation) -> str:
    """Return what the compilers said of each extension."""
    if not evaluation.builds:
        return "nothing was built\n"
    return "\n".join(f"# ==== {harmless(build.name)}\n{_output(build)}\n" for build in evaluation.builds)


def judgement(evaluation: Evaluation) -> list[Span]:
    fragile = [Span(", fragile", "unsure")] if evaluation.is_fragile else []
    return [verdict_span(evaluation.verdict), *fragile]


def simulated_words(evaluations: Sequence[Evaluation]) -> str:
    """Say what verdicts of the simulator are worth. It looks for races in what was built: never in Triton kernels."""
    without = "not verified on a GPU; times are not measured"
    are_built = [bool(evaluation.builds) for evaluation in evaluations]
    if not evaluations[0].config.correctness.sanitize:
        return f"simulated, {without}, nor races looked for" + (" (--sanitize)" if any(are_built) else "")
    unseen = "" if all(are_built) else ", nor races looked for outside of CUDA"
    return f"simulated with --sanitize, {without}{unseen}"


def failure_blocks(evaluation: Evaluation, failure: Failure, verbose: bool) -> Iterator[Block]:
    """Say why it failed and what to do next; the details when asked for. Where the simulator has seen a fault, its line
    and what else was seen are no details."""
    yield Prose(by_its_files(evaluation, failure.reason))
    if failure.evidence:
        yield Line(f"seen by: {failure.seen_by} (see 'harness explain {failure.evidence[0].check}')")
    details = failure.details
    if details and not verbose and evaluation.verdict not in _DETAILS_AT_ONCE:
        details = details.partition("\n\n")[0] if _QUOTED_LINE.match(details) else None
    if details and (unsaid := _unsaid(details, failure.reason)):
        yield Prose(by_its_files(evaluation, unsaid), "faint")
    yield Line((Span("next: ", "strong"), by_its_files(evaluation, failure.next_step)))


def _unsaid(details: str, reason: str) -> str:
    """Leave out lines that repeat the reason: a compiler's first error, the end of a traceback."""
    parts = ((line, _SAYING.match(line)) for line in details.splitlines())
    return "\n".join(line for line, said in parts if not (said and f": {said['what']}" in reason)).strip("\n")


def record(evaluation: Evaluation) -> Pairs:
    """Say what was judged, when, and under which names."""
    solution, problem = evaluation.solution, evaluation.problem
    expected = solution.expected_verdict
    stages = ", ".join(f"{name} {seconds:.1f} s" for name, seconds in evaluation.stages_s.items())
    when = format_moment(evaluation.started_at, to_seconds=True)
    return Pairs(
        (
            ("expected was", expected.value if expected is not evaluation.verdict else ""),
            ("author", solution.author or "unknown"),
            ("language", ", ".join(languages_in(solution.files))),
            ("precision", solution.precision or f"not declared (the problem: {problem.precision})"),
            ("results show", evaluation.computed_in or ""),
            ("evaluated", f"{when} UTC, {evaluation.duration_s:.1f} s" + (f": {stages}" if stages else "")),
            ("decided by", f"the {evaluation.decided_by}" if evaluation.decided_by else ""),
            ("evaluation", f"{evaluation.id}, run {evaluation.run}"),
            ("files", f"of the solution {solution.sha256[:16]}…, of the problem {problem.sha256[:16]}…"),
            ("weights from", (evaluation.weights or "").replace("_", " ")),
        )
    )


def findings(evaluation: Evaluation) -> Iterator[Section]:
    """Show what was found: failure, evidence, times, errors, kernels."""
    if failure := evaluation.failure:
        where = f", case {failure.case}" if failure.case else ""
        seed = f", seed {evaluation.seed}" if failure.seed is not None else ""
        yield Section(f"failure{where}{seed}", list(failure_blocks(evaluation, failure, verbose=True)))
        if failure.evidence:
            yield Section("evidence", list(evidence_blocks(failure.evidence)))
    if evaluation.timing:
        yield Section(f"timing, case {evaluation.timing.case}", timing_blocks(evaluation))
    elif evaluation.environment.backend == "sim":
        yield Section("timing", [Line(simulated_words([evaluation]))])
    if evaluation.work:
        yield Section("speed of light", list(_light(evaluation, evaluation.work)))
    if evaluation.checks:
        oracles = ", ".join(dict.fromkeys(check.oracle for check in evaluation.checks))
        held = [Line(derived_words(one), "faint") for one in evaluation.tolerances]
        yield Section(f"checks against the {oracles} oracle", [*_checks(evaluation.checks), *held])
    if evaluation.fragile:
        title = "wrong far from the problem as drawn, which is no verdict"
        yield Section(f"fragile: {title}" if evaluation.is_fragile else title, list(_checks(evaluation.fragile)))
    if evaluation.trace:
        yield Section("kernels that ran", trace_blocks(evaluation.trace))
    if evaluation.builds:
        yield Section("builds", [block for build in evaluation.builds for block in build_blocks(build)])


def surroundings(evaluation: Evaluation) -> Iterator[Section]:
    """The environment, the protections and remarks."""
    yield Section("environment", [environment_facts(evaluation.environment)])
    if evaluation.protections:
        level = f"level {evaluation.confinement}: " if evaluation.confinement else ""
        yield Section("protections", [Line(level + ", ".join(evaluation.protections))])
    if evaluation.remarks:
        yield Section("remarks", [Prose(by_its_files(evaluation, remark)) for remark in evaluation.remarks])


def environment_facts(environment: Environment) -> Pairs:
    """Every fact of the machine, in words."""
    memory = environment.gpu_memory_bytes
    return Pairs(
        (
            ("backend", environment.backend),
            ("GPU", environment.gpu or ""),
            ("UUID of the GPU", environment.gpu_uuid or ""),
            ("GPU memory", f"{memory / 2**30:.1f} GiB" if memory else ""),
            ("compute capability", environment.compute_capability or ""),
            ("driver", environment.driver or ""),
            ("torch", environment.torch),
            ("Triton", environment.triton or ""),
            ("CUDA of torch", environment.torch_cuda or ""),
            ("cuDNN", environment.cudnn or ""),
            ("nvcc", environment.nvcc or ""),
            ("host compiler", environment.host_compiler or ""),
            ("Python", environment.python),
            ("system", environment.os),
            ("CPU", f"{environment.cpu}, {environment.cpu_count} cores"),
            ("torch's switches", format_flags(environment.flags)),
            ("harness", environment.harness),
            ("commit", environment.commit or ""),
            ("fingerprint", environment.fingerprint),
        )
    )


def again(evaluation: Evaluation, all_cases: Collection[str] | None) -> Section:
    """The command that repeats the evaluation: same inputs, same cases, same settings."""
    correctness = evaluation.config.correctness
    plain = dataclasses.replace(correctness, sanitize=False)
    settings = changed_settings(dataclasses.replace(evaluation.config, correctness=plain))
    problem, solution = evaluation.problem.name, evaluation.solution.name
    file, reference = evaluation.solution.file, evaluation.problem.file
    if file or all_cases is None:
        all_cases = None
        words = ["harness", "run", file or f"{solution}.py", "--reference", reference or f"{problem}.py"]
    else:
        words = ["harness", "run", "--problem", problem, "--solution", solution]
    words += ["--backend", evaluation.environment.backend, "--seed", str(evaluation.seed)]
    if all_cases is not None and set(evaluation.cases) != set(all_cases):
        words += [word for case in evaluation.cases for word in ("--case", case)]
    words += ["--sanitize"] if correctness.sanitize else []
    words += ["--config", _CONFIG_FILE] if settings else []
    blocks: list[Block] = [Prose(" \\\n  ".join(_broken_before_options(shlex.join(words))))]
    if settings:
        blocks += [Line(f"with {_CONFIG_FILE} (config {config_hash(evaluation.config)}):", "faint"), Prose(settings)]
    if commit := evaluation.environment.commit:
        blocks.append(Line(f"at commit {commit}", "faint"))
    return Section("repeat it", blocks)


def changed_settings(config: Config) -> str | None:
    """The settings that aren't the defaults, as a config file's YAML; None where all are."""
    defaults, lines = Config(), []
    for section in dataclasses.fields(config):
        own, usual = getattr(config, section.name), getattr(defaults, section.name)
        values = [(field.name, getattr(own, field.name)) for field in dataclasses.fields(own)]
        changed = [(name, value) for name, value in values if value != getattr(usual, name)]
        if changed:
            lines.append(f"{section.name}:")
            lines += [f"  {name}: {json.dumps(value)}" for name, value in changed]
    return "\n".join(lines) or None


def build_blocks(build: ExtensionBuild) -> Iterator[Block]:
    """Show how long it took, what nvcc said, and what the compiler says of each kernel."""
    yield Line(f"{build.name}: {'found built' if build.was_cached else f'built in {build.seconds:.1f} s'}")
    if build.nvcc:
        yield Line(nvcc_words(build.nvcc))
    if build.kernels:
        heads = ("registers", "shared B", "spilled B out/in", "stack B", "constant B")
        columns = (
            Column("kernel", is_name=True),
            Column("parameters", is_extra=True),
            Column("arch"),
            *map(number, heads),
        )
        yield Table(columns, [_resources(kernel) for kernel in build.kernels])


def nvcc_words(check: NvccCheck) -> str:
    """'nvcc 13.0.88 for sm_90: compiles, in 9.8 s'; of a refusal the first line, of what is unchecked the reason."""
    where = f"nvcc {check.nvcc} for {', '.join(check.architectures)}"
    if check.outcome == "accepted":
        return f"{where}: compiles" + (", as it did before" if check.was_cached else f", in {check.seconds:.1f} s")
    word = "refused" if check.outcome == "refused" else "not checked"
    return f"{where}: {word}: {check.words.splitlines()[0]}"


def _resources(kernel: KernelResources) -> tuple[str, ...]:
    name = short_name(kernel.kernel)
    spilled = f"{kernel.spill_store_bytes}/{kernel.spill_load_bytes}"
    counts = (kernel.registers, kernel.shared_bytes, spilled, kernel.stack_bytes, kernel.constant_bytes)
    parameters = kernel.kernel.replace("(anonymous namespace)::", "").rpartition("(")[2].rpartition(")")[0]
    return name, parameters, kernel.architecture, *("—" if count is None else str(count) for count in counts)


def _light(evaluation: Evaluation, work: Work) -> Iterator[Block]:
    """Show what a call can't do without, how long the device takes for it at best, and how near each arm comes."""
    yield Line(f"a call has {work_words(work)}")
    light, timing = evaluation.speed_of_light, evaluation.timing
    if light is None:
        yield Line("no ceilings of the device are in this record", "faint")
        return
    yield Line(f"at the device's ceilings that takes {light_words(light)}")
    if timing:
        arms: tuple[ArmName, ...] = (*timing.baselines, "solution")
        limits = ((arm, light_of(evaluation, arm)) for arm in arms)
        reached = [f"{arm} {format_share(of.ns / timing.time_ns(arm), of.source)}" for arm, of in limits if of]
        reached += [f"{metric} {format_share(*share)}" for metric, share in shares_of_parts(evaluation).items()]
        yield Line(f"reached: {', '.join(reached)}")


def _checks(checks: Sequence[Check]) -> Iterator[Block]:
    """A row per case and scope, in the order of judging, with the first values that differ."""
    heads = (
        *(Column("case", is_name=True), Column("scope"), Column("output", is_extra=True)),
        *(number("calls"), number("compared"), number("wrong"), number("err/tol")),
        *(number("largest abs.", is_extra=True), number("largest rel.", is_extra=True)),
        Column("tolerance", is_extra=True),
    )
    groups: dict[tuple[str, str], list[Check]] = {}
    for check in checks:
        groups.setdefault((check.case, check.scope), []).append(check)
    yield Table(heads, [_case(case, group) for (case, _), group in groups.items()])
    for case, group in groups.items():
        wrong = [one for check in group for output in check.outputs for one in output.first_mismatches]
        for one in wrong[:5]:
            yield Line(f"{case[0]} {list(one.index)} {one.values(digits=7)}", "faint")
    if any(output.tolerance.of_scale for check in checks for output in check.outputs):
        yield Line("rms: the root mean square of the right values of the same item of dimension 0", "faint")
    if variants := variants_of(checks):
        yield Line(variants, "faint")


def _case(case: str, checks: Sequence[Check]) -> tuple[str | Span, ...]:
    """Errors and tolerances in numbers are of the inputs as get_inputs() draws them: a variant's follow its size."""
    outputs = [output for check in checks for output in check.outputs]
    plain = [output for check in checks if check.variant is None for output in check.outputs] or outputs
    shapes = dict.fromkeys(f"{'×'.join(map(str, one.shape)) or 'scalar'} {one.dtype}" for one in outputs)
    held = dict.fromkeys(str(one.tolerance) for one in plain)
    relative = [one.relative_error for one in plain if one.relative_error is not None]
    passed = all(check.passed for check in checks)
    return (
        case,
        scopes_and_variants(checks),
        ", ".join(shapes),
        str(len(checks)),
        f"{sum(one.compared for one in outputs):.3g}",
        str(sum(one.mismatches for one in outputs)),
        Span(format_error(tuple(checks)), "plain" if passed else "bad"),
        f"{max((one.max_abs_error for one in plain), default=0.0):.2g}",
        f"{max(relative):.2g}" if relative else "—",
        ", ".join(held),
    )


def _output(build: ExtensionBuild) -> str:
    own = harmless(build.output).rstrip() or f"the record keeps no output; the whole log was at {harmless(build.log)}"
    if build.nvcc is None:
        return own
    said = harmless(build.nvcc.output).rstrip() or "(nothing)"
    return f"{own}\n# ---- {harmless(build.name)}, by nvcc {harmless(build.nvcc.nvcc)}\n{said}"


def _broken_before_options(command: str) -> list[str]:
    """Lines of a command that a shell takes when it is pasted."""
    lines = [""]
    for piece in re.split(r" (?=--)", command):
        if lines[-1] and len(lines[-1]) + len(piece) >= _COMMAND_WIDTH:
            lines.append(piece)
        else:
            lines[-1] = f"{lines[-1]} {piece}".lstrip()
    return lines
