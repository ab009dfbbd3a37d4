"""A check whether every problem of a workspace can be judged within so much memory of a GPU, and what it takes.

Another process holds the rest of the GPU's memory meanwhile. The solution is the reference itself, which isn't timed
unless asked for, so `no_custom_kernel` is the verdict to expect: it comes after all comparisons. A line a problem: what
an eager call needs (inputs, parameters and what is alive at once: from meta tensors or, where it decides, by a call),
the most that referee and workers held together, and the verdict. Rows go to a file of JSON lines; what stands there
already isn't done again. Exit code 1 where a problem whose eager call needs at most 40 % of the memory wasn't judged,
or any wasn't on 74 GiB (80 GB). Needs a GPU that nobody else uses.

    python benchmarks/memory.py DIR [--gib 24 --gib 40 --gib 74] [--problem NAME …] [--timed] [--json memory.jsonl]
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from harness.api.evaluator import Evaluator
from harness.model.config import Config
from harness.model.evaluation import Evaluation
from harness.referee.answers.invalid_problem import InvalidProblem
from harness.referee.answers.reference import Reference
from harness.referee.memory import need_of
from harness.workspace.problem import FULL, Problem, load_problem

_GIB = 2**30
_SHARE, _ALL_GIB = 0.4, 74
"""An 80 GB GPU has 74.5 GiB, or more."""
_JUDGED = ("passed", "no_custom_kernel", "too_slow")
_PERIOD_S = 0.02
_SMALL_BYTES = 2**26
"""A size of inputs and parameters below which a call's need isn't asked. Meta tensors of a recurrent net take 30 s."""


@dataclass(frozen=True)
class Row:
    """One problem under one cap. `eager_gib` is None where it is little, and where the problem's code needs real memory
    to tell."""

    problem: str
    cap_gib: int
    is_timed: bool
    eager_gib: float | None
    peak_gib: float
    verdict: str
    reason: str | None
    remarks: tuple[str, ...]
    seconds: float

    @property
    def is_wanted(self) -> bool:
        """True where it has to be judged."""
        return self.cap_gib >= _ALL_GIB or (self.eager_gib is not None and self.eager_gib <= _SHARE * self.cap_gib)

    @property
    def is_missing(self) -> bool:
        return self.is_wanted and self.verdict not in _JUDGED


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    done = {(row.problem, row.cap_gib, row.is_timed): row for row in read(options.json)}
    for cap_gib in options.gib or [24, 40, 74]:
        folders = sorted(path.parent for path in (options.dir / "problems").glob("*/problem.py"))
        chosen = [folder for folder in folders if not options.problem or folder.name in options.problem]
        left = [folder for folder in chosen if (folder.name, cap_gib, options.timed) not in done]
        if left:
            for row in measure(left, cap_gib, options.timed):
                done[row.problem, cap_gib, row.is_timed] = row
                print(described(row), flush=True)
                append(options.json, row)
    missing = [row for row in done.values() if row.is_missing]
    for row in missing:
        print(f"not judged: {described(row)}\n    {row.reason}")
    print(f"{len(done)} rows, {sum(row.is_wanted for row in done.values())} wanted, {len(missing)} of them missing")
    return 1 if missing else 0


def read(path: Path) -> list[Row]:
    """The rows so far; a last line that was cut short doesn't count."""
    rows = []
    for line in path.read_text().splitlines() if path.exists() else ():
        try:
            written = json.loads(line)
        except json.JSONDecodeError:
            continue
        rows.append(Row(**{**written, "remarks": tuple(written["remarks"])}))
    return rows


def append(path: Path, row: Row) -> None:
    """Append on a line of its own, whatever became of the line before."""
    is_cut = path.exists() and not path.read_text().endswith("\n")
    with path.open("a") as file:
        file.write("\n" * is_cut + json.dumps(asdict(row)) + "\n")


def measure(folders: Iterable[Path], cap_gib: int, is_timed: bool) -> Iterator[Row]:
    config = replace(Config(), timing=replace(Config().timing, enabled=is_timed))
    with Ballast.laid(cap_gib) as ballast, Evaluator(backend="cuda", config=config) as evaluator:
        for folder in folders:
            problem = load_problem(folder)
            need = need_of(problem, FULL, _SMALL_BYTES)
            started = time.monotonic()
            ballast.least_free()
            evaluation = evaluator.evaluate(problem, as_solution(problem.source), name="reference")
            peak = cap_gib * _GIB - ballast.least_free()
            seconds = time.monotonic() - started
            eager_gib = None if need is None else need.peak_bytes / _GIB
            row = row_of(folder.name, cap_gib, is_timed, eager_gib, peak / _GIB, seconds, evaluation)
            yield replace(row, eager_gib=eager_peak(problem)) if row.is_missing else row


def eager_peak(problem: Problem) -> float:
    """Call the reference, since meta tensors don't show what an operation allocates within; infinite where even that
    takes more than there is."""
    import torch

    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    try:
        reference = Reference(problem, FULL, "cuda")
        model, inputs = reference.construct(0), reference.make_inputs(0)
        with torch.no_grad():
            model(*inputs)
    except (torch.OutOfMemoryError, InvalidProblem):
        return math.inf
    finally:
        model = inputs = None
        torch.cuda.empty_cache()
    return (torch.cuda.max_memory_allocated() - before) / _GIB


def as_solution(source: str) -> str:
    """A problem's file that is its own solution."""
    return f"{source}\n\nModelNew = Model\n"


def row_of(
    name: str,
    cap_gib: int,
    is_timed: bool,
    eager_gib: float | None,
    peak_gib: float,
    seconds: float,
    evaluation: Evaluation,
) -> Row:
    reason = evaluation.failure.reason if evaluation.failure else None
    verdict = evaluation.verdict.value
    return Row(name, cap_gib, is_timed, eager_gib, peak_gib, verdict, reason, evaluation.remarks, seconds)


def described(row: Row) -> str:
    eager = "      ?" if row.eager_gib is None else f"{row.eager_gib:7.2f}"
    return (
        f"{row.problem:<12} of {row.cap_gib} GiB: eager {eager}, at most {row.peak_gib:6.2f} held  "
        f"{row.verdict:<18} {row.seconds:5.1f} s"
    )


class Ballast:
    """The process that holds the rest of the GPU's memory, and watches how much of what it left is free."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    @classmethod
    @contextmanager
    def laid(cls, cap_gib: int) -> Iterator[Ballast]:
        """Occupy all memory but `cap_gib`. Raises: SystemExit where the GPU has less memory free than that."""
        command = [sys.executable, __file__, "--ballast", str(cap_gib)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            try:
                ballast = cls(process)
                ballast.least_free()
                yield ballast
            finally:
                process.kill()

    def least_free(self) -> int:
        """Bytes, since last asked."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            print(file=self._process.stdin, flush=True)
            return int(self._process.stdout.readline())
        except (BrokenPipeError, ValueError):
            raise SystemExit("the ballast can't be held: see above") from None


def hold(cap_gib: int) -> None:
    """Be the ballast: answer each line of stdin with the least memory that was free since the last."""
    import torch

    torch.cuda.init()
    rest = torch.cuda.mem_get_info()[0] - cap_gib * _GIB
    if rest < 0:
        raise SystemExit(f"the GPU has less than {cap_gib} GiB free")
    held = torch.empty(rest, dtype=torch.uint8, device="cuda")
    seen = [torch.cuda.mem_get_info()[0]]

    def watch() -> None:
        while True:
            seen.append(torch.cuda.mem_get_info()[0])
            time.sleep(_PERIOD_S)

    threading.Thread(target=watch, daemon=True).start()
    for _ in sys.stdin:
        least = min(seen)
        seen[:] = seen[-1:]
        print(least, flush=True)
    del held


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dir", type=Path, metavar="DIR", help="a workspace of problems")
    parser.add_argument("--gib", type=int, action="append", help="memory to leave; may be repeated")
    parser.add_argument("--problem", action="append", default=[], metavar="NAME")
    parser.add_argument("--timed", action="store_true", help="time the solution as well")
    parser.add_argument("--json", type=Path, default=Path("memory.jsonl"), metavar="FILE")
    return parser


if __name__ == "__main__":
    if sys.argv[1:2] == ["--ballast"]:
        hold(int(sys.argv[2]))
    else:
        sys.exit(main())
