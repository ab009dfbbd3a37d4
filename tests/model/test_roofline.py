"""The speed of light, with an H100's ceilings and the four problems whose numbers are known."""

from __future__ import annotations

import dataclasses
import json

import pytest
from pydantic import ValidationError

from harness.model.evaluation import Evaluation, ProblemRef, SpeedOfLight, Work
from harness.model.roofline import (
    arithmetic_of,
    at_clocks_seen,
    kept_light,
    light_of,
    shares_of_parts,
    speed_of_light,
)
from harness.model.timing import GpuState, Row
from harness.store.line import NoRecord, from_line, to_line
from tests.examples import ceilings, measured, passed, timing, with_light

H100 = ceilings()
MS = 1e6

MAXPOOL = Work(2_147_483_648 + 2_139_103_232, None, 2_139_103_232)
AVGPOOL = Work(17_179_869_184 + 141_705_216, None, 141_705_216)
CONV_SQUARE = Work(1_073_741_824 + 8_556_412_928, 616_061_730_816, 8_556_412_928)
CONV_ASYMMETRIC = Work(268_435_456 + 520_192_000, 582_615_040_000, 520_192_000)


@pytest.mark.parametrize(
    ("work", "ms", "bound"),
    [
        (MAXPOOL, 1.28, "memory"),
        (AVGPOOL, 5.17, "memory"),
        (CONV_SQUARE, 2.87, "memory"),
        (CONV_ASYMMETRIC, 1.66, "tf32"),
    ],
)
def test_limits_of_the_four_systems(work: Work, ms: float, bound: str) -> None:
    light = speed_of_light(work, H100, "tf32")
    assert light.ns / MS == pytest.approx(ms, abs=0.006)
    assert light.bound == bound


def test_memory_is_held_against_its_peak_or_against_what_was_measured_above_it() -> None:
    work = Work(3_352_000, None, 1_000_000)
    told = speed_of_light(work, H100, "tf32")
    assert (told.memory_ns, told.source) == (pytest.approx(1000), "theory")
    untold = speed_of_light(work, ceilings(memory_peak_bytes_per_s=None), "tf32")
    assert (untold.memory_ns, untold.source) == (pytest.approx(3_352_000 / 3.29e12 * 1e9), "measured")
    beyond = speed_of_light(work, ceilings(write_bytes_per_s=3.4e12), "tf32")
    assert (beyond.memory_ns, beyond.source) == (pytest.approx(3_352_000 / 3.4e12 * 1e9), "measured")


def test_arithmetic_is_held_against_theory_at_the_clock_that_was_seen() -> None:
    """132 multiprocessors of 2048 operations a clock at 1830 MHz: the 494.7 TFLOP/s that NVIDIA states for tf32."""
    hopper = ceilings(compute_capability="9.0", sm_mhz=1830)
    light = speed_of_light(CONV_ASYMMETRIC, hopper, "tf32")
    assert light.ns == pytest.approx(CONV_ASYMMETRIC.operations / 494.7e12 * 1e9, rel=1e-4)  # type: ignore[operator]
    assert (light.arithmetic, light.source, light.memory_source) == ("tf32", "theory", "theory")


@pytest.mark.parametrize(("capability", "clock"), [("9.0", 1000), ("9.0", None), ("99.0", 1980), (None, 1980)])
def test_arithmetic_is_held_against_what_was_measured_where_that_is_more_or_theory_unknown(
    capability: str | None, clock: int | None
) -> None:
    light = speed_of_light(CONV_ASYMMETRIC, ceilings(compute_capability=capability, sm_mhz=clock), "tf32")
    assert (light.arithmetic_ns, light.source) == (pytest.approx(582_615_040_000 / 350e12 * 1e9), "measured")


def at_most(sm_mhz: int) -> GpuState:
    return GpuState((1200, sm_mhz), None, None, None, None, (), 0)


def test_the_clock_is_the_highest_of_any_turn() -> None:
    seen = measured(turns=lambda turn: dataclasses.replace(turn, gpu=at_most(1500 + turn.block)))
    assert at_clocks_seen(H100, seen).sm_mhz == 1511
    blind = measured(turns=lambda turn: dataclasses.replace(turn, gpu=None))
    assert at_clocks_seen(ceilings(sm_mhz=1980), blind).sm_mhz == 1980
    assert at_clocks_seen(ceilings(sm_mhz=1980), None).sm_mhz == 1980


def test_a_time_below_that_of_the_operations_is_held_against_the_memory_with_a_remark() -> None:
    light = speed_of_light(CONV_ASYMMETRIC, H100, "float32")
    assert kept_light(light, light.ns) == (light, None)
    kept, remark = kept_light(light, light.ns / 2)
    assert "2.00 times" in (remark or "")
    assert (kept.ns, kept.source, kept.arithmetic) == (light.memory_ns, light.memory_source, None)
    by_memory = speed_of_light(MAXPOOL, H100, "float32")
    assert kept_light(by_memory, 1.0) == (by_memory, None)


def test_strict_float32_is_held_against_its_own_rate() -> None:
    light = speed_of_light(CONV_ASYMMETRIC, H100, "float32")
    assert (light.arithmetic, light.bound) == ("float32", "float32")
    assert light.ns / MS == pytest.approx(9.71, abs=0.01)  # 60 T: multiply-adds need no matrix product


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
    """19.42 ms in the solution, 3.33 ms in eager, which runs in tf32."""
    made = passed(
        problem=ProblemRef("conv2d_asymmetric", "c004" * 16, "tf32"),
        solution=dataclasses.replace(passed().solution, precision=precision),
        timing=timing(eager_ns=3_329_228, solution_ns=19_420_501),
    )
    return with_light(made, CONV_ASYMMETRIC)


def test_the_share_is_the_limit_over_the_median() -> None:
    assert convolution("float32").share_of_light == pytest.approx(0.5, abs=0.001)
    assert convolution().share_of_light == pytest.approx(0.0857, abs=0.001)


def test_a_baseline_is_held_against_the_problems_precision() -> None:
    limit = light_of(convolution("float32"), "eager")
    assert limit is not None
    assert (limit.bound, limit.source) == ("tf32", "measured")
    assert limit.ns / 3_329_228 == pytest.approx(0.5, abs=0.001)


def test_a_baseline_of_a_precision_is_held_against_its_own() -> None:
    limit = light_of(convolution(), "eager-float32")
    assert limit is not None
    assert limit.bound == "float32"


def test_each_part_of_a_training_step_has_a_share() -> None:
    """Forward moves 4 GB in 4 ms, and backward 2 GB in 2 ms; the arithmetic of neither takes as long."""
    work = Work(6_000_000_000, 3_000_000, forward=Work(4_000_000_000, 1_000_000))
    measured = timing(solution_ns=6 * MS)
    rows = tuple(Row(name, timing(solution_ns=ms * MS).turns) for name, ms in (("forward", 4), ("backward", 2)))
    step = with_light(passed(timing=dataclasses.replace(measured, rows=rows)), work)
    assert work.backward == Work(2_000_000_000, 2_000_000)
    assert step.share_of_light is not None
    shares = shares_of_parts(step)
    assert shares.keys() == {"forward", "backward"}
    assert [share for share, _ in shares.values()] == [pytest.approx(step.share_of_light, rel=1e-3)] * 2
    assert shares_of_parts(convolution()) == {}


def test_faster_than_light_is_shown_as_it_is() -> None:
    assert with_light(passed(timing=timing(solution_ns=639_917))).share_of_light == pytest.approx(2.0, abs=0.001)


@pytest.mark.parametrize("evaluation", [passed(timing=timing()), with_light(passed())])
def test_without_ceilings_or_times_there_is_no_share(evaluation: Evaluation) -> None:
    assert evaluation.share_of_light is None
    assert light_of(evaluation, "solution") is evaluation.speed_of_light


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


def test_the_limit_of_a_record_of_before_is_a_measured_one() -> None:
    data = json.loads(to_line(convolution()))
    del data["speed_of_light"]["memory_source"], data["speed_of_light"]["arithmetic_source"]
    del data["ceilings"]["compute_capability"], data["ceilings"]["multiprocessors"], data["ceilings"]["sm_mhz"]
    assert from_line(json.dumps(data)).light_source == "measured"


def test_a_limit_without_what_it_follows_from_is_refused() -> None:
    with pytest.raises(ValueError, match="work and ceilings"):
        passed(speed_of_light=SpeedOfLight(1.0, None, None))
    data = {**json.loads(to_line(convolution())), "ceilings": None}
    with pytest.raises(NoRecord, match="work and ceilings"):
        from_line(json.dumps(data))


@pytest.mark.parametrize("light", [(0.0, None, None), (1.0, -1.0, "tf32"), (1.0, 2.0, None), (1.0, None, "tf32")])
def test_an_impossible_limit_cannot_be_built(light: tuple[float, float | None, str | None]) -> None:
    with pytest.raises(ValidationError):
        SpeedOfLight(*light)


@pytest.mark.parametrize("written", [-1, 9])
def test_more_written_than_moved_is_refused(written: int) -> None:
    with pytest.raises(ValidationError):
        Work(8, None, written)
