"""Exceptions of a solution as verdicts."""

from __future__ import annotations

import pytest

from harness.model.check import Evidence
from harness.model.verdict import Verdict
from harness.sandbox.outcome import SolutionFailed, from_exception
from harness.sandbox.wire.messages import Raised
from tests.wording import tells


def test_a_failure_carries_reason_advice_and_details() -> None:
    failed = SolutionFailed(Verdict.WRONG_SHAPE, "got 2×3, want 3×2", "details")
    assert (str(failed), failed.verdict) == ("got 2×3, want 3×2", Verdict.WRONG_SHAPE)
    assert failed.failure.reason == "got 2×3, want 3×2"
    assert failed.failure.details == "details"
    assert tells(failed.failure.next_step, "output's size")


def test_a_given_next_step_is_taken() -> None:
    assert SolutionFailed(Verdict.UNSUPPORTED, "too large", next_step="use a GPU").failure.next_step == "use a GPU"


NATIVE = (
    'torch says "too long\nException raised from unpack at /torch/numbers.h:79 (most recent call first):\n'
    "frame #0: c10::Error::Error() + 0x9d (0x7f in /torch/lib/libc10.so)\n<omitting python frames>\n"
    'frame #38: _start + 0x21 (0x55 in /bin/python)\n"'
)


def test_frames_of_torch_s_own_libraries_are_left_out() -> None:
    raised = Raised("TypeError", NATIVE, f'File "solution.py", line 4, in forward\nTypeError: {NATIVE}')
    failure = from_exception(raised, "in forward()", Verdict.RUNTIME_ERROR).failure
    assert failure.reason == 'TypeError in forward(): torch says "too long"'
    assert failure.details == 'File "solution.py", line 4, in forward\nTypeError: torch says "too long"'


def test_a_header_that_is_not_there_is_not_for_a_gpu_to_mend() -> None:
    reason = "extension 'one' can't be simulated: solution.py:7: cuda_runtme.h: No such file or directory"
    failure = SolutionFailed(Verdict.UNSUPPORTED, reason).failure
    assert "header" in (failure.next_step or "")
    assert "--backend cuda" not in (failure.next_step or "")


@pytest.mark.parametrize(
    ("details", "word"),
    [
        ('File "solution.py", line 1\n    ```python\n    ^\nSyntaxError: invalid syntax', "fences"),
        ('File "solution.py", line 1\n    /x/relu.py\n    ^\nSyntaxError: invalid syntax', "Path"),
        ('File "solution.py", line 1, in <module>\n    relu.py\n    ^^^^\nNameError: …', "Path"),
        ('File "solution.py", line 1\n    x = = 1\n    ^\nSyntaxError: invalid syntax', "mend the exception"),
        ("ModuleNotFoundError: No module named 'torhc'", "'torch'"),
        ("ModuleNotFoundError: No module named 'torchao'", "pip install"),
        ("ModuleNotFoundError: No module named 'torch.foo'", "pip install"),
        ("ModuleNotFoundError: No module named 'numba'", "pip install"),
    ],
)
def test_what_was_given_in_place_of_source_is_named(details: str, word: str) -> None:
    assert word in (SolutionFailed(Verdict.LOAD_ERROR, "on import", details).failure.next_step or "")


def test_cheating_carries_its_evidence() -> None:
    failed = SolutionFailed.cheating("claimed_times", "a call of 0 ns was reported", "turn 7", call_ns=0)
    assert (failed.verdict, failed.failure.reason) == (Verdict.CHEATING, "a call of 0 ns was reported")
    assert failed.failure.evidence == (Evidence("claimed_times", "a call of 0 ns was reported", {"call_ns": 0}),)
    assert failed.failure.details == "turn 7"


@pytest.mark.parametrize(
    ("type_name", "message", "verdict"),
    [
        ("OutOfMemoryError", "CUDA out of memory. Tried to allocate 80.00 GiB", Verdict.OUT_OF_MEMORY),
        ("MemoryError", "", Verdict.OUT_OF_MEMORY),
        ("RuntimeError", "CUDA error: out of memory", Verdict.OUT_OF_MEMORY),
        ("RuntimeError", "CUDA error: an illegal memory access was encountered", Verdict.MEMORY_ERROR),
        ("AcceleratorError", "CUDA error: misaligned address", Verdict.MEMORY_ERROR),
        ("RuntimeError", "CUDA error: invalid configuration argument", Verdict.RUNTIME_ERROR),
        ("ValueError", "bad stride", Verdict.RUNTIME_ERROR),
    ],
)
def test_an_exception_has_its_verdict(type_name: str, message: str, verdict: Verdict) -> None:
    raised = Raised(type_name, message, "Traceback …")
    assert from_exception(raised, "in forward()", Verdict.RUNTIME_ERROR).verdict is verdict


def test_the_stage_s_own_verdict_is_used_otherwise() -> None:
    raised = Raised("ImportError", "no module named 'triton'", "Traceback …")
    failed = from_exception(raised, "on import of solution.py", Verdict.LOAD_ERROR)
    assert failed.verdict is Verdict.LOAD_ERROR
    assert failed.failure.reason == "ImportError on import of solution.py: no module named 'triton'"
    assert failed.failure.details == "Traceback …"


@pytest.mark.parametrize(("message", "line"), [("\n\nfirst\nsecond", "first"), ("", "(no message)")])
def test_the_reason_is_one_line(message: str, line: str) -> None:
    failed = from_exception(Raised("ValueError", message, ""), "in forward()", Verdict.RUNTIME_ERROR)
    assert failed.failure.reason == f"ValueError in forward(): {line}"
