"""Problem folders: validated once, with complaints that name file, key and the nearest valid word."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.errors import InvalidFile
from harness.model.check import Tolerance
from harness.workspace.problem import Case, load_problem
from tests.wording import tells
from tests.workspace.test_constants import run

SOURCE = """\
import torch
import torch.nn as nn

batch_size = 16
height = 64
width = height * 2


class Model(nn.Module):
    def forward(self, x):
        return torch.relu(x)


def get_inputs():
    return [torch.rand(batch_size, height, width)]


def get_init_inputs():
    return []
"""


def problem_folder(tmp_path: Path, yaml: str | None = None, source: str = SOURCE) -> Path:
    folder = tmp_path / "relu2d"
    folder.mkdir()
    (folder / "problem.py").write_text(source, encoding="utf-8")
    if yaml is not None:
        (folder / "problem.yaml").write_text(yaml, encoding="utf-8")
    return folder


def complaint(tmp_path: Path, yaml: str | None = None, source: str = SOURCE) -> str:
    with pytest.raises(InvalidFile) as caught:
        load_problem(problem_folder(tmp_path, yaml, source))
    return str(caught.value)


def test_a_kernelbench_file_is_a_problem_as_it_stands(tmp_path: Path) -> None:
    problem = load_problem(problem_folder(tmp_path))
    assert (problem.name, problem.title, problem.description, problem.tags) == ("relu2d", "relu2d", "", ())
    assert (problem.precision, problem.tolerance) == (None, None)
    assert problem.cases == {"full": Case()}
    assert problem.independent_batch is False
    assert problem.source_for("full") == SOURCE


def test_every_key_of_the_file_arrives(tmp_path: Path) -> None:
    yaml = """\
title: Rectified linear unit
description: >
  The larger of
  x and 0.
tags: [elementwise, memory-bound]
precision: bfloat16
tolerance: {atol: 0.5, rtol: 0.25}
independent_batch: true
backward: true
cases:
  small:
    constants: {batch_size: 2, height: 3}
  odd:
    init_inputs: [3, [1, 2], true]
"""
    problem = load_problem(problem_folder(tmp_path, yaml))
    assert problem.title == "Rectified linear unit"
    assert problem.description == "The larger of x and 0."
    assert problem.tags == ("elementwise", "memory-bound")
    assert (problem.precision, problem.tolerance) == ("bfloat16", Tolerance(0.5, 0.25))
    assert problem.independent_batch is True
    assert problem.backward is True
    assert problem.cases == {
        "full": Case(),
        "small": Case({"batch_size": 2, "height": 3}),
        "odd": Case(init_inputs=(3, [1, 2], True)),
    }
    constants = run(problem.source_for("small"), {})
    assert (constants["batch_size"], constants["height"]) == (2, 3)


def test_full_comes_first_wherever_it_is_written(tmp_path: Path) -> None:
    problem = load_problem(problem_folder(tmp_path, "cases: {small: {}, full: {}}"))
    assert list(problem.cases) == ["full", "small"]


def test_a_case_without_values_is_the_problem_as_written(tmp_path: Path) -> None:
    assert load_problem(problem_folder(tmp_path, "cases: {same: }")).cases["same"] == Case()


def test_a_tolerance_can_be_exact(tmp_path: Path) -> None:
    problem = load_problem(problem_folder(tmp_path, "tolerance: exact\nprecision: float16"))
    assert problem.tolerance == Tolerance(0.0, 0.0)


def test_every_fault_of_a_file_is_told_with_its_line(tmp_path: Path) -> None:
    folder = problem_folder(tmp_path, "title: 3\n\ntolerance:\n  atol: -1\n  rtl: 0\ncases: {small: {constants: 7}}\n")
    with pytest.raises(InvalidFile) as error:
        load_problem(folder)
    found = sorted(fault.removeprefix(f"{folder}/problem.yaml:").split(":")[0] for fault in error.value.faults)
    assert found == ["1", "4", "5", "6"]
    assert str(error.value) == error.value.faults[0]


def bomb(depth: int) -> str:
    """Aliases that name ten to the power of `depth` texts."""
    lists = [f"&a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, depth)]
    return f"tags: [{', '.join(['&a0 [x, x, x, x, x, x, x, x, x, x]', *lists])}]\n"


@pytest.mark.parametrize(
    ("yaml", "words"),
    [
        ("precision: fp32", [":1: precision", "'fp32'", "Did you mean 'float32'?"]),
        ("precision: flot32", [":1: precision", "'flot32'", "Did you mean 'float32'?"]),
        ("independent_batch: 1", [":1: independent_batch", "a whole number where true or false belongs"]),
        ("tags: pooling", [":1: tags", "a text where a list belongs"]),
        ("title: 3", [":1: title", "a whole number where a text belongs"]),
        ("tolerance: {atol: -0.5, rtol: 0}", [":1: tolerance", "at least 0"]),
        ("tolerance: loose", [":1: tolerance", "'loose'", "a mapping with atol and rtol, exact"]),
        ("tolerance: exakt", [":1: tolerance", "'exakt'", "Did you mean 'exact'?"]),
        ("tolerance: {atol: 0.5}", [":1: tolerance", "key 'rtol' is missing"]),
        ("tolerance: {atoll: 0.1, rtol: 0.1}", ["unknown key 'tolerance.atoll'. Did you mean 'atol'?"]),
        ("tolerence: exact", [":1", "unknown key 'tolerence'", "Did you mean 'tolerance'?"]),
        ("cases: {small: [1]}", [":1: cases.small", "a list where a mapping belongs"]),
        ("cases: {small: {init_inputs: 3}}", [":1: cases.small.init_inputs", "a whole number where"]),
        ("cases: {small: {constant: {height: 3}}}", ["unknown key 'cases.small.constant'. Did you mean 'constants'?"]),
        (
            "cases: {small: {constants: {hight: 3}}}",
            [": cases.small.constants:", "'hight'", "Did you mean 'height'?"],
        ),
        ("cases: {small: {constants: {height: a}}}", ["cases.small.constants.height: 'a'", "number"]),
        ("cases: {full: {constants: {height: 3}}}", ["cases.full:", "no values"]),
        *((f"cases: {{{name}: {{}}}}", ["quote it"]) for name in ("1", "no")),
        ("[1, 2]", ["list where a mapping of keys belongs"]),
        ("title: a\ntags: []\ntitle: b\n", ["'title'", "twice"]),
        ("title: a\ncases: {small: [\n", [":3:1:"]),
        ("tags: [a,\n  b\ntitle: a\n", [":3:6:", "line 1"]),
        ("title: 'a\ntags: []\n", [":3:1:", "line 1"]),
        ("tags: &a [*a]\n", ["alias"]),
        # what would take minutes
        (bomb(8), ["too many values", "line 1", "aliases"]),
        ("tags: [" + "x," * 20_000 + "]\n", ["too many values", "line 1"]),
        ("".join(f"key{i}: 1\n" for i in range(40_000)), ["bytes", "shorten"]),
        ("tags: " + "[" * 60 + "]" * 60, ["deep", "line 1"]),
        ("title: !!timestamp x\n", ["line 1", "tag"]),
    ],
)
def test_what_is_wrong_with_a_file_is_told(tmp_path: Path, yaml: str, words: list[str]) -> None:
    assert tells(complaint(tmp_path, yaml), f"{tmp_path}/relu2d/problem.yaml", *words)


def test_a_few_aliases_stand_for_what_they_name(tmp_path: Path) -> None:
    yaml = "title: &a relu\ndescription: *a\ncases:\n  x: &b {constants: {height: 1}}\n  y: {<<: *b, init_inputs: []}\n"
    problem = load_problem(problem_folder(tmp_path, yaml))
    assert problem.description == "relu"
    assert problem.cases["y"] == Case({"height": 1}, ())


def test_what_is_too_long_for_a_number_is_a_text(tmp_path: Path) -> None:
    """PyYAML would multiply 1:1:1… by 60 again and again."""
    assert load_problem(problem_folder(tmp_path, f"title: {'1:' * 50_000}1")).title.startswith("1:1:")


@pytest.mark.parametrize("yaml", ["precision: {0}", "{0}: 1", "title: *{0}", "{0}: 1\n{0}: 1"])
def test_a_complaint_is_short_however_long_its_cause(tmp_path: Path, yaml: str) -> None:
    text = complaint(tmp_path, yaml.format("x" * 100_000))
    assert "problem.yaml" in text
    assert len(text) < 2_100


def test_python_that_is_nested_deep_is_refused(tmp_path: Path) -> None:
    assert "problem.py" in complaint(tmp_path, source=f"x = {'-' * 200_000}1\n")


def test_an_empty_file_gives_the_defaults(tmp_path: Path) -> None:
    assert load_problem(problem_folder(tmp_path, "# nothing yet\n")).precision is None


def test_a_tolerance_without_a_point_is_a_number(tmp_path: Path) -> None:
    """YAML 1.1, as PyYAML reads it, takes 1e-3 for a string."""
    problem = load_problem(problem_folder(tmp_path, "tolerance: {atol: 1e-3, rtol: 0}"))
    assert problem.tolerance == Tolerance(1e-3, 0.0)


@pytest.mark.parametrize("name", ["Model", "get_inputs", "get_init_inputs"])
def test_a_missing_definition_is_named(tmp_path: Path, name: str) -> None:
    source = SOURCE.replace("Module):", "Module):\n    def __init__(self, *shape):\n        super().__init__()\n")
    text = complaint(tmp_path, source=source.replace(f" {name}(", " other("))
    assert tells(text, f"{tmp_path}/relu2d/problem.py: '{name}'")


def test_a_syntax_error_is_named_with_its_line(tmp_path: Path) -> None:
    assert complaint(tmp_path, source="import torch\nheight = = 4\n").startswith(f"{tmp_path}/relu2d/problem.py:2: ")


def test_a_folder_without_problem_py_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidFile, match=r"problem\.py is missing"):
        load_problem(tmp_path)


def test_a_file_that_is_no_utf8_is_named(tmp_path: Path) -> None:
    folder = problem_folder(tmp_path)
    (folder / "problem.py").write_bytes(SOURCE.encode() + b"# \xe4\n")
    with pytest.raises(InvalidFile, match=r"problem\.py: .* read"):
        load_problem(folder)


def test_the_hash_follows_what_the_folder_holds(tmp_path: Path) -> None:
    problem = load_problem(problem_folder(tmp_path))
    before = problem.sha256
    (problem.folder / "problem.yaml").write_text("tolerance: exact")
    assert problem.sha256 != before
