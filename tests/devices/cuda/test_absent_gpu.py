"""What a solution sees that is to come to its builds without a GPU. In a process of its own: torch is changed."""

from __future__ import annotations

import subprocess
import sys

CODE = """
import torch
from harness.sandbox.wire.device import SeenGpu
from harness.devices.cuda.absent_gpu import AbsentGpu

gpu = AbsentGpu(SeenGpu({"name": "H200", "major": 9, "minor": 0, "multi_processor_count": 132}), False)


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = torch.nn.Parameter(torch.ones(4, device="cuda"))
        self.register_buffer("table", torch.arange(4).cuda())
        self.linear = torch.nn.Linear(4, 4, device=torch.device("cuda:0"))


model = Model().cuda().to("cuda")
assert {value.device.type for value in model.state_dict().values()} == {"cpu"}
assert torch.zeros(2, pin_memory=True).to(device="cuda", dtype=torch.float16).dtype is torch.float16
assert torch.cuda.is_available()
assert torch.cuda.get_device_name() == "H200"
assert torch.cuda.get_device_capability(0) == (9, 0)
assert torch.cuda.get_device_properties(torch.cuda.current_device()).multi_processor_count == 132
assert torch.device("cuda" if torch.cuda.is_available() else "cpu").type == "cuda"

torch.set_grad_enabled(False)  # as in workers
seen = []
tied = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Linear(4, 4))
tied[1].weight = tied[0].weight


def call(x, count):
    made = torch.empty(count, 4, device="cuda")
    seen.append((x.device, made.device, (x + 1).shape, tied[0].weight is tied[1].weight))


gpu.rehearse(tied, [torch.empty(3, 4, device="meta"), 3], call)
assert seen == [(torch.device("cuda:0"), torch.device("cuda:0"), (3, 4), True)]
assert torch.zeros(1, device="cuda").device.type == "cpu"
"""


def test_a_solution_is_told_of_the_gpu_and_its_tensors_stay_on_the_cpu_or_have_no_values() -> None:
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True)
    assert done.stderr == ""
    assert done.returncode == 0
