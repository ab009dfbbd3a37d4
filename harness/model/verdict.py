"""The ways in which an evaluation can end: a closed list of words."""

from __future__ import annotations

import enum


class Verdict(enum.Enum):
    """The outcome of one evaluation."""

    PASSED = "passed", "computes the reference's function on every case"
    COMPILE_ERROR = "compile_error", "its code doesn't compile"
    LOAD_ERROR = "load_error", "the file can't be imported, or ModelNew can't be constructed"
    RUNTIME_ERROR = "runtime_error", "a call raised, or a kernel failed to launch"
    MEMORY_ERROR = "memory_error", "a kernel accessed memory that isn't its own, or that nobody wrote"
    OUT_OF_MEMORY = "out_of_memory", "the solution needs more memory than there is"
    TIMEOUT = "timeout", "no answer within the time limit"
    CRASHED = "crashed", "the process ended by itself"
    WRONG_OUTPUT_TYPE = "wrong_output_type", "the output is not what the reference returns (tensor, tuple, …)"
    WRONG_SHAPE = "wrong_shape", "an output has another shape than the reference's"
    WRONG_DTYPE = "wrong_dtype", "an output has another dtype than the reference's"
    WRONG_VALUES = "wrong_values", "outputs differ from the oracle by more than the tolerance"
    NONDETERMINISTIC = "nondeterministic", "the same inputs gave different outputs, or threads race"
    CHEATING = "cheating", "the process tried to deceive the referee"
    NO_CUSTOM_KERNEL = "no_custom_kernel", "the solution's own kernels replaced no part of the reference"
    UNSUPPORTED = (
        "unsupported",
        "it can't be run, or not be judged, on this backend or GPU; says nothing about the solution",
    )
    INVALID_PROBLEM = "invalid_problem", "the problem's own files are at fault"
    HARNESS_ERROR = "harness_error", "the harness or the machine is at fault"

    _value_: str
    meaning: str

    def __new__(cls, word: str, meaning: str = "") -> Verdict:
        """Make a verdict whose value is the word alone."""
        verdict = object.__new__(cls)
        verdict._value_, verdict.meaning = word, meaning
        return verdict

    @property
    def passed(self) -> bool:
        return self is Verdict.PASSED

    @property
    def blames_solution(self) -> bool:
        """True where the verdict blames the solution; False where it may be right: our fault, the problem's, or the
        backend's limit."""
        return self not in _NOT_THE_SOLUTIONS_FAULT


_NOT_THE_SOLUTIONS_FAULT = {Verdict.PASSED, Verdict.UNSUPPORTED, Verdict.INVALID_PROBLEM, Verdict.HARNESS_ERROR}
