"""`harness run --backend sim --sanitize` from its beginning to its end: the fault with its place, and who has none."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.shell import Shell
from tests.problem_text import problem_text
from tests.workspace.made import made_workspace

pytestmark = pytest.mark.sim

PROBLEM = """
import torch

rows = 5
columns = 67


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)


def get_inputs():
    return [torch.randn(rows, columns)]


def get_init_inputs():
    return []
"""
SOLUTION = '''
import torch
from torch.utils.cpp_extension import load_inline

CUDA = r"""
__global__ void relu_by_fours(const float* x, float* y, int n) {
  int start = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
  float kept[4] = {};
  bool any = false;
  for (int k = 0; k < 4 && start + k < n; k++) kept[k] = fmaxf(x[start + k], 0.0f);
  for (int k = 0; k < COUNT; k++) any |= kept[k] > 0.0f;
  for (int k = 0; k < 4 && start + k < n; k++) y[start + k] = any ? kept[k] : 0.0f;
}
torch::Tensor relu(torch::Tensor x) {
  auto y = torch::empty_like(x);
  int n = x.numel();
  relu_by_fours<<<(n + 255) / 256, 64>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
  return y;
}
"""
built = load_inline("relu", "torch::Tensor relu(torch::Tensor x);", CUDA, functions=["relu"])


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return built.relu(x)
'''
COUNTS = {"within": "min(4, n - start)", "takes_the_rest": "(n - start < 8 ? n - start : 4)"}
"""Up to where `kept` is looked at. 335 values are 83 fours and 3: of the 83rd thread the second one makes 7 values."""

Run = Callable[..., tuple[int, dict[str, Any]]]


@pytest.fixture
def run(harness: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs the solutions, both unless options name one; gives the exit code, and the record of each by name."""
    files = {"problems/relu/problem.py": PROBLEM, "configs/fast.yaml": "correctness: {seeds: 1}\n"}
    for name, count in COUNTS.items():
        files[f"solutions/relu/{name}/solution.py"] = SOLUTION.replace("COUNT", count)
    for file, text in files.items():
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text(text)
    monkeypatch.chdir(tmp_path)

    def run_some(*options: str) -> tuple[int, dict[str, Any]]:
        outcome = harness("run", "--problem", "relu", "--backend", "sim", "--config", "fast", "-q", "--json", *options)
        records = [json.loads(line) for line in outcome.out.splitlines()]
        return outcome.code, {record["solution"]["name"]: record for record in records}

    return run_some


def test_overrun_of_a_local_array_is_told_with_its_place_and_the_look_alike_passes(run: Run) -> None:
    code, found = run("--sanitize")
    assert code == 1
    assert (found["within"]["verdict"], found["within"]["failure"]) == ("passed", None)
    assert found["takes_the_rest"]["verdict"] == "memory_error"
    failure = found["takes_the_rest"]["failure"]
    for fact in (
        *("array-index-out-of-bounds", "relu_by_fours", ":11", "block [1, 0, 0]", "thread [18, 0, 0]"),
        *("index 4 ", "'float [4]'", "3 times"),
    ):
        assert fact in failure["reason"]
    code_line = "for (int k = 0; k < (n - start < 8 ? n - start : 4); k++) any |= kept[k] > 0.0f;"
    assert failure["details"].split(" | ") == ["   11", code_line]
    assert {record["config"]["correctness"]["sanitize"] for record in found.values()} == {True}


def test_the_fast_build_lets_it_pass(run: Run) -> None:
    code, found = run("--solution", "takes_the_rest")
    assert (code, found["takes_the_rest"]["verdict"]) == (0, "passed")


ACCUMULATING = problem_text(
    "sums.add_(x)",
    "torch.randn(rows, columns), torch.rand(rows, columns)",
    constants="rows = 5\ncolumns = 67",
    given="sums, x",
)
ADDS = '''
import torch
from torch.utils.cpp_extension import load_inline

CUDA = r"""
__global__ void add(float* sums, float* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) { BODY }
}
torch::Tensor accumulate(torch::Tensor sums, torch::Tensor x) {
  int n = x.numel();
  add<<<(n + 255) / 256, 256>>>(sums.data_ptr<float>(), x.data_ptr<float>(), n);
  return sums;
}
"""
DECLARED = "torch::Tensor accumulate(torch::Tensor sums, torch::Tensor x);"
built = load_inline("add", DECLARED, CUDA, functions=["accumulate"])


class ModelNew(torch.nn.Module):
    def forward(self, sums, x):
        return built.accumulate(sums, x)
'''
BODIES = {
    "right": "sums[i] += x[i];",
    "changes_the_other": "sums[i] += x[i]; x[i] = 0;",
    "races": "float next = i + 1 < n ? sums[i + 1] : 0; sums[i] += x[i] + 0 * next;",
}


@pytest.mark.parametrize(
    ("solution", "verdict", "found"),
    [
        ("right", "passed", None),
        ("changes_the_other", "wrong_values", "input-write"),
        ("races", "nondeterministic", "race"),
    ],
)
def test_an_input_that_the_reference_changes_is_memory_like_any_other(
    harness: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, solution: str, verdict: str, found: str | None
) -> None:
    made_workspace(tmp_path, "sums", ACCUMULATING, {solution: ADDS.replace("BODY", BODIES[solution])})
    (tmp_path / "configs").mkdir()
    (tmp_path / "configs/fast.yaml").write_text("correctness: {seeds: 1}\n")
    monkeypatch.chdir(tmp_path)
    outcome = harness("run", "sums", solution, "--backend", "sim", "--config", "fast", "-q", "--json", "--sanitize")
    record = json.loads(outcome.out)
    assert record["verdict"] == verdict
    assert found is None or found in record["failure"]["reason"]
