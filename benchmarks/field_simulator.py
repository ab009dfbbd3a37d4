"""The public leaderboard of KernelBench kernels, judged without a GPU.

    python benchmarks/field.py LEADERBOARD --workspace FOLDER --backend sim --minutes 60 --file F.json --page F.md
    python benchmarks/field_simulator.py FOLDER/results [RESULTS ...]

Reads the journals of such sittings and holds their verdicts to a GPU's: those of results/field.json, and where that has
none, that KernelBench accepted the kernel on one. Who rejects what a reading in results/field_reasons.yaml calls wrong
raises no false alarm. Verdicts and seconds go into results/field_simulator.json, without anybody's source, and a table
by level into docs/simulator.md.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from statistics import median
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from field import FIELD, ROOT, put_between, readings

from harness.model.evaluation import Evaluation
from harness.model.verdict import Verdict
from harness.store.journal import read_journals

FILE = ROOT / "results/field_simulator.json"
PAGE = ROOT / "docs/simulator.md"
STAGES = ("build", "load", "correctness")

Row = dict[str, Any]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path, nargs="+", help="results folders of sittings on the simulator")
    parser.add_argument("--gpu", type=Path, default=FIELD, help="verdicts of a GPU")
    parser.add_argument("--file", type=Path, default=FILE, help=argparse.SUPPRESS)
    parser.add_argument("--page", type=Path, default=PAGE, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    gpu = json.loads(chosen.gpu.read_text()) if chosen.gpu.exists() else {}
    found: dict[str, Row] = {}
    for results in chosen.results:
        found |= rows_of(read_journals(results), gpu)
    chosen.file.write_text(json.dumps(found, indent=0, sort_keys=True) + "\n")
    lines = list(table(found))
    put_between(chosen.page, "leaderboard", lines)
    print("\n".join([*lines, "", *disagreements(found)]))


def rows_of(records: Iterable[Evaluation], gpu: Mapping[str, Row]) -> dict[str, Row]:
    """The newest evaluation of each kernel on the simulator, beside the verdict that a GPU gives."""
    found, known = {}, readings()
    for one in sorted(records, key=lambda record: record.started_at):
        if one.environment.backend == "sim":
            name = f"{one.problem.name}/{one.solution.name}"
            found[name] = {
                "verdict": one.verdict.value,
                "on_gpu": gpu.get(name, {}).get("verdict", Verdict.PASSED.value),
                "is_wrong": known.get(name, {}).get("truth") == "wrong",
                "cases": sorted({check.case for check in one.checks}),
                "seconds": {stage: round(one.stages_s.get(stage, 0.0), 2) for stage in STAGES},
            }
    return found


def table(found: Mapping[str, Row]) -> Iterator[str]:
    """Show by level how many verdicts are a GPU's, and how long a kernel took in the median."""
    yield "| level | kernels | a GPU's verdict | false passes | false alarms | not judged | compiling, s | judging, s |"
    yield "|---|---:|---:|---:|---:|---:|---:|---:|"
    for level in sorted({name.split("_")[0] for name in found}):
        rows = [row for name, row in found.items() if name.startswith(level + "_")]
        same = sum(row["verdict"] == row["on_gpu"] for row in rows)
        counts = [sum(outcome(row) == which for row in rows) for which in ("false pass", "false alarm", "not judged")]
        compiling = median(row["seconds"]["build"] for row in rows)
        judging = median(row["seconds"]["load"] + row["seconds"]["correctness"] for row in rows)
        share, medians = f"{same} ({same / len(rows):.0%})", (f"{compiling:.1f}", f"{judging:.1f}")
        cells = [level[1:], len(rows), share, *counts, *medians]
        yield f"| {' | '.join(map(str, cells))} |"


def outcome(row: Row) -> str:
    """Say what is wrong with a verdict, beside a GPU's; '' where nothing is."""
    here, there = Verdict(row["verdict"]), Verdict(row["on_gpu"])
    if here.passed:
        return "" if there.passed else "false pass" if there.blames_solution else ""
    if here.blames_solution:
        return "false alarm" if there.passed and not row["is_wrong"] else ""
    return "" if here is there else "not judged"


def disagreements(found: Mapping[str, Row]) -> Iterator[str]:
    for name, row in sorted(found.items()):
        if row["verdict"] != row["on_gpu"]:
            yield f"{name}: {row['verdict']}, on a GPU {row['on_gpu']}" + ", wrong by its source" * row["is_wrong"]


if __name__ == "__main__":
    main()
