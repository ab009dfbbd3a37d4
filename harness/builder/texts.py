"""Building texts: each once for all who send it, in a worker that runs nothing of a solution's."""

from __future__ import annotations

import contextlib
import fcntl
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.builder.extension_cache import (
    SHARED,
    has_build,
    has_library,
    log_of,
    nvcc_calls_of,
    remember_text,
    texts_of,
)
from harness.builder.workers import Workers
from harness.errors import Interrupted
from harness.sandbox.process import WorkerProcess
from harness.sandbox.wire.extension_text import ExtensionText
from harness.sandbox.wire.layout import extensions_folder
from harness.sandbox.wire.means import READ_ONLY_FILES
from harness.sandbox.wire.messages import BuildText, CompilersDescribed, DescribeCompilers, ExtensionReport, TextBuilt

_POLL_S = 0.05
_FACT = "compilers"
_ANSWER_S = 120


@dataclass(frozen=True)
class Texts:
    """The texts of one solution; `namespace` is that of its files (seen_files), `timeout_s` is for each build."""

    workers: Workers
    namespace: str
    timeout_s: float

    def known(self) -> tuple[ExtensionText, ...]:
        """Return the texts that earlier workers of this solution have reported."""
        return texts_of(self._root / self.namespace)

    def build(self, texts: Sequence[ExtensionText], made: dict[str, ExtensionReport]) -> bool:
        """Build what isn't built yet, and put into `made` by its key what came of it. Return False where that can't be
        kept: there are too many of them, or the machine was at fault.

        Raises: SolutionFailed for a build that takes too long or too much memory, MachineError, Interrupted.
        """
        return all(self._is_built(text, text.key(compilers_of(self.workers)), made) for text in texts)

    def built(self) -> list[ExtensionReport]:
        """Report the known ones as a worker would; a refused one only where none of its name compiles."""
        keys = {text.key(compilers_of(self.workers)): text.name for text in self.known()}
        places = (self._root / SHARED, self._root / self.namespace)
        reports = [
            ExtensionReport(name, key, any(has_library(place, key) for place in places), True, 0.0)
            for key, name in keys.items()
            if any(has_build(place, key) for place in places)
        ]
        good = {report.name for report in reports if report.succeeded}
        return [report for report in reports if report.succeeded or report.name not in good]

    @property
    def _root(self) -> Path:
        return extensions_folder(self.workers.cache, self.workers.host.name)

    def _is_built(self, text: ExtensionText, key: str, made: dict[str, ExtensionReport]) -> bool:
        """Say whether it is built afterwards, by whomever, now or before."""
        if not remember_text(self._root / self.namespace, text):
            return False
        places = [self._root / name for name in (SHARED, self.namespace)]
        with _locked(self._root / "locks" / key, self.workers):
            if any(has_build(place, key) for place in places):
                return True
            with self.workers.start_builder(key) as worker:
                made[key] = self._build(worker, text, key)
            return any(has_build(place, key) for place in places)

    def _build(self, worker: WorkerProcess, text: ExtensionText, key: str) -> ExtensionReport:
        """Build a text for all that send the same, if it may be shared and no other worker's files can be read or
        written from there; else for this solution."""
        worker.await_start()
        is_for_all = text.is_shared and READ_ONLY_FILES in worker.protections
        worker.namespace = SHARED if is_for_all else self.namespace
        reply = worker.ask(BuildText(text, key), self.timeout_s)
        assert isinstance(reply, TextBuilt)
        log_of(worker, key)
        if worker.backend == "sim":
            nvcc_calls_of(worker, key)
        return reply.extension


def compilers_of(workers: Workers) -> str:
    """Return what of the machine is part of a text's key. Raises: MachineError, Interrupted."""
    if _FACT not in workers.facts:
        with workers.start(for_build=True) as worker:
            reply = worker.ask(DescribeCompilers(), _ANSWER_S)
        assert isinstance(reply, CompilersDescribed)
        workers.facts[_FACT] = reply.digest
    return workers.facts[_FACT]


@contextlib.contextmanager
def _locked(path: Path, workers: Workers) -> Iterator[None]:
    """Hold the lock of a build: anyone else who wants to build the same waits, in any process. Raises: Interrupted."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if workers.stop.is_set():
                    raise Interrupted from None
                time.sleep(_POLL_S)
        yield
