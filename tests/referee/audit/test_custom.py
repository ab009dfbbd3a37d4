"""Whose work it was: the verdict no_custom_kernel, and the remarks short of it."""

from __future__ import annotations

import pytest

from harness.model.trace import KernelOrigin, Trace, TracedKernel
from harness.model.verdict import Verdict
from harness.referee.audit.custom import TracedCase, accused_of, require_custom
from harness.sandbox.outcome import SolutionFailed
from tests.wording import tells


def trace(*kernels: tuple[str, KernelOrigin, int, int] | tuple[str, KernelOrigin, int, int, int]) -> Trace:
    return Trace("full", 1, tuple(TracedKernel(*kernel) for kernel in kernels))


OWN_BESIDE: tuple[tuple[str, KernelOrigin, int, int], ...] = (
    ("own", "own", 1, 300),
    ("sigmoid", "framework", 1, 500),
    ("mul", "framework", 2, 480),
)
EAGER = trace(("sigmoid", "framework", 1, 500), ("mul", "framework", 1, 480), ("copy", "move", 1, 10))


@pytest.mark.parametrize(
    ("found", "reason"),
    [
        (trace(("sigmoid", "framework", 1, 500)), "no kernel of the solution's ran, only the framework's: sigmoid"),
        (trace(("copy", "move", 1, 500)), "the device only moved data"),
        (trace(), "the device only moved data"),
        (trace(("own", "own", 1, 4), ("gemm", "framework", 1, 996)), "by other kernels"),
        (trace(("own", "own", 1, 30), ("silu", "framework", 1, 460)), "by other kernels"),  # for a few of the rows
        (
            trace(*OWN_BESIDE, ("copy", "move", 1, 10)),
            "the framework did all that the reference consists of itself",
        ),
    ],
)
def test_the_frameworks_work_is_no_custom_kernel(found: Trace, reason: str) -> None:
    with pytest.raises(SolutionFailed) as caught:
        require_custom(found, EAGER)
    assert caught.value.verdict is Verdict.NO_CUSTOM_KERNEL
    assert reason in caught.value.failure.reason


@pytest.mark.parametrize(
    "found",
    [
        trace(("own", "own", 1, 500)),
        trace(("own", "own", 1, 500), ("copy", "move", 3, 5_000)),
        trace(("own", "own", 1, 500), ("sigmoid", "framework", 1, 400)),
        trace(*OWN_BESIDE),  # the reference copies as well
        trace(("own", "own", 1, 100), ("gemm", "framework", 1, 300)),
        trace(("own", "own", 1, 600), ("mean", "framework", 2_000, 50_000)),  # it normalises by slow sums
    ],
)
def test_own_work_is_custom(found: Trace) -> None:
    assert require_custom(found, EAGER) == ()


def test_on_the_simulator_the_frameworks_operators_beside_own_kernels_are_remarked_on() -> None:
    found = trace(("own", "own", 1, 0), ("aten::mul", "framework", 1, 0))
    (remark,) = require_custom(found, EAGER)
    assert tells(remark, "full: beside", "framework", "aten::mul")


CONV = "cudnn::implicit_convolve_sgemm"
TAIL: tuple[tuple[str, KernelOrigin, int, int], ...] = (
    ("at::native::div", "framework", 1, 100),
    ("at::native::mean", "framework", 1, 50),
)
REFERENCE = trace((CONV, "framework", 1, 850), *TAIL, ("fill of 64 bytes", "move", 1, 2))
LITTLE: tuple[str, KernelOrigin, int, int] = ("own", "own", 1, 2)


@pytest.mark.parametrize(
    "found",
    [
        trace(LITTLE, (CONV, "framework", 1, 850), ("at::native::mean", "framework", 1, 50)),
        trace(LITTLE, ("cudnn::winograd", "framework", 1, 700)),
        trace(LITTLE, (CONV, "framework", 1, 850), ("at::native::sum", "framework", 1, 5)),
    ],
)
def test_a_kernel_of_hardly_any_time_may_stand_for_a_part_of_the_reference(found: Trace) -> None:
    assert found.own_share is not None
    assert found.own_share < 0.01
    assert require_custom(found, REFERENCE) == ()


@pytest.mark.parametrize(
    "found",
    [
        trace(LITTLE, (CONV, "framework", 1, 850), *TAIL),
        trace(LITTLE, ("cublas::gemm", "framework", 1, 850), *TAIL),
        trace(LITTLE, ("triton_poi_fused_div_mean", "framework", 1, 300)),
        trace(LITTLE, (CONV, "framework", 1, 850), ("at::native::mul", "framework", 1, 140)),
        trace(LITTLE, ("cublas::gemm", "framework", 1, 850), ("at::native::add", "framework", 1, 140)),
    ],
)
def test_a_kernel_of_hardly_any_time_beside_all_of_the_work_is_a_decoy(found: Trace) -> None:
    with pytest.raises(SolutionFailed, match="all that the reference"):
        require_custom(found, REFERENCE)


def test_a_small_part_beside_a_large_one_lets_no_decoy_pass() -> None:
    reference = trace((CONV, "framework", 1, 1_000_000), ("at::native::cast", "framework", 1, 3_000))
    others = (("cudnn::winograd", "framework", 1, 1_000_000), ("at::native::copy", "framework", 1, 3_000))
    with pytest.raises(SolutionFailed, match="all that the reference"):
        require_custom(trace(("own", "own", 1, 300), *others), reference)


def test_a_small_kernel_in_place_of_a_small_one_is_custom_beside_a_copy() -> None:
    reference = trace((CONV, "framework", 1, 1_000_000), ("at::native::relu", "framework", 1, 5_000))
    others = ((CONV, "framework", 1, 1_000_000), ("at::native::copy", "move", 1, 2_000))
    assert require_custom(trace(("own", "own", 1, 5_000), *others), reference) == ()
    with pytest.raises(SolutionFailed, match="all that the reference"):
        require_custom(trace(("own", "own", 1, 500), *others), reference)


def test_a_good_kernel_beside_torch_compile_is_custom() -> None:
    reference = trace(*((f"at::native::{number}", "framework", 1, 100) for number in range(10)))
    found = trace(("own", "own", 1, 30), ("triton_poi_fused_add", "framework", 1, 300))
    assert require_custom(found, reference) == ()


def test_eager_kernels_beside_a_decoy_replace_what_was_compiled() -> None:
    reference = trace(("triton_poi_fused_add", "framework", 1, 300))
    with pytest.raises(SolutionFailed, match="all that the reference"):
        require_custom(trace(("own", "own", 1, 1), ("at::native::add", "framework", 1, 400)), reference)


def test_without_a_reference_a_small_share_accuses_nobody() -> None:
    assert require_custom(trace(LITTLE, (CONV, "framework", 1, 850)), None) == ()


def test_a_config_may_ask_for_more() -> None:
    found = trace(("own", "own", 1, 300), ("sigmoid", "framework", 1, 500))
    assert require_custom(found, EAGER, 0.375) == ()
    with pytest.raises(SolutionFailed, match=r"37.50% .*40.00%"):
        require_custom(found, EAGER, 0.4)


def test_what_a_config_asks_for_is_said_to_be_unjudged_on_the_simulator() -> None:
    (remark,) = require_custom(trace(OWN), EAGER, 0.4)
    assert "min_own_share" in remark


def test_moves_alone_are_no_custom_kernel_without_a_reference_either() -> None:
    with pytest.raises(SolutionFailed, match="only moved data"):
        require_custom(trace(("copy", "move", 1, 5)), None)


SUMS = trace(("aten::sum", "framework", 1, 0, 32768))
PRODUCT = trace(("aten::mm", "framework", 1, 0, 14_336))
SQUARES = trace(("aten::mul", "framework", 1, 0, 2_000), ("aten::sum", "framework", 1, 0, 1_000))
MEANS_OF_PRODUCTS = trace(("aten::mm", "framework", 1, 0, 14_336), ("aten::mean", "framework", 1, 0, 6_000))
SHUFFLED_PRODUCT = trace(("aten::clone", "move", 1, 0, 9_000), ("aten::mm", "framework", 1, 0, 14_336))
TWO_LAYERS = trace(("aten::convolution", "framework", 2, 0, 8_480))
OWN: tuple[str, KernelOrigin, int, int] = ("own", "own", 1, 0)


@pytest.mark.parametrize(
    ("reference", "found"),
    [
        (SUMS, trace(OWN, ("aten::sum", "framework", 1, 0, 32768))),
        (SUMS, trace(OWN, ("aten::mean", "framework", 1, 0, 32768))),
        (SUMS, trace(OWN, ("aten::sum", "framework", 4, 0, 24000))),
        (PRODUCT, trace(OWN, ("aten::bmm", "framework", 1, 0, 14_336))),
        (SHUFFLED_PRODUCT, trace(OWN, ("aten::copy_", "move", 1, 0, 9_000), ("aten::mm", "framework", 1, 0, 14_336))),
        (PRODUCT, trace(OWN, ("aten::baddbmm_", "framework", 1, 0, 17_408))),
        (PRODUCT, trace(OWN, ("aten::convolution", "framework", 1, 0, 14_336))),
        (SUMS, trace(OWN, ("aten::mv", "framework", 1, 0, 33_000))),
        (SQUARES, trace(OWN, ("aten::square", "framework", 1, 0, 1_400), ("aten::sum", "framework", 1, 0, 1_000))),
    ],
)
def test_on_the_simulator_a_kernel_beside_as_much_work_of_the_references_kind_is_a_decoy(
    reference: Trace, found: Trace
) -> None:
    with pytest.raises(SolutionFailed, match=r"all that the reference .*: aten::"):
        require_custom(found, reference)


@pytest.mark.parametrize(
    ("reference", "found"),
    [
        (SUMS, trace(OWN, ("aten::sum", "framework", 1, 0, 4096))),  # of a kernel's partial sums
        (SUMS, trace(OWN, ("aten::sort", "framework", 1, 0, 32768))),
        (SUMS, trace(OWN, ("aten::amax", "framework", 1, 0, 32768))),
        (MEANS_OF_PRODUCTS, trace(OWN, ("aten::mm", "framework", 1, 0, 14_336))),  # which is asked for beside it
        (PRODUCT, trace(OWN, ("aten::mm", "framework", 1, 0, 7_168))),
        (SQUARES, trace(OWN, ("aten::sum", "framework", 1, 0, 1_000))),
        (TWO_LAYERS, trace(OWN, ("aten::convolution", "framework", 1, 0, 6_144))),  # the larger one
        (SHUFFLED_PRODUCT, trace(OWN, ("aten::mm", "framework", 1, 0, 14_336))),
        (trace(("aten::arange", "framework", 1, 0)), trace(OWN, ("aten::arange", "framework", 1, 0))),
    ],
)
def test_on_the_simulator_a_part_of_the_work_or_other_work_is_remarked_on(reference: Trace, found: Trace) -> None:
    (remark,) = require_custom(found, reference)
    assert tells(remark, "full: beside", "framework", "aten")


def test_what_operators_are_given_counts_per_call() -> None:
    twice = Trace("full", 2, trace(OWN, ("aten::sum", "framework", 2, 0, 40_000)).kernels)
    assert require_custom(twice, SUMS)


ACCUSED = SolutionFailed(Verdict.NO_CUSTOM_KERNEL, "only the framework's kernels ran")


def judged(case: str, is_own: bool, is_compared: bool = True) -> TracedCase:
    return TracedCase(case, None, None if is_own else ACCUSED, is_compared=is_compared)


@pytest.mark.parametrize(
    ("cases", "standing", "convicted"),
    [
        ([judged("small", True), judged("odd", False)], None, None),
        ([judged("small", False), judged("odd", False)], None, "odd"),
        ([judged("small", False), judged("full", True, is_compared=False)], "full", "small"),
        ([judged("small", True), judged("full", False, is_compared=False)], "full", "full"),
        ([judged("small", True), judged("full", True, is_compared=False)], "full", None),
        ([judged("wide", False, is_compared=False), judged("long", True, is_compared=False)], None, None),
        ([], None, None),
    ],
)
def test_some_case_whose_values_count_must_be_the_solutions_own_work(
    cases: list[TracedCase], standing: str | None, convicted: str | None
) -> None:
    found = accused_of(cases, standing)
    assert (found and found.case) == convicted
