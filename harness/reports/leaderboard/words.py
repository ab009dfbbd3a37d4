"""The board's rules and results in sentences, the same in every form."""

from __future__ import annotations

from harness.records.environment import of_several_gpus
from harness.reports.leaderboard.board import Board, ProblemBoard, Standing
from harness.reports.leaderboard.precision import title_of
from harness.reports.leaderboard.totals import ClassTotal
from harness.reports.numbers import format_speedup
from harness.reports.untrusted import one_line

_LIGHT = (
    "Speed of light: the least time of a call at the best that the GPU can do, in theory or as measured, as a share of "
    "the solution's time."
)

_OWN = "Own kernels: their share of the device's time, copies included; below 10 % it is marked as low."


def rules(board: Board) -> tuple[str, ...]:
    """Which evaluations are ranked, and how: a sentence each."""
    where = one_line(board.environment.label)
    baseline = board.baseline or "the baseline"
    return (
        f"Environment: {where}. {_others(len(board.other_environments), 'environment')}",
        f"Config: {board.config.key}. {_others(len(board.other_configs), 'config')}",
        f"Speed-up: time of {baseline} over time of the solution, measured in turns, with a 95 % interval.",
        *((_LIGHT,) if any(standing.entry.share_of_light for standing in board.standings) else ()),
        *((_OWN,) if any(standing.entry.own_share is not None for standing in board.standings) else ()),
        "Only evaluations of the newest version of a problem's files count.",
        "Ranked is what passed every case of the problem, the full one included, and was measured without much noise.",
        "A solution stands by the newest such evaluation, not by the best; and not by a source whose newest verdict is "
        "a failure.",
        "Faster and slower are said of intervals that lie beyond 1 % and beyond what equal arms (A/A) showed.",
        "Solutions whose intervals overlap share a rank: it is one more than the number that are surely faster.",
        "No two metrics are ranked together: beside gpu_cold what was measured end to end isn't ranked.",
        "Classes of precision are ranked apart: float64, strict float32, tf32, half.",
        "A class's mean is over the best ranked solution of each problem, out of the problems that were tried.",
        "Simulated runs, and examples that are meant to fail, are listed but never ranked or counted.",
    )


def total_sentence(total: ClassTotal) -> str:
    """'strict float32: 1.2× [1.1, 1.3], geometric mean over 3 of 4 problems': of the best solution of each."""
    title = title_of(total.precision_class)
    left_out = left_out_note(total)
    if not total.of_all:
        return f"{title}: {left_out}"
    over = f"geometric mean over {total.measured} of {total.problems} problems"
    return f"{title}: {format_speedup(total.mean_of_best)}, {over}" + (f"; {left_out}" if left_out else "")


def left_out_note(total: ClassTotal) -> str | None:
    """'left out: relu, measured end to end'; None where nothing is."""
    why = ((total.left_out, "not measured as gpu_cold"), (total.invalid, "invalid_problem"))
    notes = [f"left out: {', '.join(map(one_line, names))}, {reason}" for names, reason in why if names]
    return "; ".join(notes) or None


def unranked_reason(standing: Standing) -> str:
    """'wrong_values: outputs differ …'; the verdict stands before a reason that doesn't say it."""
    return f"{standing.entry.verdict.value}: {one_line(standing.why_unranked or '')}"


def problem_note(problem: ProblemBoard) -> str | None:
    """What a reader must know about the problem's version and its times; None where there is nothing to say."""
    notes = []
    if problem.has_newer_version:
        notes.append("A newer version of this problem has results in another environment; here it has none yet.")
    if problem.is_invalid:
        notes.append("Nobody can be judged by this problem (invalid_problem): in no rank and no total.")
    if problem.metric == "end_to_end":
        notes.append(
            "All was measured end to end, since the reference waits for the device itself: ranked among themselves, "
            "left out of the totals."
        )
    if several := of_several_gpus(s.entry.gpu_uuid for s in problem.standings if s.rank is not None):
        notes.append(f"{several[0].upper()}{several[1:]}.")
    return " ".join(notes) or None


def source_note(standing: Standing) -> str | None:
    """That the source shown is not today's; None where it is."""
    return "the solution has been edited since; this is its former source" if standing.is_older_source else None


def speed_note(standing: Standing) -> str:
    """'faster'; 'faster, end_to_end' where times aren't the device's with cold caches; 'faster, fragile'."""
    entry = standing.entry
    metric = entry.metric if entry.metric != "gpu_cold" else None
    words = (entry.speed, metric, "fragile" if entry.is_fragile else None)
    return ", ".join(word for word in words if word)


def _others(count: int, noun: str) -> str:
    if count == 0:
        return f"No other {noun} has results."
    return f"Results of {count} other {noun}{'' if count == 1 else 's'} are not compared."
