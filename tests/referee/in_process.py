"""A worker in the test's own process, on the CPU: the real arm behind a device that only calls and copies."""

from __future__ import annotations

import itertools
import mmap
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import torch

from harness.cudasim import Toolkit
from harness.devices.base import Measured
from harness.devices.sim.host import SimHost
from harness.model.config import Config, CorrectnessConfig, LimitsConfig
from harness.referee.buffers.case_turns import at
from harness.referee.correctness import Watch, check_case
from harness.referee.found import CaseOutcome
from harness.referee.job import Job, make_job
from harness.referee.sampling import check_sampled, must_be_sampled
from harness.referee.setting import Setting, prepare_setting
from harness.sandbox.process import Made, SolutionRaised
from harness.sandbox.wire.device import BufferHandle, Conditions, Finding, KernelRun
from harness.sandbox.wire.messages import (
    Attach,
    Construct,
    Describe,
    Detach,
    Done,
    GiveBack,
    Load,
    Loaded,
    Raised,
    TakeTurn,
    TurnTaken,
)
from harness.worker.arm import Arm
from harness.workspace.problem import Precision, load_problem
from harness.workspace.selection import Task
from harness.workspace.solution import Solution, SolutionFile
from tests.files import laid


class InProcessDevice:
    """Implements base.WorkerDevice. `times` are what its clock shows for one call after another, `tail_ns` for every
    tail."""

    torch_device = "cpu"
    unasked: str | None = None
    """What every call leaves behind."""
    queued: bool | None = True

    def __init__(self, times: Sequence[int | None], tail_ns: int) -> None:
        self._times = itertools.cycle(times)
        self._tail_ns = tail_ns

    def warm_up(self) -> None: ...

    def open_buffer(self, handle: BufferHandle, fd: int | None) -> torch.Tensor:
        assert fd is not None
        whole = torch.frombuffer(mmap.mmap(fd, handle.offset + handle.nbytes), dtype=torch.uint8)
        return whole[handle.offset : handle.offset + handle.nbytes]

    def close_buffer(self, buffer: torch.Tensor) -> None: ...

    def begin(self, conditions: Conditions) -> None: ...

    def end_forward(self) -> None: ...

    def peak_bytes(self) -> int | None:
        return 77

    def allocated_bytes(self) -> int | None:
        return None

    def measure(
        self,
        call: Callable[[], object],
        fitting: Callable[[object], Sequence[tuple[torch.Tensor, torch.Tensor]]],
        inputs: Sequence[torch.Tensor] = (),
    ) -> Measured:
        result = call()
        for source, destination in fitting(result):
            self.store(source, destination)
        nanoseconds = next(self._times)
        tail_ns = None if nanoseconds is None else self._tail_ns
        return Measured(result, nanoseconds, tail_ns, self.unasked, launch_ns=3, queued=self.queued)

    def store(self, source: torch.Tensor, destination: torch.Tensor) -> None:
        destination.copy_(source)

    def can_trace(self) -> bool:
        return True

    def give_back(self) -> None: ...

    def account(self) -> None:
        return None

    def synchronize(self) -> None: ...

    def limit_launches(self, count: int | None = None, seed: int = 0, seconds: float | None = None) -> None: ...

    def take_findings(self) -> tuple[tuple[Finding, ...], int]:
        return (), 0

    def start_trace(self) -> None: ...

    def take_trace(self) -> tuple[KernelRun, ...] | None:
        return ()


class InProcessWorker:
    """Answers as a WorkerProcess does. `turns` are the requests for turns that it got."""

    def __init__(
        self, model: type[torch.nn.Module] | None = None, times: Sequence[int | None] = (None,), tail_ns: int = 0
    ) -> None:
        """Without a model it takes that of the file which it is told to load."""
        extensions: Any = type("NoExtensions", (), {"take_reports": lambda self: ()})()
        self._arm = Arm(InProcessDevice(times, tail_ns), extensions)
        self._arm._class = model
        self.backend = "sim"
        self.made: Made | None = None
        self.turns: list[TakeTurn] = []
        self.times_given_back = 0
        self.is_paused = self.is_closed = False
        self.pid = 4711
        self.turns_ns = 0
        self.can_trace: bool | None = None
        self._text = ""

    def bring_text(self, name: str, text: str) -> str:
        self._text = text
        return name

    def ask(self, request: Any, timeout_s: float, descriptors: Sequence[int] = ()) -> Any:
        assert not self.is_paused, "asked while it stands still"
        assert not self.is_closed, "asked after its end"
        try:
            with torch.no_grad():
                return self._answer(request, descriptors)
        except Exception as error:
            raise SolutionRaised(Raised(type(error).__name__, str(error), "")) from error

    def pause(self, thoroughly: bool = True) -> None:
        self.is_paused = True

    def resume(self) -> None:
        self.is_paused = False

    def close(self) -> None:
        self.is_closed = True

    def __enter__(self) -> InProcessWorker:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _answer(self, request: Any, descriptors: Sequence[int]) -> Any:
        if isinstance(request, Load):
            names: dict[str, Any] = {"__name__": "brought"}
            exec(self._text, names)
            self._arm._class = names[request.class_name]
            return Loaded(())
        if isinstance(request, Attach):
            return self._arm.attach(request, descriptors[0])
        if isinstance(request, Detach):
            return self._arm.detach(request)
        if isinstance(request, Construct):
            return self._arm.construct(request)
        if isinstance(request, Describe):
            return self._arm.describe()
        if isinstance(request, GiveBack):
            self.times_given_back += 1
            return Done()
        assert isinstance(request, TakeTurn)
        self.turns.append(request)
        return _as_on_a_gpu(self._arm.take_turn(request))


def _as_on_a_gpu(reply: TurnTaken) -> TurnTaken:
    """What lies on the CPU here is what would lie on 'cuda'."""
    calls = []
    for call in reply.calls:
        forms = tuple(replace(form, device="cuda") if form.device == "cpu" else form for form in call.outputs)
        calls.append(replace(call, outputs=forms))
    return replace(reply, calls=tuple(calls))


def computing(forward: Callable[..., Any]) -> type[torch.nn.Module]:
    """A module without parameters whose forward() returns this of the inputs and of what the constructor was given."""

    class Computing(torch.nn.Module):
        def __init__(self, *own: Any) -> None:
            super().__init__()
            self._own = own

        def forward(self, *given: Any) -> Any:
            return forward(*given, *self._own)

    return Computing


def in_process_host() -> SimHost:
    return SimHost(Toolkit(Path("never-built")))


def job_of(folder: Path, cases: tuple[str, ...], config: Config, precision: Precision | None = None) -> Job:
    """A job whose problem lies in `folder`, for a solution that stays in the test's own process."""
    solution = Solution("s", folder.name, folder, SolutionFile(precision=precision))
    return make_job("run", Task(load_problem(folder), solution, cases), config, 7)


def setting_of(folder: Path, source: str, yaml: str = "", case: str = "full") -> Setting:
    """The setting of a problem with this problem.py and problem.yaml."""
    problem = laid(folder / "pool", {"problem.py": source, "problem.yaml": yaml})
    return prepare_setting(load_problem(problem), case, 7, "cpu")


def checked(
    setting: Setting,
    model: type[torch.nn.Module],
    seeds: int = 3,
    watch: Watch | None = None,
    fragile: Literal["remark", "fail"] = "remark",
    turns_s: float | None = None,
) -> tuple[CaseOutcome, InProcessWorker]:
    """What check_case() makes of a module, or check_sampled() where the case is too large."""
    worker: Any = InProcessWorker(model)
    config = Config(CorrectnessConfig(seeds=seeds, fragile=fragile), limits=LimitsConfig(turns_s=turns_s))
    with at(setting.case, None):
        if must_be_sampled(setting, in_process_host()):
            return check_sampled(setting, in_process_host(), worker, config, watch, lambda: worker), worker
        return check_case(setting, in_process_host(), worker, config, lambda what: None, watch), worker
