"""A turn as the arm takes it."""

from __future__ import annotations

import weakref
from pathlib import Path
from typing import Any

import pytest
import torch

from harness.sandbox.wire.codec import encode_value
from harness.sandbox.wire.device import Conditions, KernelRun
from harness.sandbox.wire.messages import Argument, Call, Construct, Load, TakeTurn, TensorRef
from harness.worker.arm import Arm
from harness.worker.guard import Guard
from tests.files import laid
from tests.referee.in_process import InProcessDevice


class Noting(InProcessDevice):
    """Writes down what it is told."""

    def __init__(self) -> None:
        super().__init__((None,), 0)
        self.told: list[str] = []

    def begin(self, conditions: Conditions) -> None:
        self.told.append("begin")

    def start_trace(self) -> None:
        self.told.append("trace")

    def ready_libraries(self) -> None:
        self.told.append("libraries")


def arm_of(device: InProcessDevice, folder: Path = Path("none")) -> Arm:
    extensions = type("NoExtensions", (), {"take_reports": lambda self: (), "folder": folder})()
    given: Any = extensions
    arm = Arm(device, given)
    arm._class, arm._guard, arm._is_guarded = torch.nn.Identity, Guard(device), True
    arm.construct(Construct(encode_value([]), 7))
    return arm


class Counting(InProcessDevice):
    """Knows which of the tensors that `Making` made are alive."""

    def __init__(self) -> None:
        super().__init__((None,), 0)
        self.living = weakref.WeakSet[torch.Tensor]()

    def allocated_bytes(self) -> int:
        return sum(tensor.nbytes for tensor in self.living)


class Making(torch.nn.Module):
    """`keeps` what it returns until the next call."""

    def __init__(self, living: weakref.WeakSet[torch.Tensor], keeps: bool) -> None:
        super().__init__()
        self._living, self._keeps = living, keeps
        self._last: torch.Tensor | None = None

    def forward(self) -> torch.Tensor:
        made = torch.zeros(4)
        self._living.add(made)
        self._last = made if self._keeps else None
        return made


@pytest.mark.parametrize(
    ("keeps_outputs", "model_keeps", "is_given_back"), [(False, False, True), (False, True, False), (True, False, None)]
)
def test_what_a_call_returned_is_given_back_before_the_next(
    keeps_outputs: bool, model_keeps: bool, is_given_back: bool | None
) -> None:
    device = Counting()
    arm = arm_of(device)
    arm._model = Making(device.living, model_keeps)
    taken = arm.take_turn(TakeTurn((Call((), ()),) * 3, Conditions(), keeps_outputs))
    assert [call.is_given_back for call in taken.calls] == [is_given_back] * 3


def test_an_input_that_is_returned_needs_not_be_given_back() -> None:
    arm = arm_of(Counting())
    arm._model = torch.nn.Identity()
    arm._buffers = {0: torch.zeros(64, dtype=torch.uint8)}
    given = Call((Argument(TensorRef(0, "float32", (4,), (1,))),), ())
    (call,) = arm.take_turn(TakeTurn((given,), Conditions(), False)).calls
    assert (call.shares, call.is_given_back) == (("input 0",), True)


class Forging(InProcessDevice):
    """Whose trace is exchanged during a turn, and put back where it is taken."""

    def begin(self, conditions: Conditions) -> None:
        self.take_trace = self.forged  # type: ignore[method-assign]

    def start_trace(self) -> None: ...

    def forged(self) -> tuple[KernelRun, ...]:
        del self.take_trace
        return ()


def test_what_a_forged_trace_puts_back_is_found_before() -> None:
    arm = arm_of(Forging((None,), 0))
    guard: Any = type("Looking", (), {"patched": lambda self: ("take_trace",) * ("take_trace" in vars(arm.device))})()
    arm._guard = guard
    assert arm.take_turn(TakeTurn((), Conditions(), traced=True)).patched == ("take_trace",)
    assert vars(arm.device).keys().isdisjoint({"take_trace"})


def test_a_guard_that_is_gone_is_found() -> None:
    arm = arm_of(Noting())
    assert arm.take_turn(TakeTurn((), Conditions())).patched == ()
    arm._guard = None
    assert arm.take_turn(TakeTurn((), Conditions())).patched == ("harness.worker.arm.Arm._guard",)


def test_a_trace_begins_before_anything_else_of_a_turn_runs() -> None:
    """Else a thread that a turn wakes up has what comes before the first call for itself."""
    device = Noting()
    arm = arm_of(device)
    arm.take_turn(TakeTurn((), Conditions(), traced=True))
    assert device.told == ["trace", "begin"]
    arm.take_turn(TakeTurn((), Conditions()))
    assert device.told == ["trace", "begin", "begin"]


@pytest.mark.parametrize(("torch_device", "told"), [("cuda", ["libraries"]), ("cpu", [])])
def test_libraries_are_ready_before_a_solution_that_may_capture_a_graph(
    tmp_path: Path, torch_device: str, told: list[str]
) -> None:
    """Where the reference ran in the same process they would be; a worker that only builds has no use for them."""
    plain, captures = "class ModelNew: ...", "graph = 'torch.cuda.CUDAGraph'\n"
    folders = (
        {"solution.py": plain},
        {"solution.py": f"{captures}\n{plain}"},
        {"solution.py": plain, "own.py": captures},
    )
    for number, files in enumerate(folders):
        device = Noting()
        device.torch_device = torch_device
        folder = laid(tmp_path / str(number), files)
        arm_of(device, tmp_path).load(Load(str(folder / "solution.py"), "ModelNew", {}))
        assert device.told == (told if number else [])


@pytest.mark.parametrize(
    ("name", "device_kind", "given", "seen"),
    [
        ("ModelNew", "cuda", None, "1"),
        ("ModelNew", "cuda", "8", "8"),
        ("ModelNew", "cpu", None, "None"),
        ("Model", "cuda", None, "None"),
    ],
)
def test_a_solution_on_a_gpu_compiles_by_torch_in_its_own_process_unless_told_otherwise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, device_kind: str, given: str | None, seen: str
) -> None:
    monkeypatch.setenv("TORCHINDUCTOR_COMPILE_THREADS", given or "")  # the test's end takes back what is set meanwhile
    if not given:
        monkeypatch.delenv("TORCHINDUCTOR_COMPILE_THREADS")
    text = f"import os\nclass {name}:\n    seen = str(os.environ.get('TORCHINDUCTOR_COMPILE_THREADS'))\n"
    device = Noting()
    arm = arm_of(device, tmp_path)
    device.torch_device = device_kind
    arm.load(Load(str(laid(tmp_path, {"threads.py": text}) / "threads.py"), name, {}))
    assert arm._class.seen == seen
