"""benchmarks/honest_arms.py: plain sums in a reference, what is compared, and what is concluded from rows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from harness.referee.answers.serial_sums import Recomputed
from tests.files import laid
from tests.problem_text import problem_text
from tests.scripts import script

arms, serial = script("honest_arms"), script("serial_sums")

LINEAR = problem_text(
    "torch.relu(self.linear(x))",
    "torch.rand(batch_size, 40)",
    "self.linear = nn.Linear(40, 40)",
    constants="batch_size = 16",
)
MUTE = problem_text("nn.functional.layer_norm(x, x.shape[1:]).mean(1)", "torch.rand(4, 64)")


def workspace(folder: Path, **problems: str) -> Path:
    return laid(folder, {f"problems/{name}/problem.py": source for name, source in problems.items()})


def run(folder: Path, *options: str) -> tuple[int, list[dict[str, Any]]]:
    """On a CPU; the exit code and all rows."""
    code = arms.main([str(folder), "--device", "cpu", "--out", str(folder / "rows.jsonl"), *options])
    return code, arms.read(folder / "rows.jsonl")


def test_tf32_products_replace_convolutions_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serial, "_is_in_tf32", lambda *given: True)
    module, value = nn.Conv2d(3, 4, 3), torch.rand(2, 3, 9, 8)
    with torch.no_grad(), Recomputed(serial.TF32) as mode:
        found = module(value)
        value.sum()
        value @ torch.rand(8, 2)
    assert mode.count == 1
    torch.testing.assert_close(found, module(value).detach(), rtol=1e-3, atol=1e-3)


def test_a_convolution_in_float32_is_not_replaced_by_tf32_products() -> None:
    with torch.no_grad(), Recomputed(serial.TF32) as mode:  # a CPU has no tf32
        nn.Conv2d(3, 4, 3)(torch.rand(2, 3, 9, 8))
    assert mode.count == 0


def test_honest_arms_are_compared_seed_by_seed_and_once(tmp_path: Path) -> None:
    folder = workspace(tmp_path, linear=LINEAR)
    code, rows = run(folder, "--seeds", "2", "--shrink", "4")
    assert code == 0
    found = [(row["seed"], row["arm"], row["alarm"], row["shrink"]) for row in rows if arms.is_comparison(row)]
    assert found == [(seed, arm, False, 4) for seed in (0, 1) for arm in ("eager", "serial")]
    assert {row["arm"]: row["told_by"] for row in rows if row["seed"] is None}["zeros"] == "as drawn"
    assert run(folder, "--seeds", "2", "--shrink", "4")[1] == rows
    assert len(run(folder, "--seeds", "9", "--shrink", "4")[1]) > len(rows)


def test_an_arm_beyond_the_tolerance_is_an_alarm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def off(setting: Any, inputs: list[Any]) -> list[torch.Tensor]:
        return [1.01 * output for output in setting.oracle.native(inputs)]

    monkeypatch.setattr(arms, "ARMS", {**arms.ARMS, "eager": off})
    code, rows = run(workspace(tmp_path, linear=LINEAR), "--seeds", "1", "--no-mutants")
    assert code == 1
    assert [(row["arm"], row["worst"] > 4) for row in rows if row["alarm"]] == [("eager", True)]


@pytest.mark.heavy
def test_what_runs_out_of_memory_is_a_row_and_can_be_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def hungry(setting: Any, inputs: list[Any]) -> list[torch.Tensor]:
        raise torch.OutOfMemoryError("too large")

    folder = workspace(tmp_path, linear=LINEAR)
    with monkeypatch.context() as patched:
        patched.setattr(arms, "ARMS", {**arms.ARMS, "eager": hungry})
        _, rows = run(folder, "--seeds", "1", "--no-mutants")
    reasons = {row["arm"]: row.get("reason") for row in rows}
    assert (reasons["eager"], reasons["serial"]) == ("OutOfMemoryError: too large", None)
    _, rows = run(folder, "--seeds", "1", "--no-mutants", "--again")
    assert [row["arm"] for row in arms.merged(rows) if arms.is_comparison(row)] == ["eager", "serial"]


@pytest.mark.heavy
def test_parts_share_the_problems_and_end_in_time(tmp_path: Path) -> None:
    folder = workspace(tmp_path, a=LINEAR, b=LINEAR, c=LINEAR.replace("(x))", "(x)).reshape(7)"))
    options = ("--seeds", "1", "--no-mutants")
    assert {row["problem"] for row in run(folder, "--part", "2/2", *options)[1]} == {"b"}
    _, rows = run(folder, "--part", "1/2", "--minutes", "0", *options)
    assert [row["problem"] for row in rows].count("a") == 1
    _, rows = run(folder, "--problem", "[ac]", *options)
    assert [row["problem"] for row in rows if arms.is_comparison(row)].count("a") == 2
    assert [row["arm"] for row in rows if row["problem"] == "c"] == ["setting"]


def test_a_problem_that_cannot_tell_is_named(tmp_path: Path) -> None:
    _, rows = run(workspace(tmp_path, mute=MUTE), "--seeds", "1")
    told = {row["arm"]: row["told_by"] for row in rows if row["seed"] is None}
    assert told["ones"] == "as drawn"
    assert told["zeros"] is None
    lines = list(arms.report(rows, list(arms.ARMS)))
    assert "| zeros | 0 | 0 | 1 | mute |" in lines


def test_wrong_answers_are_tried_without_any_seed(tmp_path: Path) -> None:
    _, rows = run(workspace(tmp_path, linear=LINEAR), "--seeds", "0")
    assert [row["arm"] for row in rows] == [*arms.CRUDEST, *arms.CHEAPER]


def test_files_are_merged_into_a_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def row(problem: str, seed: int | None, arm: str, worst: float | None, **more: Any) -> str:
        facts = {"problem": problem, "seed": seed, "arm": arm, "worst": worst, "alarm": False}
        return json.dumps({**facts, "gpu": "H200", "torch": "2.11", "shrink": 4, **more})

    one, two = tmp_path / "one.jsonl", tmp_path / "two.jsonl"
    one.write_text("\n".join([row("p", 0, "eager", 0.5), row("p", 0, "serial", 1.25, alarm=True), '{"problem": "p"']))
    two.write_text(
        "\n".join([
            row("p", 0, "eager", 0.5),
            row("q", 0, "eager", 1.125, gpu="H100"),
            row("q", 1, "eager", None, reason="OutOfMemoryError: too large"),
            row("q", 1, "channels-last", None, reason="doesn't apply"),
            row("q", None, "zeros", 0.5, told_by=None),
            row("p", None, "zeros", 0.5, told_by="few terms"),
        ])
    )  # fmt: skip
    assert arms.main(["--report", str(one), str(two)]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("3 comparisons, 2 problems, 1 alarms")
    for line in (
        "| H200, torch 2.11, batch / 4 | 2 |",
        "| H100, torch 2.11, batch / 4 | 1 |",
        "| eager | 2 | 2 | 0 | 1 | 1.125 | q | 1 |",
        "| serial | 1 | 1 | 1 | 0 | 1.250 | p | 0 |",
        "| channels-last | 0 | 0 | 0 | 0 | 0.000 | — | 0 |",
        "| p | serial | 1 | 1.25 | yes |",
        "| zeros | 0 | 1 | 1 | q |",
        "| q | eager | OutOfMemoryError: too large | 1 |",
    ):
        assert line in lines
