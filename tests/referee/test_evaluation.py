"""The record of an evaluation, by how judging ended."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from harness.builder.build import BuildOutcome
from harness.model.environment import BackendName
from harness.model.evaluation import Evaluation
from harness.model.verdict import Verdict
from harness.referee.judging import Judging
from harness.referee.trial import VariedForCopies
from harness.sandbox.outcome import SolutionFailed
from tests.examples import check, comparison, environment, far_out
from tests.referee.recorded import recorded
from tests.wording import tells

Evaluate = Callable[..., Evaluation]
CUDA, TRITON = "__global__ void double_all(float* x) {}", "import triton"


@pytest.fixture
def evaluate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Evaluate:
    """Gives the evaluation of a solution whose judging is `judge`."""

    def evaluated(
        judge: Callable[[Any], None],
        gaps: tuple[str, ...] = (),
        backend: BackendName = "sim",
        files: Mapping[str, str] = {},
    ) -> Evaluation:
        monkeypatch.setattr(Judging, "in_any_mode", judge)
        workers = SimpleNamespace(host=SimpleNamespace(name="sim"))
        built = BuildOutcome((), None, 0.0, missing=gaps, beyond_simulator=gaps)
        return recorded(tmp_path, workers, replace(environment(), backend=backend), built, files=files)

    return evaluated


@pytest.mark.parametrize(("found", "recorded"), [("bfloat16", "bfloat16"), (None, "float32")])
def test_the_record_has_the_precision_that_the_reference_showed(
    evaluate: Evaluate, found: str | None, recorded: str
) -> None:
    def judge(judging: Any) -> None:
        judging.found.precision = found
        judging.found.checks.append(check(comparison()))

    assert evaluate(judge).problem.precision == recorded


@pytest.mark.parametrize("verdict", [None, Verdict.WRONG_VALUES])
def test_who_has_other_parameters_than_those_that_are_varied_is_judged_without(
    evaluate: Evaluate, verdict: Verdict | None
) -> None:
    def judge(judging: Any) -> None:
        if not judging.job.problem.keeps_parameters:
            raise VariedForCopies(Verdict.UNSUPPORTED, "it has others")
        judging.found.checks.append(check(comparison()))
        if verdict:
            raise SolutionFailed(verdict, "all the same")

    found = evaluate(judge)
    assert found.verdict is (verdict or Verdict.PASSED)
    assert len(found.checks) == 1
    assert tells(found.remarks[0], "parameters", "copy")


@pytest.mark.parametrize(
    ("gaps", "verdict", "expected"),
    [
        (("'one' wasn't built",), Verdict.NO_CUSTOM_KERNEL, Verdict.UNSUPPORTED),
        (("'one' wasn't built",), Verdict.WRONG_VALUES, Verdict.WRONG_VALUES),
        (("'one' wasn't built",), Verdict.CHEATING, Verdict.CHEATING),
        ((), Verdict.NO_CUSTOM_KERNEL, Verdict.NO_CUSTOM_KERNEL),
    ],
)
def test_what_ran_in_place_of_an_extension_that_the_simulator_refused_convicts_nobody(
    evaluate: Evaluate, gaps: tuple[str, ...], verdict: Verdict, expected: Verdict
) -> None:
    def judge(judging: Any) -> None:
        raise SolutionFailed(verdict, "torch did it all")

    found = evaluate(judge, gaps)
    assert found.verdict is expected
    assert found.failure is not None
    wanted = (*gaps, "torch did it all") if expected is Verdict.UNSUPPORTED else ("torch did it all",)
    assert tells(found.failure.reason, *wanted)


@pytest.mark.parametrize(
    ("text", "backend", "verdict", "reason", "advised"),
    [
        (CUDA, "sim", Verdict.WRONG_VALUES, "8 values are outside the tolerance", ("--sanitize", "races")),
        (CUDA, "cuda", Verdict.NONDETERMINISTIC, "other values each time", ("--sanitize", "races")),
        (CUDA, "sim", Verdict.CRASHED, "it ended", ()),
        (CUDA, "sim", Verdict.WRONG_VALUES, "8 values are outside; tanh in place of erf in a GELU explains it", ()),
        (CUDA, "sim", Verdict.WRONG_VALUES, "8 values are outside; operands rounded to tf32 explain it", ()),
        (CUDA, "sim", Verdict.WRONG_VALUES, "an output shares its memory with input 0", ()),
        (TRITON, "sim", Verdict.WRONG_VALUES, "8 values are outside the tolerance", ()),
        (TRITON, "cuda", Verdict.WRONG_VALUES, "8 values are outside the tolerance", ("--backend sim",)),
        ("x * 2", "sim", Verdict.WRONG_VALUES, "8 values are outside the tolerance", ()),
    ],
)
def test_the_simulator_is_advised_where_it_sees_more(
    evaluate: Evaluate, text: str, backend: BackendName, verdict: Verdict, reason: str, advised: tuple[str, ...]
) -> None:
    def judge(judging: Any) -> None:
        raise SolutionFailed(verdict, reason, next_step="mend it")

    failure = evaluate(judge, backend=backend, files={"kernel.cu" if text == CUDA else "kernel.py": text}).failure
    assert failure is not None
    if advised:
        assert tells(failure.next_step, "mend it", *advised)
    else:
        assert failure.next_step == "mend it"


@pytest.mark.parametrize("is_wrong", [True, False])
def test_the_checked_build_is_advised_where_wrong_values_decide_nothing(evaluate: Evaluate, is_wrong: bool) -> None:
    """A missing barrier shows in a shrunk case by the order of the simulator's threads."""

    def judge(judging: Any) -> None:
        judging.found.fragile += [far_out()] if is_wrong else []
        raise SolutionFailed(
            Verdict.UNSUPPORTED, "in the shrunk case: 8 values are outside", next_step="run it on a GPU"
        )

    failure = evaluate(judge, files={"kernel.cu": CUDA}).failure
    assert failure is not None
    assert ("--sanitize" in failure.next_step) is is_wrong
