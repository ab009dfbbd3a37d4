"""What stderr shows of a run: lines where nobody watches, a bounded live table where somebody does."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

from rich.console import Console

from harness.cli.progress import Progress
from harness.model.verdict import Verdict
from tests.examples import failed, passed, timing


def job(solution: str, problem: str = "maxpool2d") -> Any:
    return SimpleNamespace(problem=SimpleNamespace(name=problem), solution=SimpleNamespace(name=solution))


def clock(*readings: float) -> Callable[[], float]:
    """Tells these times, then the last one for ever."""

    def tell() -> Iterator[float]:
        yield from readings
        while True:
            yield readings[-1]

    times = tell()
    return lambda: next(times)


def piped(*readings: float) -> tuple[Progress, io.StringIO]:
    file = io.StringIO()
    return Progress(False, Console(file=file, width=80), clock(*readings)), file


def watched(*readings: float) -> Progress:
    return Progress(False, Console(file=io.StringIO(), width=80, force_terminal=True), clock(*readings))


def shown(progress: Progress) -> list[str]:
    console = Console(file=io.StringIO(), width=80)
    console.print(progress.render())
    return [line.rstrip() for line in console.file.getvalue().splitlines()]  # type: ignore[attr-defined]


def test_where_lines_stay_each_step_is_one_line() -> None:
    progress, file = piped(0.0, 1.0, 2.0, 3.0, 4.0)
    with progress:
        for what in ("building", "checking small 1/3", "checking small 2/3"):
            progress.observe(job("tiled"), what)
        progress.finished(passed("tiled"))
    assert file.getvalue() == ("    1.0 s  tiled: building\n    2.0 s  tiled: checking\n    3.0 s  tiled: passed\n")


def test_a_line_is_one_line_whatever_its_length() -> None:
    progress, file = piped(0.0)
    name = "level1_11_4D_tensor_matrix_multiplication_by_somebody_with_a_long_name_and_no_dashes"
    progress.say(name)
    progress.observe(job(name), "building")
    progress.finished(passed(name))
    assert file.getvalue().count("\n") == 3


def test_names_and_steps_are_shown_harmless() -> None:
    progress, file = piped(0.0)
    progress.observe(job("a\x1b[2J\n::error::b"), "building\x07")
    progress.finished(passed("a\x1b[2J\n::error::b"))
    progress.say("a\n::error::b")
    assert file.getvalue() == (
        "    0.0 s  a\ufffd[2J ::error::b: building\ufffd\n    0.0 s  a\ufffd[2J ::error::b: passed\n… a ::error::b\n"
    )


def test_who_holds_the_gpu_is_told_whole() -> None:
    progress, file = piped(0.0)
    progress.observe(job("tiled"), "waiting for GPU 0, held by pid 7 since 12:00:00")
    assert file.getvalue().endswith("tiled: waiting for GPU 0, held by pid 7 since 12:00:00\n")


def test_of_several_each_line_says_how_far_and_across_problems_which() -> None:
    progress, file = piped(0.0)
    progress.expect([job("tiled"), job("broken"), job("other", "relu")])
    progress.finished(passed("tiled"))
    progress.finished(failed("broken"))
    assert [line.split("s  ")[1] for line in file.getvalue().splitlines()] == [
        "1/3  maxpool2d/tiled: passed",
        "2/3  maxpool2d/broken: wrong_values",
    ]


def test_the_live_table_fills_with_results_and_says_how_long_it_takes() -> None:
    progress = watched(0.0, 20.0)
    progress.expect([job("tiled")] * 8)
    progress.finished(passed("tiled", timing=timing(solution_ns=1_500_000)))
    progress.finished(failed("broken", Verdict.COMPILE_ERROR, checks=()))
    progress.observe(job("next"), "timing 3/12 on GPU 1")
    progress.observe(job("later"), "building")
    progress.observe(job("ready"), "built")
    lines = shown(progress)
    assert [line.split() for line in lines[:2]] == [
        ["tiled", "passed", "2.0000×", "[1.9940,", "2.0060]"],
        ["broken", "compile_error"],
    ]
    assert lines[2].split()[1:] == ["next", "timing", "3/12", "on", "GPU", "1"]
    assert lines[3].split()[1:] == ["later", "building"]
    assert lines[4].startswith("  1 built,")
    assert lines[5].split(", ")[:3] == ["2 of 8 done", "1 passed", "1 compile_error"]
    assert "60 s" in lines[5]


def test_ten_thousand_solutions_do_not_fill_the_screen() -> None:
    progress = watched(0.0)
    progress.expect([job("tiled")] * 10_000)
    for number in range(5_000):
        progress.observe(job(f"done_{number}"), "building")
        progress.finished(passed(f"done_{number}"))
    for number in range(40):
        progress.observe(job(f"building_{number}"), "building")
    lines = shown(progress)
    assert len(lines) < 20
    assert lines[0].split() == ["done_4988", "passed"]
    assert "  36 more building" in lines
    assert lines[-1].startswith("5000 of 10000")


def test_quiet_says_nothing() -> None:
    progress = Progress(True)
    with progress:
        progress.say("preparing")
        progress.observe(job("tiled"), "building")
        progress.finished(passed("tiled"))
    assert progress._console.quiet
