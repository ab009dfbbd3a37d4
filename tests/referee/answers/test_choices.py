"""Choices of a reference, noted in its own precision and followed by its oracle."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import nn

from harness.model.check import Tolerance
from harness.referee import excuses, judgement
from harness.referee.answers.choices import Following, Noting
from harness.referee.answers.float8_sums import Float8Sums
from harness.referee.answers.kept import SeededInputs
from harness.referee.answers.kernel_kinds import KERNEL_KINDS, NOISY, KernelKind, as_kernels_choose
from harness.referee.answers.serial_sums import unfused
from harness.referee.answers.tf32 import convolutions_in_tf32, cut_to_tf32
from harness.referee.excuses import _after_choices, _AfterChoices
from harness.referee.judgement import judge_values
from tests.referee.inputs.test_variants import fair_in, made

Operation = Callable[[torch.Tensor], object]


def parts(result: object) -> list[torch.Tensor]:
    return [result] if isinstance(result, torch.Tensor) else list(result)  # type: ignore[call-overload]


@pytest.mark.parametrize(
    "operation",
    [
        lambda x: x.topk(3, dim=0),
        lambda x: x.sort(dim=-1, descending=True),
        lambda x: x.argmin(),
        lambda x: x.argmax(1, keepdim=True),
        lambda x: x.max(1),
        lambda x: x.min(0, keepdim=True),
        lambda x: x.kthvalue(2),
        lambda x: x.median(1),
        lambda x: x.cummax(1),
    ],
)
def test_an_oracle_that_follows_has_the_indices_that_were_noted_and_its_own_values_there(operation: Operation) -> None:
    x = torch.rand(7, 9)
    other = torch.rand(7, 9, dtype=torch.float64)
    with Noting() as noted:
        *values, indices = parts(operation(x))
    with Following(noted.choices) as mode:
        *followed, chosen = parts(operation(other))
    assert mode.has_followed
    assert torch.equal(chosen, indices)
    assert all(one.dtype is torch.float64 and one.shape == two.shape for one, two in zip(followed, values, strict=True))
    assert all(torch.isin(one, other).all() for one in followed)
    with Following(noted.choices):
        assert all(torch.equal(*pair) for pair in zip(parts(operation(x)), [*values, indices], strict=True))


@pytest.mark.parametrize(
    "operation",
    [
        lambda x: x > 0.5,
        lambda x: x <= x.flip(1),
        lambda x: (x * 15).round(),
        lambda x: (x - 0.5).sign(),
        lambda x: x // 0.1,
        lambda x: torch.div(x, 0.1, rounding_mode="trunc"),
        lambda x: torch.bucketize(x, torch.arange(9) / 9),
        lambda x: (x * 100).to(torch.int8),
        lambda x: (x * 100).long(),
        lambda x: x.to(torch.float8_e4m3fn).to(x.dtype),
    ],
)
def test_sides_and_roundings_are_followed_too(operation: Operation) -> None:
    x, other = torch.rand(7, 9), torch.rand(7, 9, dtype=torch.float64)
    with Noting() as noted:
        (first,) = parts(operation(x))
    with Following(noted.choices) as mode:
        (found,) = parts(operation(other))
    assert mode.has_followed
    assert torch.equal(found.double(), first.double())


@pytest.mark.parametrize(
    ("noted_in", "followed_in"),
    [
        (lambda x: x.topk(3), lambda x: x.topk(4)),
        (lambda x: x.topk(3), lambda x: x + 1),
        (lambda x: x + 1, lambda x: x.topk(3)),
        (lambda x: x.round(), lambda x: x > 0),
    ],
)
def test_other_choices_arent_followed(noted_in: Operation, followed_in: Operation) -> None:
    x = torch.rand(7, 9)
    with Noting() as noted:
        noted_in(x)
    with Following(noted.choices) as mode:
        found = followed_in(x)
    assert not mode.has_followed
    assert all(torch.equal(*pair) for pair in zip(parts(found), parts(followed_in(x)), strict=True))


NEAREST = "(x[:1024].pow(2).sum(1, keepdim=True) - 2 * x[:1024] @ x[1024:].T + x[1024:].pow(2).sum(1)).argmin(1)"
ROUTER = "(x[:512] * x[512:][(x[:512, :8] @ x[:8, :8]).topk(2, dim=-1).indices].sum(1))"
SELECTED = (
    "torch.softmax((y := x[:512] @ x[512:].T * 0.1).masked_fill(y < y.topk(4).values[:, -1:], -torch.inf), 1) @ x[512:]"
)
POINTS = "torch.cat([torch.randn(1024, 64) * 0.3, torch.randn(512, 64) * 0.05]) + 4"


def nearest_by_differences(x: torch.Tensor) -> torch.Tensor:
    rows = (torch.cdist(part, x[1024:], compute_mode="donot_use_mm_for_euclid_dist") for part in x[:1024].split(512))
    return torch.cat([row.argmin(1) for row in rows])


def summed_by_tensor_cores(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Products as Hopper adds them up: 32 terms at once, aligned to the largest and cut to 14 bits; blocks of 128 terms
    are added up in float32."""
    total = torch.zeros(len(x), len(y))
    for block in range(0, x.shape[1], 128):
        part = torch.zeros(len(x), len(y), 1, dtype=torch.float64)
        for start in range(block, block + 128, 32):
            terms = x[:, None, start : start + 32].double() * y[None, :, start : start + 32].double()
            aligned = torch.cat([part, terms], dim=-1)
            place = torch.exp2(aligned.abs().amax(dim=-1, keepdim=True).log2().floor() - 13)
            part = ((aligned / place).trunc() * place).sum(dim=-1, keepdim=True)
        total += part[..., 0].float()
    return total


FLOAT8 = "to(torch.float8_e4m3fn).float()"
QUANTIZED = f"(x[:96] / 2).{FLOAT8} @ (x[96:].{FLOAT8} * 3).T"


@pytest.mark.parametrize("given", ["torch.randn(192, 512)", "torch.rand(192, 512)"])
def test_products_of_float8_may_be_added_up_as_tensor_cores_do(tmp_path: Path, given: str) -> None:
    setting = made(tmp_path, QUANTIZED, given)
    assert all(one.is_telling for one in setting.evidence)
    inputs = setting.reference.make_inputs(7)
    x, y = (one.to(torch.float8_e4m3fn).float() for one in (inputs[0][:96] / 2, inputs[0][96:]))
    right = 3 * summed_by_tensor_cores(x, y)
    assert judge_values([right], inputs, setting)[0].passed
    right[5, 5] *= 1.1
    assert not judge_values([right], inputs, setting)[0].passed


@pytest.mark.parametrize("left", ["x[:96]", f"x[:96] * x[:96].{FLOAT8}"])
def test_products_of_float32_and_float8_may_not(tmp_path: Path, left: str) -> None:
    setting = made(tmp_path, f"({left}) @ x[96:].{FLOAT8}.T", "torch.randn(192, 512)")
    inputs = setting.reference.make_inputs(7)
    x = inputs[0]
    factor = x[:96].to(torch.float8_e4m3fn).float() if "*" in left else 1
    short = summed_by_tensor_cores(x[:96] * factor, x[96:].to(torch.float8_e4m3fn).float())
    assert not judge_values([short], inputs, setting)[0].passed


def test_a_large_summand_doesnt_hide_a_product_of_float8(tmp_path: Path) -> None:
    setting = made(
        tmp_path, f"torch.addmm(x[:96, :96] * 1e4, x[:96].{FLOAT8}, x[96:].{FLOAT8}.T)", "torch.randn(192, 512)"
    )
    inputs = setting.reference.make_inputs(7)
    summand = inputs[0][:96, :96] * 1e4
    right = setting.oracle.answer(inputs)[0]
    assert judge_values([right.float()], inputs, setting)[0].passed
    assert not judge_values([summand + 0.9 * (right - summand).float()], inputs, setting)[0].passed


@pytest.mark.parametrize(
    "product",
    [
        lambda q, k: torch.cat(q.chunk(2)) @ torch.stack([*k])[[*range(8)]].t(),
        lambda q, k: q.view(4, 2, 4, 8).transpose(1, 2).reshape(4, 8, 8) @ k.repeat(4, 1).view(4, 8, 8),
        lambda q, k: torch.einsum("bshd,bthd->bhst", q.view(1, 8, 4, 8), k.view(1, 8, 1, 8).expand(1, 8, 4, 8)),
        lambda q, k: torch.where(q > 0, q, 0.0) @ nn.functional.pad(-k, (0, 0, 0, 8)).t(),
        lambda q, k: (q * torch.rand(4).repeat_interleave(64).view(32, 8)) @ torch.empty(8, 8).copy_(k),
        lambda q, k: nn.functional.scaled_dot_product_attention(
            q.view(1, 4, 8, 8), k.expand(1, 4, 8, 8), q.view(1, 4, 8, 8)
        ),
        lambda q, k: nn.functional.linear(q, k, torch.rand(8)),
    ],
)
def test_float8_is_followed_through_what_moves_or_scales_it(
    product: Callable[[torch.Tensor, torch.Tensor], torch.Tensor],
) -> None:
    with unfused(), Float8Sums(0) as mode:
        product(torch.rand(32, 8).to(torch.float8_e4m3fn).float(), torch.rand(8, 8).to(torch.float8_e4m3fn).float())
    assert mode.count == 1


def test_short_sums_leave_infinities_and_whole_numbers_of_halves() -> None:
    def summed(seed: int, x: torch.Tensor) -> torch.Tensor:
        with Float8Sums(seed):
            return x.to(torch.float8_e4m3fn).to(x.dtype) @ torch.ones(64, 2).to(torch.float8_e4m3fn).to(x.dtype)

    infinite = torch.tensor([[torch.inf] * 64, [-torch.inf] * 64]).to(torch.float8_e5m2).float()
    for seed in range(6):
        with Float8Sums(seed):
            found = infinite.to(torch.float8_e5m2).float() @ torch.ones(64, 2).to(torch.float8_e5m2).float()
        assert found.tolist() == [[torch.inf] * 2, [-torch.inf] * 2]
    assert summed(0, torch.full((2, 64), 400.0).half()).isfinite().all()


def test_experts_chosen_by_float8_products_may_be_those_of_tensor_cores(tmp_path: Path) -> None:
    setting = made(tmp_path, f"({QUANTIZED}).topk(24).indices", "torch.randn(192, 512)")
    inputs = setting.reference.make_inputs(7)
    x, y = (one.to(torch.float8_e4m3fn).float() for one in (inputs[0][:96] / 2, inputs[0][96:]))
    chosen = (3 * summed_by_tensor_cores(x, y)).topk(24).indices
    assert not torch.equal(chosen, setting.oracle.native(inputs)[0])
    assert judge_values([chosen], inputs, setting)[0].passed
    chosen[5, 0] = (chosen[5, 0] + 1) % 96
    assert not judge_values([chosen], inputs, setting)[0].passed


def test_who_divides_by_reciprocals_may_round_to_other_float8_numbers(tmp_path: Path) -> None:
    """Divided by a 448th of the second number, the first is halfway between two of float8's."""
    ties = "[[175.0, 196], [153, 204], [57, 152], [114, 152], [93, 248], [186, 248], [39, 208], [78, 208], [156, 208]]"
    setting = made(
        tmp_path,
        f"((x[..., 0] / (x[..., 1] / 448)).{FLOAT8} @ self.weight).topk(4).indices",
        f"torch.tensor({ties} + [[n, 448] for n in range(448)])[torch.randint(457, (128, 256))]",
        init="self.weight = nn.Parameter(torch.randn(256, 64))",
    )
    inputs, weight = setting.reference.make_inputs(7), setting.model.weight.detach()
    x, largest = inputs[0].unbind(-1)
    chosen = ((x * (1 / (largest / 448))).to(torch.float8_e4m3fn).float() @ weight).topk(4).indices
    assert int((chosen != setting.oracle.answer(inputs)[0]).sum()) > 3
    assert judge_values([chosen], inputs, setting)[0].passed
    chosen[5, 0] = (chosen[5, 0] + 1) % 64
    assert not judge_values([chosen], inputs, setting)[0].passed


def test_reciprocals_may_be_off_by_two_units(tmp_path: Path) -> None:
    """Triton's 1 / x and CUDA's fast division are: what lies halfway between two float8 numbers goes one way."""
    halfway, float8s = "2 * torch.randint(8, 16, (9, 64)) + 1", "torch.randint(8, 16, (247, 64))"
    setting = made(
        tmp_path,
        f"(x / self.scale).{FLOAT8} @ self.weight",
        f"0.3 * torch.cat([{halfway}, {float8s}]) * 2.0 ** torch.randint(3, (256, 64))",
        init="self.weight = nn.Parameter(torch.randn(64, 16)); self.scale = nn.Parameter(torch.tensor([0.3]))",
    )
    inputs, model = setting.reference.make_inputs(7), setting.model
    reciprocal = torch.nextafter(1 / model.scale.detach(), torch.tensor(torch.inf))
    got = (inputs[0] * reciprocal).to(torch.float8_e4m3fn).float() @ model.weight.detach()
    assert not torch.equal(got, setting.oracle.answer(inputs)[0])
    assert judge_values([got], inputs, setting)[0].passed


@pytest.mark.parametrize("towards", [torch.inf, -torch.inf])
@pytest.mark.parametrize("beside", ["", " + 0 * (x.double() / 3.0).float()", " + 0 * torch.div(x, x, out=x.clone())"])
def test_fast_division_is_tried_beside_any_other(tmp_path: Path, towards: float, beside: str) -> None:
    """Found by a reviewer: half of the first row's quotients lie halfway, some of them exactly."""
    first = "torch.arange(-254, 255, 2.0) + torch.arange(255) % 2"
    setting = made(
        tmp_path,
        f"(x / x.abs().amax(1, keepdim=True) * 127).round(){beside}",
        f"torch.cat([({first}).clamp(-254, 254)[None], torch.rand(127, 255) + 0.5])",
    )
    inputs = setting.reference.make_inputs(7)
    reciprocals = torch.nextafter(1 / inputs[0].abs().amax(1, keepdim=True), torch.tensor(towards))
    got = (inputs[0] * reciprocals * 127).round()
    assert int((got != setting.oracle.answer(inputs)[0].float()).sum()) > 3
    assert judge_values([got], inputs, setting)[0].passed


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("kind", KERNEL_KINDS)
def test_a_quotient_keeps_its_form(kind: KernelKind, dtype: torch.dtype) -> None:
    x = torch.rand(4, 4).to(dtype) + 1
    for divisor in (x, 3, 0, x[0, 0], torch.tensor([3]), torch.tensor(3.0, dtype=torch.float64), x.float(), x[:0, :1]):
        dividend = x[:0] if isinstance(divisor, torch.Tensor) and not divisor.numel() else x
        with as_kernels_choose(kind, 3):
            quotient, in_place = dividend / divisor, dividend.clone().div_(divisor)
        right = dividend / divisor
        assert (quotient.dtype, in_place.dtype) == (right.dtype, dtype)
        assert torch.allclose(quotient, right, rtol=0.05)
        assert torch.allclose(in_place, right.to(dtype), rtol=0.05)


def test_an_excuse_is_kept_for_the_very_outputs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Found by a reviewer: wrong values whose comparison reads the same."""
    setting = made(tmp_path, "(x > 0.5).float()", "torch.rand(8)")
    inputs = SeededInputs(setting.reference.make_inputs(7), 7)
    got = [setting.oracle.answer(inputs)[0].float()]
    runs = []
    monkeypatch.setattr(setting.oracle, "choosing", lambda inputs, kind, seed, want: runs.append(seed) or want)
    for changed in (0, 0, 1):
        got[0][changed] += 1
        compared = judgement.compared_with_oracle(got, inputs, setting, setting.tolerances)
        excuses.beside_choices(setting, got, compared, inputs, setting.tolerances)
        got[0][changed] -= 1
    assert len(runs) == 2 * 96


def test_who_divides_by_a_constants_reciprocal_may_round_otherwise(tmp_path: Path) -> None:
    given, init = "torch.randint(1, 1800, (64, 256)) / 2", "self.weight = nn.Parameter(torch.randn(256, 64))"
    setting = made(tmp_path, "((x / 7.0).round() @ self.weight).topk(4).indices", given, init=init)
    inputs = setting.reference.make_inputs(7)
    chosen = ((inputs[0] * (1 / 7.0)).round() @ setting.model.weight.detach()).topk(4).indices
    assert not torch.equal(chosen, setting.oracle.answer(inputs)[0])
    assert judge_values([chosen], inputs, setting)[0].passed


@pytest.mark.parametrize(("kind", "moved"), [(kind, float(kind == NOISY)) for kind in KERNEL_KINDS])
def test_only_the_noisiest_runs_tell_what_moves(kind: KernelKind, moved: float) -> None:
    one = torch.zeros(8)
    beside = _AfterChoices(one + 1, one, one, one, Tolerance(0.0, 1e-4))
    near = one.clone()
    near[0] = 1
    beside.add(near, kind)
    assert beside.moved == moved
    assert beside.unexplained == 7


def nearest_without_own_square(x: torch.Tensor) -> torch.Tensor:
    return (x[1024:].pow(2).sum(1) - 2 * x[:1024] @ x[1024:].T).argmin(1)


def routed(x: torch.Tensor) -> torch.Tensor:
    y = x.float()
    return (y[:512] * y[512:][(y[:512, :8] @ y[:8, :8]).topk(2, dim=-1).indices].sum(1)).to(x.dtype)


def selected(x: torch.Tensor) -> torch.Tensor:
    queries, keys = x.float().split((512, 1024))
    y = queries @ keys.T * 0.1
    weights = torch.softmax(y.masked_fill(y < y.topk(4).values[:, -1:], -torch.inf), 1)
    return (weights @ keys).to(x.dtype)


@pytest.mark.parametrize(
    ("forward", "given", "kernel"),
    [
        (NEAREST, POINTS, nearest_by_differences),
        (NEAREST, POINTS, nearest_without_own_square),
        (ROUTER, "torch.randn(528, 64).bfloat16()", routed),
        (SELECTED, "torch.randn(1536, 64).half()", selected),
    ],
    ids=["nearest vector", "nearest vector, another formula", "router in bfloat16", "attention to the best in half"],
)
def test_beside_a_tie_either_choice_is_right(
    tmp_path: Path, forward: str, given: str, kernel: Callable[[torch.Tensor], torch.Tensor]
) -> None:
    setting = made(tmp_path, forward, given)
    assert all(one.is_telling for one in setting.evidence)
    inputs = setting.reference.make_inputs(7)
    eager, right, exact = setting.oracle.native(inputs)[0], kernel(*inputs), setting.oracle.answer(inputs)[0]
    moved = (eager - exact).abs() > 0.2 * exact.abs() + 0.1
    assert moved.any()
    for one in (right, eager):
        (compared,) = judge_values([one], inputs, setting)
        assert compared.passed
    where = int(moved.nonzero()[0, 0])
    for place in (where, where - 1):
        wrong = right.clone()
        wrong[place] = (wrong[place] + 1) % 7
        (compared,) = judge_values([wrong], inputs, setting)
        assert not compared.passed


def test_where_most_values_hang_on_ties_none_is_excused(tmp_path: Path) -> None:
    setting = made(tmp_path, "x.gather(1, (x * 0 + 1).exp().topk(1).indices)", "torch.rand(64, 300)")
    inputs = setting.reference.make_inputs(7)
    right = setting.oracle.native(inputs)[0].clone()
    (compared,) = judge_values([right], inputs, setting)
    assert compared.passed
    right[5] = inputs[0][5, 17]
    (compared,) = judge_values([right], inputs, setting)
    assert not compared.passed


def test_a_variant_in_which_most_values_hang_on_ties_is_unfair(tmp_path: Path) -> None:
    """Times 2^-20 a router's logits are nearly equal: which two are chosen says nothing of a kernel."""
    setting = made(tmp_path, ROUTER.replace("@ x[:8, :8]", "@ x[:8, :8] + 1"), "torch.randn(528, 64).bfloat16()")
    words, _ = fair_in(setting)
    assert "rescaled (times 2^-20)" not in words
    assert "rescaled (times 2^4)" in words


@pytest.mark.parametrize("half", ["half", "bfloat16"])
def test_a_cast_to_half_precision_says_how_exact_a_reference_is(tmp_path: Path, half: str) -> None:
    """A kernel that multiplies the same halves and never rounds their sums is nearer to what is meant."""
    init = "self.weight = nn.Parameter(torch.randn(300, 256))"
    setting = made(tmp_path, f"(x.{half}() @ self.weight.{half}()).float()", "torch.rand(64, 300)", init=init)
    inputs = setting.reference.make_inputs(7)
    x, weight = (getattr(one.detach(), half)().float() for one in (*inputs, setting.model.weight))
    eager = setting.oracle.native(inputs)[0]
    for one in (x @ weight, eager):
        (compared,) = judge_values([one], inputs, setting)
        assert compared.passed
    wrong = eager.clone()
    wrong[3, 5] += 0.4 * wrong.square().mean().sqrt()
    (compared,) = judge_values([wrong], inputs, setting)
    assert not compared.passed


def test_a_reference_that_wants_its_cast_has_it(tmp_path: Path) -> None:
    setting = made(tmp_path, "(y := x.half()).view(torch.int16).float() + y.float()", "torch.rand(64, 300)")
    (right,) = setting.oracle.answer(setting.reference.make_inputs(7))
    assert setting.oracle.kind == "float64"
    assert torch.equal(right, setting.oracle.native(setting.reference.make_inputs(7))[0])


@pytest.mark.parametrize(
    ("forward", "given", "wrong"),
    [
        ("x.argmax(1).add_(1)", "torch.rand(64, 300)", lambda right: right[5:9].add_(1)),
        ("(x * 15).round().add_(8)", "torch.rand(64, 300)", lambda right: right[60:].add_(8)),
        ("(x / x.amax(1, keepdim=True) >= 1).float()", "torch.rand(64, 16)", lambda right: right.zero_()),
        (
            "x.softmax(1) * (x / 3 >= x.topk(2).values[:, -1:] / 3)",
            "torch.rand(64, 300)",
            lambda right: right.masked_fill_(right == right.masked_fill(right == 0, 1).amin(1, keepdim=True), 0),
        ),
        ("(x * 0.5).round(decimals=1).argmax(1)", "torch.rand(64, 300)", lambda right: right[7:9].add_(1)),
        ("(x.half() == x.half().amax(1, keepdim=True)).float()", "torch.rand(64, 300)", lambda right: right.zero_()),
        ("x + 1000 * (x - x.bfloat16().float())", "torch.rand(64, 300)", lambda right: right.zero_()),
        ("(y := x.sign().sum(1)) + (y > 0)", "torch.randn(512, 64)", lambda right: right.masked_fill_(right == 0, 1)),
        (
            "(x @ x[:63].T > 0).float()",
            "torch.cat([torch.randn(63, 300), torch.randn(1, 300) * 1e-6])",
            lambda right: right[63].mul_(-1).add_(1),
        ),
    ],
    ids=[
        *("changed indices", "changed rounding", "exact quotient", "equal quotients", "ties", "halves", "residual"),
        *("exact sums", "small terms"),
    ],
)
def test_a_wrong_kernel_is_caught_where_the_reference_chooses_or_casts(
    tmp_path: Path, forward: str, given: str, wrong: Callable[[torch.Tensor], object]
) -> None:
    """Found by a reviewer."""
    setting = made(tmp_path, forward, given)
    inputs = setting.reference.make_inputs(7)
    right = setting.oracle.native(inputs)[0].clone()
    (compared,) = judge_values([right], inputs, setting)
    assert compared.passed
    wrong(right)
    (compared,) = judge_values([right], inputs, setting)
    assert not compared.passed


@pytest.mark.parametrize(
    "forward",
    [
        "x.bfloat16().argmax(1)",
        "x.sigmoid().bfloat16().topk(8).indices",
        "x - x.bfloat16().float()",
        "x.half().view(torch.int16)",
        "x.flatten()[((x @ x.T) * 8).floor().long().clamp(0, 63)]",
    ],
)
def test_eager_is_right(tmp_path: Path, forward: str) -> None:
    setting = made(tmp_path, forward, "torch.rand(64, 300)")
    inputs = setting.reference.make_inputs(7)
    assert judge_values(setting.oracle.native(inputs), inputs, setting)[0].passed


@pytest.mark.parametrize("post", ["(y * 8).round() / 8", "y.argmax(1)", "y * (y > 0.5)"])
def test_convolutions_in_tf32_may_choose_otherwise(tmp_path: Path, post: str) -> None:
    init = "self.weight = nn.Parameter(torch.randn(32, 16, 3, 3) * 0.1)"
    forward = f"[{post} for y in [nn.functional.conv2d(x, self.weight)]][0]"
    setting = made(tmp_path, forward, "torch.randn(8, 16, 24, 24)", init=init)
    inputs = setting.reference.make_inputs(7)
    with convolutions_in_tf32(cut_to_tf32):
        cut = setting.oracle.native(inputs)
    assert (cut[0] != setting.oracle.native(inputs)[0]).any()
    assert judge_values(cut, inputs, setting)[0].passed


def test_a_run_with_other_shapes_or_errors_changes_nothing(tmp_path: Path) -> None:
    setting = made(
        tmp_path, "x[(x * 0.7).sigmoid() >= (x.sort(1).values[:, -4:-3] * 0.7).sigmoid()]", "torch.rand(8, 300)"
    )
    inputs = setting.reference.make_inputs(7)
    right = setting.oracle.native(inputs)[0].clone()
    right[3] += 1
    assert not judge_values([right], inputs, setting)[0].passed
    assert setting.oracle.kind == "float64"


def test_eager_with_another_shape_than_the_solution_excuses_nothing(tmp_path: Path) -> None:
    setting = made(tmp_path, "x[x[:, 0] * 0.7 > 0.35]", "torch.rand(64, 300)")
    inputs = setting.reference.make_inputs(7)
    (right,) = setting.oracle.native(inputs)
    assert _after_choices(setting.oracle, [right[:-1].clone()], inputs, setting.tolerances) is None


@pytest.mark.parametrize(
    ("explained_by", "runs", "excused"),
    [
        ({}, 96, []),
        ({96: 0}, 96, []),
        ({1: 0}, 98, [0]),
        ({1: 0, 96: 1, 191: 2}, 192, [0, 1, 2]),
        ({1: 0, 98: 1}, 98, [0]),
    ],
)
def test_runs_go_on_as_long_as_they_explain_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, explained_by: dict[int, int], runs: int, excused: list[int]
) -> None:
    setting = made(tmp_path, "(x > 0.5).float()", "torch.rand(8)")
    inputs = setting.reference.make_inputs(7)
    (want,) = setting.oracle.answer(inputs)
    got = want.float().clone()
    got[:3] += 1
    seen = []

    def choosing(inputs: object, kind: KernelKind, seed: int, want: tuple[torch.Tensor, ...]) -> tuple[torch.Tensor]:
        seen.append((kind, seed))
        near = want[0].clone()
        if seed in explained_by:
            near[explained_by[seed]] += 1
        return (near,)

    monkeypatch.setattr(setting.oracle, "choosing", choosing)
    found = _after_choices(setting.oracle, [got], inputs, setting.tolerances)
    assert found is not None
    assert seen == [(kind, seed) for seed, kind in zip(range(runs), itertools.cycle(KERNEL_KINDS), strict=False)]
    assert [number for number in range(3) if found[0].excused[number]] == excused
