"""Triton on the simulator, where there is none."""

from __future__ import annotations

import importlib.util
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from harness.model.config import LimitsConfig
from harness.model.environment import BackendName
from harness.model.verdict import Verdict
from harness.referee.buffers.turns import beyond_gpu_language, beyond_triton, load_arm
from harness.referee.evaluation import with_expectation
from harness.sandbox.outcome import SolutionFailed
from harness.sandbox.process import SolutionRaised
from harness.sandbox.wire.messages import Raised
from tests.examples import passed

IMPORTED = 'Traceback\n  File "/w/1/solution.py", line 3, in <module>\n    import triton\n'
INSIDE = IMPORTED + '  File "/v/attention.py", line 7, in <module>\n    import triton\n'
SET_TO_NONE = 'Traceback\n  File "/w/1/solution.py", line 9, in <module>\n    @triton.jit\n     ^^^^^^^^^^\n'


@pytest.mark.parametrize(
    ("type_name", "message", "traceback", "reason"),
    [
        ("ModuleNotFoundError", "No module named 'triton'", IMPORTED, "Triton at line 3"),
        ("ModuleNotFoundError", "No module named 'triton.language'; 'triton' is not a package", "", "Triton"),
        ("ModuleNotFoundError", "import of triton halted; None in sys.modules", INSIDE, "Triton at line 3"),
        ("NameError", "name 'triton' is not defined", SET_TO_NONE, "Triton at line 9"),
        ("AttributeError", "'NoneType' object has no attribute 'jit'", SET_TO_NONE, "Triton at line 9"),
    ],
)
def test_what_comes_of_its_absence_is_unsupported(type_name: str, message: str, traceback: str, reason: str) -> None:
    failed = beyond_triton(Raised(type_name, message, traceback))
    assert failed is not None
    assert (failed.verdict, failed.failure.reason) == (Verdict.UNSUPPORTED, reason)
    assert "pip install triton" in (failed.failure.next_step or "")


@pytest.mark.parametrize(
    ("type_name", "message", "traceback"),
    [
        ("ModuleNotFoundError", "No module named 'tritonclient'", IMPORTED),
        ("ModuleNotFoundError", "No module named 'numba'", ""),
        ("RuntimeError", "No module named 'triton'", IMPORTED),
        ("AttributeError", "'NoneType' object has no attribute 'jit'", SET_TO_NONE.replace("triton", "numba")),
        ("AttributeError", "'Tensor' object has no attribute 'jit'", SET_TO_NONE),
    ],
)
def test_other_mistakes_are_the_solution_s(type_name: str, message: str, traceback: str) -> None:
    assert beyond_triton(Raised(type_name, message, traceback)) is None


class WithoutTriton:
    """A worker whose Python has no such module."""

    def __init__(self, backend: BackendName) -> None:
        self.backend = backend

    def ask(self, request: object, timeout_s: float) -> object:
        raise SolutionRaised(Raised("ModuleNotFoundError", "No module named 'triton'", IMPORTED))


@pytest.mark.parametrize(("backend", "verdict"), [("sim", Verdict.UNSUPPORTED), ("cuda", Verdict.LOAD_ERROR)])
def test_a_machine_with_a_gpu_ought_to_have_it(backend: BackendName, verdict: Verdict) -> None:
    with pytest.raises(SolutionFailed) as failed:
        load_arm(WithoutTriton(backend), "solution.py", "ModelNew", LimitsConfig())  # type: ignore[arg-type]
    assert failed.value.verdict is verdict


@pytest.mark.parametrize(("module", "words"), [("tilelang", "TileLang"), ("cutlass.cute", "CuTe DSL")])
def test_languages_of_gpus_alone_are_unsupported_by_name(module: str, words: str) -> None:
    failed = beyond_gpu_language(Raised("ModuleNotFoundError", f"No module named '{module}'", IMPORTED))
    assert failed is not None
    assert (failed.verdict, failed.failure.reason) == (Verdict.UNSUPPORTED, f"{words} at line 3")
    assert "pip install" in (failed.failure.next_step or "")
    assert beyond_gpu_language(Raised("ModuleNotFoundError", "No module named 'cutlasses'", IMPORTED)) is None


@pytest.mark.parametrize(
    ("is_installed", "needs_gpu", "backend", "expected"),
    [
        (False, False, "sim", Verdict.UNSUPPORTED),
        (True, False, "sim", Verdict.PASSED),
        (True, True, "sim", Verdict.UNSUPPORTED),
        (False, False, "cuda", Verdict.PASSED),
    ],
)
def test_without_triton_its_kernels_are_expected_to_be_unsupported(
    monkeypatch: pytest.MonkeyPatch, is_installed: bool, needs_gpu: bool, backend: str, expected: Verdict
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: object() if is_installed else None)
    solution = replace(passed().solution, files={"solution.py": "import triton\n@triton.jit\ndef f(x): pass\n"})
    about = SimpleNamespace(needs_gpu=needs_gpu, runs_on=lambda capability: True)
    job: Any = SimpleNamespace(solution_ref=solution, solution=SimpleNamespace(about=about))
    environment = replace(passed().environment, backend=backend)
    assert with_expectation(job, environment, Verdict.UNSUPPORTED).expected_verdict is expected
