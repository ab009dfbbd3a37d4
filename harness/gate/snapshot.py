"""The snapshot: evaluations that somebody accepted, a line each, in a file that git keeps; and how a run gets there."""

from __future__ import annotations

import dataclasses
import json
import os
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from harness.complaints import complaint
from harness.errors import InvalidFile, JournalError, UsageError, refused
from harness.gate.git import file_at
from harness.gate.runs import latest_of_each, left_out, read_run
from harness.model.evaluation import Evaluation
from harness.model.gate import Accepted, AcceptedTimes, device_of
from harness.model.record import as_json
from harness.model.verdict import Verdict
from harness.plain_file import read_text
from harness.workspace.selection import fits
from harness.workspace.workspace import Workspace

SNAPSHOT_FILE = "snapshot.jsonl"

_MOST, _LONGEST_LINE = 2**28, 2**20
"""The most bytes of a snapshot, and characters of a line."""

_ENTRY = TypeAdapter(Accepted)


@dataclass(frozen=True)
class Snapshot:
    """Accepted evaluations by solution, one for each device. `source` says where they come from, for people."""

    source: str
    accepted: tuple[Accepted, ...]
    remarks: tuple[str, ...] = ()
    """Remarks on what couldn't be read."""

    def of(self, problem: str, solution: str) -> list[Accepted]:
        return [entry for entry in self.accepted if (entry.problem, entry.solution) == (problem, solution)]


def accept(evaluation: Evaluation) -> Accepted:
    timing = evaluation.timing
    times = None
    if timing and not timing.noise:
        baseline = timing.baselines[0]
        blocks = timing.block_ns(baseline), timing.block_ns("solution")
        times = AcceptedTimes(timing.case, baseline, *blocks, timing.metric, timing.fresh_pairs)
    return Accepted(
        problem=evaluation.problem.name,
        solution=evaluation.solution.name,
        verdict=evaluation.verdict,
        evaluation=evaluation.id,
        started_at=evaluation.started_at,
        problem_sha256=evaluation.problem.sha256,
        solution_sha256=evaluation.solution.sha256,
        times=times,
        environment=dataclasses.replace(evaluation.environment, commit=None),
    )


def open_snapshot(named: str | None, workspace: Path, results: Path) -> Snapshot | None:
    """FILE, git:REF or run:ID; None: snapshot.jsonl of the workspace if it is there.

    Raises: UsageError where there is no such snapshot, InvalidFile where a line is broken.
    """
    if named is None:
        path = workspace / SNAPSHOT_FILE
        return Snapshot(SNAPSHOT_FILE, parse(_text(path), SNAPSHOT_FILE)) if path.exists() else None
    kind, _, rest = named.partition(":")
    if kind == "git":
        return Snapshot(named, parse(file_at(workspace, rest, SNAPSHOT_FILE), f"{rest}:{SNAPSHOT_FILE}"))
    if kind == "run":
        run = read_run(results, rest)
        accepted = tuple(accept(evaluation) for evaluation in latest_of_each(run.evaluations))
        return Snapshot(f"run:{run.name}", accepted, run.remarks)
    path = Path(named)
    if not path.is_file():
        raise UsageError(f"--snapshot {named}: no such file; make one with 'harness snapshot accept'")
    return Snapshot(named, parse(_text(path), named))


def _text(path: Path) -> str:
    with refused(InvalidFile, f"{path}: can't be read"):
        return read_text(path, _MOST, errors="replace")


def parse(text: str, source: str) -> tuple[Accepted, ...]:
    """The entries of a snapshot's text. Raises: InvalidFile with the number of a broken line."""
    entries = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith(("<<<<<<<", "=======", ">>>>>>>")):
            raise InvalidFile(f"{source}:{number}: git left a conflict here; keep one side, or accept again")
        if len(line) > _LONGEST_LINE:
            raise InvalidFile(f"{source}:{number}: {len(line)} characters; restore it, or accept again")
        if line.strip():
            try:
                entries.append(_ENTRY.validate_json(line))
            except ValidationError as error:
                what = complaint(error, Accepted)
                raise InvalidFile(f"{source}:{number}: {what}; restore it, or accept again") from None
    return tuple(entries)


def merged(old: Iterable[Accepted], new: Iterable[Accepted], known: set[tuple[str, str]]) -> tuple[Accepted, ...]:
    """Old entries, new ones in place of those of the same solution and device, without solutions that are gone."""
    entries = {_key(entry): entry for entry in (*old, *new)}
    return tuple(entries[key] for key in sorted(entries) if key[:2] in known)


def render(accepted: Sequence[Accepted]) -> str:
    """The file's text: sorted, a line an entry, so that git's differences show what changed."""
    lines = [json.dumps(as_json(entry), separators=(", ", ": "), allow_nan=False) for entry in accepted]
    return "".join(f"{line}\n" for line in lines)


def write(path: Path, accepted: Sequence[Accepted]) -> None:
    """Replace the file as a whole. Raises: JournalError where it can't be written; the old one stays."""
    with refused(JournalError, f"can't write {path}", "name another with --output"):
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(render(accepted))
        os.chmod(name, 0o644)
        os.replace(name, path)


@dataclass(frozen=True)
class Acceptance:
    """The result: `accepted` entries of `run` are new in the file at `path`, `gone` left it, `kept` are in it."""

    run: str
    accepted: int
    gone: int
    kept: int
    path: Path
    remarks: tuple[str, ...]


def accept_run(
    workspace: Workspace,
    run: str,
    results: Path,
    output: Path | None,
    problems: Sequence[str] = (),
    solutions: Sequence[str] = (),
) -> Acceptance:
    """Write a run's evaluations into the snapshot at `output`, by default the workspace's.

    Raises: UsageError where one isn't fit to be compared with, and then nothing is written; JournalError.
    """
    found = read_run(results, run)
    evaluations = _chosen(latest_of_each(found.evaluations), problems, solutions)
    if refused := [
        f"{e.problem.name}/{e.solution.name}: {why}" for e in evaluations if (why := _refusal(e, workspace))
    ]:
        raise UsageError("nothing was accepted, because of\n  " + "\n  ".join(refused))
    path = output or workspace.root / SNAPSHOT_FILE
    old = parse(_text(path), str(path)) if path.is_file() else ()
    known = {(p, s) for p in workspace.problem_names() for s in workspace.solution_names(p)}
    not_judged = [evaluation for evaluation in evaluations if _needs_gpu(evaluation, workspace)]
    new = [accept(evaluation) for evaluation in evaluations if evaluation not in not_judged]
    # What was accepted of them on the same device goes: they can't be judged there any more.
    needy = {(e.problem.name, e.solution.name, device_of(e.environment)) for e in not_judged}
    kept = merged((entry for entry in old if _key(entry) not in needy), new, known)
    write(path, kept)
    still = set(map(_key, kept))
    gone = sum(_key(entry) not in still for entry in old)
    return Acceptance(found.name, len(new), gone, len(kept), path, found.remarks)


def _key(entry: Accepted) -> tuple[str, str, str]:
    return (entry.problem, entry.solution, entry.device)


def _chosen(
    evaluations: Sequence[Evaluation], problems: Sequence[str], solutions: Sequence[str]
) -> Sequence[Evaluation]:
    """Evaluations that the patterns name. Raises: UsageError where they leave nothing."""
    chosen = [e for e in evaluations if fits(e.problem.name, problems) and fits(e.solution.name, solutions)]
    if not chosen:
        names = ", ".join(f"{e.problem.name}/{e.solution.name}" for e in evaluations[:8])
        raise UsageError(f"nothing in this run fits --problem and --solution; it holds {names}")
    return chosen


def _needs_gpu(evaluation: Evaluation, workspace: Workspace) -> bool:
    """True where there is nothing to accept, since it needs a GPU and had none, or another one."""
    (now,) = workspace.solutions(evaluation.problem.name, [evaluation.solution.name])
    elsewhere = now.about.needs_gpu or not now.about.runs_on(evaluation.environment.compute_capability)
    return evaluation.verdict is Verdict.UNSUPPORTED and elsewhere


def _refusal(evaluation: Evaluation, workspace: Workspace) -> str | None:
    """Say why an evaluation is nothing to compare with; None where it is."""
    about, problem = evaluation.solution, evaluation.problem
    if evaluation.verdict is not about.expected_verdict:
        return f"{evaluation.verdict.value}, expected {about.expected_verdict.value}"
    if about.name not in workspace.solution_names(problem.name) or problem.name not in workspace.problem_names():
        return "it is gone from the workspace"
    (now,), problem_now = workspace.solutions(problem.name, [about.name]), workspace.problem(problem.name)
    if (problem_now.sha256, now.sha256) != (problem.sha256, about.sha256):
        return "it was edited after it was evaluated; run it again"
    if missed := left_out(evaluation, problem_now):
        return f"{missed}; run it again with all cases"
    if evaluation.verdict.passed and evaluation.environment.backend == "cuda":
        return evaluation.timing.noise if evaluation.timing else "it was not timed"
    return None
