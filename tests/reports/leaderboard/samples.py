"""Evaluations as a leaderboard meets them: timed, failed, simulated, hostile."""

from __future__ import annotations

import itertools
import random
from dataclasses import replace
from typing import Any

from harness.model.arms import ArmName
from harness.model.build import ExtensionBuild, KernelResources
from harness.model.check import Check, Tolerance
from harness.model.environment import Environment
from harness.model.evaluation import Evaluation, ProblemRef, SolutionRef, Work
from harness.model.timing import Timing, Turn
from harness.model.verdict import Verdict
from harness.reports.leaderboard.board import Board, make_board, measurements
from harness.reports.leaderboard.page import leaderboard_html, shown_in_full
from harness.reports.leaderboard.rules import Wanted
from harness.store.entry import Entry, Tally, entry_of
from tests.examples import comparison, environment, failed, passed, sim_environment, wrong_comparison

CASES = ("full", "small")

SOURCE = '''"""Rectified linear unit."""

import torch
from torch.utils.cpp_extension import load_inline

CUDA_SOURCE = r"""
#include <torch/types.h>

// One thread, one value.
__global__ void relu(const float* in, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = fmaxf(in[i], 0.0f);
}
"""

extension = load_inline("relu", "torch::Tensor relu(torch::Tensor);", CUDA_SOURCE, functions=["relu"])


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return extension.relu(x)
'''


def timing(eager_ns: int, solution_ns: int, spread: float = 0.002, seed: int = 0, blocks: int = 12) -> Timing:
    """`blocks` times A B B A, five calls a turn, with a seeded spread around the two times."""
    draw = random.Random(f"{eager_ns} {solution_ns} {seed}")
    order: tuple[ArmName, ...] = ("eager", "solution", "solution", "eager")
    times = {"eager": eager_ns, "solution": solution_ns}
    turns = []
    for block in range(blocks):
        for arm in order:
            calls = tuple(max(1, round(times[arm] * (1 + abs(draw.gauss(0, spread))))) for _ in range(5))
            turns.append(Turn(arm, block, calls, sum(calls) + 50))
    return Timing("full", tuple(turns))


def problem(name: str = "relu", version: str = "aa", **changes: Any) -> ProblemRef:
    return replace(ProblemRef(name, version * 32, "float32", f"The {name} problem"), **changes)


def solution(name: str = "plain", version: str = "11", **changes: Any) -> SolutionRef:
    made = SolutionRef(
        name, version * 32, "somebody", None, Verdict.PASSED, "One thread computes one value.", {"solution.py": SOURCE}
    )
    return replace(made, **changes)


def timed(
    problem_name: str = "relu",
    solution_name: str = "plain",
    speedup: float = 2.0,
    day: int = 1,
    spread: float = 0.002,
    **changes: Any,
) -> Evaluation:
    """Passed on both cases, `speedup` times as fast as eager's 3 ms, on 2026-11-`day`."""
    checks = tuple(Check(case, 12345, "complete", "float64", (comparison(),)) for case in CASES)
    facts: dict[str, Any] = {
        "id": f"202611{day:02d}T120000-{problem_name}-{solution_name}",
        "started_at": f"2026-11-{day:02d}T12:00:00.000+00:00",
        "problem": problem(problem_name),
        "solution": solution(solution_name),
        "cases": CASES,
        "checks": checks,
        "timing": timing(3_000_000, round(3_000_000 / speedup), spread),
        "builds": (build(),),
    }
    return passed(**{**facts, **changes})


def broken(
    problem_name: str = "relu",
    solution_name: str = "broken",
    verdict: Verdict = Verdict.WRONG_VALUES,
    day: int = 1,
    **changes: Any,
) -> Evaluation:
    """Failed in the case small, on 2026-11-`day`."""
    facts: dict[str, Any] = {
        "id": f"202611{day:02d}T120000-{problem_name}-{solution_name}",
        "started_at": f"2026-11-{day:02d}T12:00:00.000+00:00",
        "problem": problem(problem_name),
        "solution": solution(solution_name),
        "cases": CASES,
        "checks": (Check("small", 12345, "complete", "float64", (wrong_comparison(),)),),
    }
    return failed(verdict=verdict, **{**facts, **changes})


def simulated(problem_name: str = "relu", solution_name: str = "plain", **changes: Any) -> Evaluation:
    return timed(problem_name, solution_name, **{"timing": None, "environment": sim_environment(), **changes})


def other_gpu() -> Environment:
    return environment(gpu="NVIDIA L4")


def build(output: str = "ptxas info    : Used 12 registers\n") -> ExtensionBuild:
    kernel = KernelResources("relu(float const*, float*, int)", "sm_90", 12, 0, 0, 0, 0)
    return ExtensionBuild("relu", "0ed3f931", False, 4.25, "/cache/logs/0ed3f931.log", (kernel,), output)


def entries(*evaluations: Evaluation) -> list[Entry]:
    """As an index gives them: oldest first."""
    return sorted((entry_of(e) for e in evaluations), key=lambda entry: entry.started_at)


def board(*evaluations: Evaluation, wanted: Wanted | None = None) -> Board:
    return board_of(entries(*evaluations), wanted or Wanted())


def board_of(every: list[Entry], wanted: Wanted) -> Board:
    """From all entries, each counted by itself: nothing is left out, so nothing can be missing."""
    return make_board([tally(entry) for entry in every], every, wanted)


def tally(entry: Entry) -> Tally:
    return Tally(
        entry.environment,
        entry.environment_label,
        entry.config,
        entry.problem,
        entry.problem_sha256,
        entry.solution,
        evaluations=1,
        is_measured=entry.speedup is not None,
        newest=entry.started_at,
        is_simulated=entry.backend == "sim",
    )


def html_page(*evaluations: Evaluation) -> str:
    made = board(*evaluations)
    return leaderboard_html(made, by_id(*evaluations), lambda of: measurements(of, entries(*evaluations)))


def brief_page(*evaluations: Evaluation) -> str:
    """A page of a board that is too large to be shown whole, as the command makes it."""
    made = board(*evaluations)
    shown = [one.entry.id for one in shown_in_full(made)]
    whole = by_id(*evaluations)
    return leaderboard_html(made, {one: whole[one] for one in shown}, lambda of: [])


def many(problems: int = 25, solutions: int = 16) -> list[Evaluation]:
    """Seeded: of two authors, on two levels, a fourth of them failing."""
    draw = random.Random(5)
    found = []
    for p, s in itertools.product(range(problems), range(solutions)):
        name, who = f"level{1 + p % 2}_{p}_problem", f"solution_{s:02d}"
        about = solution(who, author=("ada", "bob")[s % 2])
        is_right = draw.random() < 0.75
        made = (
            timed(name, who, 0.5 + 3 * draw.random(), solution=about) if is_right else broken(name, who, solution=about)
        )
        found.append(made)
    return found


def by_id(*evaluations: Evaluation) -> dict[str, Evaluation]:
    return {evaluation.id: evaluation for evaluation in evaluations}


def large_journal(problems: int = 10, solutions: int = 20) -> list[Evaluation]:
    """Seeded: `solutions` for each problem, a fifth of them failing in various ways, some measured several times."""
    draw = random.Random(20261121)
    found: list[Evaluation] = []
    failures = (Verdict.COMPILE_ERROR, Verdict.WRONG_VALUES, Verdict.TIMEOUT, Verdict.MEMORY_ERROR, Verdict.CHEATING)
    for p in range(problems):
        name = ("maxpool2d", "avgpool2d", "conv2d_square", "softmax", "layer_norm")[p % 5] + ("" if p < 5 else "_large")
        operations = None if "pool" in name or "norm" in name else 616_000_000_000
        for s in range(solutions):
            who = f"{('tiled', 'plain', 'vectorised', 'warp_shuffle', 'shared_tile')[s % 5]}_{s // 5 + 1}"
            if draw.random() < 0.2:
                found.append(broken(name, who, draw.choice(failures), day=10 + s % 5))
                continue
            precision = "tf32" if "conv" in name and s % 3 == 0 else None
            speed = draw.lognormvariate(0.2, 0.9)
            for again in range(draw.choice((1, 1, 3))):
                found.append(
                    timed(
                        name,
                        who,
                        speed * (1 + 0.04 * again),
                        day=10 + 3 * again + s % 3,
                        id=f"{name}-{who}-{again}",
                        solution=solution(who, f"{again}{again}", precision=precision),
                        work=Work(4_290_000_000, operations),
                    )
                )
    return found


HOSTILE = "</script><script>window.owned = 1</script><img src=x onerror='window.owned = 1'>"


def hostile() -> Evaluation:
    """Every text that a stranger writes tries to become markup, to steer the reader, or to be endless."""
    words = f"{HOSTILE}\u202e\x1b[31m\ud800'\"`|{{{{ 7 * 7 }}}}--><!--"
    long_source = f'X = r"""\n__global__ void {HOSTILE}\n"""\n' + "".join(
        f"a_{i} = '{HOSTILE}'  # {i}\n" for i in range(5000)
    )
    return timed(
        f"p{words}",
        f"s{words}",
        id="20261101T120000-hostile",
        problem=problem(f"p{words}", title=words),
        solution=solution(
            f"s{words}",
            author=words,
            explanation=words * 3,
            files={
                "solution.py": long_source,
                f"{words}.cu": HOSTILE,
                "styles.css": "</style><style>body{display:none}",
            },
        ),
        remarks=(words,),
        builds=(
            replace(build(words + "x" * 1_000_000), name=words, kernels=(replace(build().kernels[0], kernel=words),)),
        ),
        environment=environment(gpu="NVIDIA H100", cpu=words),
    )


def exact(evaluation: Evaluation) -> Evaluation:
    """The same, judged for equality."""
    output = comparison(tolerance=Tolerance(0, 0), worst=0.0, max_abs_error=0.0, max_rel_error=0.0)
    checks = tuple(replace(check, outputs=(output,)) for check in evaluation.checks)
    return replace(evaluation, checks=checks)
