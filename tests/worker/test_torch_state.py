"""torch's global switches in a worker, each test in a process of its own: they are a process's, and some stay set."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter, defaultdict
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from harness.devices.environment import FLAGS
from harness.sandbox.wire.messages import Compilation
from harness.worker.torch_state import compilation, read_flags
from tests.machine import ROOT

_NEWER = hasattr(torch.backends, "fp32_precision")
"""torch 2.9: the precision of float32 has a second name."""

CHANGED = """
import json, os, sys, torch
from pathlib import Path
from harness.sandbox.wire.messages import Load
from harness.devices.environment import FLAGS
from harness.worker.arm import Arm

class Device:
    torch_device = "cpu"
class Extensions:
    folder = Path("none")
    def take_reports(self): return ()

for path in sys.argv[1:]:
    if not os.fork():
        arm = Arm(Device(), Extensions())
        arm.load(Load(path, "ModelNew", FLAGS))
        changes = {change.name: [change.before, change.after] for change in arm.describe().flags}
        print(json.dumps(changes), flush=True)
        os._exit(0)
    os.wait()
"""
OLDER = {
    "torch.backends.cudnn.benchmark = True": {"cudnn_benchmark": [False, True]},
    "torch.backends.cuda.enable_flash_sdp(False)": {"flash_sdp": [True, False]},
    "torch.set_float32_matmul_precision('high')": {"float32_matmul_precision": ["highest", "high"]},
    "torch._C._jit_set_texpr_fuser_enabled(True)": {"jit_texpr_fuser": [False, True]},
    "torch.backends.cuda.matmul.allow_tf32 = False": {},
    "": {},
}
"""Lines of a file, and the flags that each changes, before and after."""
NEWER = "torch.backends.cuda.matmul.fp32_precision = 'tf32'"


def run(code: str, *arguments: str, **variables: str) -> Any:
    """What a Python process of the worker's kind prints, as JSON; a list, where it prints several lines."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **variables}
    command = [sys.executable, "-c", code, *arguments]
    found = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=120)
    printed = [json.loads(line) for line in found.stdout.splitlines()]
    return printed[0] if len(printed) == 1 else printed


@pytest.fixture(scope="module")
def changed_by(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """By line of a file: what is changed once that is loaded, each in a process of its own."""
    lines = [*OLDER, *([NEWER] if _NEWER else [])]
    files = [tmp_path_factory.mktemp("solution") / "solution.py" for _ in lines]
    for file, line in zip(files, lines, strict=True):
        file.write_text(f"import torch\n{line}\nclass ModelNew: ...\n")
    return dict(zip(lines, run(CHANGED, *map(str, files)), strict=True))


def test_they_are_those_of_the_referee_whatever_the_variables_say() -> None:
    code = (
        "import json; from harness.worker.torch_state import *; from harness.devices.environment import FLAGS; "
        "before = read_flags(); set_flags({**FLAGS, 'deterministic_algorithms': True}); "
        "print(json.dumps([before, read_flags()]))"
    )
    before, after = run(code, TORCH_ALLOW_TF32_CUBLAS_OVERRIDE="1")
    assert (before["matmul_allow_tf32"], before["float32_matmul_precision"]) == (True, "high")
    assert {name: after[name] for name in FLAGS} == {**FLAGS, "deterministic_algorithms": True}


def test_torchs_own_defaults_are_what_is_set() -> None:
    """So that setting them changes nothing that was measured before they were."""
    found = run("import json; from harness.worker.torch_state import *; print(json.dumps(read_flags()))")
    assert {name: found[name] for name in FLAGS} == FLAGS


def test_torchscript_fuses_nothing_on_a_gpu() -> None:
    found = run("import json; from harness.worker.torch_state import *; set_flags({}); print(json.dumps(read_flags()))")
    assert (found["jit_texpr_fuser"], found["jit_can_fuse_on_gpu"]) == (False, False)


def test_reading_them_changes_nothing() -> None:
    assert read_flags() == read_flags()


@pytest.mark.parametrize("line", OLDER)
def test_what_a_file_changes_on_import_is_told(changed_by: dict[str, Any], line: str) -> None:
    found, change = changed_by[line], OLDER[line]
    assert {name: found[name] for name in change} == change
    if "precision" not in line:
        assert found == change


@pytest.mark.skipif(not _NEWER, reason="this torch has one name for the precision of float32")
def test_a_precision_that_is_set_by_its_newer_name_is_told_although_the_old_one_refuses(
    changed_by: dict[str, Any],
) -> None:
    found = changed_by[NEWER]
    assert found["matmul_fp32_precision"] == ["ieee", "tf32"]
    assert found["float32_matmul_precision"][0] == "highest"
    assert found["matmul_allow_tf32"][0] is False


COUNT = """
import json, torch
from harness.worker.torch_state import compilation

class Model(torch.nn.Module):
    def forward(self, x):
        y = x + 1
        torch._dynamo.graph_break()
        return y * 2

def count():
    found = compilation()
    return found and [found.graphs, found.graph_breaks, found.recompilations]

before = count()
model = torch.compile(Model(), backend="eager")
model(torch.ones(3))
model(torch.ones(3))
first = count()
model(torch.ones(3, 3))
print(json.dumps([before, first, count()]))
"""


def test_graphs_their_breaks_and_recompilations_are_counted() -> None:
    """The second shape compiles both halves of the function again."""
    assert run(COUNT) == [None, [2, 1, 0], [4, 2, 2]]


def with_torch(monkeypatch: pytest.MonkeyPatch, utils: Any, frames: Any) -> Compilation | None:
    monkeypatch.setitem(sys.modules, "torch._dynamo.utils", utils)
    monkeypatch.setitem(sys.modules, "torch._dynamo.convert_frame", frames)
    return compilation()


def test_what_torch_does_not_count_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    unknown = Compilation(None, None, None)
    assert with_torch(monkeypatch, SimpleNamespace(), SimpleNamespace()) == unknown
    renamed = SimpleNamespace(counters=defaultdict(Counter, {"functions": Counter(total=1)}))
    assert with_torch(monkeypatch, renamed, SimpleNamespace(FRAME_COMPILE_COUNTER=Counter())) == unknown


def test_functions_that_the_compiler_left_alone_gave_no_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    utils = SimpleNamespace(counters=defaultdict(Counter, {"frames": Counter(total=1)}))
    frames = SimpleNamespace(FRAME_COMPILE_COUNTER=Counter({0: 1}))
    assert with_torch(monkeypatch, utils, frames) == Compilation(0, 0, 0)
