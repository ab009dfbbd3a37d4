"""The ways in which an evaluation can end: a closed list of words."""

from __future__ import annotations

import enum


class Verdict(enum.Enum):
    """The outcome of one evaluation."""

    PASSED = "passed"
    COMPILE_ERROR = "compile_error"
    LOAD_ERROR = "load_error"
    RUNTIME_ERROR = "runtime_error"
    MEMORY_ERROR = "memory_error"
    OUT_OF_MEMORY = "out_of_memory"
    TIMEOUT = "timeout"
    CRASHED = "crashed"
    WRONG_OUTPUT_TYPE = "wrong_output_type"
    WRONG_SHAPE = "wrong_shape"
    WRONG_DTYPE = "wrong_dtype"
    WRONG_VALUES = "wrong_values"
    NONDETERMINISTIC = "nondeterministic"
    CHEATING = "cheating"
    NO_CUSTOM_KERNEL = "no_custom_kernel"
    UNSUPPORTED = "unsupported"
    INVALID_PROBLEM = "invalid_problem"
    HARNESS_ERROR = "harness_error"

    @property
    def passed(self) -> bool:
        return self is Verdict.PASSED

    @property
    def blames_solution(self) -> bool:
        """True where the verdict blames the solution; False where it may be right: our fault, the problem's, or the
        backend's limit."""
        return self not in _NOT_THE_SOLUTIONS_FAULT

    @property
    def meaning(self) -> str:
        return _MEANINGS[self]


_NOT_THE_SOLUTIONS_FAULT = {
    Verdict.PASSED,
    Verdict.UNSUPPORTED,
    Verdict.INVALID_PROBLEM,
    Verdict.HARNESS_ERROR,
}

_MEANINGS = {
    Verdict.PASSED: "computes the reference's function on every case",
    Verdict.COMPILE_ERROR: "an extension doesn't compile",
    Verdict.LOAD_ERROR: "the file can't be imported, or ModelNew can't be constructed",
    Verdict.RUNTIME_ERROR: "a call raised, or a kernel failed to launch",
    Verdict.MEMORY_ERROR: "a kernel accessed memory that isn't its own, or that nobody wrote",
    Verdict.OUT_OF_MEMORY: "the solution needs more memory than there is",
    Verdict.TIMEOUT: "no answer within the time limit",
    Verdict.CRASHED: "the process ended by itself",
    Verdict.WRONG_OUTPUT_TYPE: "the output is not what the reference returns (tensor, tuple, …)",
    Verdict.WRONG_SHAPE: "an output has another shape than the reference's",
    Verdict.WRONG_DTYPE: "an output has another dtype than the reference's",
    Verdict.WRONG_VALUES: "outputs differ from the oracle by more than the tolerance",
    Verdict.NONDETERMINISTIC: "the same inputs gave different outputs, or threads race",
    Verdict.CHEATING: "the process tried to deceive the referee",
    Verdict.NO_CUSTOM_KERNEL: "the solution's own kernels replaced no part of the reference",
    Verdict.UNSUPPORTED: "it can't be run, or not be judged, on this backend or GPU; says nothing about the solution",
    Verdict.INVALID_PROBLEM: "the problem's own files are at fault",
    Verdict.HARNESS_ERROR: "the harness or the machine is at fault",
}
