"""Real input: five answers of a language model, as they came, each with its known outcome."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from harness.model.evaluation import Evaluation
from tests.evaluations import QUICK, evaluate_all
from tests.machine import ANSWERS, ROOT

OUTCOMES = [
    ("maxpool2d", "maxpool2d", "load_error", "missing 1 required positional argument: 'cpp_sources'"),
    ("avgpool2d", "avgpool2d", "memory_error", "illegal"),
    ("conv2d_square", "conv2d_3x3", "compile_error", "cuda_runtime.h: No such file"),
    ("conv2d_asymmetric", "conv2d_5x7_generic", "compile_error", "DeprecatedTypeProperties"),
    ("conv2d_asymmetric", "conv2d_5x7_tiled", "compile_error", "C_out"),
]
BACKENDS = [pytest.param("sim", marks=pytest.mark.sim), pytest.param("cuda", marks=pytest.mark.gpu)]

pytestmark = pytest.mark.skipif(not ANSWERS.is_dir(), reason="the answers aren't beside this checkout")


@pytest.fixture(scope="module")
def evaluations(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Evaluation]:
    root: Path = tmp_path_factory.mktemp("answers")
    shutil.copytree(ROOT / "problems", root / "problems")
    for problem, answer, _, _ in OUTCOMES:
        folder = root / "solutions" / problem / answer
        folder.mkdir(parents=True)
        shutil.copy(ANSWERS / f"{answer}.py", folder / "solution.py")
    found: dict[str, Evaluation] = {}
    for problem in dict.fromkeys(outcome[0] for outcome in OUTCOMES):
        found.update(evaluate_all(root, problem, root / "results", request.param, config=QUICK))
    return found


@pytest.mark.parametrize("evaluations", BACKENDS, indirect=True, scope="module")
@pytest.mark.parametrize(("problem", "answer", "verdict", "words"), OUTCOMES)
def test_answer_has_its_known_outcome(
    evaluations: dict[str, Evaluation], problem: str, answer: str, verdict: str, words: str
) -> None:
    evaluation = evaluations[answer]
    assert evaluation.failure is not None
    if evaluation.verdict.value == "wrong_values" and verdict == "memory_error":
        # On a GPU a wrapped index may hit memory that is there: another call's inputs, for example.
        assert evaluation.environment.backend == "cuda"
        assert evaluation.failure.case == "full"
        return
    assert evaluation.verdict.value == verdict, evaluation.failure
    assert words in f"{evaluation.failure.reason}\n{evaluation.failure.details}"


@pytest.mark.parametrize("evaluations", BACKENDS, indirect=True, scope="module")
def test_answer_with_32_bit_indices_is_right_at_small_shapes(evaluations: dict[str, Evaluation]) -> None:
    evaluation = evaluations["avgpool2d"]
    assert evaluation.failure is not None
    assert evaluation.failure.case == "full"
    assert {check.case for check in evaluation.checks if check.passed} >= {"small", "odd"}
