"""The public leaderboard of KernelBench kernels, judged again.

    python benchmarks/field.py LEADERBOARD --workspace FOLDER [--problem 'l1_*'] [--minutes 7] [--jobs 12]
                               [--merge RESULTS ...]

LEADERBOARD is a checkout of anneouyang/KernelBenchLeaderboard. Its problems and kernels become a harness workspace in
FOLDER, which `harness compare --resume --no-source` judges: after `--minutes` it is interrupted, and the same command
goes on. `--merge` takes over the results/ of other sittings; `--minutes 0` judges nothing. Then verdicts, speed-ups
claimed and speed-ups measured go into results/field.json, without anybody's source, and from there with the readings of
results/field_reasons.yaml into docs/field.md, if anything was judged at all.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from harness.model.evaluation import Evaluation  # noqa: E402
from harness.model.verdict import Verdict  # noqa: E402
from harness.store.journal import read_journals  # noqa: E402

FIELD = ROOT / "results/field.json"
REASONS = ROOT / "results/field_reasons.yaml"
PAGE = ROOT / "docs/field.md"
PAGES_HEAD = """# Public kernels, judged again

*Explanation: which kernels of KernelBench's public leaderboard are right, and how fast they are.*

[KernelBench's leaderboard](https://github.com/anneouyang/KernelBenchLeaderboard) lists kernels that its evaluator
accepted. harness judged them again, on a GPU. Then the source of each rejected kernel was read, to see whether it is
wrong.
"""

SURVEY = """# Hundreds of kernels, each known to ±2 % or measured in nine blocks.
correctness: {seeds: 1}
timing: {blocks: 9, precision: 0.02, calls_per_turn: 3, budget_s: 15, checked_turns: 1, metrics: []}
"""

Row = dict[str, Any]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("leaderboard", type=Path, help="a checkout of KernelBenchLeaderboard")
    parser.add_argument("--workspace", type=Path, required=True, help="made, or gone on with")
    parser.add_argument("--problem", default="*", help="a pattern of problems, such as 'l2_*'")
    parser.add_argument("--minutes", type=float, default=1e9, help="interrupt judging after so long; 0: don't judge")
    parser.add_argument("--jobs", type=int, help="builds side by side, as compare has it")
    parser.add_argument("--backend", default="cuda", choices=("cuda", "sim"))
    parser.add_argument("--merge", type=Path, nargs="*", default=[], help="results folders of other sittings")
    parser.add_argument("--file", type=Path, default=FIELD, help=argparse.SUPPRESS)
    parser.add_argument("--page", type=Path, default=PAGE, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    claims = make_workspace(chosen.leaderboard, chosen.workspace)
    if chosen.minutes:
        judge(chosen.workspace, chosen.problem, chosen.backend, chosen.minutes, chosen.jobs)
    found = json.loads(chosen.file.read_text()) if chosen.file.exists() else {}
    for results in (chosen.workspace / "results", *chosen.merge):
        merge(found, read_journals(results), claims)
    if found:
        chosen.file.write_text(json.dumps(found, indent=0, sort_keys=True) + "\n")
        put_between(chosen.page, "leaderboard", page(found, readings()))
    print(f"{len(found)} of {len(claims)} kernels judged")


def make_workspace(leaderboard: Path, workspace: Path) -> dict[str, float]:
    """problems/l1_001/problem.py, solutions/l1_001/gpt_o1/solution.py …; returns claimed speed-ups over torch, by
    'l1_001/gpt_o1'."""
    assets, claims = leaderboard / "docs/assets", {}
    for title, entries in json.loads((assets / "data.json").read_text()).items():
        number = re.match(r"Level (\d+): (\d+)_", title)
        if not number or not entries:
            continue
        level, index = map(int, number.groups())
        problem = f"l{level}_{index:03d}"
        _put(assets / f"problems/l{level}_p{index}.py", workspace / "problems" / problem / "problem.py")
        for entry in entries:
            model = re.sub(r"[^a-z0-9]+", "_", entry["display_name"].lower())
            source = assets / "solutions" / f"{entry['file']}.py"
            _put(source, workspace / "solutions" / problem / model / "solution.py")
            claims[f"{problem}/{model}"] = float(entry["torch_speedup"])
    return claims


def _put(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)


def judge(workspace: Path, problem: str, backend: str, minutes: float, jobs: int | None) -> None:
    """Judge until all are done or time is up: what was judged by then is in the journal."""
    config = workspace / "configs/survey.yaml"
    config.parent.mkdir(exist_ok=True)
    config.write_text(SURVEY)
    command = [sys.executable, "-m", "harness", "-C", str(workspace), "compare", "--resume", "--no-source", "--quiet"]
    command += ["--problem", problem, "--backend", backend, "--config", str(config)]
    command += ["--jobs", str(jobs)] if jobs else []
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        process.wait(60 * minutes)
    except subprocess.TimeoutExpired:
        process.terminate()  # a command in the background of a script ignores SIGINT
        process.wait()


def merge(found: dict[str, Row], records: Iterable[Evaluation], claims: dict[str, float]) -> None:
    """Keep each kernel's newest evaluation; one that says nothing of the kernel gives way to any that does."""
    for one in records:
        name = f"{one.problem.name}/{one.solution.name}"
        if name in claims:
            row, old = row_of(one, claims[name]), found.get(name)
            if old is None or _weight(row) >= _weight(old):
                found[name] = row


def _weight(row: Row) -> tuple[bool, str]:
    return row["verdict"] != Verdict.HARNESS_ERROR.value, row["judged_at"]


def row_of(one: Evaluation, claimed: float) -> Row:
    speedup = one.timing.speedup if one.timing else None
    place = one.environment
    commit = place.commit or "an unknown commit"
    return {
        "verdict": one.verdict.value,
        "case": one.failure.case if one.failure else None,
        "worst": one.worst if one.worst is not None and math.isfinite(one.worst) else None,
        "claimed": claimed,
        "measured": [speedup.estimate, speedup.low, speedup.high] if speedup else None,
        "own_share": one.trace.own_share if one.trace else None,
        "judged_at": one.started_at,
        "place": f"{place.gpu or 'simulator'}, torch {place.torch}, driver {place.driver}, harness at {commit}",
    }


def readings() -> dict[str, dict[str, str]]:
    """Return for each kernel `truth`, right or wrong by a reading of its source, and `why` in a line."""
    known = yaml.safe_load(REASONS.read_text()) or {} if REASONS.exists() else {}
    for name, reading in known.items():
        if set(reading) != {"truth", "why"} or reading["truth"] not in ("right", "wrong"):
            sys.exit(f"{REASONS.name}: {name} needs truth (right or wrong) and why")
    return known


def page(found: dict[str, Row], known: dict[str, dict[str, str]]) -> list[str]:
    """The tables: by level, by model, and each rejection and each false pass with its reading."""
    return [
        *_groups("level", found, lambda name: name.split("_")[0].replace("l", "level ")),
        "",
        *_groups("model", found, lambda name: name.split("/")[1]),
        "",
        "*claimed* and *measured* are geometric means of the speed-ups over eager of those that passed and were timed.",
        "",
        *_rejections(found, known),
        "",
        "Judged on: " + "; ".join(sorted({row["place"] for row in found.values()})) + ".",
    ]


def _groups(title: str, found: dict[str, Row], group_of: Callable[[str], str]) -> Iterator[str]:
    yield f"| {title} | kernels | passed | rejected | not judged | claimed | measured | faster, claimed | measured |"
    yield "|---|---|---|---|---|---|---|---|---|"
    for group in sorted({group_of(name) for name in found}):
        rows = [row for name, row in found.items() if group_of(name) == group]
        judged = Counter(_outcome(row) for row in rows)
        timed = [row for row in rows if row["measured"]]
        faster = sum(row["claimed"] > 1 for row in timed), sum(row["measured"][1] > 1 for row in timed)
        means = _mean(row["claimed"] for row in timed), _mean(row["measured"][0] for row in timed)
        counts = judged["passed"], judged["rejected"], judged["not judged"]
        cells = [group, str(len(rows)), *map(str, counts), *means, *map(str, faster)]
        yield f"| {' | '.join(cells)} |"


def _outcome(row: Row) -> str:
    verdict = Verdict(row["verdict"])
    return "passed" if verdict.passed else "rejected" if verdict.blames_solution else "not judged"


def _mean(ratios: Iterable[float]) -> str:
    logs = [math.log(ratio) for ratio in ratios if ratio > 0]
    return f"{math.exp(sum(logs) / len(logs)):.3f}×" if logs else "—"


def _rejections(found: dict[str, Row], known: dict[str, dict[str, str]]) -> Iterator[str]:
    rejected = sorted(name for name, row in found.items() if _outcome(row) == "rejected")
    passed = [name for name, row in found.items() if _outcome(row) == "passed"]
    alarms = [name for name in rejected if known.get(name, {}).get("truth") == "right"]
    false_passes = [name for name in passed if known.get(name, {}).get("truth") == "wrong"]
    unread = [name for name in rejected if name not in known]
    yield f"{len(rejected)} rejected, of which {len(unread)} have not been read yet. By a reading of their sources:"
    yield f"{len(alarms)} false alarms, {len(false_passes)} false passes."
    others = [f"{name} (`{row['verdict']}`)" for name, row in sorted(found.items()) if _outcome(row) == "not judged"]
    if others:
        yield f"Not judged: {', '.join(others)}."
    yield ""
    yield "| kernel | verdict | worst error, tolerances | reading | why |"
    yield "|---|---|---|---|---|"
    for name in sorted([*rejected, *false_passes]):
        row, reading = found[name], known.get(name, {"truth": "—", "why": "—"})
        worst = "—" if row["worst"] is None else f"{row['worst']:.3g}"
        yield f"| {name} | `{row['verdict']}` | {worst} | {reading['truth']} | {reading['why']} |"


def put_between(file: Path, name: str, lines: Iterable[str]) -> None:
    """Write lines between the page's markers of this name, which are added at its end where they are missing."""
    begin, end = f"<!-- {name}: generated -->", f"<!-- {name}: end -->"
    text = file.read_text() if file.exists() else PAGES_HEAD
    if begin not in text:
        text = f"{text.rstrip()}\n\n{begin}\n{end}\n"
    before, _, rest = text.partition(begin)
    file.write_text(f"{before}{begin}\n" + "\n".join(lines) + f"\n{end}{rest.partition(end)[2]}")


if __name__ == "__main__":
    main()
