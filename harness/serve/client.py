"""The client: jobs to a server and their evaluations back, in the API's own types. It needs httpx, and no torch."""

from __future__ import annotations

import asyncio
import re
import time
import uuid
from collections import deque
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager, contextmanager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from harness.api.loading import folder_name
from harness.errors import HarnessError, MachineError, UsageError, refused
from harness.model.evaluation import Evaluation
from harness.model.plural import several
from harness.serve.messages import JobList, QueuedJob, Submission
from harness.store.line import from_line

if TYPE_CHECKING:
    import httpx

_WAIT_S = 30.0
_AT_ONCE = 20
_MOST_BYTES = 2**20
"""JSON of the jobs in a request; servers take four times as much unless told otherwise."""
_PATIENCE = 5
"""Tries of a request that gets no answer, or is told to come again, each after twice the pause of the one before."""
_AT_FIRST = 2
"""Tries likewise while the server has never answered: its address may be mistyped."""
_NO_UNICODE = re.compile("[\ud800-\udfff]")
_Text = str | Path


def connect(url: str, token: str | None = None) -> Client:
    """A client of the server at `url`, such as 'http://localhost:8300'. Raises: UsageError, MachineError."""
    return Client(url, token)


class _RequestTooLarge(UsageError):
    """The server takes no request of this size."""


class _Requests:
    """The requests and answers that both clients share."""

    def __init__(self, url: str, token: str | None) -> None:
        try:
            import httpx
        except ImportError:
            raise MachineError("asking a server needs httpx: pip install 'kernel-harness[serve]'") from None
        try:
            base = httpx.URL(url if "://" in url else f"http://{url}")
        except httpx.InvalidURL as error:
            raise UsageError(f"{url!r} is no address of a server: {error}") from None
        if base.scheme not in ("http", "https") or not base.host:
            raise UsageError(f"{url!r} is no address of a server; write it as http://localhost:8300")
        self._httpx = httpx
        self._patience = _AT_FIRST
        self._settings: dict[str, Any] = {
            "base_url": base,
            "headers": {"Authorization": f"Bearer {token}"} if token else {},
            "timeout": httpx.Timeout(10.0, read=_WAIT_S + 30.0),
        }

    @staticmethod
    def submission(problem: _Text, solution: _Text, **facts: Any) -> Submission:
        """A path stands for the file's text; a solution's own name is that of its file. Raises: UsageError."""
        if name := facts.pop("name", None) or (solution.stem if isinstance(solution, Path) else None):
            facts["name"] = folder_name(str(name))
        # What isn't Unicode can't be sent, and no Python reads it; NUL neither, so that it gets the same verdict.
        text = _NO_UNICODE.sub("\0", _text(solution, "solution"))
        try:
            return Submission(problem=_text(problem, "problem"), solution=text, **facts)
        except ValidationError as error:
            fault = error.errors()[0]
            raise UsageError(f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}") from None

    @classmethod
    def next_ones(
        cls, problem: _Text, solutions: Iterator[_Text], facts: dict[str, Any]
    ) -> tuple[list[Submission], HarnessError | None]:
        """The jobs that are next, and what is wrong with the one after them: it is raised when they are through."""
        found: list[Submission] = []
        try:
            for one in islice(solutions, _AT_ONCE):
                found.append(cls._keyed(cls.submission(problem, one, **facts)))
        except HarnessError as error:
            return found, error
        return found, None

    @staticmethod
    def bodies(asked: Sequence[Submission]) -> Iterator[dict[str, Any]]:
        """Requests that a server takes by their size, one job at least in each. Each job has a key, so that all can be
        sent again when an answer is lost."""
        jobs: list[dict[str, Any]] = []
        size = 0
        for one in asked:
            keyed = _Requests._keyed(one)
            size += len(keyed.model_dump_json().encode())
            if jobs and size > _MOST_BYTES:
                yield {"jobs": jobs}
                jobs, size = [], len(keyed.model_dump_json().encode())
            jobs.append(keyed.model_dump(mode="json"))
        if jobs:
            yield {"jobs": jobs}

    @staticmethod
    def _keyed(one: Submission) -> Submission:
        return one if one.key else one.model_copy(update={"key": uuid.uuid4().hex})

    @staticmethod
    def smaller(asked: Sequence[Submission], refused: _RequestTooLarge) -> Iterator[Sequence[Submission]]:
        """Jobs in place of those that were too large: halves; of a single one, a text that says so when it is loaded.

        Raises: `refused` where no text of a solution is to blame.
        """
        if len(asked) > 1:
            middle = len(asked) // 2
            yield from (asked[:middle], asked[middle:])
            return
        (one,) = asked
        size = len(one.solution.encode())
        why = f"a text of {size:,} bytes is more than the server takes in a request (--most-mib); it wasn't judged"
        text = f"raise ValueError({why!r})\n"
        if size <= max(len(one.problem.encode()), 2 * len(text)):  # also where it is such a text already
            raise refused
        yield [one.model_copy(update={"solution": text})]

    @staticmethod
    @contextmanager
    def telling_of(accepted: Sequence[QueuedJob]) -> Iterator[None]:
        """Have an error name the jobs that were accepted before it."""
        try:
            yield
        except (UsageError, MachineError) as error:
            if not accepted:
                raise
            names = f"{accepted[0].id} to {accepted[-1].id}"
            raise type(error)(f"{error}; accepted before: {several(len(accepted), 'job')}, {names}") from error

    def answered(self, answer: httpx.Response | httpx.TransportError) -> httpx.Response:
        """Raises: UsageError where the server refuses the request, MachineError where it can't serve it."""
        if isinstance(answer, self._httpx.TransportError):
            raise MachineError(f"{self._settings['base_url']}: no answer: {answer}") from answer
        if answer.is_success:
            return answer
        try:
            detail = answer.json()["detail"]
        except (ValueError, KeyError, TypeError):
            detail = answer.text[:200]
        kind = MachineError if answer.status_code >= 500 else UsageError
        raise (_RequestTooLarge if answer.status_code == 413 else kind)(
            f"{answer.request.method} {answer.request.url}: {answer.status_code}: {detail}"
        )

    def pause_s(self, answer: httpx.Response | httpx.TransportError, attempt: int) -> float | None:
        """The seconds until a request is made again; None where its answer is final."""
        said, is_final = "", False
        if isinstance(answer, self._httpx.Response):
            self._patience = _PATIENCE
            said, is_final = answer.headers.get("Retry-After", ""), answer.status_code not in (429, 502, 503, 504)
        if is_final or attempt >= self._patience:
            return None
        return min(60.0, float(said)) if said.isdigit() else 0.5 * 2.0**attempt

    @staticmethod
    def ended(job: QueuedJob) -> QueuedJob:
        """Raises: UsageError for one that has no evaluation."""
        if job.state != "done":
            raise UsageError(f"{job.id} is {job.state}: {job.error or 'it has no evaluation'}")
        return job


class Client(_Requests, AbstractContextManager["Client"]):
    """A context manager; one thread uses it at a time."""

    def __init__(self, url: str, token: str | None = None) -> None:
        super().__init__(url, token)
        self._http = self._httpx.Client(**self._settings)

    def submit(self, asked: Sequence[Submission]) -> list[QueuedJob]:
        """Hand in jobs, a megabyte of them at once. An answer that is lost has them sent again, as the same jobs.

        Raises: UsageError, MachineError.
        """
        accepted: list[QueuedJob] = []
        for body in self.bodies(asked):
            with self.telling_of(accepted):
                answer = self._ask("POST", "/jobs", json=body)
            accepted += JobList.model_validate_json(answer.content).jobs
        return accepted

    def job(self, job: str, wait_s: float = 0.0) -> QueuedJob:
        """A job as it stands, or when it has ended within so many seconds. Raises: UsageError for an unknown one."""
        return QueuedJob.model_validate_json(self._ask("GET", f"/jobs/{job}", params={"wait": wait_s}).content)

    def cancel(self, job: str) -> QueuedJob:
        """Raises: UsageError for one that was begun."""
        return QueuedJob.model_validate_json(self._ask("DELETE", f"/jobs/{job}").content)

    def evaluation(self, job: str) -> Evaluation:
        """Wait for a job's evaluation. Raises: UsageError where it ends without one, MachineError."""
        while (found := self.job(job, _WAIT_S)).state in ("queued", "running"):
            pass
        return from_line(self._ask("GET", f"/jobs/{self.ended(found).id}/evaluation").content)

    def evaluate(self, problem: _Text, solution: _Text, **facts: Any) -> Evaluation:
        """Judge one solution: `problem` is a name, or the path or text of a file; `solution` the path or text of one.
        `facts` are those of Submission: name, config, cases, priority, key."""
        (job,) = self.submit([self.submission(problem, solution, **facts)])
        return self.evaluation(job.id)

    def evaluate_many(self, problem: _Text, solutions: Iterable[_Text], **facts: Any) -> Iterator[Evaluation]:
        """Evaluations in the order of `solutions`, of which some are handed in ahead. A text that is larger than the
        server takes gets a `load_error` that says so."""
        source, waiting, wrong = _several(solutions), deque[QueuedJob](), None
        while True:
            if len(waiting) < _AT_ONCE and not wrong:
                some, wrong = self.next_ones(problem, source, facts)
                waiting += self._submit_each(some)
            if not waiting and wrong:
                raise wrong
            if not waiting:
                return
            yield self.evaluation(waiting.popleft().id)

    def close(self) -> None:
        self._http.close()

    def __exit__(self, *_: object) -> None:
        self.close()

    def _submit_each(self, asked: Sequence[Submission]) -> list[QueuedJob]:
        """Submit jobs that have keys, and what smaller() gives in place of those that are too large."""
        try:
            return self.submit(asked)
        except _RequestTooLarge as error:
            refused = error
        return [job for some in self.smaller(asked, refused) for job in self._submit_each(some)]

    def _ask(self, method: str, path: str, **content: Any) -> httpx.Response:
        attempt = 0
        while True:
            try:
                answer: httpx.Response | httpx.TransportError = self._http.request(method, path, **content)
            except self._httpx.TransportError as error:
                answer = error
            pause_s = self.pause_s(answer, attempt)
            if pause_s is None:
                return self.answered(answer)
            time.sleep(pause_s)
            attempt += 1


class AsyncClient(_Requests, AbstractAsyncContextManager["AsyncClient"]):
    """The same for asyncio; an asynchronous context manager."""

    def __init__(self, url: str, token: str | None = None) -> None:
        super().__init__(url, token)
        self._http = self._httpx.AsyncClient(**self._settings)

    async def submit(self, asked: Sequence[Submission]) -> list[QueuedJob]:
        """See Client.submit()."""
        accepted: list[QueuedJob] = []
        for body in self.bodies(asked):
            with self.telling_of(accepted):
                answer = await self._ask("POST", "/jobs", json=body)
            accepted += JobList.model_validate_json(answer.content).jobs
        return accepted

    async def job(self, job: str, wait_s: float = 0.0) -> QueuedJob:
        """See Client.job()."""
        return QueuedJob.model_validate_json((await self._ask("GET", f"/jobs/{job}", params={"wait": wait_s})).content)

    async def cancel(self, job: str) -> QueuedJob:
        """See Client.cancel()."""
        return QueuedJob.model_validate_json((await self._ask("DELETE", f"/jobs/{job}")).content)

    async def evaluation(self, job: str) -> Evaluation:
        """See Client.evaluation()."""
        while (found := await self.job(job, _WAIT_S)).state in ("queued", "running"):
            pass
        return from_line((await self._ask("GET", f"/jobs/{self.ended(found).id}/evaluation")).content)

    async def evaluate(self, problem: _Text, solution: _Text, **facts: Any) -> Evaluation:
        """See Client.evaluate()."""
        (job,) = await self.submit([self.submission(problem, solution, **facts)])
        return await self.evaluation(job.id)

    async def evaluate_many(
        self, problem: _Text, solutions: Iterable[_Text], **facts: Any
    ) -> AsyncIterator[Evaluation]:
        """Hand in all at once; else see Client.evaluate_many()."""
        source, jobs, wrong, is_over = _several(solutions), list[QueuedJob](), None, False
        while not is_over:
            some, wrong = self.next_ones(problem, source, facts)
            jobs += await self._submit_each(some)
            is_over = not some or wrong is not None
        for job in jobs:
            yield await self.evaluation(job.id)
        if wrong:
            raise wrong

    async def close(self) -> None:
        await self._http.aclose()

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _submit_each(self, asked: Sequence[Submission]) -> list[QueuedJob]:
        """See Client._submit_each()."""
        try:
            return await self.submit(asked)
        except _RequestTooLarge as error:
            refused = error
        return [job for some in self.smaller(asked, refused) for job in await self._submit_each(some)]

    async def _ask(self, method: str, path: str, **content: Any) -> httpx.Response:
        attempt = 0
        while True:
            try:
                answer: httpx.Response | httpx.TransportError = await self._http.request(method, path, **content)
            except self._httpx.TransportError as error:
                answer = error
            pause_s = self.pause_s(answer, attempt)
            if pause_s is None:
                return self.answered(answer)
            await asyncio.sleep(pause_s)
            attempt += 1


def _several(solutions: Iterable[_Text]) -> Iterator[_Text]:
    if isinstance(solutions, (str, Path)):
        raise UsageError("evaluate_many() takes several solutions, such as a list; evaluate() takes one")
    return iter(solutions)


def _text(given: _Text, kind: str) -> str:
    """A text, or that of a file; what isn't UTF-8 is escaped. Raises: UsageError."""
    if isinstance(given, str):
        return given
    if not isinstance(given, Path):
        raise UsageError(f"a {kind} is a Path or a str; not {type(given).__name__}")
    with refused(UsageError, f"{kind} {given}"):
        return given.read_bytes().decode(errors="surrogateescape")
