"""The two sides of a device: the memory that both see, and what a worker runs on."""

# ruff: noqa: B027 - what a device leaves out it has nothing to do for

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from harness.sandbox.wire.device import Account, BufferHandle, Conditions, Finding, KernelRun, SeenGpu

if TYPE_CHECKING:
    import torch

    from harness.model.timing import TimerOverhead


@dataclass(frozen=True)
class Measured:
    """A call's result and what was seen of it; None where time means nothing.

    `gpu_ns` is its time in the metric of the turn, `tail_ns` how long the device went on working after its outputs were
    copied, `launch_ns` how long the host was busy with it. `queued`: whether the device had not begun when the host was
    done. `unasked`: an error of the runtime's that the call left behind, in words.
    """

    result: object
    gpu_ns: int | None
    tail_ns: int | None
    unasked: str | None = None
    launch_ns: int | None = None
    queued: bool | None = None


class WorkerDevice:
    """The device as a worker uses it; there is one per process. By itself it times nothing and finds nothing.

    It inherits from nothing: beside a solution, the guard watches our own classes, and abc.ABC is open to everyone.
    """

    torch_device: str = "cuda"
    """Always 'cuda': a solution can't tell the simulator by the device's name."""

    def warm_up(self) -> None:
        """Pay now, before any code of a solution, what the first use of the device costs."""

    def ready_libraries(self) -> None:
        """Have torch create what its libraries can't create later, while a graph is captured."""

    def show(self, gpu: SeenGpu, is_rehearsed: bool) -> None:
        """Have torch speak of a GPU that this process doesn't hold. Tensors that are to be on it stay on the CPU.
        `is_rehearsed`: Triton compiles kernels for it and launches none."""
        raise NotImplementedError

    def rehearse(self, model: torch.nn.Module, inputs: Sequence[Any], call: Callable[..., object]) -> None:
        """Call with tensors on such a GPU, which have no values: those of a module are replaced, and those of `inputs`
        made of meta tensors. Raises what an operation raises that needs values."""
        raise NotImplementedError

    def open_buffer(self, handle: BufferHandle, fd: int | None) -> torch.Tensor:
        """Return a one-dimensional uint8 tensor on the device that aliases the shared buffer."""
        raise NotImplementedError

    def close_buffer(self, buffer: torch.Tensor) -> None:
        """Unmap a buffer that open_buffer() gave; its tensors are dead afterwards."""

    def begin(self, conditions: Conditions) -> None:
        """Begin a turn, before its calls, and after start_trace() if it is traced."""

    def end_forward(self) -> None:
        """Note that the call which is measured, a training step, has gone forward."""

    def peak_bytes(self) -> int | None:
        """Return the most that a call since begin() took of torch's allocator; None if that doesn't tell."""
        return None

    def allocated_bytes(self) -> int | None:
        """Return what torch's allocator has given out now; None if that doesn't tell."""
        return None

    def measure(
        self,
        call: Callable[[], object],
        fitting: Callable[[object], Sequence[tuple[torch.Tensor, torch.Tensor]]],
        inputs: Sequence[torch.Tensor] = (),
    ) -> Measured:
        """Run `call`, which reads `inputs`, under the turn's conditions and at once copy the pairs (source,
        destination) that `fitting` makes of its result; pairs have the same shape and dtype. Nothing of torch that a
        solution could replace lies between the call's end and the copies."""
        raise NotImplementedError

    def start_trace(self) -> None:
        """Record every kernel, copy and fill from now on."""
        raise NotImplementedError

    def take_trace(self) -> tuple[KernelRun, ...] | None:
        """End the trace, and return what ran since start_trace(); None if no trace can be had here."""
        raise NotImplementedError

    def can_trace(self) -> bool:
        """Try whether take_trace() returns what runs. May take a while, and comes before any code of a solution."""
        raise NotImplementedError

    def synchronize(self) -> None:
        """Wait for all work; raises what the device reports (RuntimeError)."""
        raise NotImplementedError

    def limit_launches(self, count: int | None = None, seed: int = 0, seconds: float | None = None) -> None:
        """Run only `count` blocks of each launch from now on (first, last, random), none for 0, or all for None. Give
        up launches that would take longer together, by what their first blocks take; None for any time."""
        raise NotImplementedError

    def take_findings(self) -> tuple[tuple[Finding, ...], int]:
        """Return faults seen and the number of kernels launched since the last call."""
        return (), 0

    def give_back(self) -> None:
        """Give memory that is kept for later calls back to others."""

    def account(self) -> Account | None:
        """Return the account of all that was seen up to the last take_findings(); None if the device keeps none."""
        return None


@dataclass(frozen=True)
class SharedBuffer:
    """Memory that the referee owns and a worker may open. `content` is the referee's own view, uint8, flat."""

    content: torch.Tensor
    handle: BufferHandle
    descriptor: int | None
    release: Callable[[], None]


class Host(ABC):
    """The device as the referee uses it."""

    name: Literal["cuda", "sim"]
    torch_device: str
    """The place of the referee's own tensors: the GPU, or the CPU under the simulator."""

    @abstractmethod
    def allocate(self, nbytes: int) -> SharedBuffer:
        """Allocate fresh shared memory. Raises: MemoryError."""

    def worker_arguments(self) -> list[str]:
        """List what `python -m harness.worker` needs to know beyond the cache."""
        return []

    @abstractmethod
    def worker_environment(self, for_build: bool) -> dict[str, str]:
        """Return the environment variables of a worker; one that builds doesn't see the GPU."""

    @property
    def sees_writes(self) -> bool:
        """Say whether any write of a kernel's into an input is seen, and a fault unless the input may change."""
        return False

    def seen_gpu(self) -> SeenGpu | None:
        """Describe the device for workers that build; None if they have one of their own."""
        return None

    def timer_overhead(self) -> TimerOverhead | None:
        """Measure what the clock of a timed call shows by itself; None if nothing is timed."""
        return None

    def require_alive(self) -> None:
        """Run a probe kernel. Raises: MachineError if the device doesn't do in time what it is told."""

    def free_bytes(self) -> int | None:
        """Return how much of the device's memory is free; None if that is the host's."""
        return None
