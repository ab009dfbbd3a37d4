"""`python -m tests.corpus_table sim|cuda [FAMILY or part of a name …]`: the corpus as a table of families.

Prints a line per case as it comes (`BAD` where tests/cheats or tests/faults would fail), so that a run that is cut
short says what it found, and at the end the table: cases, and by what they were caught.
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from harness.model.evaluation import Evaluation
from tests.corpus import Case, Corpus, CorpusBackend, read_families, require_caught

HERE = Path(__file__).parent
WORKSPACES = {HERE / "cheats": "corpus", HERE / "faults": "patient"}


def main(backend: CorpusBackend, wanted: Sequence[str]) -> int:
    """The number of cases that ended otherwise than they must."""
    caught: dict[str, Counter[str]] = defaultdict(Counter)
    bad = 0
    for root, config in WORKSPACES.items():
        cases = [case for case in read_families(root, config) if _is_wanted(case, backend, wanted)]
        by_name = {case.name: case for case in cases}

        def say(evaluation: Evaluation, by_name: dict[str, Case] = by_name) -> None:
            case = by_name[f"{evaluation.problem.name}/{evaluation.solution.name}"]
            print(_line(evaluation, case), flush=True)
            caught[case.family][" + ".join(_caught_by(evaluation))] += 1

        selected = [(backend, case) for case in cases]
        with tempfile.TemporaryDirectory() as results, closing(Corpus(root, Path(results), selected, say)) as corpus:
            bad += sum(not _is_right(corpus.evaluation(backend, case), case) for case in cases)
    print()
    for family, counts in caught.items():
        print(f"{family:20} {sum(counts.values()):3}  " + ", ".join(f"{word} {n}" for word, n in counts.most_common()))
    print(f"{sum(sum(counts.values()) for counts in caught.values())} cases, {bad} not as they must")
    return bad


def _is_wanted(case: Case, backend: CorpusBackend, wanted: Sequence[str]) -> bool:
    if not (case.runs_on_sim if backend == "sim" else case.runs_on_gpu):
        return False
    return not wanted or any(word == case.family or word in case.name for word in wanted)


def _is_right(evaluation: Evaluation, case: Case) -> bool:
    try:
        require_caught(evaluation, case)
    except AssertionError:
        return False
    return True


def _caught_by(evaluation: Evaluation) -> list[str]:
    checks = [evidence.check for evidence in evaluation.failure.evidence] if evaluation.failure else []
    return list(dict.fromkeys(checks)) or [evaluation.verdict.value]


def _line(evaluation: Evaluation, case: Case) -> str:
    found = "ok " if _is_right(evaluation, case) else "BAD"
    reason = (
        evaluation.failure.reason if evaluation.failure else "; ".join([*_speedups(evaluation), *evaluation.remarks])
    )
    how = "+".join(_caught_by(evaluation))
    return f"{found} {case.name:36} {how:24} {evaluation.duration_s:5.1f} s  {' '.join(reason.split())[:110]}"


def _speedups(evaluation: Evaluation) -> list[str]:
    """At most one."""
    interval = evaluation.timing.speedup if evaluation.timing else None
    return [f"{interval.estimate:.3f} [{interval.low:.3f}, {interval.high:.3f}]"] if interval else []


if __name__ == "__main__":
    name, *words = sys.argv[1:] or ["sim"]
    if name not in ("sim", "cuda"):
        sys.exit(f"no backend '{name}': sim or cuda")
    sys.exit(min(1, main("cuda" if name == "cuda" else "sim", words)))
