"""The speed of the store, and whether it survives kills: python benchmarks/store.py [--evaluations N] [--kills N].

Makes N evaluations out of the committed H100 records, in a folder that is removed at the end, and prints the rates of
appending and reading, the time for building the index and the time of each query on it. The records are cut to what
`harness run` leaves by default of a problem with two cases; `--published` takes them as they are, with hundreds of
blocks and checks each.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from harness.model.evaluation import Evaluation, Failure  # noqa: E402
from harness.model.timing import Row, Timing, Turn  # noqa: E402
from harness.model.verdict import Verdict  # noqa: E402
from harness.reports.leaderboard.board import Board, make_board  # noqa: E402
from harness.reports.leaderboard.rules import Wanted  # noqa: E402
from harness.store.index import open_index  # noqa: E402
from harness.store.journal import Journal, read_journals  # noqa: E402
from tests.store.fault_injection import kill_at_random  # noqa: E402

PROBLEMS, SOLUTIONS, EDITS, SYNCED_ALONE, GROUP, A_RUN = 250, 32, 2, 1000, 500, 5000
BLOCKS, BLOCKS_OF_A_ROW, ROWS, CHECKS, READ = 12, 6, 2, 40, 10_000
"""The numbers that a run by configs/default.yaml leaves; and that of records that are read whole."""


def main() -> None:
    options = _options()
    folder = Path(tempfile.mkdtemp(prefix="harness-store-", dir=options.folder))
    try:
        if options.kills:
            _kill(folder / "killed", options.kills, options.seed)
        if options.evaluations:
            _measure(folder / "results", _evaluations(options.evaluations, options.seed, _models(options.published)))
    finally:
        shutil.rmtree(folder)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--evaluations", type=int, default=100_000, help="0: none (default: %(default)s)")
    parser.add_argument("--kills", type=int, default=0, help="kill writers that often, too")
    parser.add_argument("--published", action="store_true", help="whole records, as by configs/publish.yaml")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", type=Path, default=None, help="on the disk to be measured (default: temporary)")
    return parser.parse_args()


def _kill(results: Path, kills: int, seed: int) -> None:
    started = time.perf_counter()
    tally = kill_at_random(results, kills, seed)
    print(
        f"{tally.kills} kills in {time.perf_counter() - started:.0f} s: {len(tally.acknowledged)} evaluations "
        f"acknowledged, {tally.found} found, none lost, none twice, none damaged; {tally.torn} torn lines reported"
    )


def _measure(results: Path, evaluations: Iterator[Evaluation]) -> None:
    alone = list(islice(evaluations, SYNCED_ALONE))
    seconds = _timed(lambda: [Journal(results, one.run).append(one) for one in alone])
    size = sum(path.stat().st_size for path in results.rglob("*.jsonl"))
    print(f"append, each synced: {len(alone) / seconds:.0f}/s ({size / len(alone) / 1000:.1f} kB each)")
    print(f"the disk alone, {size // len(alone)} bytes a sync: {_disk_rate(results, size // len(alone)):.0f}/s")
    written, spent = 0, 0.0
    while group := list(islice(evaluations, GROUP)):
        spent += _timed(lambda group=group: Journal(results, group[0].run).append_all(group))
        written += len(group)
    if written:
        print(f"append_all, {GROUP} a sync: {written / spent:.0f}/s")
    seconds = _timed(lambda: sum(1 for _ in islice(read_journals(results), READ)))
    print(f"records read whole: {min(READ, written + len(alone)) / seconds:.0f}/s")
    os.sync()  # what was just written isn't the index's work
    count, seconds = written + len(alone), _timed(lambda: _command("index", "--results", str(results)))
    print(f"harness index of {count} evaluations: {seconds:.1f} s, {count / seconds:.0f}/s")
    seconds = _timed(lambda: _command("leaderboard", "--results", str(results)))
    print(f"harness leaderboard of them: {seconds:.1f} s, printed")
    print(f"opened again, nothing new: {_timed(lambda: open_index(results).close()) * 1e3:.1f} ms")
    Journal(results, "late").append(replace(alone[0], id="late", run="late"))
    print(f"opened again, one line new: {_timed(lambda: open_index(results).close()) * 1e3:.1f} ms")
    _query(results, alone)


def _command(*words: str) -> None:
    """Run in a process of its own, as people call it."""
    subprocess.run([sys.executable, "-m", "harness", *words], cwd=ROOT, check=True, capture_output=True)


def _disk_rate(folder: Path, size: int) -> float:
    """Synced writes per second, without any work of ours."""
    with (folder / "disk").open("wb", buffering=0) as file:
        return 500 / _timed(lambda: [(file.write(b"x" * size), os.fsync(file.fileno())) for _ in range(500)])


def _query(results: Path, some: Sequence[Evaluation]) -> None:
    one = some[len(some) // 2]
    boards: list[Board] = []
    seconds = _timed(lambda: boards.append(_board(results)))
    print(f"leaderboard, index opened and board made: {seconds * 1e3:.1f} ms for {len(boards[0].standings)} solutions")
    with open_index(results) as index:
        for name, query in {
            "  tallies()": index.tallies,
            "  newest()": index.newest,
            "history of one solution": lambda: index.entries(problem=one.problem.name, solution=one.solution.name),
            "entries of one run": lambda: index.entries(run=one.run),
            "latest_by_key(1000 keys)": lambda: index.latest_by_key([evaluation.key for evaluation in some[:1000]]),
            "evaluation(id)": lambda: [index.evaluation(one.id)],
            "every entry": index.entries,
        }.items():
            rows: list[int] = []
            seconds = _timed(lambda query=query, rows=rows: rows.append(len(query())))
            print(f"{name}: {seconds * 1e3:.1f} ms for {rows[0]} rows")


def _board(results: Path) -> Board:
    """Make the board like `harness leaderboard`, before it is printed."""
    with open_index(results) as index:
        return make_board(index.tallies(), index.newest(), Wanted())


def _timed(job: Callable[[], object]) -> float:
    started = time.perf_counter()
    job()
    return time.perf_counter() - started


def _models(published: bool) -> list[Evaluation]:
    committed = read_journals(ROOT / "results")
    return list(committed) if published else list(map(_usual, committed))


def _evaluations(count: int, seed: int, models: Sequence[Evaluation]) -> Iterator[Evaluation]:
    """Vary `models`: two environments and 250 problems with 32 solutions each, edited once; a third didn't pass."""
    chance = random.Random(seed)
    for number in range(count):
        problem, solution, edit = (chance.randrange(count) for count in (PROBLEMS, SOLUTIONS, EDITS))
        model = models[problem % len(models)]
        judged = replace(model.problem, name=f"problem_{problem:03d}", sha256=f"{problem:064x}")
        written = replace(model.solution, name=f"solution_{solution:02d}", sha256=f"{solution * EDITS + edit:064x}")
        when = time.strftime("%Y-%m-%dT%H:%M:%S.000+00:00", time.gmtime(1.75e9 + 60 * number))
        yield replace(
            model,
            id=f"{number:08d}-{chance.randrange(1 << 32):08x}",
            run=f"run-{number // A_RUN:03d}",
            started_at=when,
            problem=judged,
            solution=replace(written, explanation="why " * 50),
            environment=replace(model.environment, driver=chance.choice(["580.1", "580.2"])),
            **(_failure(chance) if chance.random() < 1 / 3 else {"timing": _faster(model.timing, chance)}),
        )


def _usual(record: Evaluation) -> Evaluation:
    timing = record.timing
    assert timing is not None
    rows = tuple(Row(row.metric, _first(row.turns, BLOCKS_OF_A_ROW)) for row in timing.rows[:ROWS])
    timing = replace(timing, turns=_first(timing.turns, BLOCKS), rows=rows, fresh_at=())
    return replace(record, timing=timing, checks=record.checks[:CHECKS])


def _first(turns: Sequence[Turn], blocks: int) -> tuple[Turn, ...]:
    kept = set(sorted({turn.block for turn in turns})[:blocks])
    return tuple(turn for turn in turns if turn.block in kept)


def _faster(timing: Timing | None, chance: random.Random) -> Timing:
    assert timing is not None
    factor = chance.uniform(0.2, 2.0)
    turns = [_scaled(turn, factor) if turn.arm == "solution" else turn for turn in timing.turns]
    return replace(timing, turns=tuple(turns))


def _scaled(turn: Turn, factor: float) -> Turn:
    return replace(turn, call_ns=tuple(int(ns * factor) for ns in turn.call_ns))


def _failure(chance: random.Random) -> dict[str, object]:
    verdict = chance.choice([verdict for verdict in Verdict if not verdict.passed])
    return {"verdict": verdict, "failure": Failure("it failed", "mend it", details="x" * 2000), "timing": None}


if __name__ == "__main__":
    main()
