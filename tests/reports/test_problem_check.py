"""What judging a problem found, printed and as JSON."""

from __future__ import annotations

import json

from harness.model.check import Tolerance
from harness.model.problem_check import Draw, MutantResult, MutantTrial, ProblemCheck
from harness.reports.problem_check import problem_check_json, problem_check_report
from tests.reports.printed import printed
from tests.wording import tells

SMALL = Draw("small", None, (Tolerance(1e-4, 1e-4),), (0.5,), 0.25, True)
NEGATIVE = Draw("small", "negative", (Tolerance(1e-4, 1e-4),), (0.5,), 0.5, False)
FULL = Draw("full", None, (Tolerance(0, 0),), (0.5,), 0.0, True, 32, 2)


def mutant(name: str, *worst: float, output: int = 0, **changes: str) -> MutantResult:
    labels = (("small", None), ("small", "negative"), ("full", None))
    trials = tuple(MutantTrial(case, variant, w, w == 0) for (case, variant), w in zip(labels, worst, strict=False))
    return MutantResult(name, "writes zeros", output, trials, **changes)


def check(*mutants: MutantResult, **changes: object) -> ProblemCheck:
    draws = (SMALL, NEGATIVE, FULL)
    return ProblemCheck("relu", "00" * 32, "NVIDIA H100", 7, draws, mutants=mutants, **changes)  # type: ignore[arg-type]


def lines(one: ProblemCheck, verbose: bool = False, width: int = 80) -> list[str]:
    return [line.rstrip() for line in printed(problem_check_report(one, verbose), width=width)]


def test_a_sound_problem_in_a_few_lines() -> None:
    out = lines(check(mutant("zeros", 5.0, 512.0, float("inf"))))
    assert "lets none pass" in out[0]
    assert tells(out[1], "1 mutant", "2 cases", "3 draws", "negative", "NVIDIA H100", "seed 7")
    assert out[2:4] == ["mutant  caught by  error/tol  missed by", "zeros      3 of 3      wrong"]
    assert tells(" ".join(out[4:]), "reference differs", "small, negative", "float64", "0.5", "small, negative")


def test_what_is_let_pass_comes_with_advice() -> None:
    out = lines(check(mutant("zeros", 0.5, 0.25, 1.0, advice="lower the tolerance")), width=200)
    assert "lets wrong" in out[0]
    assert out[3].split() == ["zeros", "0", "of", "3", "1", "small;", "small,", "negative", "and", "1", "more"]
    assert tells(" ".join(out[-2:]), "let pass: zeros:", "writes zeros", "next: lower the")


def test_what_is_harmless_says_why() -> None:
    out = lines(check(mutant("starts_at_zero", 0.0, 0.0, 0.0, harmless="none is negative")))
    assert "none is negative" in out[3]
    assert "lets none pass" in out[0]


def test_complaints_skipped_draws_and_remarks_are_told() -> None:
    one = check(complaints=("every seed gives the same inputs",), skipped={"huge": "17 GB"}, remarks=("odd",))
    assert tells(lines(one)[0], "relu can't judge")
    skipped, remark, complaint = lines(one)[-3:]
    assert tells(skipped, "huge: 17 GB")
    assert (remark, complaint) == ("remark: odd", one.complaints[0])


def test_a_problem_of_which_nothing_was_examined_says_so() -> None:
    assert lines(ProblemCheck("relu", "00" * 32, "CPU", 7))[0] == "relu not examined"


def test_several_outputs_are_told_apart() -> None:
    one = check(mutant("zeros", 5.0), mutant("zeros", 6.0, output=1))
    assert [line.split("  ")[0] for line in lines(one)[3:5]] == ["zeros, output 0", "zeros, output 1"]


def test_verbose_has_every_draw() -> None:
    out = lines(check(mutant("zeros", 0.5, 5.0, 0.5)), verbose=True, width=120)
    assert "small; full" in out[3]
    rows = [line.split() for line in out if line.startswith(("  small", "  full"))]
    assert rows[0] == ["small", "—", "0.5", "0.0001", "+", "0.0001·|want|", "0.25", "all"]
    assert rows[2] == ["full", "—", "0.5", "exact", "0", "2", "of", "32"]


def test_json_has_the_conclusions() -> None:
    data = problem_check_json(check(mutant("zeros", 0.5, advice="lower it"), mutant("ones", float("inf"))))
    assert (data["is_sound"], data["let_pass"]) == (False, ["zeros"])
    assert data["mutants"][1]["trials"][0]["worst"] == "Infinity"
    assert json.loads(json.dumps(data, allow_nan=False)) == data


def test_names_of_strangers_steer_no_terminal() -> None:
    out = "\n".join(lines(check(remarks=("\x1b[2J\u202e",))))
    assert not {"\x1b", "\u202e"} & set(out)
