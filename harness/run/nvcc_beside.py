"""The real nvcc beside the simulator: it compiles while what was built for the simulator is judged."""

from __future__ import annotations

import os
from concurrent.futures import Future, ThreadPoolExecutor

from harness.builder.build import BuildOutcome, CompilerRefused
from harness.builder.nvcc_check import Opinions, SimulatedBuild, ask_nvcc
from harness.builder.second_opinion import of_build
from harness.builder.workers import Workers
from harness.devices import Nvcc, find_nvcc
from harness.model.config import NvccConfig
from harness.referee.job import Job
from harness.run.cores import keep_thread_to


class NvccBeside:
    """Opinions on what is built for the simulator. `nvcc` is None where there is none, or nobody wants to hear it: then
    the source alone is looked at. Checks have a lower priority than what is judged meanwhile."""

    def __init__(self, nvcc: Nvcc | None, workers: Workers, config: NvccConfig) -> None:
        self._nvcc = nvcc
        self._workers = workers
        self._config = config
        at_once = max(1, (os.cpu_count() or 2) // 2)
        self._threads = ThreadPoolExecutor(at_once, initializer=keep_thread_to, initargs=(None, True))

    def begin(self, job: Job, built: BuildOutcome) -> Future[Opinions] | None:
        """Begin asking nvcc about a build that went well; None where there is nothing to wait for. The future raises
        Interrupted."""
        if self._nvcc is None or not built.calls:
            return None
        return self._threads.submit(self._ask, job, built)

    def settled(self, job: Job, built: BuildOutcome) -> tuple[BuildOutcome, Opinions]:
        """The build with what is known of it by now: of one that failed, what nvcc says, which is waited for; of
        others, where nobody asks nvcc, what is sure without it."""
        if built.failed is None:
            return (of_build(built, {}) if self._nvcc is None else built), {}
        is_asked = self._nvcc is not None and isinstance(built.failed, CompilerRefused) and built.failed.nvcc_knows
        opinions = self._ask(job, built) if is_asked else {}
        return of_build(built, opinions), opinions

    def close(self) -> None:
        """Close it. What is under way ends by itself once the run is told to stop; what isn't is never begun."""
        self._threads.shutdown(cancel_futures=True)

    def _ask(self, job: Job, built: BuildOutcome) -> Opinions:
        assert self._nvcc is not None
        subject = SimulatedBuild(job.solution, built, job.solution_ref.sha256)
        return ask_nvcc(self._nvcc, self._workers, subject, self._config)


def nvcc_beside(workers: Workers, config: NvccConfig) -> NvccBeside | None:
    """Make it for the simulator; None on a GPU, where nvcc compiles in any case."""
    if workers.host.name != "sim":
        return None
    return NvccBeside(find_nvcc() if config.enabled else None, workers, config)
