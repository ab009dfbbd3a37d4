"""What a case's turns find out: families of faults and cheats, and honest modules beside them."""

from __future__ import annotations

import itertools
import math
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from harness.model.check import Check
from harness.model.config import Config
from harness.model.verdict import Verdict
from harness.referee.answers import kept
from harness.referee.answers.invalid_problem import InvalidProblem
from harness.referee.buffers import buffers as buffers_module
from harness.referee.buffers.buffers import open_buffers
from harness.referee.buffers.case_turns import CaseTurns
from harness.referee.buffers.laid import KeptRow
from harness.referee.buffers.slots import Capacity
from harness.referee.found import CaseOutcome
from harness.referee.inputs.draws import Drawn, fair_variants
from harness.referee.judgement import UnfairVariant, judge_values
from harness.referee.setting import Setting
from harness.sandbox.outcome import SolutionFailed
from harness.sandbox.wire.device import Conditions
from tests.problem_text import problem_text
from tests.referee.in_process import InProcessDevice, InProcessWorker, checked, computing, in_process_host, setting_of
from tests.wording import tells

DOUBLE = problem_text("x * 2", "torch.rand(rows, columns)", constants="rows = 6\ncolumns = 5000")


class Honest(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + x


@pytest.fixture
def double(tmp_path: Path) -> Setting:
    return setting_of(tmp_path, DOUBLE, "independent_batch: true\n")


def verdict_of(setting: Setting, model: type[nn.Module], seeds: int = 3) -> tuple[Verdict, str]:
    """With the reason. A module that gets through is a failed test; what is nondeterministic names the wrong values
    as its cause, since they may be right in training mode."""
    try:
        failed = checked(setting, model, seeds)[0].failed
    except SolutionFailed as error:
        failed = error
    assert failed is not None, "it passed"
    if failed.verdict is Verdict.NONDETERMINISTIC:
        assert isinstance(failed.__cause__, SolutionFailed)
        assert failed.__cause__.verdict is Verdict.WRONG_VALUES
    return failed.verdict, failed.failure.reason


def counting(forward: Any) -> type[nn.Module]:
    """A module whose forward() returns this of the number of its calls, from 1 on, and the input."""

    class Counting(nn.Module):
        calls = 0

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.calls += 1
            return forward(self.calls, x)

    return Counting


def require_passed(outcome: CaseOutcome) -> None:
    assert outcome.failed is None, outcome.failed
    assert all(check.passed for check in outcome.checks)


def test_honest_module_passes_with_every_variant(double: Setting) -> None:
    outcome, _ = checked(double, Honest)
    require_passed(outcome)
    words = {(check.variant or "none").partition(" (")[0] for check in outcome.checks}
    assert words == {
        "none",
        "rescaled",
        "shifted",
        "negative",
        "partly negative",
        "signed",
        "few distinct",
        "full mantissas",
    }
    assert {check.variant for check in outcome.checks} >= {"rescaled (times 2^20)", "rescaled (times 2^-20)"}
    assert outcome.remarks == []


@pytest.mark.parametrize("changes", [False, True])
def test_a_wrong_row_is_confirmed_on_the_whole_call(
    double: Setting, monkeypatch: pytest.MonkeyPatch, changes: bool
) -> None:
    worker: Any = InProcessWorker(Honest)
    with open_buffers(double, in_process_host(), Capacity()) as buffers:
        case = CaseTurns(double, buffers, worker, Config())
        case.construct()
        taken = case.turn([Drawn(3)])
        row = KeptRow(0, 2, [value[2:3] for value in double.reference.make_inputs(3)])
        assert case.judge_row(taken, row, "row").scope == "row"
        (output,) = buffers.outputs(taken.laid.slots[0])
        output[2] += 1
        assert not case.judge_row(taken, row, "row").passed
        judge = case.judge

        def mending(*given: Any) -> Check:
            output[2] -= 1 if changes else 0
            return judge(*given)

        monkeypatch.setattr(case, "judge", mending)
        check = case.judge_row(taken, row, "timed_turn")
    assert (check.passed, check.outputs[0].compared) == (False, 5000 if changes else 30_000)


SOFTPLUS = DOUBLE.replace("x * 2", "torch.log(1 + torch.exp(x))").replace(
    "return [torch.rand(rows, columns)]",
    "x = torch.rand(rows, columns)\n    x[rows - 1, 7] = 10  # its exponential is infinite where it is enlarged\n"
    "    return [x]",
)

Softplus = computing(lambda x: torch.log(1 + torch.exp(x)))


class OneWrongWhereOneOverflows(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.log(1 + torch.exp(x))
        y[5, 9] += 4 * bool(y.isinf().any())
        return y


def test_what_the_reference_overflows_in_beyond_the_rows_that_were_tried_accuses_nobody(tmp_path: Path) -> None:
    setting = setting_of(tmp_path, SOFTPLUS, "independent_batch: true\n")
    outcome, _ = checked(setting, Softplus)
    require_passed(outcome)
    assert not outcome.fragile
    verdict, reason = verdict_of(setting, OneWrongWhereOneOverflows)
    assert (verdict, "first at [5, 9]" in reason) == (Verdict.WRONG_VALUES, True)


MASKED = DOUBLE.replace("x * 2", "(x * 2).masked_fill(torch.ones_like(x).triu().bool(), float('-inf'))")

MaskedOfPositive = computing(lambda x: (x.clamp(0) * 2).masked_fill(torch.ones_like(x).triu().bool(), float("-inf")))


def test_infinities_of_the_reference_excuse_no_other_value(tmp_path: Path) -> None:
    assert verdict_of(setting_of(tmp_path, MASKED, ""), MaskedOfPositive)[0] is Verdict.WRONG_VALUES


def test_no_two_calls_of_a_turn_share_a_buffer_or_a_value(double: Setting) -> None:
    outcome, worker = checked(double, Honest, seeds=80)  # of 40 orders two are different
    assert {len(turn.calls) for turn in worker.turns} == {1, 2}
    for turn in worker.turns:
        used = [ref.buffer for call in turn.calls for ref in (*call.outputs, *(i.tensor for i in call.inputs))]
        assert len(set(used)) == len(used)
    orders = {tuple(call.outputs[0].buffer for call in turn.calls) for turn in worker.turns if len(turn.calls) == 2}
    assert len(orders) == 2
    assert len({check.seed for check in outcome.checks}) == len(outcome.checks)


def _cached_by(key: Any) -> type[nn.Module]:
    class Caching(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self._results: dict[Any, torch.Tensor] = {}

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            if key(x) not in self._results:
                self._results[key(x)] = x * 2
            return self._results[key(x)].clone()

    return Caching


@pytest.mark.parametrize(
    "key", [lambda x: x.data_ptr(), lambda x: x.shape, lambda x: 0], ids=["address", "shape", "nothing"]
)
def test_results_of_earlier_inputs_are_wrong(double: Setting, key: Any) -> None:
    assert verdict_of(double, _cached_by(key))[0] is Verdict.WRONG_VALUES


@pytest.mark.parametrize(
    ("returned", "verdict"),
    [
        ("(x * 2, {'sum': x.sum(1), 'low': [x - 1]})", None),
        ("(x * 2, {'low': [x - 1], 'sum': x.sum(1)})", None),
        ("(x * 2, {'sum': x.sum(1), 'low': [x]})", Verdict.WRONG_VALUES),
        ("(x * 2, {'sum': x.sum(1), 'low': (x - 1,)})", None),
        ("(x * 2, {'sum': x.sum(1), 'high': [x - 1]})", Verdict.WRONG_OUTPUT_TYPE),
        ("(x * 2, {'sum': x.sum(1), 'low': [3]})", Verdict.WRONG_OUTPUT_TYPE),
        ("(x * 2, x - 1, x.sum(1))", Verdict.WRONG_OUTPUT_TYPE),
    ],
)
def test_outputs_may_be_nested(tmp_path: Path, returned: str, verdict: Verdict | None) -> None:
    nested = DOUBLE.replace("return x * 2", "return x * 2, {'sum': x.sum(1), 'low': [x - 1]}")
    setting = setting_of(tmp_path, nested, "independent_batch: true\n")
    assert setting.spec.structure == "tuple(tensor, dict(low: tuple(tensor), sum: tensor))"

    nested = computing(lambda x: eval(returned, {"x": x}))
    if verdict is None:
        require_passed(checked(setting, nested)[0])
    else:
        assert verdict_of(setting, nested)[0] is verdict


def product_of(dtype: str, result: str = "torch.bfloat16") -> str:
    inputs = f"torch.randn(16, 64).to({dtype}), torch.randn(64, 24).to({dtype}), torch.rand(24)"
    return problem_text(f"((a.float() @ b.float()) * scale).to({result})", inputs, given="a, b, scale")


@pytest.mark.parametrize("dtype", ["torch.float8_e4m3fn", "torch.float8_e5m2", "torch.int8"])
def test_inputs_may_be_of_a_byte_each(tmp_path: Path, dtype: str) -> None:
    setting = setting_of(tmp_path, product_of(dtype))

    unscaled = computing(lambda a, b, scale: (a.float() @ b.float()).bfloat16())
    outcome = checked(setting, computing(lambda a, b, scale: ((a.float() @ b.float()) * scale).bfloat16()))[0]
    require_passed(outcome)
    assert {"negative", "signed"} <= {str(check.variant) for check in outcome.checks}
    assert verdict_of(setting, unscaled)[0] is Verdict.WRONG_VALUES


def test_outputs_in_float8_are_the_problem_s_mistake(tmp_path: Path) -> None:
    with pytest.raises(InvalidProblem) as raised:
        setting_of(tmp_path, product_of("torch.float8_e4m3fn", "torch.float8_e5m2"))
    assert tells(str(raised.value), "torch.float8_e5m2", "bfloat16")


def test_results_of_the_very_same_contents_are_right(double: Setting) -> None:
    require_passed(checked(double, _cached_by(lambda x: x.sum().item()))[0])


def test_a_module_that_computes_for_its_first_calls_only_is_wrong(double: Setting) -> None:
    tiring = counting(lambda calls, x: x * 2 if calls <= 2 else torch.zeros_like(x))
    assert verdict_of(double, tiring)[0] is Verdict.WRONG_VALUES


@pytest.mark.parametrize("wrong_once_in", [3, 5])
def test_what_is_wrong_now_and_then_is_nondeterministic(double: Setting, wrong_once_in: int) -> None:
    racing = counting(lambda calls, x: x * 2 if calls % wrong_once_in else torch.zeros_like(x))
    verdict, reason = verdict_of(double, racing, seeds=6)
    assert verdict is Verdict.NONDETERMINISTIC
    assert tells(reason, "wrong values once", "right")


def _off(x: torch.Tensor, place: int, amount: Any) -> torch.Tensor:
    """Right but for one element, which is off by this."""
    y = x * 2
    y.view(-1)[place % y.numel()] += amount
    return y


def _tolerance(x: torch.Tensor) -> torch.Tensor:
    return 1e-4 * 2 * x.square().mean().sqrt()


@pytest.mark.parametrize(
    ("forward", "expected"),
    [
        (lambda calls, x: _off(x, calls, 100 * _tolerance(x)), Verdict.NONDETERMINISTIC),
        (lambda calls, x: _off(x, calls, 4 * _tolerance(x)), Verdict.WRONG_VALUES),
        (lambda calls, x: _off(x, 1, 1 + torch.rand(())), Verdict.WRONG_VALUES),
    ],
    ids=["wandering", "hardly wrong", "wrong in one place"],
)
def test_what_is_wrong_in_other_places_each_time_is_nondeterministic(
    double: Setting, forward: Any, expected: Verdict
) -> None:
    verdict, reason = verdict_of(double, counting(forward))
    assert verdict is expected
    assert tells(reason, "wrong values", "other places") is (expected is Verdict.NONDETERMINISTIC)


def test_the_turns_of_a_slow_kernel_have_a_limit_together(double: Setting) -> None:
    class Slow(Honest):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            time.sleep(0.05)
            return super().forward(x)

    with pytest.raises(SolutionFailed) as failed:
        checked(double, Slow, turns_s=0.2)
    assert failed.value.verdict is Verdict.TIMEOUT
    assert tells(failed.value.failure.reason, "limits.turns_s", "0.2 s")


@pytest.mark.parametrize(("seconds", "verdict"), [(60.0, Verdict.NONDETERMINISTIC), (0.0, Verdict.WRONG_VALUES)])
def test_a_slow_kernel_is_not_repeated_for_long(
    double: Setting, seconds: float, verdict: Verdict, monkeypatch: pytest.MonkeyPatch
) -> None:
    right_at_last = counting(lambda calls, x: x * 2 if calls > 4 else torch.zeros_like(x))
    monkeypatch.setattr("harness.referee.buffers.repetition._REPEATING_S", seconds)
    assert verdict_of(double, right_at_last)[0] is verdict


def test_wrong_values_behind_an_error_that_nobody_asked_about_are_a_failed_launch(
    double: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(InProcessDevice, "unasked", "invalid argument")
    verdict, reason = verdict_of(double, computing(lambda x: torch.zeros_like(x)))
    assert verdict is Verdict.RUNTIME_ERROR
    assert tells(reason, "CUDA error: invalid argument", "outside the tolerance")


def test_wrong_values_after_which_the_device_works_on_are_of_a_stream_that_nobody_waits_for(
    double: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    measure, tails = InProcessDevice.measure, [0]
    monkeypatch.setattr(InProcessDevice, "measure", lambda *given: replace(measure(*given), tail_ns=tails[-1]))
    now_and_then = counting(lambda calls, x: x * (2 if calls % 2 else 0))
    for model, verdict in (
        (computing(lambda x: torch.zeros_like(x)), Verdict.WRONG_VALUES),
        (now_and_then, Verdict.NONDETERMINISTIC),
    ):
        for tail_ns, is_late in ((2_300_000, True), (80_000, False)):
            tails.append(tail_ns)
            failed = checked(double, model)[0].failed
            assert failed
            assert failed.verdict is verdict
            assert tells(str(failed), "2300 µs", "copied") is is_late
            assert tells(failed.failure.next_step, "current stream wait") is is_late


def test_an_error_that_nobody_asked_about_is_no_matter_where_values_are_right(
    double: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(InProcessDevice, "unasked", "invalid argument")
    test_honest_module_passes_with_every_variant(double)


def _swap(x: torch.Tensor) -> None:
    x[0, 0], x[0, 1] = x[0, 1].clone(), x[0, 0].clone()


CHANGES = {
    "doubled": lambda x: x.mul_(2),
    "one element": lambda x: x[3, 17].add_(1.0),
    "the last element": lambda x: x[-1, -1].neg_(),
    "two swapped": _swap,
    "rows rotated": lambda x: x.copy_(x.roll(1, 0)),
    "columns rotated": lambda x: x.copy_(x.roll(2, 1)),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_inputs_that_are_changed_are_seen(double: Setting, change: Any) -> None:
    verdict, reason = verdict_of(double, computing(lambda x: (x * 2, change(x))[0]))
    assert verdict is Verdict.WRONG_VALUES
    assert tells(reason, "input 0", "changed")


def test_what_the_reference_does_to_its_input_a_solution_may_do(tmp_path: Path) -> None:
    setting = setting_of(tmp_path, DOUBLE.replace("x * 2", "x.mul_(2)"))
    require_passed(checked(setting, computing(lambda x: x.mul_(2)))[0])
    require_passed(checked(setting, Honest)[0])


def test_an_input_that_is_returned_shares_its_memory(tmp_path: Path) -> None:
    returning = computing(lambda x: x[:])
    copied = setting_of(tmp_path / "copied", DOUBLE.replace("x * 2", "x.clone()"))
    verdict, reason = verdict_of(copied, returning)
    assert verdict is Verdict.WRONG_VALUES
    assert tells(reason, "shares", "input 0")
    returned = setting_of(tmp_path / "returned", DOUBLE.replace("x * 2", "x.view(rows, columns)"))
    require_passed(checked(returned, returning)[0])


class ReturningItsBuffer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self._result = torch.empty(6, 5000)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.mul(x, 2, out=self._result)


class WrappingForeignMemory(nn.Module):
    """A new tensor over the same memory at every call, as torch::from_blob makes it."""

    def __init__(self) -> None:
        super().__init__()
        self._memory = bytearray(4 * 6 * 5000)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.mul(x, 2, out=torch.frombuffer(self._memory, dtype=torch.float32).view(6, 5000))


@pytest.mark.parametrize("model", [ReturningItsBuffer, WrappingForeignMemory])
def test_a_buffer_that_is_returned_again_is_fragile(double: Setting, model: type[nn.Module]) -> None:
    outcome, _ = checked(double, model, seeds=8)
    require_passed(outcome)
    assert outcome.keeps_output
    assert any(tells(remark, "fragile", "memory", "earlier call's") for remark in outcome.remarks)


@pytest.mark.parametrize("model", [ReturningItsBuffer, WrappingForeignMemory])
def test_a_buffer_that_is_returned_again_fails_where_the_config_says_so(
    double: Setting, model: type[nn.Module]
) -> None:
    with pytest.raises(SolutionFailed) as caught:
        checked(double, model, seeds=8, fragile="fail")
    assert caught.value.verdict is Verdict.WRONG_VALUES
    assert tells(caught.value.failure.reason, "shares", "output 0", "earlier call")


def test_a_buffer_that_is_returned_before_it_is_computed_is_wrong(double: Setting) -> None:
    class ComputingAfterwards(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self._result, self._given = torch.empty(6, 5000), torch.zeros(6, 5000)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            torch.mul(self._given, 2, out=self._result)
            self._given = x.clone()
            return self._result

    assert verdict_of(double, ComputingAfterwards)[0] is Verdict.NONDETERMINISTIC


@pytest.mark.parametrize(("given_out", "is_remarked_on"), [((10**9, 0), False), ((10**9, 10**9), True)])
def test_outputs_too_large_to_keep_are_to_give_their_memory_back(
    given_out: tuple[int, int], is_remarked_on: bool, double: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = itertools.cycle(given_out)
    monkeypatch.setattr(buffers_module, "can_keep_outputs", lambda setting: False)
    monkeypatch.setattr(InProcessDevice, "allocated_bytes", lambda self: next(told))
    outcome, worker = checked(double, Honest)
    require_passed(outcome)
    assert {turn.keeps_outputs for turn in worker.turns} == {False}
    assert any("sharing between calls" in remark for remark in outcome.remarks) == is_remarked_on


def test_views_of_one_fresh_tensor_are_fine_as_several_outputs(tmp_path: Path) -> None:
    setting = setting_of(tmp_path, DOUBLE.replace("x * 2", "tuple((x * 2).chunk(2, 1))"))
    require_passed(checked(setting, computing(lambda x: (x + x).chunk(2, 1)))[0])


def test_a_workspace_that_is_kept_is_fine(double: Setting) -> None:
    class Workspace(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self._space = torch.empty(6, 5000)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.mul(x, 2, out=self._space).clone()

    require_passed(checked(double, Workspace)[0])


@pytest.mark.parametrize(
    "made",
    [
        lambda x: (x * 2).t().contiguous().t(),
        lambda x: torch.cat([x * 2, x], 1)[:, :5000],
        lambda x: nn.Parameter(x * 2),
        lambda x: (x * 2).requires_grad_(),
    ],
    ids=["transposed", "a slice", "a parameter", "with a gradient"],
)
def test_layout_and_gradient_are_the_solutions_affair(double: Setting, made: Any) -> None:
    require_passed(checked(double, computing(made))[0])


def test_an_expanded_output_is_fine_as_values(tmp_path: Path) -> None:
    expanded = computing(lambda x: x.sum().expand(rows := 6, 5000 + rows - rows))
    require_passed(checked(setting_of(tmp_path, DOUBLE.replace("x * 2", "x.sum() + 0 * x")), expanded)[0])


class Subclass(torch.Tensor):
    pass


PECULIAR = {
    "a subclass": (lambda x: (x * 2).as_subclass(Subclass), "a Subclass where a tensor belongs"),
    "sparse": (lambda x: (x * 2).to_sparse(), "a sparse coo tensor where a tensor belongs"),
    "compressed": (lambda x: (x * 2).to_sparse_csr(), "a sparse csr tensor where a tensor belongs"),
    "nested": (lambda x: torch.nested.nested_tensor([x, x]), "a nested tensor where a tensor belongs"),
    "quantized": (
        lambda x: torch.quantize_per_tensor(x, 0.1, 0, torch.quint8),
        "a quantized tensor where a tensor belongs",
    ),
    "lazily negated": (
        lambda x: torch._neg_view(x * -2),
        "a lazily conjugated or negated tensor where a tensor belongs",
    ),
    "meta": (lambda x: torch.empty_like(x, device="meta"), "a tensor on meta, want cuda"),
    "a list": (lambda x: [x * 2], "returned a tuple of 1 where the reference returns a tensor"),
    "nothing": (lambda x: None, "returned a NoneType where the reference returns a tensor"),
}


@pytest.mark.filterwarnings(
    "ignore:The PyTorch API of nested tensors", "ignore:Sparse CSR tensor support", "ignore:torch.quantize"
)
@pytest.mark.parametrize(("made", "reason"), PECULIAR.values(), ids=PECULIAR)
def test_peculiar_outputs_are_named(double: Setting, made: Any, reason: str) -> None:
    assert verdict_of(double, computing(made)) == (Verdict.WRONG_OUTPUT_TYPE, reason)


def test_one_turn_is_traced_and_told_with_others_on_an_idle_device(double: Setting) -> None:
    told: list[tuple[int, bool]] = []
    outcome, worker = checked(
        double, Honest, seeds=20, watch=lambda reply, wall_ns, is_traced: told.append((len(reply.calls), is_traced))
    )
    require_passed(outcome)
    assert [len(turn.calls) for turn in worker.turns if turn.traced] == [calls for calls, traced in told if traced]
    assert sum(traced for _, traced in told) == 1
    assert 2 <= len(told) < len(worker.turns)
    assert all(turn.conditions.hold_ns == 0 for turn in worker.turns if turn.traced)


def test_a_case_begins_with_late_inputs_and_has_idle_turns_too(double: Setting) -> None:
    outcome, worker = checked(double, Honest, seeds=1)
    require_passed(outcome)
    late = [turn.conditions.late_inputs for turn in worker.turns]
    assert late[:3] == [True, False, True]
    assert all(turn.conditions.hold_ns > 0 for turn in worker.turns if turn.conditions.late_inputs)
    assert len(worker.turns[0].calls) == 1


CACHE = """\
import torch
import torch.nn as nn

class Model(nn.Module):
    def forward(self, cache, new):
        cache[:, 5] = new
        return cache.sum(dim=1)

def get_inputs():
    return [torch.randn(3, 17, 24), torch.randn(3, 24)]

def get_init_inputs():
    return []
"""


def keeping(cache: Any, new: Any) -> Any:
    cache[:, 5] = new
    return cache.sum(1)


def spoiling(cache: Any, new: Any) -> Any:
    total = keeping(cache, new)
    cache.fill_(777.0)
    return total


def near(cache: Any, new: Any) -> Any:
    total = keeping(cache, new)
    cache.mul_(1 + 1e-6)
    return total


@pytest.mark.parametrize(
    ("forward", "undeclared", "declared"),
    [
        (keeping, None, None),
        (near, None, None),
        (lambda cache, new: keeping(cache.clone(), new), None, "input 0"),
        (spoiling, "input 0", "input 0"),
        (lambda cache, new: keeping(cache, new) + new.zero_(), "input 1", "input 1"),
    ],
    ids=["in place", "within the tolerance", "elsewhere", "spoilt", "the other input"],
)
def test_what_a_call_leaves_in_inputs_that_the_reference_changes_is_judged(
    tmp_path: Path, forward: Any, undeclared: str | None, declared: str | None
) -> None:
    """A state must be what it leaves; another may be as it was."""
    model = type("Solution", (nn.Module,), {"forward": lambda self, *given: forward(*given)})
    for yaml, part in (("", undeclared), ("state: [cache]\n", declared)):
        setting = setting_of(tmp_path, CACHE, yaml)
        if part is None:
            require_passed(checked(setting, model)[0])
        else:
            assert tells(verdict_of(setting, model)[1], part)


def test_a_state_that_there_is_not_is_the_problems_mistake(tmp_path: Path) -> None:
    with pytest.raises(InvalidProblem, match="'nope'"):
        checked(setting_of(tmp_path, CACHE, "state: [nope]\n"), Honest)


IN_PLACE = """\
import torch
import torch.nn as nn

class Model(nn.Module):
    def forward(self, x, kept):
        {change}
        return x * 2

def get_inputs():
    return [{inputs}]

def get_init_inputs():
    return []
"""


@pytest.mark.parametrize(
    ("change", "inputs", "solution"),
    [
        # Exact where eager isn't.
        (
            "m = x.mean(1); kept.mul_(0.9).add_(0.1 * ((x * x).mean(1) - m * m))",
            "torch.randn(64, 512) + 100, torch.rand(64)",
            lambda x, kept: kept.mul_(0.9).add_(0.1 * x.var(1, correction=0)),
        ),
        (
            "kept.copy_(x.to(torch.float8_e4m3fn))",
            "torch.randn(64, 512), torch.zeros(64, 512).to(torch.float8_e4m3fn)",
            lambda x, kept: kept.copy_(x.to(torch.float8_e4m3fn)),
        ),
        # In some draws alone.
        (
            "kept.add_(1) if float(x[0, 0]) > 0.5 else None",
            "torch.rand(64, 512), torch.rand(64)",
            lambda x, kept: kept.add_(1) if float(x[0, 0]) > 0.5 else None,
        ),
    ],
    ids=["better than eager", "float8", "by its values"],
)
@pytest.mark.parametrize("yaml", ["", "state: [kept]\n"])
def test_who_leaves_the_right_values_in_a_changed_input_passes(
    tmp_path: Path, change: str, inputs: str, solution: Any, yaml: str
) -> None:
    class Right(nn.Module):
        def forward(self, x: torch.Tensor, kept: torch.Tensor) -> torch.Tensor:
            solution(x, kept)
            return x * 2

    setting = setting_of(tmp_path, IN_PLACE.format(change=change, inputs=inputs), yaml)
    require_passed(checked(setting, Right, seeds=6)[0])


def test_a_state_is_judged_with_other_inputs_too(tmp_path: Path) -> None:
    """A maximum that begins at zero is wrong for negative values alone."""

    class FromZero(nn.Module):
        def forward(self, x: torch.Tensor, kept: torch.Tensor) -> torch.Tensor:
            kept.copy_(x.amax(1).clamp(min=0))
            return x * 2

    source = IN_PLACE.format(change="kept.copy_(x.amax(1))", inputs="torch.rand(64, 512), torch.rand(64)")
    assert tells(verdict_of(setting_of(tmp_path, source, "state: [kept]\n"), FromZero)[1], "negative", "input 1")


def test_of_integers_more_calls_are_made_than_are_asked_for(tmp_path: Path) -> None:
    """No variant changes them."""
    source = problem_text("x * 2", "torch.randint(0, 9, (rows, columns))", constants="rows = 6\ncolumns = 50")
    _, worker = checked(setting_of(tmp_path, source), Honest, seeds=1)
    assert len(worker.turns) == 1 + 3


def test_a_seed_repeats_the_turns(double: Setting) -> None:
    """Also where variants were drawn for an earlier solution."""

    def turns() -> list[tuple[int, ...]]:
        outcome, worker = checked(double, Honest, seeds=8)
        return [tuple(len(turn.calls) for turn in worker.turns), tuple(check.seed for check in outcome.checks)]

    assert turns() == turns()


def test_who_is_wrong_only_where_inputs_come_late_is_told_so(double: Setting, monkeypatch: pytest.MonkeyPatch) -> None:
    now: list[Conditions] = [Conditions()]

    monkeypatch.setattr(InProcessDevice, "begin", lambda self, conditions: now.__setitem__(0, conditions))
    verdict, reason = verdict_of(double, computing(lambda x: x * 2 + (1 if now[0].late_inputs else 0)))
    assert verdict is Verdict.NONDETERMINISTIC
    assert tells(reason, "right", "ready", "wrong", "late")


SHARP = "torch.sin(6 * x.float().sum(1, keepdim=True) + x.float().mean()).bfloat16()"


def sharp(x: torch.Tensor, rounded: Any = lambda total: total) -> torch.Tensor:
    return torch.sin(rounded(6 * x.float().sum(1, keepdim=True)) + x.float().mean()).bfloat16()


def test_a_variant_on_which_plain_arithmetic_errs_like_a_wrong_kernel_blames_nobody(tmp_path: Path) -> None:
    """A sum that is as short as the output shows little at the drawn scale and all at 16 times it."""
    setting = setting_of(tmp_path, problem_text(SHARP, "torch.randn(4096, 64).bfloat16() * 0.01"))
    short = computing(lambda x: sharp(x, lambda total: total.bfloat16().float()))
    outcome, _ = checked(setting, short)
    require_passed(outcome)
    large = "negative (times 2^4)"
    assert any(tells(remark, large, "decide nothing") for remark in outcome.remarks)
    later = fair_variants(setting)
    assert large not in {drawn.variant.words for drawn in later.drawn if drawn.variant}
    assert any(tells(remark, large, "decide nothing") for remark in later.remarks)
    wrong = computing(lambda x: sharp(x[:, 1:]))
    assert verdict_of(setting, wrong)[0] is Verdict.WRONG_VALUES


def test_slow_runs_of_the_reference_are_made_once_for_all_solutions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    setting = setting_of(tmp_path, problem_text("x - x.mean()", "torch.rand(6, 50)"))
    runs: list[str] = []
    for name in ("answer", "native"):
        method = getattr(setting.oracle, name)
        monkeypatch.setattr(setting.oracle, name, lambda *a, m=method, n=name, **k: (runs.append(n), m(*a, **k))[1])
    honest = computing(lambda x: x - x.double().mean().float())
    for is_slow, fewest in ((False, 10), (True, 0)):
        monkeypatch.setattr(kept, "_SLOW_S", -1.0 if is_slow else math.inf)
        require_passed(checked(setting, honest)[0])
        runs.clear()
        require_passed(checked(setting, honest)[0])
        assert (len(runs) > fewest) is not is_slow, runs


@pytest.mark.parametrize("is_kept_in", ["a buffer", "memory of its own"])
def test_a_kept_answer_is_the_references_own_no_more(is_kept_in: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "_SLOW_S", -1.0)
    runs, buffer = kept.KeptRuns(), torch.empty(3)

    def answer(value: float) -> tuple[torch.Tensor, ...]:
        return (buffer.fill_(value) if is_kept_in == "a buffer" else torch.full((3,), value),)

    for seed in (1, 2, 1, 2):
        inputs = kept.SeededInputs([], seed)
        assert runs.take(inputs, "answer", lambda value=float(seed): answer(value))[0].tolist() == [seed] * 3


def test_a_repetition_on_which_nothing_can_be_blamed_acquits_nobody(
    double: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge, calls = CaseTurns.judge, itertools.count()

    def judged(self: CaseTurns, *given: Any) -> Check:
        if next(calls):
            raise UnfairVariant
        return judge(self, *given)

    monkeypatch.setattr(CaseTurns, "judge", judged)
    assert verdict_of(double, computing(lambda x: x * 2.1))[0] is Verdict.WRONG_VALUES


def test_rows_that_a_solution_chooses_make_no_variant_unfair(tmp_path: Path) -> None:
    """The plainest arithmetic errs by as much as a wrong element in one row, which isn't among those that are asked."""
    text = problem_text("torch.sin(10 * x.float().cumsum(1)).bfloat16()", "torch.randn(1000, 256).bfloat16() * 0.01")
    setting = setting_of(tmp_path, text, "independent_batch: true\n")
    (x,) = setting.reference.make_inputs(3)
    x[700] *= 16
    (wrong,) = setting.oracle.native([x])
    wrong[700] = -wrong[700]
    assert not judge_values([wrong], [x], setting, setting.tolerances)[0].passed
