"""Several baselines in reports."""

from __future__ import annotations

import pytest

from harness.model.build import CompiledBaseline
from harness.model.evaluation import Evaluation
from harness.model.timing import Timing, fastest_baseline
from harness.reports.baselines import compiled_lines
from harness.reports.evaluation import show_report
from harness.reports.numbers import format_flags
from harness.store.entry import entry_of
from tests.examples import passed, timing
from tests.model.test_fastest import repeated
from tests.reports.printed import printed
from tests.reports.test_run import report
from tests.wording import tells


def against(found: Timing, *compiled: CompiledBaseline, name: str = "tiled") -> Evaluation:
    return passed(name, timing=found, compiled=compiled)


TIED = repeated(eager=(2_010_000, 2_010_000, 1_990_000), compile=(2_000_000,), solution=(1_000_000,))
PLAIN = "1 graph, no graph breaks, no recompilations"
ONCE = CompiledBaseline("compile", 5.13, 1, 0, 0)


def lines(evaluation: Evaluation) -> list[str]:
    return [" ".join(line.split()) for line in report([evaluation], width=80).splitlines()]


def test_a_run_shows_every_baseline_and_marks_the_fastest() -> None:
    found = lines(against(TIED, ONCE))
    assert tells(found[4], "over each", "* the fastest")
    assert found[2:8] == [
        "solution verdict err/tol eager ms ms speed-up [95 %]",
        "tiled passed 0.12 2.010 1.000 2.010× [1.989, 2.016]",
        found[4],
        "solution baseline its ms speed-up [95 %]",
        "tiled eager = 2.010 2.010× [1.989, 2.016]",
        "compile * 2.000 2.0000× [1.9940, 2.0060]",
    ]
    assert tells(found[8], "compile:", "5.1 s")
    assert tells(found[9], "faster", "eager: tiled")


def test_with_one_baseline_nothing_changes() -> None:
    found = lines(passed(timing=timing()))
    (faster,) = found[4:]
    assert tells(faster, "faster", "eager: tiled")
    assert "baseline" not in " ".join(found)


def test_one_compiled_baseline_alone_says_what_compiling_took() -> None:
    alone = repeated(compile=(2_000_000,), solution=(1_000_000,))
    took, faster = lines(against(alone, ONCE))[4:]
    assert tells(took, "compile:", "5.1 s")
    assert tells(faster, "faster", "compile: tiled")


@pytest.mark.parametrize(
    ("compiled", "said"),
    [
        ([CompiledBaseline("compile", 9.04, 3, 2, 1)], "9.0 s; 3 graphs, 2 graph breaks, 1 recompilation"),
        ([CompiledBaseline("compile", 1.0, None, None, None)], "1.0 s; torch doesn't count its graphs"),
        ([CompiledBaseline("compile", 1.0, 2, None, None)], "1.0 s; 2 graphs"),
        ([CompiledBaseline("compile", 1.0, 0, 0, 0)], "1.0 s; no graph came of it: it ran as eager"),
        (
            [ONCE, CompiledBaseline("compile", 4.0, 1, 0, 0)],
            f"4.0 to 5.1 s; {PLAIN}",
        ),
    ],
)
def test_what_compiling_took_in_words(compiled: list[CompiledBaseline], said: str) -> None:
    assert compiled_lines([against(TIED, one) for one in compiled]) == [f"compile: compiled in {said}"]


def test_an_entry_says_the_same_of_the_fastest_as_its_evaluation() -> None:
    for evaluation in (passed(timing=timing()), passed()):
        assert entry_of(evaluation).fastest is None
    row, whole = entry_of(against(TIED)).fastest, fastest_baseline(TIED)
    assert row is not None
    assert whole is not None
    assert (row.named, row.time_ns) == (whole.named, whole.time_ns) == ("compile = eager", 2_000_000)
    assert row.speedup is not None
    assert (row.speedup.low, row.speedup.high) == pytest.approx((1.9939924, 2.0060257))


def test_show_marks_the_fastest() -> None:
    text = "\n".join(printed(show_report(against(TIED, ONCE), ()), width=80))
    assert tells(text, "fastest", "compile: 2.0000× [1.9940, 2.0060]", "not told apart", "eager")
    assert tells(text, "compile:", "5.1 s", "1 graph")


def test_flags_in_words() -> None:
    flags = {"cudnn_allow_tf32": True, "cudnn_benchmark": False, "float32_matmul_precision": "highest"}
    assert format_flags(flags) == "cudnn_allow_tf32 on, cudnn_benchmark off, float32_matmul_precision highest"
