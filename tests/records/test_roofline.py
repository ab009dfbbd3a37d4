"""The speed of light, with an H100's ceilings and the four problems whose numbers are known."""

from __future__ import annotations

import dataclasses
import json

import pytest

from harness.codec import CodecError
from harness.records.evaluation import Evaluation, ProblemRef, SpeedOfLight, Work
from harness.records.line import from_line, to_line
from harness.records.roofline import arithmetic_of, memory_ns, share_of_baseline, speed_of_light
from tests.examples import ceilings, passed, timing, with_light

H100 = ceilings()
MS = 1e6

MAXPOOL = Work(2_147_483_648 + 2_139_103_232, None, 2_139_103_232)
AVGPOOL = Work(17_179_869_184 + 141_705_216, None, 141_705_216)
CONV_SQUARE = Work(1_073_741_824 + 8_556_412_928, 616_061_730_816, 8_556_412_928)
CONV_ASYMMETRIC = Work(268_435_456 + 520_192_000, 582_615_040_000, 520_192_000)


@pytest.mark.parametrize(
    ("work", "ms", "bound"),
    [
        (MAXPOOL, 1.41, "memory"),
        (AVGPOOL, 5.61, "memory"),
        (CONV_SQUARE, 2.98, "memory"),
        (CONV_ASYMMETRIC, 1.66, "tf32"),
    ],
)
def test_limits_of_the_four_systems(work: Work, ms: float, bound: str) -> None:
    light = speed_of_light(work, H100, "tf32")
    assert light.ns / MS == pytest.approx(ms, abs=0.006)
    assert ("memory" if light.is_memory_bound else light.arithmetic) == bound


@pytest.mark.parametrize(
    ("written", "rate"),
    [(0, 3.09e12), (500_000, 3.03e12), (1_000_000, 3.29e12)],
)
def test_pure_mixes_go_at_the_rates_that_were_measured(written: int, rate: float) -> None:
    assert memory_ns(Work(1_000_000, None, written), H100) == pytest.approx(1_000_000 / rate * 1e9)


def test_between_them_time_is_linear() -> None:
    read, half = (memory_ns(Work(1_000_000, None, written), H100) for written in (0, 500_000))
    assert memory_ns(Work(1_000_000, None, 250_000), H100) == pytest.approx((read + half) / 2)


def test_work_of_an_older_record_goes_at_the_best_rate() -> None:
    assert memory_ns(Work(3_290_000, None), H100) == pytest.approx(1000)


def test_strict_float32_is_held_against_its_own_rate() -> None:
    light = speed_of_light(CONV_ASYMMETRIC, H100, "float32")
    assert (light.arithmetic, light.is_memory_bound) == ("float32", False)
    assert light.ns / MS == pytest.approx(11.42, abs=0.01)


def test_arithmetic_that_the_device_has_not_got_is_held_against_its_fastest() -> None:
    assert speed_of_light(CONV_ASYMMETRIC, H100, "float16").arithmetic == "bfloat16"


@pytest.mark.parametrize(
    ("declared", "problem", "flags", "arithmetic"),
    [
        ("float32", "tf32", {"cudnn_allow_tf32": True}, "float32"),
        ("float16", "float32", {"cudnn_allow_tf32": True}, "float16"),
        (None, "tf32", {}, "tf32"),
        (None, "float32", {"cudnn_allow_tf32": True, "matmul_allow_tf32": False}, "tf32"),
        (None, "float32", {"cudnn_allow_tf32": False, "matmul_allow_tf32": True}, "tf32"),
        (None, "float32", {"cudnn_allow_tf32": False, "cudnn_benchmark": True}, "float32"),
        (None, "bfloat16", {"cudnn_allow_tf32": True}, "bfloat16"),
    ],
)
def test_whose_rate_applies(declared: str | None, problem: str, flags: dict[str, bool], arithmetic: str) -> None:
    assert arithmetic_of(declared, problem, flags, None) == arithmetic


@pytest.mark.parametrize(
    ("convolutions", "flag", "arithmetic"),
    [
        (0, "cudnn_allow_tf32", "float32"),
        (0, "matmul_allow_tf32", "tf32"),
        (60, "cudnn_allow_tf32", "tf32"),
        (60, "matmul_allow_tf32", "tf32"),
        (100, "cudnn_allow_tf32", "tf32"),
        (100, "matmul_allow_tf32", "float32"),
        (None, "matmul_allow_tf32", "tf32"),
    ],
)
def test_convolutions_and_products_have_switches_of_their_own(
    convolutions: int | None, flag: str, arithmetic: str
) -> None:
    work = Work(1000, 100, 400, convolutions)
    assert arithmetic_of(None, "float32", {flag: True}, work) == arithmetic


def convolution(precision: str | None = None) -> Evaluation:
    """22.84 ms in the solution, 3.33 ms in eager, which runs in tf32."""
    made = passed(
        problem=ProblemRef("conv2d_asymmetric", "c004" * 16, "tf32"),
        solution=dataclasses.replace(passed().solution, precision=precision),
        timing=timing(eager_ns=3_329_228, solution_ns=22_847_648),
    )
    return with_light(made, CONV_ASYMMETRIC)


def test_the_share_is_the_limit_over_the_median() -> None:
    assert convolution("float32").share_of_light == pytest.approx(0.5, abs=0.001)
    assert convolution().share_of_light == pytest.approx(0.0729, abs=0.001)


def test_a_baseline_is_held_against_the_problems_precision() -> None:
    assert share_of_baseline(convolution("float32"), "eager") == pytest.approx(0.5, abs=0.001)


def test_faster_than_light_is_shown_as_it_is() -> None:
    assert with_light(passed(timing=timing(solution_ns=707_921))).share_of_light == pytest.approx(2.0, abs=0.001)


@pytest.mark.parametrize("evaluation", [passed(timing=timing()), with_light(passed())])
def test_without_ceilings_or_times_there_is_no_share(evaluation: Evaluation) -> None:
    assert evaluation.share_of_light is None
    assert share_of_baseline(evaluation, "eager") is None


def test_a_record_keeps_work_ceilings_and_limit() -> None:
    evaluation = convolution("float32")
    line = to_line(evaluation)
    assert from_line(line) == evaluation
    assert json.loads(line)["speed_of_light"]["arithmetic"] == "float32"
    assert json.loads(line)["ceilings"]["matrix_operations_per_s"]["tf32"] == 350e12


def test_a_record_of_before_is_read() -> None:
    data = json.loads(to_line(convolution()))
    del data["ceilings"], data["speed_of_light"], data["work"]["written_bytes"]
    read = from_line(json.dumps(data))
    assert (read.ceilings, read.speed_of_light) == (None, None)
    assert read.work == dataclasses.replace(CONV_ASYMMETRIC, written_bytes=None)


def test_a_limit_without_what_it_follows_from_is_refused() -> None:
    with pytest.raises(ValueError, match="follows from work and ceilings"):
        passed(speed_of_light=SpeedOfLight(1.0, None, None))
    data = {**json.loads(to_line(convolution())), "ceilings": None}
    with pytest.raises(CodecError, match="follows from work and ceilings"):
        from_line(json.dumps(data))


@pytest.mark.parametrize("light", [(0.0, None, None), (1.0, -1.0, "tf32"), (1.0, 2.0, None), (1.0, None, "tf32")])
def test_an_impossible_limit_cannot_be_built(light: tuple[float, float | None, str | None]) -> None:
    with pytest.raises(ValueError, match="positive times"):
        SpeedOfLight(*light)


@pytest.mark.parametrize("written", [-1, 9])
def test_more_written_than_moved_is_refused(written: int) -> None:
    with pytest.raises(ValueError, match="no part"):
        Work(8, None, written)
