"""Honest ways to compute a problem, held to the tolerance that the referee derives: none may be accused.

    python benchmarks/honest_arms.py DIR --out rows.jsonl [--problem 'l1_*'] [--seeds 24] [--minutes 8] [--part 1/4]
    python benchmarks/honest_arms.py --report rows.jsonl …

DIR is a workspace of problems. Each comparison is one line of JSON: a problem, a seed for its inputs, and an arm, with
the largest error as a multiple of the tolerance. Arms: the reference itself; with cudnn.benchmark; in strict float32;
channels-last; with each sum taken serially; with convolutions as tf32 products; compiled, for `--compile-seeds` seeds.
Every eight seeds weights are drawn and the tolerance is derived anew, as for another evaluation. Further lines say of
the crudest wrong answers, and of rounding to half and bfloat16, which inputs show them; a problem that shows one on no
inputs can't tell. What stands in the file isn't done again, so that several processes (`--part`) and sittings may
share it. `--report` merges files of several machines into Markdown. Exit code 1 where an arm was accused. Needs a GPU
for more than eager and serial sums.
"""

from __future__ import annotations

import argparse
import copy
import functools
import gc
import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, TypeVar

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks")]

import torch  # noqa: E402
from honest_rows import (  # noqa: E402
    CHEAPER,
    CRUDEST,
    NOT_APPLICABLE,
    Row,
    append,
    is_comparison,
    key,
    merged,
    read,
    report,
)
from serial_sums import TF32, QuickSums  # noqa: E402

from harness.referee.answers.comparison import Comparison  # noqa: E402
from harness.referee.answers.invalid_problem import InvalidProblem  # noqa: E402
from harness.referee.answers.oracle import Piece, copied  # noqa: E402
from harness.referee.answers.reference import Reference  # noqa: E402
from harness.referee.answers.serial_sums import Recomputed, serially  # noqa: E402
from harness.referee.judgement import judge_values  # noqa: E402
from harness.referee.mutants.mutants import OF_THE_ANSWER, recomputed  # noqa: E402
from harness.referee.mutants.specimens import Examined, TooLarge, specimens, worst_error  # noqa: E402
from harness.referee.setting import (  # noqa: E402
    Setting,
    derive,
    prepare_setting,
)
from harness.referee.tolerance import TOLD_BY  # noqa: E402
from harness.workspace.constants import module_constants  # noqa: E402
from harness.workspace.problem import FULL, Problem, load_problem  # noqa: E402

SEEDS_OF_A_SETTING = 8
_FAILURES = (InvalidProblem, TooLarge, RuntimeError, MemoryError)
"""torch's own errors, those of its compiler among them, are RuntimeErrors."""

Outputs = Sequence[torch.Tensor]
Made = TypeVar("Made")


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    if options.report:
        rows = merged(row for path in options.report for row in read(path))
        print("\n".join(report(rows, list(ARMS))))
    else:
        measure(options)
        rows = merged(read(options.out))
    alarms = [row for row in rows if row.get("alarm")]
    print(f"{sum(map(is_comparison, rows))} comparisons, {len(alarms)} alarms", file=sys.stderr)
    return 1 if alarms else 0


def measure(options: argparse.Namespace) -> None:
    part, parts = map(int, options.part.split("/"))
    folders = sorted(path.parent for path in (options.dir / "problems").glob("*/problem.py"))
    chosen = [one for one in folders if any(fnmatch(one.name, pattern) for pattern in options.problem or ["*"])]
    done = {key(row) for row in read(options.out) if not (options.again and row.get("reason"))}
    ends = time.monotonic() + 60 * options.minutes
    for folder in chosen[part - 1 :: parts]:
        stops = min(ends, time.monotonic() + options.seconds)
        for row in rows_of(load_problem(folder), options, done):
            append(options.out, row)
            if row.get("reason", NOT_APPLICABLE) != NOT_APPLICABLE:
                _tidy()  # after the row: where the GPU is lost this process ends, and the next leaves it out
            if row.get("alarm"):
                print(json.dumps(row), flush=True)
            if time.monotonic() > stops:
                break
        _module.cache_clear()
        if options.compile_seeds:
            torch._dynamo.reset()
        _tidy()
        if time.monotonic() > ends:
            print(f"part {options.part}: time is up at {folder.name}", file=sys.stderr, flush=True)
            return
    print(f"part {options.part}: done", file=sys.stderr, flush=True)


def rows_of(problem: Problem, options: argparse.Namespace, done: set[tuple[Any, ...]]) -> Iterator[Row]:
    """Do what isn't done yet of a problem, a row at a time."""
    seeds = {arm: options.compile_seeds if arm == "compiled" else options.seeds for arm in ARMS}
    shrink = options.shrink
    for first in range(0, max(1, *seeds.values()), SEEDS_OF_A_SETTING):
        block = range(first, first + SEEDS_OF_A_SETTING)
        left = [(seed, arm) for seed in block for arm in ARMS if seed < seeds[arm]]
        left = [one for one in left if (problem.name, *one) not in done]
        wrong = [] if first or options.no_mutants else [*CRUDEST, *CHEAPER]
        wrong = [name for name in wrong if (problem.name, None, name) not in done]
        if (not left and not wrong) or (problem.name, first, "setting") in done:
            continue
        small = shrunk(problem, shrink, options.device)
        setting, reason = attempt(functools.partial(_prepared, small, first, options.device))
        facts = {"problem": problem.name, "case": FULL, "shrink": shrink if small is not problem else 1}
        facts |= environment(options.device)
        if setting is None:
            yield {**facts, "seed": first, "arm": "setting", "worst": None, "alarm": False, "reason": reason}
            continue
        for row in mutant_rows(setting, wrong):
            yield {**facts, "seed": None, **row}
        for row in comparisons(setting, left):
            yield {**facts, **row}


def shrunk(problem: Problem, scale: int, device: str) -> Problem:
    """Divide each batch of a problem's case; leave it as it is where it has none, or can't be made smaller."""
    if scale == 1:
        return problem
    reference, _ = attempt(lambda: Reference(problem, FULL, device))
    names = [name for name in module_constants(problem.source) if "batch" in name.lower()] if reference else []
    sizes = {name: reference.constant(name) for name in names if reference}
    smaller = {name: max(2, size // scale) for name, size in sizes.items() if type(size) is int and size > 2}
    full = problem.cases[FULL]
    constants = {**full.constants, **smaller}
    return replace(problem, cases={**problem.cases, FULL: replace(full, constants=constants)}) if smaller else problem


def _prepared(problem: Problem, first: int, device: str) -> Setting:
    setting = prepare_setting(problem, FULL, derive(0, "honest arms", first), device)
    _ = setting.tolerances  # what can't be derived is no arm's fault
    return setting


def comparisons(setting: Setting, left: Sequence[tuple[int, str]]) -> Iterator[Row]:
    """Compare every arm with the oracle's answer, which is made once for each seed."""
    never = set()
    answered = None
    for seed in dict.fromkeys(seed for seed, _ in left):
        del answered  # before as much memory is asked for again
        answered, reason = attempt(functools.partial(_answered, setting, seed))
        for arm in (arm for other, arm in left if other == seed):
            row: Row = {"seed": seed, "arm": arm, "worst": None, "alarm": False}
            found: tuple[float, bool] | None = None
            if answered and arm not in never:
                found, reason = attempt(functools.partial(compared, setting, ARMS[arm], *answered))
                if found is None and reason is None:
                    never.add(arm)
            why = reason or NOT_APPLICABLE
            yield row | ({"reason": why} if found is None else {"worst": found[0], "alarm": found[1]})
            if answered:
                reason = None


def _answered(setting: Setting, seed: int) -> tuple[list[Any], list[Piece]]:
    inputs = setting.inputs_with_rows(setting.seed("inputs", seed))
    return inputs, list(setting.oracle.pieces(inputs))


def compared(
    setting: Setting,
    arm: Callable[[Setting, Sequence[Any]], Outputs | None],
    inputs: Sequence[Any],
    pieces: Sequence[Piece],
) -> tuple[float, bool] | None:
    """The largest error in derived tolerances, and whether the referee calls it wrong, which then looks again. None
    where the arm doesn't apply."""
    got = arm(setting, copied(inputs))
    if got is None:
        return None
    worst = 0.0
    for number, (output, tolerance) in enumerate(zip(got, setting.tolerances, strict=True)):
        shape = setting.spec.shapes[number]
        if tuple(output.shape) != shape:
            raise RuntimeError(f"shape {tuple(output.shape)}, and {shape} by the reference")
        comparison = Comparison(shape, output.dtype, tolerance)
        for rows, outputs in pieces:
            comparison.add(output[rows] if output.dim() else output, outputs[number])
        worst = max(worst, comparison.result().worst)
    return worst, worst > 1 and not all(output.passed for output in judge_values(got, inputs, setting))


def _native(setting: Setting, inputs: Sequence[Any]) -> Outputs:
    return setting.oracle.native(inputs)


def _benchmarked(setting: Setting, inputs: Sequence[Any]) -> Outputs | None:
    if not setting.on_gpu:
        return None
    torch.backends.cudnn.benchmark = True
    try:
        return setting.oracle.native(inputs)
    finally:
        torch.backends.cudnn.benchmark = False


def _reformulated(wanted: str, setting: Setting, inputs: Sequence[Any]) -> Outputs | None:
    return next((found for name, found in setting.oracle.reformulations(inputs) if name == wanted), None)


def _serial(setting: Setting, inputs: Sequence[Any]) -> Outputs | None:
    with serially(QuickSums()) as mode:
        outputs = setting.oracle.native(inputs)
    return outputs if mode.count else None


def _tf32(setting: Setting, inputs: Sequence[Any]) -> Outputs | None:
    with Recomputed(TF32) as mode:
        outputs = setting.oracle.native(inputs)
    return outputs if mode.count else None


def _compiled(setting: Setting, inputs: Sequence[Any]) -> Outputs:
    with torch.no_grad():
        returned = _module(setting.model)(*inputs)
    return [returned] if isinstance(returned, torch.Tensor) else list(returned)


@functools.lru_cache(maxsize=1)
def _module(model: torch.nn.Module) -> Any:
    return torch.compile(copy.deepcopy(model))


ARMS: dict[str, Callable[[Setting, Sequence[Any]], Outputs | None]] = {
    "eager": _native,
    "cudnn.benchmark": _benchmarked,
    "strict float32": functools.partial(_reformulated, "strict float32"),
    "channels-last": functools.partial(_reformulated, "channels-last"),
    "serial": _serial,
    "tf32 products": _tf32,
    "compiled": _compiled,
}


def mutant_rows(setting: Setting, names: Sequence[str]) -> Iterator[Row]:
    """Yield for each mutant the error on inputs as drawn, in tolerances, and the first inputs that tell it from the
    right answer; no row where it fits no output."""
    drawn: dict[str, float] = {}
    told: dict[str, str] = {}

    def look() -> None:
        for seen in specimens(setting, {}) if names else ():
            for name, worst in _wrong(seen, [name for name in names if name not in told]):
                drawn.setdefault(name, worst)
                if worst > 1 if name in CHEAPER else worst >= TOLD_BY:
                    told[name] = seen.draw.variant or "as drawn"
            if set(told) >= set(drawn):
                return

    _, reason = attempt(look)
    for name in names:
        why = reason if name not in told else None if name in drawn else NOT_APPLICABLE
        row = {"arm": name, "worst": drawn.get(name), "told_by": told.get(name)}
        yield {**row, "reason": why} if why else row


def _wrong(seen: Examined, names: Sequence[str]) -> Iterator[tuple[str, float]]:
    for mutant in (*OF_THE_ANSWER, *recomputed(seen.specimen)):
        answers = (mutant.answers(seen.specimen) or ()) if mutant.name in names else ()
        fitting = [one for one in zip(answers, seen.exact, seen.draw.tolerances, strict=False) if one[0] is not None]
        if fitting:
            yield (
                mutant.name,
                max(worst_error([got], [want], [limit]) for got, want, limit in fitting if got is not None),
            )


def attempt(make: Callable[[], Made]) -> tuple[Made | None, str | None]:
    """Return what was made; or None and why not."""
    try:
        return make(), None
    except _FAILURES as error:
        return None, f"{type(error).__name__}: {error}".splitlines()[0][:200]


def _tidy() -> None:
    """Raises: RuntimeError where the GPU is lost for this process."""
    gc.collect()
    if torch.cuda.is_initialized():
        torch.cuda.synchronize()
        torch.cuda.empty_cache()


def environment(device: str) -> Row:
    return {"gpu": torch.cuda.get_device_name() if device == "cuda" else "CPU", "torch": torch.__version__}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dir", type=Path, metavar="DIR", nargs="?", default=Path(), help="a workspace of problems")
    parser.add_argument("--out", type=Path, default=Path("honest_arms.jsonl"), metavar="FILE")
    parser.add_argument("--problem", action="append", default=[], metavar="PATTERN", help="such as 'l1_*'; repeatable")
    parser.add_argument("--part", default="1/1", metavar="K/N", help="every Nth problem, from the Kth on")
    parser.add_argument("--seeds", type=int, default=24, metavar="N")
    parser.add_argument("--compile-seeds", type=int, default=0, metavar="N", help="seeds of the compiled arm")
    parser.add_argument("--no-mutants", action="store_true", help="compare arms alone")
    parser.add_argument("--shrink", type=int, default=1, metavar="N", help="divide batches by so much, for speed")
    parser.add_argument("--minutes", type=float, default=1e9, metavar="M", help="end after so long")
    parser.add_argument(
        "--seconds", type=float, default=1e9, metavar="S", help="go on to the next problem after so long"
    )
    parser.add_argument("--again", action="store_true", help="try again what gave no answer")
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--report", type=Path, nargs="+", metavar="FILE", help="merge these files into a table")
    return parser


if __name__ == "__main__":
    sys.exit(main())
