"""The precision of a problem that declares none: that of most of what goes in and comes out."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from harness.builder.build import BuildOutcome
from harness.model.config import Config
from harness.referee import evaluation as evaluation_module
from harness.referee.job import make_job
from harness.referee.setting import prepare_setting
from harness.workspace.problem import load_problem
from harness.workspace.selection import select_tasks
from harness.workspace.workspace import Workspace
from tests.examples import check, comparison, environment

SOURCE = """
import torch


class Model(torch.nn.Module):
    def forward(self, *given):
        return {forward}


def get_inputs():
    return [{inputs}]


def get_init_inputs():
    return []
"""
HALF = "torch.randn(4, 8).bfloat16()"


@pytest.mark.parametrize(
    ("inputs", "forward", "yaml", "expected"),
    [
        ("torch.randn(4, 8)", "given[0] * 2", "", "float32"),
        (HALF, "given[0] * 2", "", "bfloat16"),
        (f"{HALF}, {HALF}, torch.rand(4, 8)", "given[0] * given[1]", "", "bfloat16"),
        ("torch.randn(4, 8), torch.ones(4, 1).half()", "given[0] * given[1]", "", "float32"),
        ("torch.randn(4, 64).to(torch.float8_e4m3fn)", "given[0].bfloat16()[:, :1]", "", "bfloat16"),
        ("torch.arange(8)", "given[0] + 1", "", "float32"),
        ("torch.randn(4, 8).double(), torch.ones(1)", "given[0] * 2", "", "float64"),
        (HALF, "given[0] * 2", "precision: float32", "float32"),
    ],
)
def test_most_elements_decide_where_nothing_is_declared(
    tmp_path: Path, inputs: str, forward: str, yaml: str, expected: str
) -> None:
    (tmp_path / "problem.py").write_text(SOURCE.format(inputs=inputs, forward=forward))
    (tmp_path / "problem.yaml").write_text(yaml)
    assert prepare_setting(load_problem(tmp_path), "full", 1, "cpu").precision == expected


@pytest.mark.parametrize(("found", "recorded"), [("bfloat16", "bfloat16"), (None, "float32")])
def test_the_record_has_what_the_reference_showed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, found: str | None, recorded: str
) -> None:
    for kind, name, text in (("problems", "problem", SOURCE), ("solutions", "own/solution", "class ModelNew: ...")):
        file = tmp_path / kind / "p" / f"{name}.py"
        file.parent.mkdir(parents=True)
        file.write_text(text.format(inputs=HALF, forward="given[0]"))

    def run(judging: Any) -> None:
        judging.found.precision = found
        judging.found.checks.append(check(comparison()))

    monkeypatch.setattr(evaluation_module._Judging, "in_either_mode", run)
    (task,) = select_tasks(Workspace(tmp_path))
    workers: Any = SimpleNamespace(host=SimpleNamespace(name="cuda"))
    job = make_job("run", task, Config(), 1)
    evaluation = evaluation_module.evaluate(job, workers, environment(), BuildOutcome((), None, 0.0))
    assert evaluation.problem.precision == recorded
