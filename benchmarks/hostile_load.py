"""Hundreds of hostile solutions in a row, and what they leave: are honest ones judged afterwards as on a fresh machine?

    python benchmarks/hostile_load.py [--backend cuda] [--hostile 500] [--honest 50] [--results FILE]

The honest look-alikes of tests/cheats are judged, then its attacks and the faults of tests/faults over and over, then
the look-alikes again, all by one session on all GPUs. Printed are verdicts that changed, the ratios of times
(durations, and speed-ups that were measured twice on one GPU, with those whose intervals don't overlap), and what there
is more of than before: processes, files in temporary folders and shared memory, open descriptors, memory of this
process and of the GPUs. Exit status 1 where a verdict changed or anything is left. Nothing else should run on the
machine.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from harness.model.evaluation import Evaluation  # noqa: E402
from harness.run.session import open_session  # noqa: E402
from harness.workspace.workspace import Workspace  # noqa: E402
from tests.corpus import HONEST, Case, CorpusBackend, read_families, task_of  # noqa: E402

CHEATS, FAULTS = ROOT / "tests/cheats", ROOT / "tests/faults"
_SETTLING_S = 5.0
"""The time that the kernel and the driver get to clear what has ended."""
_GROWTH = 64 * 2**20
"""Bytes by which this process may grow: records of evaluations, caches of torch's."""


@dataclass(frozen=True)
class Machine:
    """The state of the machine besides the results; names where something may be left by name."""

    processes: frozenset[str]
    files: frozenset[str]
    descriptors: int
    memory_bytes: int
    gpu_bytes: int

    @classmethod
    def now(cls, backend: CorpusBackend) -> Machine:
        time.sleep(_SETTLING_S)
        places = (Path(tempfile.gettempdir()), Path("/dev/shm"))
        return cls(
            processes=frozenset(path.name for path in Path("/proc").glob("[0-9]*") if _is_worker(path)),
            files=frozenset(str(file) for place in places for file in place.iterdir()),
            descriptors=len(os.listdir("/proc/self/fd")),
            memory_bytes=int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE"),
            gpu_bytes=_gpu_bytes() if backend == "cuda" else 0,
        )

    def beyond(self, before: Machine) -> dict[str, Any]:
        """Return what there is more of."""
        new = {"processes": self.processes - before.processes, "files": self.files - before.files}
        more: dict[str, Any] = {name: sorted(found) for name, found in new.items() if found}
        for name in ("descriptors", "memory_bytes", "gpu_bytes"):
            growth = getattr(self, name) - getattr(before, name)
            if growth > (0 if name == "descriptors" else _GROWTH):
                more[name] = growth
        return more


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--backend", choices=("sim", "cuda"), default="sim")
    parser.add_argument("--hostile", type=int, default=500)
    parser.add_argument("--honest", type=int, default=50)
    parser.add_argument("--results", type=Path, help="where the outcome goes, as JSON")
    given = parser.parse_args()
    cheats = _possible(read_families(CHEATS, "corpus"), given.backend)
    honest = [case for case in cheats if case.family == HONEST][: given.honest]
    attacks = [case for case in cheats if case.family != HONEST]
    faults = _possible(read_families(FAULTS, "patient"), given.backend)
    hostile = list(itertools.islice(itertools.cycle([*attacks, *faults]), given.hostile))
    places = {case.name: Workspace(root) for root, cases in ((CHEATS, cheats), (FAULTS, faults)) for case in cases}
    with tempfile.TemporaryDirectory() as results:
        config = Workspace(CHEATS).config("load")
        with open_session(given.backend, CHEATS, Path(results), config, None, lambda what: None) as session:

            def judged(cases: Sequence[Case]) -> Iterator[Evaluation]:
                tasks = [task_of(places[case.name], given.backend, case) for case in cases]
                for number, evaluation in enumerate(session.evaluate(tasks, lambda job, what: None), start=1):
                    print(f"{number:4}/{len(tasks)} {_name(evaluation):36} {evaluation.verdict.value}", flush=True)
                    yield evaluation

            list(judged(honest))  # builds them, so that both later sittings find them built
            first = {_name(one): one for one in judged(honest)}
            before = Machine.now(given.backend)
            verdicts = [one.verdict.value for one in judged(hostile)]
            left = Machine.now(given.backend).beyond(before)
            second = {_name(one): one for one in judged(honest)}
    changed = {name: f"{first[name].verdict.value} → {one.verdict.value}" for name, one in second.items()}
    changed = {name: words for name, words in changed.items() if len(set(words.split(" → "))) > 1}
    durations = [one.duration_s / first[name].duration_s for name, one in second.items()]
    outcome = {
        "backend": given.backend,
        "hostile": len(verdicts),
        "verdicts": {verdict: verdicts.count(verdict) for verdict in sorted(set(verdicts))},
        "honest": len(second),
        "changed": changed,
        "duration_ratio": round(statistics.median(durations), 3),
        "speedups": _speedups(first, second),
        "left": left,
    }
    print(json.dumps(outcome, indent=1, ensure_ascii=False))
    if given.results:
        given.results.write_text(json.dumps(outcome, indent=1, ensure_ascii=False) + "\n")
    return int(bool(changed or left))


def _possible(cases: Sequence[Case], backend: CorpusBackend) -> list[Case]:
    return [case for case in cases if (case.runs_on_sim if backend == "sim" else case.runs_on_gpu)]


def _name(evaluation: Evaluation) -> str:
    return f"{evaluation.problem.name}/{evaluation.solution.name}"


def _speedups(first: dict[str, Evaluation], second: dict[str, Evaluation]) -> dict[str, Any]:
    """Compare the speed-ups of pairs that one GPU measured: GPUs of one model differ by a percent."""
    pairs = {
        name: (one.timing.speedup, two.timing.speedup)
        for name, two in second.items()
        if (one := first[name]).timing and two.timing and one.timing.speedup and two.timing.speedup
        if one.environment.gpu_uuid == two.environment.gpu_uuid
    }
    ratios = [late.estimate / early.estimate for early, late in pairs.values()]
    return {
        "pairs": len(pairs),
        "ratio": round(statistics.median(ratios), 4) if ratios else None,
        "apart": {
            name: f"[{early.low:.4g}, {early.high:.4g}] → [{late.low:.4g}, {late.high:.4g}]"
            for name, (early, late) in pairs.items()
            if early.high < late.low or late.high < early.low
        },
    }


def _gpu_bytes() -> int:
    """Return what all programs hold on all GPUs. By torch, this process would be a program on them, too."""
    asked = ["nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits"]
    return sum(map(int, subprocess.check_output(asked, text=True).split())) * 2**20


def _is_worker(process: Path) -> bool:
    """Say whether it bears the mark of workers and of the servers that fork them."""
    try:
        return b"HARNESS_WORKER=" in (process / "environ").read_bytes()
    except OSError:
        return False


if __name__ == "__main__":
    sys.exit(main())
