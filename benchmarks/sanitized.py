"""compute-sanitizer over the kernels of our own solutions, on cases that between them launch every kernel they have.

`harness sanitize` for each solution and case, several at a time: nothing is timed, so they may share the GPU. A line
for each when it is done. Exit code 1 where a kernel of a solution's own has findings or a tool didn't look to the end.
Needs a GPU, nvcc and compute-sanitizer.

    python benchmarks/sanitized.py [--problem NAME …] [--solution NAME …] [--jobs 8] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from pathlib import Path

from pydantic import TypeAdapter

from harness.model.instruments import Sanitizing
from harness.workspace.solution import Solution
from harness.workspace.workspace import Workspace

ROOT = Path(__file__).parents[1]
CASES = {
    # whole windows of 11; any others, by sums of columns
    "avgpool2d": ("shared_columns", "wide"),
    # tuned for 5 x 7, in several tiles and with aligned rows; any others, with many channels, one tap and few channels
    "conv2d_asymmetric": (
        "several_tiles",
        "full_channels",
        "many_channels_everything",
        "many_channels_aligned",
        "everything",
    ),
    # tuned for 3 x 3, in several tiles and strips and with aligned rows; any others
    "conv2d_square": ("several_tiles", "several_strips", "small", "everything"),
    # windows of 4, 2 and 3 that slide, over narrow images and over wide ones; any others
    "maxpool2d": ("small", "wide", "half_wide_2", "half_wide_3", "large_windows"),
    "attention_backward": ("odd",),
    "causal_attention": ("odd",),
    # whole tiles of all parity classes; strides that have no such classes
    "conv_transpose2d": ("several_tiles_bias", "uneven_taps"),
    # rows that begin anywhere; shorter than a vector
    "cross_entropy": ("uneven", "narrow"),
    # counters per lane, fewer of them, and none in shared memory
    "histogram": ("odd", "many_bins", "more_bins"),
    # aligned rows in several tiles; any others
    "int8_matmul": ("several_tiles", "odd"),
    # rows in registers, of vectors and of single elements; longer rows
    "layer_norm": ("uneven", "odd", "wide"),
    "linear_gelu": ("several_tiles", "odd"),
    "prefix_sum": ("several_tiles", "odd"),
    "rms_norm": ("odd", "single_row", "uneven", "wide"),
    # eight coordinates at a time; one at a time
    "rotary_embedding": ("small", "odd"),
    "row_softmax": ("uneven", "odd", "wide"),
    "top_k": ("odd", "wide"),
}


@dataclass(frozen=True)
class Row:
    """The four tools' findings in a solution's own kernels on one case; `complaint`: what kept one from looking to the
    end, None where nothing did."""

    problem: str
    solution: str
    sha256: str
    case: str
    gpu: str | None
    findings: dict[str, int]
    complaint: str | None

    @property
    def is_clean(self) -> bool:
        return self.complaint is None and not any(self.findings.values())


def main() -> None:
    options = _options()
    chosen = _chosen(options)
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(options.jobs) as pool:
        todo = [pool.submit(look, solution, case, Path(folder)) for solution, case in chosen]
        for done in as_completed(todo):
            rows.append(done.result())
            print(line_of(rows[-1]), flush=True)
            if options.json:
                ordered = sorted(rows, key=lambda row: (row.problem, row.solution, CASES[row.problem].index(row.case)))
                options.json.write_text(json.dumps([asdict(row) for row in ordered], indent=1) + "\n")
    sys.exit(not rows or not all(row.is_clean for row in rows))


def line_of(row: Row) -> str:
    found = ", ".join(f"{tool} {count}" for tool, count in row.findings.items() if count)
    words = row.complaint or (f"findings: {found}" if found else "clean")
    return f"{row.problem}/{row.solution}, {row.case}: {words}"


def row_of(found: Sanitizing, sha256: str) -> Row:
    findings = {run.tool: sum(one.is_own for one in run.findings) for run in found.runs}
    complaints = [f"{run.tool}: {run.complaint}" for run in found.runs if run.complaint]
    solution = found.solution or "reference"
    return Row(found.problem, solution, sha256, found.case, found.gpu, dict(findings), "; ".join(complaints) or None)


def sanitize(problem: str, solution: str, case: str, folder: Path) -> Sanitizing | str:
    """Return what `harness sanitize` says, or the last line of why it couldn't. The run has its own lock of the GPU."""
    locks = folder / "locks"
    locks.mkdir(parents=True, exist_ok=True)
    names = [problem, solution, "--case", case, "--output", str(folder)]
    ended = subprocess.run(
        [sys.executable, "-m", "harness", "sanitize", *names, "--json", "--quiet"],
        capture_output=True,
        text=True,
        env={**os.environ, "HARNESS_LOCKS": str(locks)},
        cwd=ROOT,
        check=False,
    )
    try:
        record = json.loads(ended.stdout)
        del record["is_clean"]
        return TypeAdapter(Sanitizing).validate_python(record)
    except (ValueError, KeyError, TypeError):  # ValidationError is a ValueError
        said = [line for line in ended.stderr.splitlines() if line.strip()]
        return said[-1] if said else f"exit code {ended.returncode}"


def look(solution: Solution, case: str, folder: Path) -> Row:
    names, sha256 = (solution.problem, solution.name), solution.sha256
    found = sanitize(*names, case, folder.joinpath(*names, case))
    return Row(*names, sha256, case, None, {}, found) if isinstance(found, str) else row_of(found, sha256)


def _chosen(options: argparse.Namespace) -> list[tuple[Solution, str]]:
    """First every solution on its first case, so that they are built side by side; who comes later finds them built."""
    found = [one for problem in options.problem or CASES for one in Workspace(ROOT).solutions(problem)]
    chosen = [one for one in found if not options.solution or one.name in options.solution]
    rounds = max(len(cases) for cases in CASES.values())
    return [(one, CASES[one.problem][n]) for n in range(rounds) for one in chosen if n < len(CASES[one.problem])]


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="compute-sanitizer over all kernels of our solutions.")
    parser.add_argument("--problem", nargs="*", choices=list(CASES), help="default: all")
    parser.add_argument("--solution", nargs="*", help="default: all of each problem")
    parser.add_argument("--jobs", type=int, default=8, help="at a time (default: 8)")
    parser.add_argument("--json", type=Path, help="write the rows there, after each")
    return parser.parse_args()


if __name__ == "__main__":
    main()
