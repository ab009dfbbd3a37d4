"""Kernels' languages that aren't installed."""

from __future__ import annotations

import importlib.util
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from harness.model.environment import BackendName
from harness.model.verdict import Verdict
from harness.referee.buffers.turns import _beyond_simulator, absent_language, refused_by_triton
from harness.referee.evaluation import with_expectation
from harness.sandbox.wire.messages import Raised
from tests.examples import passed

IMPORTED = 'Traceback\n  File "/w/1/solution.py", line 3, in <module>\n    import triton\n'
INSIDE = IMPORTED + '  File "/v/attention.py", line 7, in <module>\n    import triton\n'
SET_TO_NONE = 'Traceback\n  File "/w/1/solution.py", line 9, in <module>\n    @triton.jit\n     ^^^^^^^^^^\n'


REFUSED = """Traceback (most recent call last):
  File "solutions/mish/solution.py", line 31, in forward
    mish[(1,)](x, y, BLOCK=128)
"""
INNER = """triton.compiler.errors.CompilationError: at 3:11:
@triton.jit
def soft(value):
    return tl.tanh(value)
           ^
AttributeError("module 'triton.language' has no attribute 'tanh'")"""
OUTER = """at 4:20:
@triton.jit
def mish(x, y, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(y + at, soft(tl.load(x + at)))
                     ^"""
NO_TANH = "module 'triton.language' has no attribute 'tanh'"


@pytest.fixture
def is_installed(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """Let Python find every module, or, unless asked to, none."""
    spec = object() if getattr(request, "param", False) else None
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: spec)


@pytest.mark.usefixtures("is_installed")
@pytest.mark.parametrize("backend", ["sim", "cuda"])
@pytest.mark.parametrize(
    ("type_name", "message", "traceback", "reason"),
    [
        ("ModuleNotFoundError", "No module named 'triton'", IMPORTED, "Triton at line 3"),
        ("ModuleNotFoundError", "No module named 'triton.language'; 'triton' is not a package", "", "Triton"),
        ("ModuleNotFoundError", "import of triton halted; None in sys.modules", INSIDE, "Triton at line 3"),
        ("NameError", "name 'triton' is not defined", SET_TO_NONE, "Triton at line 9"),
        ("AttributeError", "'NoneType' object has no attribute 'jit'", SET_TO_NONE, "Triton at line 9"),
        ("ModuleNotFoundError", "No module named 'tilelang'", IMPORTED, "TileLang at line 3"),
        ("ModuleNotFoundError", "import of cutlass.cute halted; None in sys.modules", IMPORTED, "CuTe DSL at line 3"),
    ],
)
def test_what_comes_of_a_language_s_absence_is_unsupported(
    type_name: str, message: str, traceback: str, reason: str, backend: BackendName
) -> None:
    failed = absent_language(Raised(type_name, message, traceback), backend, is_import=True)
    assert failed is not None
    assert (failed.verdict, failed.failure.reason) == (Verdict.UNSUPPORTED, reason)
    assert reason.partition(" at")[0] in (failed.failure.next_step or "")


@pytest.mark.usefixtures("is_installed")
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
    assert absent_language(Raised(type_name, message, traceback), "sim", is_import=True) is None


@pytest.mark.parametrize("is_installed", [True], indirect=True)
@pytest.mark.usefixtures("is_installed")
def test_an_installed_language_that_is_missing_is_the_solution_s_mistake() -> None:
    named = Raised("NameError", "name 'triton' is not defined", SET_TO_NONE)
    assert absent_language(named, "sim", is_import=True) is None
    halted = Raised("ModuleNotFoundError", "import of tilelang halted; None in sys.modules", IMPORTED)
    assert absent_language(halted, "cuda", is_import=True) is None
    assert absent_language(halted, "sim", is_import=True) is not None


@pytest.mark.parametrize(
    ("type_name", "message", "traceback", "reason"),
    [
        ("CompilationError", INNER.partition(" ")[2], INNER, f'AttributeError("{NO_TANH}"), at: return tl.tanh(value)'),
        (
            "CompilationError",
            OUTER,
            f"{INNER}\n\nThe above exception was the direct cause:\n\n{REFUSED}triton.compiler.errors.{OUTER}",
            f'AttributeError("{NO_TANH}"), at: return tl.tanh(value)',
        ),
        (
            "CompilationError",
            f"solution.py:3: {NO_TANH}, at: soft(x)",
            REFUSED,
            f"solution.py:3: {NO_TANH}, at: soft(x)",
        ),
        ("RuntimeError", "PassManager::run failed", REFUSED, "PassManager::run failed"),
    ],
)
def test_what_triton_refuses_to_compile_is_a_compile_error(
    type_name: str, message: str, traceback: str, reason: str
) -> None:
    failed = refused_by_triton(Raised(type_name, message, traceback))
    assert failed is not None
    assert (failed.verdict, failed.failure.reason) == (
        Verdict.COMPILE_ERROR,
        f"a Triton kernel doesn't compile: {reason}",
    )
    assert ("libdevice" in (failed.failure.next_step or "")) == ("tanh" in reason)
    assert refused_by_triton(Raised("RuntimeError", message + "!", traceback)) is None


@pytest.mark.usefixtures("is_installed")
def test_on_a_gpu_an_error_after_the_import_may_be_made_up() -> None:
    missing = Raised("ModuleNotFoundError", "No module named 'tilelang'", IMPORTED)
    assert absent_language(missing, "cuda", is_import=False) is None


@pytest.mark.parametrize(
    ("imported", "is_installed", "needs_gpu", "backend", "expected"),
    [
        ("import triton", False, False, "sim", Verdict.UNSUPPORTED),
        ("import triton", True, False, "sim", Verdict.PASSED),
        ("import triton", True, True, "sim", Verdict.UNSUPPORTED),
        ("import triton", False, False, "cuda", Verdict.UNSUPPORTED),
        ("import triton", True, True, "cuda", Verdict.PASSED),
        ("try:\n    import triton\nexcept ImportError: triton = None", False, False, "sim", Verdict.UNSUPPORTED),
        ("try:\n    import triton\nexcept ImportError: triton = None", False, False, "cuda", Verdict.PASSED),
        ('"""\nfrom triton\n"""', False, False, "cuda", Verdict.PASSED),
    ],
)
def test_kernels_of_a_language_that_is_missing_are_expected_to_be_unsupported(
    monkeypatch: pytest.MonkeyPatch,
    imported: str,
    is_installed: bool,
    needs_gpu: bool,
    backend: BackendName,
    expected: Verdict,
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: object() if is_installed else None)
    solution = replace(passed().solution, files={"solution.py": f"{imported}\n"})
    about = SimpleNamespace(needs_gpu=needs_gpu, runs_on=lambda capability: True)
    job: Any = SimpleNamespace(solution_ref=solution, solution=SimpleNamespace(about=about))
    environment = replace(passed().environment, backend=backend)
    assert with_expectation(job, environment, Verdict.UNSUPPORTED).expected_verdict is expected


@pytest.mark.parametrize(
    ("symbol", "is_torchs"),
    [
        ("_ZN2at6detail10empty_cudaEN3c108ArrayRefIlEE", True),
        ("_ZN3c104cuda20getCurrentCUDAStreamEa", True),
        ("_Z9relu_cudaN2at6TensorE", False),  # declared, and never defined
    ],
)
def test_what_torch_has_only_for_cuda_is_unsupported(symbol: str, is_torchs: bool) -> None:
    raised = Raised("ImportError", f"/x/one.so: undefined symbol: {symbol}", "")
    found = _beyond_simulator(raised, "sim")
    assert (found is not None) is is_torchs
    assert _beyond_simulator(raised, "cuda") is None
