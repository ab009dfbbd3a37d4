"""Problems are judged by mutants: which wrong answers their inputs and tolerance would let pass."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.model.problem_check import MutantResult, ProblemCheck
from harness.referee.mutants import specimens
from harness.referee.mutants.problem_check import check_problem
from harness.workspace.problem import load_problem
from harness.workspace.scaffold import TEMPLATE
from tests.files import laid
from tests.machine import ROOT
from tests.problem_text import problem_text
from tests.wording import tells

RANDN = "torch.randn(rows, columns)"


def checked(
    tmp_path: Path,
    forward: str = "torch.relu(x)",
    inputs: str = RANDN,
    yaml: str = "",
    init: str = "",
    seed: int = 7,
    arguments: str = "x",
) -> ProblemCheck:
    """A problem whose forward() returns `forward`, judged."""
    text = problem_text(forward, inputs, init, constants="rows = 16\ncolumns = 256", given=arguments)
    problem = load_problem(laid(tmp_path / "made_up", {"problem.py": text, "problem.yaml": yaml}))
    return check_problem(problem, list(problem.cases), seed, "cpu", lambda what: None)


def names(check: ProblemCheck) -> set[str]:
    return {mutant.name for mutant in check.let_pass}


def mutant(check: ProblemCheck, name: str, output: int = 0) -> MutantResult:
    return next(one for one in check.mutants if (one.name, one.output) == (name, output))


def test_a_sound_problem_lets_none_pass(tmp_path: Path) -> None:
    check = checked(tmp_path, "x * 2")
    assert check.is_sound
    assert check.complaints == ()
    caught = {one.name: len(one.caught_by) for one in check.mutants}
    assert caught["zeros"] == caught["stale"] == caught["one_element"] == 9
    assert {"float16", "bfloat16", "input_returned", "last_column", "mixed_up", "sign"} <= set(caught)


def test_a_call_may_change_an_input_and_return_it(tmp_path: Path) -> None:
    inputs = "torch.randn(8, 32), torch.randn(8, 16, 32), torch.randint(16, (1,))"
    forward = "(cache.index_copy_(1, place, x[:, None]) * x[:, None]).sum(-1), cache"
    assert checked(tmp_path, forward, inputs, arguments="x, cache, place").is_sound


@pytest.mark.parametrize(
    "inputs",
    [RANDN, f"{RANDN}.double()", "torch.randn(rows, columns, dtype=torch.complex64)", "torch.randint(9, (rows, 9))"],
    ids=["float32", "float64", "complex64", "int64"],
)
def test_mutants_take_inputs_as_they_are_given_to_a_reference_that_works_in_place(tmp_path: Path, inputs: str) -> None:
    """The input that the mutant `input_returned` took was the right answer already."""
    check = checked(tmp_path, "x.add_(1)", inputs)
    assert (names(check), check.complaints) == (set(), ())


def test_each_variant_of_each_case_is_tried(tmp_path: Path) -> None:
    check = checked(tmp_path, "x * 2", yaml="variants: [negative, ties]\ncases: {odd: {constants: {columns: 33}}}")
    assert [draw.label for draw in check.draws] == [
        "full",
        "full, negative",
        "full, negative (times 2^20)",
        "full, few distinct",
        "odd",
        "odd, negative",
        "odd, negative (times 2^20)",
        "odd, few distinct",
    ]


def test_inputs_that_are_never_negative_let_a_maximum_start_at_zero(tmp_path: Path) -> None:
    largest, positive = "x.unfold(1, 4, 1).amax(2)", "torch.rand(rows, columns)"
    weak = checked(tmp_path, largest, positive, "variants: []")
    assert names(weak) == {"starts_at_zero"}
    assert "add 'negative'" in str(mutant(weak, "starts_at_zero").advice)
    assert checked(tmp_path, largest, positive, "variants: [negative]").is_sound


def test_a_maximum_with_zero_is_right_for_what_is_never_negative(tmp_path: Path) -> None:
    found = mutant(checked(tmp_path, "torch.relu(x)"), "starts_at_zero")
    assert found.caught_by == ()
    assert tells(found.harmless, "negative")
    assert not found.is_let_pass


def test_integers_are_never_negative_where_they_are_drawn_so(tmp_path: Path) -> None:
    """No variant can make them so."""
    counts = checked(tmp_path, "torch.bincount(x, minlength=32)", "torch.randint(32, (4000,))", "tolerance: exact")
    assert counts.is_sound
    assert tells(mutant(counts, "starts_at_zero").harmless, "negative")


def test_a_tolerance_above_the_size_of_the_outputs_is_found(tmp_path: Path) -> None:
    """Softmax over many columns: every output is near 1/256, and 1e-2 forgives all of it."""
    yaml = "tolerance: {atol: 0.01, rtol: 0.01}\nvariants: []"
    check = checked(tmp_path, "torch.softmax(x / 100, 1)", yaml=yaml)
    assert {"zeros", "mean", "stale", "one_element", "off_by_one", "float16"} <= names(check)
    assert "0.00391" in str(mutant(check, "zeros").advice)


def test_a_tolerance_that_forgives_half_precision_is_found(tmp_path: Path) -> None:
    check = checked(tmp_path, "torch.tanh(x)", yaml="tolerance: {atol: 0.006, rtol: 0.0}\nvariants: []")
    assert names(check) == {"float16", "bfloat16"}
    assert checked(tmp_path, "torch.tanh(x)", yaml="tolerance: {atol: 1.0e-5, rtol: 0.0}").is_sound


def test_only_rescaled_inputs_tell_float16_from_tf32(tmp_path: Path) -> None:
    """Both have ten bits of mantissa; their ranges differ."""
    product = "x @ x.T"
    yaml = "precision: tf32\ntolerance: {atol: 0.05, rtol: 1.0e-5}\nvariants: "
    assert names(checked(tmp_path, product, yaml=yaml + "[]")) == {"float16"}
    assert checked(tmp_path, product, yaml=yaml + "[rescaled]").is_sound


def test_tf32_is_tried_where_there_are_products_alone(tmp_path: Path) -> None:
    assert "tf32" in {one.name for one in checked(tmp_path, "x @ x.T").mutants}
    assert "tf32" not in {one.name for one in checked(tmp_path, "x * 2").mutants}


def test_an_operation_that_changes_nothing_lets_its_input_pass(tmp_path: Path) -> None:
    """KernelBench's batch normalisation in eval mode: mean 0, variance 1, weight 1, bias 0."""
    check = checked(tmp_path, "self.norm(x)", init="self.norm = nn.BatchNorm1d(columns)")
    assert names(check) == {"input_returned", "scales_left_out"}


def test_weights_that_change_nothing_are_found(tmp_path: Path) -> None:
    check = checked(tmp_path, "self.norm(x)", init="self.norm = nn.LayerNorm(columns)")
    assert names(check) == {"scales_left_out"}
    assert "random" in str(mutant(check, "scales_left_out").advice)
    random = "self.norm = nn.LayerNorm(columns); nn.init.normal_(self.norm.weight); nn.init.normal_(self.norm.bias)"
    assert checked(tmp_path, "self.norm(x)", init=random).is_sound


def test_weights_of_ones_own_are_told_from_the_references(tmp_path: Path) -> None:
    check = checked(tmp_path, "self.linear(x)", init="self.linear = nn.Linear(columns, 8)")
    assert check.is_sound
    assert len(mutant(check, "other_weights").caught_by) == 9


def test_an_input_that_is_not_used_is_no_weakness_but_one_that_is_drowned_is(tmp_path: Path) -> None:
    two = "torch.randn(rows, columns), torch.randn(rows, columns)"
    unused = checked(tmp_path, "x * 2", two, arguments="x, y")
    assert unused.is_sound
    assert tells(mutant(unused, "input_1_ignored").harmless, "input 1")
    drowned = checked(tmp_path, "x * 2 + 1e-7 * y", two, "variants: []", arguments="x, y")
    assert names(drowned) == {"input_1_ignored"}


def test_every_output_is_judged_by_itself(tmp_path: Path) -> None:
    check = checked(tmp_path, "(x * 2, x * 1e-9)", yaml="variants: []\ntolerance: {atol: 1.0e-4, rtol: 1.0e-4}")
    assert {(one.name, one.output) for one in check.let_pass if one.name == "zeros"} == {("zeros", 1)}
    assert mutant(check, "zeros", 0).caught_by == ("full",)


def test_inputs_that_no_seed_changes_are_complained_of(tmp_path: Path) -> None:
    check = checked(tmp_path, inputs="torch.ones(rows, columns)")
    assert not check.is_sound
    (complaint,) = check.complaints
    assert tells(complaint, "full:", "every seed", "same inputs", "random")
    assert "stale" in names(check)


def test_inputs_that_differ_under_one_seed_are_complained_of(tmp_path: Path) -> None:
    wild = "torch.randn(rows, columns, generator=torch.Generator().manual_seed(__import__('secrets').randbits(32)))"
    (complaint,) = checked(tmp_path, inputs=wild).complaints
    assert tells(complaint, "full: get_inputs()", "different inputs", "same seed")


def test_a_reference_outside_its_own_tolerance_is_complained_of(tmp_path: Path) -> None:
    check = checked(tmp_path, "torch.cumsum(x, 1)", yaml="tolerance: {atol: 1.0e-9, rtol: 0.0}\nvariants: []")
    (complaint,) = check.complaints
    assert tells(complaint, "float64 oracle", "raise the tolerance")


@pytest.mark.parametrize(("tolerance", "repeats"), [("", []), ("tolerance: {atol: 0.01, rtol: 0.01}\n", [False])])
def test_a_reference_that_draws_random_numbers_is_complained_of(
    tmp_path: Path, tolerance: str, repeats: list[bool]
) -> None:
    check = checked(tmp_path, "x + torch.rand_like(x)", yaml=f"{tolerance}variants: []")
    complaint, *_ = check.complaints
    assert tells(complaint, "full:", "different outputs", "same inputs")
    assert [draw.repeats for draw in check.draws] == repeats


def test_a_reference_that_raises_is_complained_of(tmp_path: Path) -> None:
    check = checked(tmp_path, "x.nosuch()")
    assert not check.was_examined
    assert not check.is_sound
    assert "AttributeError" in check.complaints[0]


def test_a_false_claim_of_independence_is_complained_of(tmp_path: Path) -> None:
    check = checked(tmp_path, "x - x.mean(0)", yaml="independent_batch: true")
    (complaint,) = check.complaints
    assert tells(complaint, "full: independent_batch", "dimension 0", "depend")


@pytest.mark.parametrize(
    ("forward", "inputs"),
    [
        ("torch.argmax(x, 1)", RANDN),
        ("x > 0", RANDN),
        ("torch.fft.rfft(x)", RANDN),
        ("x.mean()", RANDN),
        ("x * 3", "torch.randint(-9, 9, (rows, columns))"),
        ("x @ x.T", f"{RANDN}.double()"),
    ],
)
def test_outputs_of_any_dtype_and_shape_can_be_judged(tmp_path: Path, forward: str, inputs: str) -> None:
    assert checked(tmp_path, forward, inputs).is_sound


@pytest.mark.parametrize(("precision", "dtype"), [("float16", "half"), ("bfloat16", "bfloat16")])
def test_a_problem_in_half_precision_is_not_blamed_for_it(tmp_path: Path, precision: str, dtype: str) -> None:
    assert checked(tmp_path, "x * 2", f"{RANDN}.{dtype}()", f"precision: {precision}").is_sound


def test_plain_numbers_among_the_inputs_are_left_alone(tmp_path: Path) -> None:
    assert checked(tmp_path, "x * y", f"{RANDN}, 3.25", arguments="x, y").is_sound


def test_variants_that_the_reference_cannot_bear_are_named(tmp_path: Path) -> None:
    check = checked(tmp_path, "torch.sqrt(x)", "torch.rand(rows, columns)", "variants: [negative]")
    assert set(check.skipped) == {"full, negative", "full, negative (times 2^4)"}
    assert all("leaves the tolerance" in why for why in check.skipped.values())
    assert [draw.label for draw in check.draws] == ["full"]


def test_a_case_that_a_cpu_cannot_bear_is_skipped_and_the_others_are_not(tmp_path: Path) -> None:
    yaml = "cases: {small: {constants: {rows: 1}}}\nvariants: []"
    check = checked(tmp_path, "x * 2", "torch.randn(rows * 2**20)", yaml)
    assert list(check.skipped) == ["full"]
    assert tells(check.skipped["full"], "0.13 GB", "GPU")
    assert [draw.label for draw in check.draws] == ["small"]
    assert check.is_sound


def test_a_problem_of_which_no_case_could_be_examined_is_not_called_sound(tmp_path: Path) -> None:
    check = checked(tmp_path, "x * 2", "torch.randn(rows * 2**20)")
    assert not check.was_examined
    assert not check.is_sound


def test_of_a_large_case_the_first_rows_are_examined(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(specimens._EXAMINED_BYTES, "cpu", 3 * 2 * 256 * 8)
    check = checked(tmp_path, "x * 2", yaml="independent_batch: true\nvariants: []")
    assert [(draw.rows, draw.examined) for draw in check.draws] == [(16, 3)]
    assert check.is_sound


def test_a_seed_repeats_the_answer(tmp_path: Path) -> None:
    one, two, other = (checked(tmp_path, "x * 2", seed=seed) for seed in (3, 3, 4))
    assert [m.trials for m in one.mutants] == [m.trials for m in two.mutants]
    assert [draw.rms for draw in one.draws] != [draw.rms for draw in other.draws]


@pytest.mark.parametrize(
    "name",
    [
        "avgpool2d",
        *(pytest.param(one, marks=pytest.mark.heavy) for one in ("maxpool2d", "conv2d_square", "conv2d_asymmetric")),
    ],
)
def test_our_own_problems_let_none_pass(name: str) -> None:
    """In the cases that a CPU bears; on an H100 the full ones as well."""
    problem = load_problem(ROOT / "problems" / name)
    cases = [case for case in problem.cases if case != "full"]
    check = check_problem(problem, cases, 1, "cpu", lambda what: None)
    assert (check.let_pass, check.complaints) == ((), ())
    assert {draw.case for draw in check.draws} == set(cases)


def test_the_problem_of_a_new_workspace_lets_none_pass() -> None:
    problem = load_problem(TEMPLATE / "problems" / "relu")
    check = check_problem(problem, ["small", "odd"], 1, "cpu", lambda what: None)
    assert check.is_sound


@pytest.mark.gpu
@pytest.mark.parametrize("name", ["maxpool2d", "conv2d_square"])
def test_our_own_problems_let_none_pass_at_their_full_shape(name: str) -> None:
    problem = load_problem(ROOT / "problems" / name)
    check = check_problem(problem, ["full"], 1, "cuda", lambda what: None)
    assert (check.let_pass, check.complaints, check.skipped) == ((), (), {})
    assert check.is_sound
