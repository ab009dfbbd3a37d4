"""Convolutions in tf32 on a CPU, and what a solution may err where its reference has them on a GPU."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from harness.referee.answers.kept import KeptRuns
from harness.referee.answers.tf32 import convolutions_in_tf32, cut_to_tf32, rounded_to_tf32
from harness.referee.judgement import judge_values
from harness.referee.setting import Setting
from tests.referee.in_process import checked
from tests.referee.inputs.test_variants import made
from tests.wording import tells

CONVOLUTION = "torch.nn.functional.conv2d(x, torch.linspace(-1, 1, 720).view(8, 10, 3, 3))"
INPUTS = "torch.rand(2, 10, 16, 16)"


def test_ten_bits_of_the_mantissa_are_kept_and_ties_go_away_from_zero() -> None:
    given = torch.tensor([1 + 2**-11, -1 - 2**-11, 1 + 2**-12, 3e38, 0.0, torch.inf])
    found = rounded_to_tf32(given)
    assert found.tolist()[:3] == [1 + 2**-10, -1 - 2**-10, 1.0]
    assert float(found[3]) == pytest.approx(3e38, rel=2**-11)
    assert found.tolist()[4:] == [0.0, torch.inf]


def test_a_convolution_in_tf32_passes_without_a_gpu_and_one_in_bfloat16_does_not(tmp_path: Path) -> None:
    setting = made(tmp_path, CONVOLUTION, INPUTS)
    x = torch.rand(2, 10, 16, 16, generator=torch.Generator().manual_seed(1))
    with convolutions_in_tf32() as mode:
        in_tf32 = setting.oracle.native([x])
    assert mode.count == 1
    (compared,) = judge_values(list(in_tf32), [x], setting)
    assert compared.passed
    assert compared.worst > 0.1  # tf32 it was


@pytest.mark.parametrize("lowest", ["-1", "0.01"])
def test_a_convolution_in_bfloat16_fails_by_few_terms_where_tf32_passes(tmp_path: Path, lowest: str) -> None:
    forward = CONVOLUTION.replace("linspace(-1,", f"linspace({lowest},")

    class InBfloat16(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            given: torch.Tensor = eval(forward, {"x": x.bfloat16().float(), "torch": torch})
            return given

    outcome, _ = checked(made(tmp_path, forward, INPUTS), InBfloat16)
    assert outcome.failed
    assert tells(str(outcome.failed), "bfloat16")
    assert outcome.checks[-1].variant == "few terms"


def _without_few_terms(setting: Setting) -> Setting:
    """The setting where nothing tells bfloat16 from cutting."""
    problem = replace(setting.problem, variants=("shifted",))
    return replace(setting, problem=problem, lessons=replace(setting.lessons, runs=KeptRuns()))


def test_a_convolution_whose_operands_are_cut_to_tf32_passes(tmp_path: Path) -> None:
    """Where terms have one sign rounding errors cancel, and those of cutting add up: Triton's dot does so."""
    setting = made(tmp_path, CONVOLUTION.replace("linspace(-1,", "linspace(0.01,"), INPUTS)
    x = torch.rand(2, 10, 16, 16, generator=torch.Generator().manual_seed(1))
    with convolutions_in_tf32(cut_to_tf32):
        cut = setting.oracle.native([x])
    (compared,) = judge_values(list(cut), [x], setting)
    assert compared.passed
    assert not judge_values(list(cut), [x], _without_few_terms(setting))[0].passed
    assert compared.tolerance.rtol > 1.5 * setting.tolerances[0].rtol


def test_whoever_turns_tf32_off_is_held_to_float32(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", False)
    setting = made(tmp_path, CONVOLUTION, INPUTS)
    assert [set(one.errors) for one in setting.evidence] == [{"eager"}]


@pytest.mark.parametrize(
    ("channels", "filters", "groups", "is_rounded"),
    [(8, 8, 8, False), (8, 16, 8, False), (8, 8, 4, True), (1, 4, 1, True)],
)
@pytest.mark.parametrize("dims", [1, 2, 3])
def test_depthwise_convolutions_are_torchs_own_and_in_float32(
    channels: int, filters: int, groups: int, is_rounded: bool, dims: int
) -> None:
    generator = torch.Generator().manual_seed(1)
    x = torch.rand(2, channels, *[6] * dims, generator=generator)
    weight = torch.rand(filters, channels // groups, *[3] * dims, generator=generator, requires_grad=True)
    convolve = (torch.conv1d, torch.conv2d, torch.conv3d)[dims - 1]

    def both() -> tuple[torch.Tensor, torch.Tensor]:
        made = convolve(x, weight, groups=groups)
        return made.detach(), torch.autograd.grad(made.sum(), weight)[0]

    with convolutions_in_tf32():
        found = both()
    assert [torch.equal(one, two) for one, two in zip(found, both(), strict=True)] == [not is_rounded] * 2
