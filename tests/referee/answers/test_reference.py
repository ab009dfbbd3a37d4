"""The reference of a case: its inputs, the form of its outputs, and the oracle."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest
import torch

from harness.referee.answers.invalid_problem import InvalidProblem
from harness.referee.answers.oracle import Oracle
from harness.referee.answers.reference import _GENERATORS, Reference
from harness.referee.setting import Setting, prepare_setting
from harness.workspace.problem import Case, Problem, load_problem
from tests.files import laid
from tests.problem_text import problem_text


def problem(
    tmp_path: Path,
    forward: str,
    inputs: str = "torch.randn(rows, columns)",
    init: str = "",
    yaml: str = "independent_batch: true\n",
    more: str = "",
    constants: str = "rows = 6\ncolumns = 4",
    arguments: str = "",
) -> Problem:
    """A problem whose Model has these bodies. `more`: the end of its file."""
    source = problem_text(forward, inputs, init, constants=constants, given="x, *more", arguments=arguments) + more
    yaml += "cases: {small: {constants: {rows: 3}}}\n" * ("rows" in inputs)
    return load_problem(laid(tmp_path / "made_up", {"problem.py": source, "problem.yaml": yaml}))


def init_inputs(returned: str) -> str:
    return f"def get_init_inputs():\n    return {returned}\n"


def setting(*args: Any, case: str = "full", **options: Any) -> Setting:
    return prepare_setting(problem(*args, **options), case, 42, "cpu")


def cut(oracle: Oracle, row_bytes: int) -> Oracle:
    """The oracle with room for so many bytes in a piece."""
    oracle._budget = row_bytes
    return oracle


def test_a_case_changes_the_inputs(tmp_path: Path) -> None:
    reference = Reference(problem(tmp_path, "return x"), "small", "cpu")
    assert [tuple(value.shape) for value in reference.make_inputs(1)] == [(3, 4)]
    assert [tuple(value.shape) for value in reference.input_specs()] == [(3, 4)]
    assert reference.input_specs()[0].is_meta


def test_init_inputs_may_be_left_out_where_the_model_takes_none(tmp_path: Path) -> None:
    """KernelBench-Harbor's references do."""
    source = problem_text("return x", "torch.randn(6)").replace("def get_init_inputs(", "def other(")
    bare = load_problem(laid(tmp_path / "bare", {"problem.py": source}))
    assert Reference(bare, "full", "cpu").init_inputs == []


def test_shapes_are_asked_for_while_no_other_thread_draws(tmp_path: Path) -> None:
    asking = "(asked.append(is_free()), torch.randn(6, 4))[1]"
    reference = Reference(problem(tmp_path, "return x", asking, more="asked, is_free = [], bool\n"), "full", "cpu")

    def is_free() -> bool:
        found = []

        def try_it() -> None:
            found.append(_GENERATORS.acquire(blocking=False))
            if found[0]:
                _GENERATORS.release()

        thread = threading.Thread(target=try_it)
        thread.start()
        thread.join()
        return found[0]

    reference._module.is_free = is_free  # type: ignore[attr-defined]
    reference.input_specs()
    assert reference._module.asked == [False]  # type: ignore[attr-defined]


def test_equal_seeds_give_equal_inputs_and_others_do_not(tmp_path: Path) -> None:
    reference = Reference(problem(tmp_path, "return x"), "full", "cpu")
    assert torch.equal(reference.make_inputs(1)[0], reference.make_inputs(1)[0])
    assert not torch.equal(reference.make_inputs(1)[0], reference.make_inputs(2)[0])


def test_inputs_that_require_gradients_may_be_changed_in_place(tmp_path: Path) -> None:
    reference = Reference(problem(tmp_path, "return x", "torch.randn(6, 4, requires_grad=True)"), "full", "cpu")
    assert not reference.make_inputs(1)[0].requires_grad
    assert not reference.input_specs()[0].requires_grad


def test_equal_seeds_give_equal_models(tmp_path: Path) -> None:
    reference = Reference(problem(tmp_path, "return self.w(x)", init="self.w = nn.Linear(4, 2)"), "full", "cpu")
    one, other = (reference.construct(seed).state_dict()["w.weight"] for seed in (5, 5))
    assert torch.equal(one, other)
    assert not torch.equal(one, reference.construct(6).state_dict()["w.weight"])


def test_a_model_is_in_evaluation_mode(tmp_path: Path) -> None:
    assert not setting(tmp_path, "return x").model.training


def test_a_case_s_init_inputs_replace_the_problem_s(tmp_path: Path) -> None:
    yaml = "cases:\n  odd:\n    init_inputs: [3, [1, [2, 4]], true]\n"
    made = problem(tmp_path, "return x", "torch.randn(6, 4)", yaml=yaml, more=init_inputs("[7]"))
    assert Reference(made, "odd", "cpu").init_inputs == [3, (1, (2, 4)), True]
    assert Reference(made, "full", "cpu").init_inputs == [7]


def test_constants_of_the_case_reach_the_init_inputs(tmp_path: Path) -> None:
    made = problem(tmp_path, "return x", more=init_inputs("[rows * 2]"))
    assert Reference(made, "small", "cpu").init_inputs == [6]


def test_a_problem_may_hold_a_dataclass(tmp_path: Path) -> None:
    more = "\nimport dataclasses\n\n@dataclasses.dataclass\nclass Sizes:\n    rows: int = 1\n"
    assert setting(tmp_path, "return x", more=more).spec.shapes == ((6, 4),)


@pytest.mark.parametrize(
    ("forward", "structure", "shapes", "dtypes"),
    [
        ("return x @ x.t()", "tensor", ((6, 6),), (torch.float32,)),
        ("return x, x.sum()", "tuple", ((6, 4), ()), (torch.float32, torch.float32)),
        ("return [x.half(), x.argmax(1)]", "tuple", ((6, 4), (6,)), (torch.float16, torch.int64)),
        ("return torch.max(x, dim=1)", "tuple", ((6,), (6,)), (torch.float32, torch.int64)),
        ("return x + torch.zeros(4)", "tensor", ((6, 4),), (torch.float32,)),
    ],
)
def test_the_form_of_the_outputs_is_known(
    tmp_path: Path, forward: str, structure: Any, shapes: Any, dtypes: Any
) -> None:
    spec = setting(tmp_path, forward).spec
    assert (spec.structure, spec.dtypes, spec.shapes) == (structure, dtypes, shapes)


@pytest.mark.parametrize(
    ("forward", "shared_inputs", "is_kept"),
    [
        ("return x * 2", set(), False),
        ("return x.view(-1)", {0}, False),
        ("return x.relu_()", {0}, False),
        ("return x, x.sum()", {0}, False),
        ("return self.table", set(), True),
        ("return x * x.max().item()", set(), False),
    ],
)
def test_memory_that_the_reference_shares_is_known(
    tmp_path: Path, forward: str, shared_inputs: set[int], is_kept: bool
) -> None:
    spec = setting(tmp_path, forward, init="self.table = nn.Parameter(torch.ones(3))").spec
    assert (spec.shared_inputs, spec.is_kept) == (shared_inputs, is_kept)


def test_the_form_is_found_without_memory(tmp_path: Path) -> None:
    made = setting(tmp_path, "return x.t()", constants="rows = 1 << 40\ncolumns = 4")
    assert made.spec.shapes == ((4, 1 << 40),)


@pytest.mark.parametrize(
    ("forward", "init"),
    [
        ("return x * 2 if x.sum() > 1e9 else x * 3", ""),
        ("return x * self.mask", "self.mask = torch.ones(4)"),
        ("return x * x.max().item()", ""),
    ],
    ids=["branch on values", "tensor outside the state", "item"],
)
def test_a_model_that_runs_on_real_values_alone_is_run(tmp_path: Path, forward: str, init: str) -> None:
    assert setting(tmp_path, forward, init=init).spec.shapes == ((6, 4),)


def test_inputs_that_need_memory_are_made(tmp_path: Path) -> None:
    made = setting(tmp_path, "return x", "torch.randn(rows, columns) * torch.randn(4).max().item()")
    assert (made.meta_inputs, made.spec.shapes) == (None, ((6, 4),))


@pytest.mark.parametrize(
    ("forward", "more", "complaint"),
    [
        ("return x", "1 / 0\n", r"can't be executed .* at problem\.py:\d+: ZeroDivisionError"),
        ("return x", "raise SystemExit(0)\n", r"can't be executed .* at problem\.py:\d+: SystemExit: 0"),
        (
            "raise SystemExit(0)\nreturn x",
            "",
            r"Model\.forward\(\) failed in case 'full' at problem\.py:\d+: SystemExit: 0",
        ),
        ("return x", init_inputs("3"), r"get_init_inputs\(\) failed in case 'full': TypeError"),
        (
            "return x",
            init_inputs("[torch.zeros(1)]"),
            r"get_init_inputs\(\) of case 'full' returns a torch\.Tensor; plain values belong",
        ),
        ("return x", "del rows\n", r"get_inputs\(\) failed in case 'full'"),
        ("return x @ x", "", r"Model\.forward\(\) failed in case 'full' at problem\.py:\d+: RuntimeError"),
        ("return x + missing", "", r"at problem\.py:\d+: NameError"),
        ("return x.tolist()", "", r"Model\.forward\(\) (failed|returns a tuple)"),
        ("return {x}", "", r"Model\.forward\(\) returns a set"),
        ("return (x, 3)", "", r"Model\.forward\(\) returns a tuple with a int in it"),
        ("return {'y': x, 'n': None}", "", r"Model\.forward\(\) returns a dict with a NoneType in it"),
        ("return ()", "", r"Model\.forward\(\) returns"),
    ],
)
def test_a_broken_problem_is_blamed_in_words(tmp_path: Path, forward: str, more: str, complaint: str) -> None:
    with pytest.raises(InvalidProblem, match=complaint):
        setting(tmp_path, forward, more=more)


def test_a_problem_is_blamed_without_the_frames_of_torch_s_libraries(tmp_path: Path) -> None:
    with pytest.raises(InvalidProblem, match=r"at problem\.py:\d+: TypeError: ") as raised:
        setting(tmp_path, "return torch.empty(10**20)")
    assert "frame #" not in str(raised.value)


def test_what_a_problem_prints_is_no_output_of_ours(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    setting(tmp_path, "print('called', 1, sep='-'); return x", more="print('hello')\n")
    out, err = capsys.readouterr()
    assert out == ""
    assert {"hello", "called-1"} <= set(err.splitlines())


def test_a_model_that_cannot_be_constructed_is_blamed(tmp_path: Path) -> None:
    with pytest.raises(InvalidProblem, match=r"Model\(\*init_inputs\) .*'small' at problem\.py:\d+: NameError"):
        setting(tmp_path, "return x", init="self.k = kernel", case="small")


def test_the_oracle_answers_in_double(tmp_path: Path) -> None:
    made = setting(tmp_path, "return self.w(x)", init="self.w = nn.Linear(4, 2)")
    (inputs,) = made.reference.make_inputs(3)
    (answer,) = made.oracle.answer([inputs])
    weight, bias = made.model.w.weight.double(), made.model.w.bias.double()
    assert (answer.dtype, made.oracle.kind) == (torch.float64, "float64")
    assert torch.allclose(answer, inputs.double() @ weight.t() + bias, rtol=1e-14)
    assert not answer.requires_grad


def test_pieces_make_up_the_whole(tmp_path: Path) -> None:
    made = setting(tmp_path, "return torch.relu(x), x.sum(1)")
    inputs = made.reference.make_inputs(3)
    whole = made.oracle.answer(inputs)
    row_bytes = 8 * (4 + 4 + 1)
    pieces = list(cut(made.oracle, 4 * row_bytes).pieces(inputs))
    assert [rows for rows, _ in pieces] == [slice(0, 4), slice(4, 6)]
    for number, output in enumerate(whole):
        assert torch.equal(torch.cat([outputs[number] for _, outputs in pieces]), output)


def test_a_row_larger_than_the_budget_is_a_piece(tmp_path: Path) -> None:
    made = setting(tmp_path, "return x")
    assert len(list(cut(made.oracle, 1).pieces(made.reference.make_inputs(3)))) == 6


@pytest.mark.parametrize(
    ("forward", "yaml"), [("return x", "independent_batch: false\n"), ("return x.sum()", "independent_batch: true\n")]
)
def test_what_has_no_independent_rows_comes_whole(tmp_path: Path, forward: str, yaml: str) -> None:
    made = setting(tmp_path, forward, yaml=yaml)
    ((rows, _),) = cut(made.oracle, 1).pieces(made.reference.make_inputs(3))
    assert rows == slice(None)


@pytest.mark.parametrize("forward", ["return torch.relu(x)", "return x.argmax(1)", "return x > 0"])
def test_an_honest_claim_of_independence_is_verified(tmp_path: Path, forward: str) -> None:
    made = setting(tmp_path, forward)
    made.oracle.find_rows(made.reference.make_inputs(3))


@pytest.mark.parametrize(
    ("forward", "complaint"),
    [
        ("return torch.softmax(x, 0)", "is claimed"),
        ("return torch.nn.functional.batch_norm(x[:, None], None, None, training=True)", "is claimed"),
        ("return torch.nn.functional.batch_norm(x, None, None, training=True)", ""),  # one row alone raises
        ("return x - x.mean()", "is claimed"),
        ("return x.flip(0)", "is claimed"),
        ("return x.cumsum(0)", "is claimed"),
    ],
)
def test_a_wrong_claim_of_independence_is_refused(tmp_path: Path, forward: str, complaint: str) -> None:
    made = setting(tmp_path, forward)
    with pytest.raises(InvalidProblem) as raised:
        made.oracle.find_rows(made.reference.make_inputs(3))
    assert complaint in str(raised.value)


def test_a_model_that_makes_float32_tensors_is_answered_in_float32(tmp_path: Path) -> None:
    made = setting(tmp_path, "return x @ torch.ones(4, 2, dtype=torch.float32)")
    (answer,) = made.oracle.answer(made.reference.make_inputs(3))
    assert (made.oracle.kind, answer.dtype) == ("float32", torch.float32)
    assert made.check(1, "complete", ()).oracle == "float32"


def test_a_model_that_refuses_double_by_another_error_is_answered_in_float32(tmp_path: Path) -> None:
    forward = "if x.dtype != torch.float32:\n    raise TypeError('float32 only')\nreturn x"
    made = setting(tmp_path, forward)
    made.oracle.answer(made.reference.make_inputs(3))
    assert made.oracle.kind == "float32"


@pytest.mark.parametrize(
    "words", ["CUDA error: out of memory", "CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"]
)
def test_a_library_that_lacks_memory_makes_no_oracle_one_in_float32(tmp_path: Path, words: str) -> None:
    forward = f"if x.dtype != torch.float32:\n    raise RuntimeError({words!r})\nreturn x"
    made = setting(tmp_path, forward)
    with pytest.raises(torch.OutOfMemoryError):
        made.oracle.answer_anywhere(made.reference.make_inputs(3))
    assert made.oracle.kind == "float64"


def test_the_global_switches_are_left_as_they_were(tmp_path: Path) -> None:
    made = setting(tmp_path, "return x @ torch.ones(4, 2, dtype=torch.float32)")
    before = (torch.backends.cudnn.allow_tf32, torch.backends.cuda.matmul.allow_tf32)
    made.oracle.answer(made.reference.make_inputs(3))
    assert (torch.backends.cudnn.allow_tf32, torch.backends.cuda.matmul.allow_tf32) == before


def test_the_oracle_does_not_change_the_model(tmp_path: Path) -> None:
    made = setting(tmp_path, "return self.w(x)", init="self.w = nn.Linear(4, 2)")
    made.oracle.answer(made.reference.make_inputs(3))
    assert made.model.w.weight.dtype == torch.float32


def test_full_of_a_plain_file_is_its_only_case(tmp_path: Path) -> None:
    assert problem(tmp_path, "return x", "torch.randn(6, 4)").cases == {"full": Case()}


def test_seeds_of_a_setting_differ_by_purpose_and_case(tmp_path: Path) -> None:
    made = problem(tmp_path, "return x")
    full, small = (prepare_setting(made, case, 42, "cpu") for case in ("full", "small"))
    seeds = [full.construction_seed, full.seed("inputs", 0), full.seed("inputs", 1), small.seed("inputs", 0)]
    assert len(set(seeds)) == 4
    assert full.seed("inputs", 1) == prepare_setting(made, "full", 42, "cpu").seed("inputs", 1)


def test_inputs_from_other_generators_come_out_the_same_again(tmp_path: Path) -> None:
    inputs, constants = "torch.from_numpy(numpy.random.rand(4)), random.random()", "import random\nimport numpy"
    reference = Reference(problem(tmp_path, "return x", inputs, constants=constants), "full", "cpu")
    first, again, other = (reference.make_inputs(seed) for seed in (1, 1, 2))
    assert torch.equal(first[0], again[0])
    assert first[1] == again[1]
    assert first[1] != other[1]


@pytest.mark.parametrize("made", ["torch.rand(4).cuda()", "torch.rand(4, device='cuda')", "torch.rand(4).to('cuda:0')"])
def test_inputs_that_name_the_gpu_come_to_the_referees_device(tmp_path: Path, made: str) -> None:
    reference = Reference(problem(tmp_path, "return x", made), "full", "cpu")
    assert reference.make_inputs(1)[0].device.type == "cpu"
    assert reference.input_specs()[0].is_meta


def test_a_model_that_derives_tensors_from_its_parameters_can_be_copied(tmp_path: Path) -> None:
    init = "self.l = nn.Linear(4, 4)\nself.twice = self.l.weight * 2"
    made = setting(tmp_path, "return x @ self.twice.to(x.dtype)", init=init)
    assert made.oracle.kind == "float64"
