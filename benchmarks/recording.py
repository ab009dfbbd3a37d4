"""Draw what `harness run --problem P` printed of recorded evaluations, as a terminal shows it: an SVG for the README.

python benchmarks/recording.py results maxpool2d results/run.svg
"""

from __future__ import annotations

import io
import sys
from dataclasses import replace
from pathlib import Path

from rich.console import Console

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from harness.reports import run_report  # noqa: E402
from harness.store.journal import read_journals  # noqa: E402


def main(results: Path, problem: str, svg: Path) -> None:
    newest = {one.solution.name: one for one in read_journals(results) if one.problem.name == problem}
    console = Console(file=io.StringIO(), record=True, width=92, highlight=False, force_terminal=True)
    console.print(f"[bold]$ harness run --problem {problem}[/bold]")
    console.print(run_report([replace(one, remarks=()) for one in newest.values()], False))
    console.save_svg(str(svg), title="harness")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3]))
