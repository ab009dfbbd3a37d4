"""The GPU's state while turns are taken: clocks, power, heat, and who else computes on it. Its use:

with Telemetry() as telemetry:
    ...
    with telemetry.watch() as watch:
        ...  # one turn
    turn = Turn(..., gpu=watch.state())
remarks += telemetry.remarks

On an H100 (driver 580) a sample takes 15 µs (95 % under 21, at worst 0.1 ms), which is 0.2 % of one core; a look at the
processes 40 µs. Kernels of 26 µs took 26.05 µs with it and 25.86 without, within their spread. The energy isn't read:
that takes 3 ms, for a counter that moves every 100 ms.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from harness.devices.cuda.nvml import NvmlGpu, NvmlUnavailable, OpenGpu, Sample, opened_first, reason_names
from harness.model.timing import GpuState

_INTERVAL_S = 0.010
_STALE = 10
"""Samples of a turn that may tell of what was before it: on an H100 (driver 580) power and energy are refreshed every
100 ms, and an idle GPU was still said to be held back by the load before."""

Pause = Callable[[threading.Event], bool]
"""Waits until it is time for a sample, or the event is set; whether it is set."""


class Telemetry:
    """Watches the GPU that torch sees first, through one measurement. A context manager, used by one thread.

    Without NVML nothing fails: states are None, and `remarks` say why, each once. `had_company`: another program was on
    the GPU at one of the looks.
    """

    def __init__(self, open_gpu: OpenGpu = opened_first, pause: Pause = lambda ended: ended.wait(_INTERVAL_S)) -> None:
        """Both arguments are for tests."""
        self._open_gpu = open_gpu
        self._pause = pause
        self._stack = ExitStack()
        self._gpu: NvmlGpu | None = None
        self.remarks: list[str] = []
        self.had_company = False

    @contextmanager
    def watch(self, measured_pid: int | None = None) -> Iterator[Watch]:
        """Sample the GPU while the block runs. A thread does so, which ends with the block, however that ends.

        `measured_pid`: the process whose memory is looked at as well.
        """
        watch = Watch(self._gpu, self._pause, measured_pid)
        thread = threading.Thread(target=watch.sample, name="telemetry", daemon=True)
        if self._gpu is not None:
            thread.start()
        try:
            yield watch
        finally:
            watch.ended.set()
            if self._gpu is not None:
                thread.join()
        watch.other_processes = self.other_processes()

    def other_processes(self) -> int | None:
        """Count who is on the GPU now beside this process and whom it started. It is None without NVML, and if this
        process isn't listed: a container hides processes, or numbers them otherwise."""
        if self._gpu is None:
            return None
        processes = self._gpu.processes()
        if processes is None or os.getpid() not in processes:
            self._remark(
                "whether other programs use the GPU isn't known: its driver doesn't list our own (a container?)"
            )
            return None
        others = sum(not _is_ours(pid) for pid in processes)
        self.had_company |= others > 0
        return others

    def __enter__(self) -> Telemetry:
        try:
            self._gpu = self._stack.enter_context(self._open_gpu())
        except NvmlUnavailable as why:
            self._remark(f"the GPU's clocks, power and temperature are not recorded: {why}")
        return self

    def __exit__(self, *_: object) -> None:
        self._gpu = None
        self._stack.close()

    def _remark(self, text: str) -> None:
        if text not in self.remarks:
            self.remarks.append(text)


def _is_ours(pid: int) -> bool:
    """Say whether a process is this one or descends from it; whom a solution orphans does too, the fork server being
    its parent then. One that has just ended is no company; one that is hidden (hidepid, proc(5)) is another user's."""
    while pid != os.getpid() and pid > 1:
        try:
            pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            return not _lives(pid)
    return pid == os.getpid()


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


class Watch:
    """One turn's samples; made by Telemetry.watch().

    `process_bytes`: how much of the GPU's memory the measured process used at most, as far as samples show, as the
    driver tells: its CUDA context counts (0.6 GiB with torch on an H100), and what it has opened of another's (CUDA
    IPC) doesn't. It is None where the driver doesn't list it.
    """

    def __init__(self, gpu: NvmlGpu | None, pause: Pause, measured_pid: int | None) -> None:
        self._gpu = gpu
        self._pause = pause
        self._measured_pid = measured_pid
        self.process_bytes: int | None = None
        self._samples: list[Sample] = []
        self.ended = threading.Event()
        self.other_processes: int | None = None

    def state(self) -> GpuState | None:
        """Summarise what was seen, once the watch has ended: the lowest memory clock, the highest power and
        temperature, every reason. None without NVML.

        A turn under 0.1 s has the last sample alone, which may be of the turn before.
        """
        if self._gpu is None:
            return None
        samples = self._samples[_STALE:] or self._samples[-1:]
        sm = [sample.sm_mhz for sample in samples if sample.sm_mhz is not None]
        bits = 0
        for sample in samples:
            bits |= sample.reasons or 0
        return GpuState(
            sm_mhz=(min(sm), max(sm)) if sm else None,
            memory_mhz=min((one.memory_mhz for one in samples if one.memory_mhz is not None), default=None),
            power_w=max((one.power_w for one in samples if one.power_w is not None), default=None),
            temperature_c=max((one.temperature_c for one in samples if one.temperature_c is not None), default=None),
            throttled=reason_names(bits),
            other_processes=self.other_processes,
        )

    def sample(self) -> None:
        """Sample, first an interval after the start; a shorter turn has one sample, right at its end."""
        assert self._gpu is not None
        while True:
            is_over = self._pause(self.ended)
            if not is_over or not self._samples:
                self._samples.append(self._gpu.sample())
                used = (self._gpu.processes() or {}).get(self._measured_pid) if self._measured_pid else None
                if used is not None:
                    self.process_bytes = max(self.process_bytes or 0, used)
            if is_over:
                return
