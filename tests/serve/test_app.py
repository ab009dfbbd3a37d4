"""The door, asked as a client would ask: what it takes, what it refuses, and what it tells whom."""

from __future__ import annotations

import asyncio
import json
import re
import resource
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from starlette.testclient import TestClient

from harness.serve import Access, JobQueue, create_app
from harness.serve import app as app_module
from harness.serve.access import TokenOwner
from harness.serve.messages import Submission
from tests.workspace.test_problem import SOURCE

ADA, BOB = "a" * 20, "b" * 20
OWNERS = {"ada": TokenOwner(ADA, may_send_problems=True), "bob": TokenOwner(BOB)}
Door = Callable[..., TestClient]
JSON = {"Content-Type": "application/json"}


@pytest.fixture
def judge() -> SimpleNamespace:
    return SimpleNamespace(troubles=[], doing={})


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    for file, text in (("problems/maxpool2d/problem.py", SOURCE), ("configs/quick.yaml", "timing: {blocks: 6}\n")):
        (tmp_path / file).parent.mkdir(parents=True)
        (tmp_path / file).write_text(text)
    return tmp_path


@pytest.fixture
def door(queue: JobQueue, judge: Any, workspace: Path) -> Iterator[Door]:
    """A client with a token, and the door's settings."""
    opened: list[TestClient] = []

    def opens(token: str | None = ADA, rate: int | None = None, most_bytes: int = 4 * 2**20) -> TestClient:
        app = create_app(queue, judge, workspace, Access(OWNERS, rate), most_bytes)
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        opened.append(TestClient(app, headers=headers))
        return opened[-1]

    yield opens
    for one in opened:
        one.close()


def job(**facts: Any) -> dict[str, Any]:
    return {"problem": "maxpool2d", "solution": "class ModelNew: ...", **facts}


def submit(client: TestClient, *jobs: dict[str, Any]) -> Any:
    return client.post("/jobs", json={"jobs": jobs})


def test_a_job_goes_its_way(door: Door, queue: JobQueue) -> None:
    client = door()
    answer = submit(client, job(name="tiled", key="1"), job(priority=3))
    assert answer.status_code == 202
    first, second = answer.json()["jobs"]
    assert (first["state"], first["name"], first["problem"], second["priority"]) == ("queued", "tiled", "maxpool2d", 3)
    assert client.get(f"/jobs/{first['id']}/evaluation").status_code == 409
    taken = queue.take("", threading.Event(), False)
    assert taken is not None
    assert taken.id == second["id"]
    queue.finish(taken, "20261125T1", "passed", '{"verdict":"passed"}')
    assert client.get(f"/jobs/{taken.id}", params={"wait": 5}).json()["verdict"] == "passed"
    assert client.get(f"/jobs/{taken.id}/evaluation").text == '{"verdict":"passed"}'
    assert client.delete(f"/jobs/{first['id']}").json()["state"] == "cancelled"
    assert client.delete(f"/jobs/{taken.id}").status_code == 409
    assert [one["state"] for one in client.get("/jobs").json()["jobs"]] == ["done", "cancelled"]
    assert [one["id"] for one in client.get("/jobs", params={"state": "done"}).json()["jobs"]] == [taken.id]


@pytest.mark.parametrize("token", [None, "c" * 20])
@pytest.mark.parametrize("path", ["/jobs", "/jobs/job-1", "/jobs/job-1/evaluation", "/events"])
def test_without_a_token_nothing_is_told(door: Door, token: str | None, path: str) -> None:
    answer = door(token).get(path)
    assert (answer.status_code, answer.headers["WWW-Authenticate"]) == (401, "Bearer")
    assert submit(door(token), job()).status_code == 401


def test_nothing_of_one_token_is_seen_by_another(door: Door) -> None:
    (made,) = submit(door(ADA), job()).json()["jobs"]
    other = door(BOB)
    for answer in (
        other.get(f"/jobs/{made['id']}"),
        other.delete(f"/jobs/{made['id']}"),
        other.get(f"/jobs/{made['id']}/evaluation"),
    ):
        assert answer.status_code == 404
    assert other.get("/jobs").json() == {"jobs": []}


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (job(problem="maxpol2d"), "'maxpool2d'?"),
        (job(problem="../etc"), "no problem"),
        (job(config="quik"), "no config 'quik'"),
        (job(config="../../x"), "no config"),
        (job(cases=["smal"]), "no case 'smal'"),
        (job(name="../x"), "name"),
        (job(solution=None), "solution"),
        (job(priority=1000), "priority"),
        (job(sede=1), "sede"),
    ],
)
def test_a_bad_job_is_refused_with_all_of_its_batch(
    door: Door, queue: JobQueue, bad: dict[str, Any], words: str
) -> None:
    answer = submit(door(), job(), bad)
    assert answer.status_code == 422
    assert words in answer.text
    assert queue.counts() == {}


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'{"jobs": []}', b"\xff\xfe", b'{"jobs": ' + b"[" * 5000])
def test_what_is_no_submission_is_refused(door: Door, body: bytes) -> None:
    assert door().post("/jobs", content=body, headers=JSON).status_code in (400, 422)


def test_of_a_job_without_a_solution_that_alone_is_told(door: Door) -> None:
    """The list of jobs was said to be empty as well."""
    answer = door().post("/jobs", json={"jobs": [{"problem": "relu"}]})
    assert (answer.status_code, answer.json()) == (422, {"detail": "body.jobs.0.solution: Field required"})
    assert "at least 1 item" in door().post("/jobs", json={"jobs": []}).json()["detail"]
    assert door().post("/jobs", json={"jobs": 3}).json()["detail"] == "body.jobs: Input should be a list"


def test_a_problems_text_is_taken_from_who_may_run_code_here_alone(door: Door) -> None:
    assert submit(door(ADA), job(problem=SOURCE)).json()["jobs"][0]["problem"] == "text"
    answer = submit(door(BOB), job(problem=SOURCE))
    assert (answer.status_code, "not send their text" in answer.text) == (422, True)


def test_a_key_that_is_anothers_is_a_conflict(door: Door) -> None:
    submit(door(), job(key="1"))
    assert submit(door(), job(key="1")).status_code == 202
    assert submit(door(), job(key="1", name="other")).status_code == 409


def test_a_million_jobs_are_refused_at_once_and_in_a_few_words(door: Door) -> None:
    began = time.monotonic()
    answer = door().post("/jobs", content='{"jobs":[' + "{}," * 1_000_000 + "{}]}", headers=JSON)
    assert (answer.status_code, len(answer.text) < 1_000, time.monotonic() - began < 10) == (422, True, True)
    surrogate = door().post("/jobs", content=b'{"jobs":[{"problem":"relu","solution":"x\\ud800"}]}', headers=JSON)
    assert surrogate.status_code in (400, 422)


@pytest.mark.parametrize("after", ["-1", "9" * 30, "x"])
def test_a_number_that_no_event_has_is_refused(door: Door, after: str) -> None:
    assert door().get("/events", params={"after": after}).status_code == 422
    assert door().get("/events", headers={"Last-Event-ID": after}).status_code == 422


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 202),
        ({"Host": "localhost:8300", "Origin": "http://127.0.0.1:8300"}, 202),
        ({"Host": "[::1]:8300"}, 202),
        ({"Host": "evil.example"}, 403),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Content-Type": "text/plain"}, 415),
    ],
)
def test_a_page_in_a_browser_gets_nothing_done(
    queue: JobQueue, judge: Any, workspace: Path, headers: dict[str, str], status: int
) -> None:
    app = create_app(queue, judge, workspace, Access({}, None))
    with TestClient(app, base_url="http://127.0.0.1:8300") as client:
        body = json.dumps({"jobs": [job()]})
        assert client.post("/jobs", content=body, headers={**JSON, **headers}).status_code == status


def test_limits_hold_and_say_when_to_come_again(door: Door) -> None:
    client = door(rate=3)
    assert submit(client, job(), job()).status_code == 202
    answer = submit(client, job(), job())
    assert (answer.status_code, int(answer.headers["Retry-After"]) >= 20) == (429, True)
    assert submit(client, *[job()] * 4).status_code == 422
    full = submit(door(), *[job()] * 60)
    assert (full.status_code, full.headers["Retry-After"]) == (503, "60")


@pytest.mark.parametrize("is_said", [True, False])
def test_a_body_that_is_too_large_is_refused(door: Door, is_said: bool) -> None:
    client = door(most_bytes=10_000)
    body = json.dumps({"jobs": [job(solution="x" * 20_000)]}).encode()
    pieces = (body[n : n + 1_000] for n in range(0, len(body), 1_000))
    assert client.post("/jobs", content=body if is_said else pieces, headers=JSON).status_code == 413
    assert submit(client, job()).status_code == 202


@pytest.mark.parametrize(
    ("size", "headers", "read"),
    [(20_000, {}, 20_000), (20_000, {"Expect": "100-continue"}, 0), (2**27, {}, 0)],
)
def test_what_is_too_large_is_read_before_it_is_refused(
    door: Door, size: int, headers: dict[str, str], read: int
) -> None:
    """Else the end of the connection may overtake the answer, unless the client waits for that, or sends for ever."""
    sent = {**JSON, **headers, "Content-Length": str(size)}
    answers: list[dict[str, Any]] = []
    pieces: list[bytes] = []

    async def receive() -> dict[str, Any]:
        pieces.append(b"x" * 1_000)
        return {"type": "http.request", "body": pieces[-1], "more_body": 1_000 * len(pieces) < size}

    async def send(message: dict[str, Any]) -> None:
        answers.append(message)

    scope = {
        "type": "http",
        "method": "POST",
        "path": "/jobs",
        "headers": [(name.lower().encode(), value.encode()) for name, value in sent.items()],
    }
    asyncio.run(door(most_bytes=10_000).app(scope, receive, send))
    assert (answers[0]["status"], 1_000 * len(pieces)) == (413, read)


def test_a_full_disk_loses_nothing_that_was_accepted(door: Door, queue: JobQueue, tmp_path: Path) -> None:
    client = door()
    (kept,) = submit(client, job()).json()["jobs"]
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    size = max(path.stat().st_size for path in tmp_path.glob("queue.sqlite*"))
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + 10_000, before[1]))
    try:
        answer = submit(client, *[job(solution="x" * 10_000)] * 20)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert (answer.status_code, "can't be used" in answer.text) == (503, True)
    assert queue.counts() == {"queued": 1}
    assert submit(client, job()).status_code == 202
    assert client.get(f"/jobs/{kept['id']}").json()["state"] == "queued"


def test_events_come_as_they_are_and_from_where_they_were_left(queue: JobQueue) -> None:
    async def read(after: int, count: int) -> list[str]:
        stream = app_module._events(queue, "ada", after)
        return [await anext(stream) for _ in range(count)]

    queue.accept("ada", [Submission(problem="relu", solution="x")])
    queue.take("", threading.Event(), False)
    first, second = asyncio.run(read(0, 2))
    assert first.startswith("id: 1\nevent: job\ndata: {")
    assert '"state": "running"' in second
    assert asyncio.run(read(1, 1)) == [second]


def test_who_waits_hears_of_an_end_at_once(door: Door, queue: JobQueue) -> None:
    (accepted,) = submit(door(), job()).json()["jobs"]
    taken = queue.take("", threading.Event(), False)
    assert taken is not None
    threading.Timer(0.3, queue.finish, (taken, "id", "passed", "{}")).start()
    began = time.monotonic()
    assert door().get(f"/jobs/{accepted['id']}", params={"wait": 30}).json()["state"] == "done"
    assert 0.2 < time.monotonic() - began < 5


def test_a_job_says_what_is_done_with_it(door: Door, queue: JobQueue, judge: Any) -> None:
    (accepted,) = submit(door(), job()).json()["jobs"]
    judge.doing[accepted["id"]] = "checking full"
    assert door().get(f"/jobs/{accepted['id']}").json()["doing"] is None  # of one that waits, a word of before
    queue.take("", threading.Event(), False)
    assert door().get(f"/jobs/{accepted['id']}").json()["doing"] == "checking full"
    assert door().get("/jobs").json()["jobs"][0]["doing"] == "checking full"
    assert door(None).get("/health").json()["doing"] == ["checking full"]


def test_no_answer_says_where_the_workspace_lies(door: Door, workspace: Path) -> None:
    (workspace / "configs/broken.yaml").write_text("timing: [")
    answer = submit(door(BOB), job(config="broken"))
    assert (answer.status_code, "configs/broken.yaml" in answer.text) == (422, True)
    assert str(workspace) not in answer.text


def test_the_description_is_fetched_from_nobody_else(door: Door) -> None:
    page = door(None).get("/docs").text
    addresses = re.findall(r'(?:src|href)="([^"]+)"', page)
    assert addresses
    assert all(one.startswith("/") and door(None).get(one).status_code == 200 for one in addresses)


def test_health_and_metrics_need_no_token_and_tell_of_nobody(door: Door, judge: Any) -> None:
    submit(door(), job())
    client = door(None)
    assert client.get("/health").json()["jobs"] == {"queued": 1}
    assert 'harness_jobs{state="queued"} 1' in client.get("/metrics").text
    assert "harness_up 1" in client.get("/metrics").text
    judge.troubles.append("secret")
    answer = client.get("/health")
    assert (answer.status_code, "secret" in answer.text) == (503, False)
    assert "harness_up 0" in client.get("/metrics").text


def test_the_page_and_the_description_are_there(door: Door) -> None:
    client = door(None)
    assert "<title>harness" in client.get("/").text
    assert "/jobs/{job}/evaluation" in client.get("/openapi.json").json()["paths"]


def test_nobody_else_may_read_the_queue(tmp_path: Path, queue: JobQueue) -> None:
    assert (tmp_path / "queue.sqlite").stat().st_mode & 0o077 == 0
