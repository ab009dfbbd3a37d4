"""What a case can't do without is counted the same on meta tensors and in a run."""

from __future__ import annotations

import subprocess
import sys

import torch

from harness.referee.work import _Operations


class Layers(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.convolution = torch.nn.Conv2d(3, 8, 3)
        self.linear = torch.nn.Linear(30, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.linear(torch.relu(self.convolution(x))).softmax(-1)


def test_operations_of_a_run_are_those_on_meta_tensors() -> None:
    counted = {}
    for device in ("cpu", "meta"):
        model = Layers().to(device)
        with torch.no_grad(), _Operations() as operations:
            model(torch.ones(2, 3, 32, 32, device=device))
        counted[device] = operations.total
    convolution, linear = 2 * 2 * 8 * 30 * 30 * 27, 2 * 2 * 8 * 30 * 30 * 5
    assert counted == {"cpu": convolution + linear, "meta": convolution + linear}


def test_counting_in_a_run_leaves_the_compiler_alone() -> None:
    """Importing torch._dynamo takes seconds; a process of its own, since other tests may have imported it."""
    code = (
        "import sys, torch\n"
        "from harness.referee.work import _Operations\n"
        "with torch.no_grad(), _Operations() as operations:\n"
        "    torch.relu(torch.ones(2, 3) @ torch.ones(3, 5))\n"
        "assert operations.total == 60\n"
        "assert 'torch._dynamo' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
