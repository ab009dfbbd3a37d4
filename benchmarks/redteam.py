"""The corpus of attacks, faults and look-alikes against each way in which workers can be confined.

    python benchmarks/redteam.py [--backend cuda] [--as WAY …] [--results FILE] [FAMILY or part of a name …]

Prints a line per case as it comes (`BAD` where it ended otherwise than tests/cheats or tests/faults say), so that a run
that is cut short says what it found. At the end stands a row per family and way: cases, what noticed them, and the bad
ones by name. Exit status 1 where there is one at the level `full`. An ordinary user needs a Python that others may run.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from harness.model.evaluation import Evaluation  # noqa: E402
from tests.corpus import Case, Corpus, CorpusBackend, read_families, require_caught  # noqa: E402
from tests.machine import ITS_PACKAGES, USER, python_of_others  # noqa: E402

WORKSPACES = {ROOT / "tests/cheats": "corpus", ROOT / "tests/faults": "patient"}


@dataclass(frozen=True)
class Way:
    """A way in which this machine confines: for root or for an ordinary user, with or without Landlock, bubblewrap."""

    what: str
    is_root: bool
    has_landlock: bool = True
    has_bubblewrap: bool = True


WAYS = {
    "root": Way("root, a user of its own for each worker, Landlock", True),
    "ordinary": Way("an ordinary user, Landlock", False),
    "root-bubblewrap": Way("root, a user of its own, bubblewrap", True, has_landlock=False),
    "bubblewrap": Way("an ordinary user, bubblewrap", False, has_landlock=False),
    "neither": Way(
        "an ordinary user, neither Landlock nor bubblewrap", False, has_landlock=False, has_bubblewrap=False
    ),
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--backend", choices=("sim", "cuda"), default="sim")
    parser.add_argument("wanted", nargs="*", help="families, or parts of cases' names")
    parser.add_argument("--as", dest="ways", action="append", choices=WAYS, help="may be repeated; default: all")
    parser.add_argument("--results", type=Path, help="where the outcomes go, as JSON")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)  # in the process that is one way
    given = parser.parse_args()
    if given.here:
        _evaluate(given.backend, given.wanted)
        return 0
    with tempfile.TemporaryDirectory() as folder:  # the home and cache of an ordinary user that root becomes
        ways = given.ways or WAYS
        rows = [row for way in ways for row in _rows_of(way, given.backend, given.wanted, Path(folder))]
    _print_table(rows)
    if given.results:
        given.results.write_text(json.dumps(rows, indent=0) + "\n")
    return int(any(row["level"] == "full" and not row["is_right"] for row in rows))


def _rows_of(name: str, backend: CorpusBackend, wanted: Sequence[str], folder: Path) -> Iterator[dict[str, Any]]:
    """Run the corpus in a process of its own, this way. Raises: subprocess.CalledProcessError."""
    way = WAYS[name]
    becomes_user = os.geteuid() == 0 and not way.is_root
    python = python_of_others() if becomes_user else sys.executable
    if python is None or (way.is_root and os.geteuid() != 0):
        print(f"== {name}: skipped: nobody is root here, or others may not run this Python")
        return
    print(f"== {name}: {way.what}", flush=True)
    command = [python, __file__, "--here", "--backend", backend, *wanted]
    if not way.has_landlock:
        command = [python, "-m", "tests.without_landlock", *command]
    path = os.environ["PATH"] if way.has_bubblewrap else _path_without("bwrap", folder)
    environment, user = {**os.environ, **ITS_PACKAGES, "PATH": path}, dict[str, Any]()
    if becomes_user:
        os.chown(folder, USER, USER)
        environment |= {"HOME": str(folder), "TMPDIR": str(folder), "HARNESS_CACHE": f"{folder}/cache"}
        user = {"user": USER, "group": USER, "extra_groups": []}
    with subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True, **user) as run:
        assert run.stdout is not None
        for line in run.stdout:
            row = json.loads(line)
            print(_line(row), flush=True)
            yield {"way": name, **row}
    if run.returncode:
        raise subprocess.CalledProcessError(run.returncode, command)


def _path_without(program: str, folder: Path) -> str:
    """Return a PATH of links to all programs but one."""
    links = folder / "programs"
    links.mkdir(exist_ok=True)
    for place in reversed(os.environ["PATH"].split(os.pathsep)):
        for file in Path(place).iterdir() if Path(place).is_dir() else ():
            if file.name != program:
                (links / file.name).unlink(missing_ok=True)
                (links / file.name).symlink_to(file)
    return str(links)


def _evaluate(backend: CorpusBackend, wanted: Sequence[str]) -> None:
    """Print a row for each case as it comes, in whatever order."""
    for root, config in WORKSPACES.items():
        cases = {case.name: case for case in read_families(root, config) if _is_wanted(case, backend, wanted)}

        def tell(evaluation: Evaluation, cases: dict[str, Case] = cases) -> None:
            row = _row(evaluation, cases[f"{evaluation.problem.name}/{evaluation.solution.name}"])
            print(json.dumps(row), flush=True)

        selected = [(backend, case) for case in cases.values()]
        with tempfile.TemporaryDirectory() as results, closing(Corpus(root, Path(results), selected, tell)) as corpus:
            for case in cases.values():
                corpus.evaluation(backend, case)


def _is_wanted(case: Case, backend: CorpusBackend, wanted: Sequence[str]) -> bool:
    if not (case.runs_on_sim if backend == "sim" else case.runs_on_gpu):
        return False
    return not wanted or any(word == case.family or word in case.name for word in wanted)


def _row(evaluation: Evaluation, case: Case) -> dict[str, Any]:
    checks = [evidence.check for evidence in evaluation.failure.evidence] if evaluation.failure else []
    speedup = evaluation.timing.speedup if evaluation.timing else None
    return {
        "family": case.family,
        "name": case.name,
        "level": evaluation.confinement,
        "noticed_by": list(dict.fromkeys(checks)) or [evaluation.verdict.value],
        "is_right": _is_right(evaluation, case),
        "seconds": round(evaluation.duration_s, 1),
        "words": evaluation.failure.reason if evaluation.failure else f"{speedup.estimate:.3f}" if speedup else "",
    }


def _is_right(evaluation: Evaluation, case: Case) -> bool:
    try:
        require_caught(evaluation, case)
    except AssertionError:
        return False
    return True


def _line(row: dict[str, Any]) -> str:
    found, how = "ok " if row["is_right"] else "BAD", "+".join(row["noticed_by"])
    return f"{found} {row['name']:36} {how:24} {row['seconds']:5.1f} s  {' '.join(row['words'].split())[:100]}"


def _print_table(rows: Sequence[dict[str, Any]]) -> None:
    of_families: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        of_families[row["family"], row["way"]].append(row)
    print()
    for (family, way), these in of_families.items():
        noticed = Counter(" + ".join(row["noticed_by"]) for row in these).most_common()
        bad = [row["name"] for row in these if not row["is_right"]]
        print(f"{family:22} {way:16} {len(these):3}  " + ", ".join(f"{word} {count}" for word, count in noticed))
        if bad:
            print(f"{'':39} not as they must: {', '.join(bad)}")
    print(f"{len(rows)} cases, {sum(not row['is_right'] for row in rows)} not as they must")


if __name__ == "__main__":
    sys.exit(main())
