"""`harness check-problem`: names, exit codes, what it prints."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.shell import Shell

WEAK = """\
import torch
import torch.nn as nn

rows = 8


class Model(nn.Module):
    def forward(self, x):
        return torch.softmax(x, 1)


def get_inputs():
    return [torch.randn(rows, 4096)]


def get_init_inputs():
    return []
"""
SOUND = WEAK.replace("torch.softmax(x, 1)", "x * 2")


@pytest.fixture
def problems(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A sound problem, a weak one, and one that no CPU bears. The CPU judges, whatever the machine has."""
    for name, source in (("sound", SOUND), ("weak", WEAK), ("huge", SOUND.replace("rows = 8", "rows = 2**20"))):
        (tmp_path / "problems" / name).mkdir(parents=True)
        (tmp_path / "problems" / name / "problem.py").write_text(source)
    (tmp_path / "problems" / "weak" / "problem.yaml").write_text("tolerance: {atol: 1.0e-4, rtol: 1.0e-4}\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HARNESS_CHECK_PROBLEM_BACKEND", "sim")
    return tmp_path


def test_a_sound_problem_ends_with_zero(harness: Shell, problems: Path) -> None:
    outcome = harness("check-problem", "sound")
    assert outcome.code == 0
    assert outcome.out.startswith("sound lets none")
    assert "same twice" in outcome.out


def test_a_problem_that_lets_a_mutant_pass_ends_with_one_and_advice(harness: Shell, problems: Path) -> None:
    outcome = harness("check-problem", "weak")
    assert outcome.code == 1
    words = " ".join(outcome.out.split())
    assert words.startswith("weak lets wrong")
    assert "let pass: one_element:" in words
    assert "lower the tolerance" in words


def test_without_a_name_all_are_judged(harness: Shell, problems: Path) -> None:
    outcome = harness("check-problem")
    assert outcome.code == 1
    titles = [line for line in outcome.out.splitlines() if line.split(" ")[0] in ("huge", "sound", "weak")]
    assert [title.split()[:3] for title in titles] == [
        ["huge", "not", "examined"],
        ["sound", "lets", "none"],
        ["weak", "lets", "wrong"],
    ]


def test_what_could_not_be_examined_ends_with_three(harness: Shell, problems: Path) -> None:
    outcome = harness("check-problem", "huge", "sound")
    assert outcome.code == 3
    assert "not examined: full:" in outcome.out
    assert "34 GB" in outcome.out


def test_programs_get_a_line_of_json_for_each_problem(harness: Shell, problems: Path) -> None:
    outcome = harness("check-problem", "s*", "weak", "--json", "--seed", "11")
    found = [json.loads(line) for line in outcome.out.splitlines()]
    assert [(one["problem"], one["is_sound"], one["seed"]) for one in found] == [
        ("sound", True, 11),
        ("weak", False, 11),
    ]
    assert {"one_element", "last_element"} <= set(found[1]["let_pass"])
    assert found[0]["let_pass"] == []


def test_the_named_cases_alone_are_tried(harness: Shell, problems: Path) -> None:
    yaml = "cases: {tiny: {constants: {rows: 2}}, odd: {constants: {rows: 3}}}"
    (problems / "problems" / "sound" / "problem.yaml").write_text(yaml)
    outcome = harness("check-problem", "sound", "-c", "tiny", "-c", "odd", "--json")
    assert {draw["case"] for draw in json.loads(outcome.out)["draws"]} == {"tiny", "odd"}


def test_verbose_shows_every_draw_in_eighty_columns(harness: Shell, terminal: None, problems: Path) -> None:
    out = harness("check-problem", "sound", "weak", "--verbose").out
    assert "reference/tol" in out
    assert [line for line in out.splitlines() if len(line) > 80] == []


def test_an_empty_workspace_says_what_to_do(harness: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "problems").mkdir()
    monkeypatch.chdir(tmp_path)
    outcome = harness("check-problem")
    assert outcome.code == 2
    assert "'harness new problem'" in outcome.err
