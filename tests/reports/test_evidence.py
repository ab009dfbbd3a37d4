"""Evidence, traces and protections, wherever an evaluation is shown."""

from __future__ import annotations

from dataclasses import replace

from harness.model.check import Check, Evidence, Tolerance
from harness.model.evaluation import Evaluation
from harness.model.trace import Trace, TracedKernel
from harness.reports.blocks import Span, Table
from harness.reports.compare import compare_report
from harness.reports.evaluation import findings, show_report
from harness.reports.evidence import kernel_rows, numbers_of, short_name, trace_words
from harness.reports.export import to_kernelbench
from harness.reports.run import run_report
from tests.examples import cheated, check, comparison, failed, passed, trace
from tests.gate.builders import judged
from tests.reports.leaderboard.samples import CASES, html_page, problem, timed
from tests.reports.leaderboard.test_page import Document
from tests.reports.printed import printed, words
from tests.wording import tells


def shown(evaluation: Evaluation, width: int = 80) -> str:
    return "\n".join(printed(show_report(evaluation, ()), width))


def test_show_has_the_check_what_it_saw_and_each_number() -> None:
    found = " ".join(shown(cheated()).split())
    assert tells(found, "evidence", "tail:", "48 of 50", "busy", "3.1 ms")
    assert "busy calls 48 tail 3.100 ms" in found
    assert "'harness explain tail'" in found


def test_show_has_the_kernels_that_ran_longest_first() -> None:
    lines = shown(cheated()).splitlines()
    start = lines.index("kernels that ran")
    assert tells(lines[start + 1], "2 calls", "full", "75 %", "solution's")
    rows = [line.split() for line in lines[start + 3 : start + 6]]
    assert rows[0] == ["kernel", "origin", "launches", "ms", "share"]
    assert rows[1] == ["tile<float,", "4>", "own", "2", "3.000", "75.0", "%"]
    assert rows[2] == ["at::native::add_kernel", "framework", "2", "1.000", "25.0", "%"]


def test_show_has_the_protections() -> None:
    lines = [line.strip() for line in shown(cheated()).splitlines()]
    assert tells(lines[lines.index("protections") + 1], "own user", "read-only files")
    assert "protections" not in shown(passed())


def test_the_stage_that_decided_is_shown_where_it_is_known() -> None:
    assert "the simulator" in shown(failed(decided_by="simulator"))
    assert "decided by" not in shown(failed())


def varied() -> Evaluation:
    """One call as drawn, one with inputs a million times as large, whose tolerance is so too."""
    large = comparison(tolerance=Tolerance(100.0, 1e-5), max_abs_error=30.0, worst=0.25)
    return passed(
        checks=(
            Check("small", 1, "complete", "float64", (comparison(),)),
            Check("small", 2, "complete", "float64", (large,), "rescaled (times 2^20)"),
        )
    )


def test_show_names_the_variants_that_were_tried() -> None:
    found = " ".join(shown(varied()).split())
    assert "2 8 0 0.25" in found
    assert "variants: rescaled (times 2^20) inputs" in found
    assert "variants" not in shown(passed())


def test_the_tolerance_that_is_told_is_that_of_the_inputs_as_drawn() -> None:
    assert tells(printed(run_report([varied()], False))[1], "float32", "0.0001", "1e-05·|want|")
    (checks,) = [section for section in findings(varied()) if "checks" in section.title]
    table = checks.blocks[0]
    assert isinstance(table, Table)
    (row,) = (dict(zip((column.head for column in table.columns), cells, strict=True)) for cells in table.rows)
    assert (row["calls"], row["scope"], row["tolerance"]) == ("2", "complete, 1 variant", "0.0001 + 1e-05·|want|")
    assert (row["largest abs."], row["err/tol"]) == ("1e-06", Span("0.25"))


def test_the_part_of_a_tolerance_that_is_of_the_items_size_is_told() -> None:
    found = shown(passed(checks=(check(tolerance=Tolerance(1e-5, 1e-4, 2e-4)),)), width=200)
    assert "1e-05 + 0.0001·|want| + 0.0002·rms" in " ".join(found.split())
    assert "root mean square" in found
    assert "rms" not in shown(passed())


def test_show_fits_eighty_columns_whatever_a_kernel_is_called() -> None:
    long = TracedKernel(f"void cutlass::{'Kernel<float, ' * 40}int>(int)", "own", 1, 5)
    many = tuple(TracedKernel(f"kernel_{number}", "own", 1, number) for number in range(30))
    out = shown(cheated(trace=Trace("full", 1, (long, *many))))
    assert [line for line in out.splitlines() if len(line) > 80] == []
    assert "19 more" in out


def test_names_of_strangers_are_harmless() -> None:
    hostile = TracedKernel("\x1b[2Jvoid\n::error::\u202ekernel(int)", "own", 1, 5)
    evidence = Evidence("trace", "saw \x1b[31m\u202eit", {"odd\x1bname_ns": 5.0})
    evaluation = cheated(trace=Trace("full", 1, (hostile,)))
    assert evaluation.failure is not None
    out = shown(replace(evaluation, failure=replace(evaluation.failure, evidence=(evidence,))))
    assert not {"\x1b", "\u202e"} & set(out)


def test_a_run_says_which_check_saw_it() -> None:
    assert tells(words(run_report([cheated()], False)), "seen by: tail", "'harness explain tail'")
    assert "seen by" not in words(run_report([failed()], False))


def test_compare_names_the_check_before_the_reason() -> None:
    said = words(compare_report([cheated()], frozenset(), verbose=False), 200)
    assert tells(said, "maxpool2d/impostor cheating (tail):", "48 of 50")


def test_the_leaderboards_page_has_all_of_it() -> None:
    page = Document(html_page(timed(), cheated(problem=problem(), cases=CASES)))
    for said in (
        "seen by: tail",
        "busy calls 48 tail 3.100 ms",
        "2 calls of case full; 75 % of the device's time in kernels of the solution's own",
        "tile<float, 4> own 2 3.000 75.0 %",
        "protections own user, read-only files",
    ):
        assert said in page.text


def test_the_gate_names_the_check() -> None:
    (finding,) = judged(cheated("tiled")).findings
    assert tells(finding.message, "tail", "full")


def test_kernelbench_gets_the_checks_names() -> None:
    (sample,) = to_kernelbench([cheated()])["maxpool2d"]
    assert sample["metadata"]["seen_by"] == "tail"


def test_several_checks_are_named_once_each() -> None:
    evaluation = cheated()
    assert evaluation.failure is not None
    tail = evaluation.failure.evidence[0]
    clock = Evidence("wall_clock", "a call costs 5 ms more than is claimed")
    assert replace(evaluation.failure, evidence=(clock, tail, tail)).seen_by == "wall_clock, tail"
    unseen = failed().failure
    assert unseen is not None
    assert unseen.seen_by == ""


def test_numbers_are_shown_in_the_unit_of_their_name() -> None:
    numbers = {
        "wall_ns": 5_100_000.0,
        "gap_ns": -2e6,
        "hidden_ns_per_call": 250_000.0,
        "memory_bytes_per_s": 3.03e12,
        "least_bytes": 4.29e9,
        "waited_s": 1.5,
        "calls": 50,
    }
    assert numbers_of(Evidence("tail", "seen", numbers)) == [
        ("wall", "5.100 ms"),
        ("gap", "-2 ms"),
        ("hidden", "0.2500 ms per call"),
        ("memory", "3030 GB/s"),
        ("least", "4290 MB"),
        ("waited", "1.5 s"),
        ("calls", "50"),
    ]


def test_a_simulated_trace_counts_launches() -> None:
    untimed = tuple(replace(kernel, ns=0) for kernel in trace().kernels)
    simulated = Trace("small", 1, (*untimed, TracedKernel("aten::clone", "move", 7, 0)))
    words = "1 call of case small; 2 of 4 launches that compute are of the solution's own kernels"
    assert trace_words(simulated) == words
    assert {row[3:] for row in kernel_rows(simulated.kernels)} == {("—", "—")}


def test_a_kernel_loses_its_parameters_and_the_middle_of_a_long_name() -> None:
    assert short_name("void tile<float, 4>(float const*, int)") == "tile<float, 4>"
    assert short_name("(anonymous)") == "(anonymous)"
    assert short_name("k" * 50 + "x" * 50) == "k" * 39 + "…" + "x" * 20
