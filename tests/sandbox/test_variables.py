"""Which of the user's variables a worker gets."""

from __future__ import annotations

import subprocess
import sys

import pytest

from harness.devices.environment import VARIABLES
from harness.sandbox.variables import scrubbed


@pytest.mark.parametrize(
    "name",
    ["HF_TOKEN", "WANDB_API_KEY", "CUDA_API_KEY", "TORCH_AUTH", "LD_PRELOAD", "LD_AUDIT", "SSH_AUTH_SOCK", "http_proxy",
     "PYTHONSTARTUP", "BASH_ENV", "HARNESS_RUN_SEED", "DBUS_SESSION_BUS_ADDRESS", "CUDA_MODULE_LOADING"],
)  # fmt: skip
def test_what_is_no_compilers_business_stays_outside(name: str) -> None:
    assert name not in scrubbed({name: "x"}, ())


@pytest.mark.parametrize(
    "name",
    [*VARIABLES, "PATH", "LC_ALL", "LD_LIBRARY_PATH", "CUDA_HOME", "OMP_NUM_THREADS", "MAX_JOBS", "CONDA_PREFIX",
     "ROCM_HOME", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "HSA_OVERRIDE_GFX_VERSION"],
)  # fmt: skip
def test_what_compilers_and_cuda_go_by_comes_along(name: str) -> None:
    assert scrubbed({name: "x"}, ())[name] == "x"


def test_the_user_lets_more_through_by_name() -> None:
    assert scrubbed({"CUTLASS_PATH": "/opt", "OTHER": "x"}, ("CUTLASS_PATH", "NOT_SET")).get("CUTLASS_PATH") == "/opt"
    assert "OTHER" not in scrubbed({"OTHER": "x"}, ("CUTLASS_PATH",))


def test_folders_of_modules_are_made_absolute(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir("/usr")
    assert scrubbed({"PYTHONPATH": ":lib:/opt/x:"}, ())["PYTHONPATH"].split(":")[1:] == ["/usr/lib", "/opt/x"]


def test_what_torch_sets_when_it_is_used_starts_no_other_fork_server() -> None:
    """Servers are told apart by the variables of their workers."""
    code = (
        "import os; from harness.sandbox.variables import scrubbed; before = scrubbed(os.environ, ())\n"
        "import torch._dynamo, torch._inductor.config; torch.manual_seed(0); torch.cuda.is_available()\n"
        "after = scrubbed(os.environ, ()); print({k: v for k, v in after.items() if before.get(k) != v})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "{}"
