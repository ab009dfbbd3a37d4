"""Writers of one journal and a builder of its index, killed at random moments; what they acknowledged must be there."""

from __future__ import annotations

import itertools
import os
import random
import select
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path

from harness.model.evaluation import Evaluation
from harness.store import journal
from harness.store.index import open_index
from harness.store.journal import Journal, journal_files, scan_journals
from tests.examples import passed, timing
from tests.processes import CLEAN, LIMIT_S

Job = Callable[[Path, str, int], None]
"""Gets the results folder, a name of its own and the descriptor to report to."""


@dataclass
class Tally:
    """What `kill_at_random` saw. `torn` are the lines that a kill left unfinished."""

    kills: int = 0
    acknowledged: set[str] = field(default_factory=set)
    found: int = 0
    torn: int = 0


def kill_at_random(results: Path, kills: int, seed: int, writers: int = 3) -> Tally:
    """Keep `writers` processes appending to the same file and one building the index; kill one after the other.

    After each kill the index is opened: AssertionError where an acknowledged evaluation is missing, stands twice or
    differs from what was written, or a line is bad for another reason than being torn.
    """
    chance = random.Random(seed)
    crew = _Crew(results)
    tally = Tally()
    try:
        for _ in range(writers):
            crew.start(_write)
        crew.start(_build_index)
        for _ in range(kills):
            crew.wait_for(chance.randrange(1, 12))
            crew.kill(chance.choice(crew.descriptors))
            tally.kills += 1
            with crew.paused(_write):  # or they would write faster than we read
                _judge(results, crew.acknowledged)
    finally:
        crew.end()
    tally.acknowledged = crew.acknowledged
    tally.found, tally.torn = _judge(results, crew.acknowledged)
    whole = [found.id for found in scan_journals(journal_files(results)) if isinstance(found, Evaluation)]
    assert len(whole) == len(set(whole)) == tally.found, "the index differs from the journal"
    return tally


@dataclass
class _Member:
    process: BaseProcess
    job: Job
    heard: Connection
    rest: bytes = b""
    """The beginning of a line whose end hasn't come."""


class _Crew:
    """Processes that send a line for each evaluation that is safely kept."""

    def __init__(self, results: Path) -> None:
        self.results = results
        self.acknowledged: set[str] = set()
        self._members: dict[int, _Member] = {}
        self._started = 0

    @property
    def descriptors(self) -> list[int]:
        return list(self._members)

    def start(self, job: Job) -> None:
        self._started += 1
        heard, said = CLEAN.Pipe(duplex=False)
        process = CLEAN.Process(target=_work, args=(job, self.results, f"w{self._started}", said))
        process.start()
        said.close()
        self._members[heard.fileno()] = _Member(process, job, heard)

    def wait_for(self, evaluations: int) -> None:
        while evaluations > 0:
            speaking = select.select(self.descriptors, [], [], LIMIT_S)[0]
            assert speaking, f"nobody has done anything for {LIMIT_S} s"
            for descriptor in speaking:
                news = self._receive(descriptor)
                assert news is not None, "one ended by itself"
                evaluations -= news

    def kill(self, descriptor: int) -> None:
        """And start another in its place, once everything that it had said is heard."""
        member = self._members[descriptor]
        member.process.kill()
        member.process.join()
        assert member.process.exitcode == -signal.SIGKILL, "ended by itself"
        while self._receive(descriptor) is not None:
            pass
        member.heard.close()
        del self._members[descriptor]
        self.start(member.job)

    @contextmanager
    def paused(self, job: Job) -> Iterator[None]:
        numbers = [member.process.pid for member in self._members.values() if member.job is job]
        for number in numbers:
            os.kill(number, signal.SIGSTOP)
        yield
        for number in numbers:
            os.kill(number, signal.SIGCONT)

    def end(self) -> None:
        for member in self._members.values():
            member.process.kill()
            member.process.join()
            member.heard.close()

    def _receive(self, descriptor: int) -> int | None:
        """Read what there is; how many evaluations it acknowledges, None at the end of it all."""
        member = self._members[descriptor]
        data = os.read(descriptor, 65536)
        *whole, member.rest = (member.rest + data).split(b"\n")
        news = {line.decode() for line in whole if line != b"built"}
        self.acknowledged |= news
        return len(news) if data else None


def _work(job: Job, results: Path, name: str, said: Connection) -> None:
    job(results, name, said.fileno())


def _write(results: Path, name: str, out: int) -> None:
    """Every other writer has a slow disk, which takes a line in pieces: only so can a kill leave a torn one."""
    if int(name[1:]) % 2:
        journal._write_all = _write_in_pieces  # in this child process alone
    kept = Journal(results, "run-1")
    for number in itertools.count():
        kept.append(_evaluation(f"{name}-{number}"))
        os.write(out, f"{name}-{number}\n".encode())


def _write_in_pieces(file: object, data: bytes) -> None:
    for start in range(0, len(data), 4):
        file.write(data[start : start + 4])  # type: ignore[attr-defined]


def _build_index(results: Path, name: str, out: int) -> None:
    results.mkdir(exist_ok=True)
    for number in itertools.count():
        with open_index(results, rebuild=number % 8 == 0) as index:
            index.tallies()
        os.write(out, b"built\n")


def _evaluation(name: str) -> Evaluation:
    return passed(id=name, timing=timing(solution_ns=1_000_000 + len(name)))


def _judge(results: Path, acknowledged: set[str]) -> tuple[int, int]:
    complaints: list[str] = []
    with open_index(results, say=complaints.append) as index:
        ids = [entry.id for entry in index.entries()]
        problems = index.status().problems
        some = sorted(acknowledged)[:: max(1, len(acknowledged) // 5)]
        assert [index.evaluation(one) for one in some] == [_evaluation(one) for one in some]
    assert acknowledged <= set(ids), f"lost: {acknowledged - set(ids)}"
    assert len(ids) == len(set(ids)), "an evaluation counts twice"
    assert all("unfinished" in problem.what or "torn" in problem.what for problem in problems), problems
    assert complaints == []
    return len(ids), len(problems)
