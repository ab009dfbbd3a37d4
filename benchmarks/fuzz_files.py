"""A search for files that hang harness or end it with a traceback: python benchmarks/fuzz_files.py [--seconds S].

Changes real files and lines at random (cuts, copies, splices, hostile pieces up to 60,000 times), makes folders of
pipes, links and files, and hands each to what reads such things. An input may be refused, by the error meant for it.
It prints a table: for each reader its inputs, how many it refused, the slowest in milliseconds of a core, and
tracebacks. Inputs that failed or took above a second are written to --keep. Exit code 1 if there was one.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from harness.errors import UsageError  # noqa: E402
from harness.gate.policy import Policy  # noqa: E402
from harness.gate.snapshot import accept, parse, render  # noqa: E402
from harness.model.config import Config  # noqa: E402
from harness.plain_file import parse_json  # noqa: E402
from harness.store.line import from_line, outline_from_line, to_line  # noqa: E402
from harness.workspace.problem import ProblemFile, load_problem  # noqa: E402
from harness.workspace.settings import find_settings  # noqa: E402
from harness.workspace.solution import SolutionFile, load_solution  # noqa: E402
from harness.workspace.yaml_file import parse_yaml  # noqa: E402
from tests.examples import measured, passed  # noqa: E402

SLOW_S, HANG_S = 1.0, 20
PIECES = (  # noqa: SIM905
    "[¦]¦{¦}¦- ¦? ¦: ¦, ¦&a ¦*a¦[*a,*a]¦<<: *a\n¦!!int ¦!!binary ¦!x ¦|\n ¦1:¦9¦0x¦1e9¦.inf¦-¦2001-13-01 ¦~¦"
    'null¦\n¦\r¦  ¦\t¦#¦---\n¦%YAML 9\n¦"¦\'¦\\¦\\ud800¦\ufeff¦\x00¦\x85¦\udcff¦\U0001f600¦k: 1\n¦{"a":¦'
    '"k":1,¦(¦lambda:'
).split("¦")
WAIVER = "waivers:\n- {problem: relu, solution: one, what: performance, reason: slow, owner: me, expires: 2026-12-31}\n"
GATE = f"least_speedup: 1.5\nproblems:\n  relu*: {{correctness_only: true}}\n{WAIVER}"
ALIASES = "title: &a text\ndescription: *a\ncases:\n  x: &b\n    constants: &c {height: 1}\n  y: {<<: *b}\n"
TOML = "[tool.harness]\nresults = 'a'\n[tool.harness.run]\nseed = 1\n"
LINES = [to_line(evaluation) for evaluation in (passed(), passed(timing=measured()))]


@dataclass
class Tally:
    """The outcome of a reader's inputs. `failures` are kept inputs, each with what happened."""

    inputs: int = 0
    refused: int = 0
    slowest_s: float = 0.0
    tracebacks: int = 0
    failures: list[tuple[str, str]] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        self.inputs += other.inputs
        self.refused += other.refused
        self.slowest_s = max(self.slowest_s, other.slowest_s)
        self.tracebacks += other.tracebacks
        self.failures += other.failures


class Hang(BaseException):
    """A reader took longer than HANG_S."""


def main() -> int:
    options = _options()
    with ProcessPoolExecutor(options.processes) as pool:
        seeds = range(options.seed, options.seed + options.processes)
        work = partial(fuzz, inputs=options.inputs // options.processes, seconds=options.seconds)
        found = list(pool.map(work, seeds))
    totals = {name: Tally() for name in READERS}
    for tallies in found:
        for name, tally in tallies.items():
            totals[name].add(tally)
    print(table(totals))
    failures = [failure for tally in totals.values() for failure in tally.failures]
    for number, (what, text) in enumerate(failures):
        print(what)
        options.keep.mkdir(parents=True, exist_ok=True)
        (options.keep / f"input-{number}").write_bytes(text.encode(errors="surrogatepass"))
    return 1 if failures else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--inputs", type=int, default=1_000_000)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop then in any case")
    parser.add_argument("--processes", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, default=Path("fuzz-failures"))
    return parser.parse_args()


def fuzz(seed: int, inputs: int, seconds: float) -> dict[str, Tally]:
    """Give each reader its share of the inputs, all derived from the seed."""
    signal.signal(signal.SIGALRM, _hang)
    draw, end = random.Random(seed), time.monotonic() + seconds
    tallies = {name: Tally() for name in READERS}
    names = list(READERS)
    with tempfile.TemporaryDirectory(prefix="harness-fuzz-") as folder:
        for number in range(inputs):
            if time.monotonic() > end:
                break
            name = names[number % len(names)]
            make, read, refusals = READERS[name]
            text = make(draw)
            _take(tallies[name], name, text, partial(read, text, Path(folder)), refusals)
    return tallies


def _hang(number: int, frame: object) -> None:
    raise Hang


def _take(tally: Tally, name: str, text: str, read: Callable[[], object], refusals: type[Exception]) -> None:
    start, tally.inputs, what = time.process_time(), tally.inputs + 1, None
    signal.alarm(HANG_S)
    try:
        read()
    except refusals as error:
        tally.refused += 1
        if len(str(error)) > 5_000:
            what = f"{name}: a message of {len(str(error))} characters"
    except (Exception, Hang) as error:
        tally.tracebacks += 1
        what = f"{name}: {type(error).__name__}: {str(error)[:200]}"
    signal.alarm(0)
    took_s = time.process_time() - start
    tally.slowest_s = max(tally.slowest_s, took_s)
    if what or took_s > SLOW_S:
        tally.failures.append((what or f"{name}: took {took_s:.1f} s", text))


def changed(seeds: Sequence[str], draw: random.Random) -> str:
    """Change one of the texts in up to six places."""
    text = draw.choice(seeds)
    for _ in range(draw.randint(0, 6)):
        start = draw.randint(0, len(text))
        end = min(len(text), start + draw.choice((0, 0, 1, 5, 40)))
        other = draw.choice(seeds)
        at = draw.randint(0, len(other))
        piece = draw.choice((draw.choice(PIECES), chr(draw.randrange(0x250)), other[at : at + draw.randint(1, 60)]))
        piece *= draw.choice((0, *[1] * 12, 2, 3, 60, 1_000)) if draw.random() < 0.995 else 60_000
        text = text[:start] + piece + text[end:]
    return text


def _folder(text: str, root: Path) -> None:
    """Load a folder whose files are drawn: what `text` names by its lines."""
    shutil.rmtree(root / "all", ignore_errors=True)
    folder = root / "all" / "relu" / "one"
    folder.mkdir(parents=True)
    for line in text.split("\n"):
        kind, name, target = line.split(" ")
        path = folder / name
        if os.path.lexists(path) or not path.parent.is_dir() or path.parent.resolve() != path.parent:
            continue
        if kind == "link":
            path.symlink_to(target)
        elif kind == "file":
            path.write_text("import torch\n")
        elif kind == "sparse":
            path.touch()
            os.truncate(path, 2**40)
        else:
            {"pipe": os.mkfifo, "folder": os.mkdir}[kind](path)
    solution = load_solution(folder)
    solution.texts()
    assert len(solution.sha256) == 64


def _some_files(draw: random.Random) -> str:
    names = ["solution.py", "solution.yaml", "a", "b", "a/c", "a/d", "b/solution.py", ".#a", "c.md"]
    targets = [
        "a",
        "b",
        "..",
        ".",
        "nowhere",
        "/dev/zero",
        "/dev/stdin",
        "solution.py",
        "../one/a",
        "a/c",
        "/etc/passwd",
    ]
    kinds = ["file"] * 6 + ["link"] * 2 + ["pipe", "folder", "folder"] + ["sparse"] * (draw.random() < 0.05)
    made = [f"file {names[0]} -"] if draw.random() < 0.8 else []
    made += [f"{draw.choice(kinds)} {draw.choice(names)} {draw.choice(targets)}" for _ in range(draw.randint(1, 9))]
    return "\n".join(made)


def _problem(text: str, root: Path) -> None:
    _write(root / "problem" / "problem.py", text)
    load_problem(root / "problem")


def _settings(text: str, root: Path) -> None:
    _write(root / "settings" / "pyproject.toml", text)
    find_settings(root / "settings")


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(text.encode(errors="surrogateescape"))


def _line(text: str, root: Path) -> None:
    outline_from_line(text)
    from_line(text.encode(errors="replace"))


Reader = tuple[Callable[[random.Random], str], Callable[[str, Path], object], type[Exception]]


def _yaml(cls: type[object], files: str, *seeds: str) -> Reader:
    texts = [*seeds, *(path.read_text() for path in sorted(ROOT.glob(files)))]
    return partial(changed, texts), lambda text, root: parse_yaml(cls, text, "x.yaml"), UsageError


READERS: dict[str, Reader] = {
    "solution.yaml": _yaml(SolutionFile, "solutions/**/solution.yaml"),
    "problem.yaml": _yaml(ProblemFile, "problems/*/problem.yaml", ALIASES),
    "gate.yaml": _yaml(Policy, "gate.yaml", GATE),
    "config": _yaml(Config, "configs/*.yaml"),
    "pyproject.toml": (partial(changed, [TOML]), _settings, UsageError),
    "problem.py": (partial(changed, [(ROOT / "problems/maxpool2d/problem.py").read_text()]), _problem, UsageError),
    "solution folder": (_some_files, _folder, UsageError),
    "JSON": (partial(changed, LINES), lambda text, root: parse_json(text), ValueError),
    "journal line": (partial(changed, LINES), _line, ValueError),
    "snapshot": (
        partial(changed, [render([accept(passed(timing=measured()))])]),
        lambda text, root: parse(text, "x"),
        UsageError,
    ),
}
"""The readers by name: what makes an input, what reads it, and the error that refuses it."""


def table(totals: dict[str, Tally]) -> str:
    rows = [f"{'reader':<16} {'inputs':>9} {'refused':>9} {'slowest ms':>11} {'tracebacks':>11}"]
    for name, one in totals.items():
        slowest = f"{one.slowest_s * 1e3:.1f}"
        rows.append(f"{name:<16} {one.inputs:>9} {one.refused:>9} {slowest:>11} {one.tracebacks:>11}")
    return "\n".join(rows)


if __name__ == "__main__":
    raise SystemExit(main())
