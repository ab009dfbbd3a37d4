"""The client without a server: what it asks for."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

import harness
from harness.errors import MachineError, UsageError
from harness.serve import client as client_module
from harness.serve.client import AsyncClient, Client
from harness.serve.messages import Submission


def test_large_jobs_go_in_requests_that_a_server_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_module, "_MOST_BYTES", 10_000)
    asked = [Submission(problem="relu", solution="x" * size) for size in (4_000, 4_000, 4_000, 50_000, 10)]
    bodies = list(Client.bodies(asked))
    assert [[len(job["solution"]) for job in body["jobs"]] for body in bodies] == [
        [4_000, 4_000],
        [4_000],
        [50_000],  # which the server refuses, if it must
        [10],
    ]
    assert len({job["key"] for body in bodies for job in body["jobs"]}) == 5
    assert list(Client.bodies([])) == []


def test_in_place_of_what_is_too_large_go_halves_and_then_a_text_that_says_so() -> None:
    asked = [Submission(problem="relu", solution="x" * size, key=str(size)) for size in (9_000, 1, 2)]
    refused = client_module._RequestTooLarge("413")
    assert [[one.key for one in some] for some in Client.smaller(asked, refused)] == [["9000"], ["1", "2"]]
    ((large,),) = Client.smaller(asked[:1], refused)
    assert (large.name, large.key, "9,000" in large.solution) == (asked[0].name, "9000", True)
    with pytest.raises(ValueError, match="--most-mib"):
        exec(large.solution)
    for one in (large, asked[1]):  # then the problem's text is too large
        with pytest.raises(UsageError, match="413"):
            list(Client.smaller([one], refused))


def test_a_text_is_named_by_its_hash_and_a_file_by_its_name(tmp_path: Path) -> None:
    assert Client.submission("relu", "").name == "source-e3b0c44298fc"
    assert Submission(problem="relu", solution="x").name == "source-2d711642b726"
    (path := tmp_path / "my kernel.py").write_bytes(b"x\r\n")
    found = Client.submission("relu", path)
    assert (found.name, found.solution) == ("my_kernel", "x\r\n")
    assert Client.submission("relu", path, name="of mine").name == "of_mine"


def test_a_string_is_a_text_whatever_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else a model could answer with the path of a solution that it didn't write; a load_error's advice names Path."""
    monkeypatch.chdir(tmp_path)
    Path("right.py").write_text("class ModelNew: ...")
    assert Client.submission("relu", "right.py").solution == "right.py"
    assert Client.submission("relu", "missing.py").solution == "missing.py"


def test_what_is_no_unicode_is_sent_as_what_no_python_reads(tmp_path: Path) -> None:
    (path := tmp_path / "latin.py").write_bytes(b"x = '\xe4'")
    for solution in ("x = '\ud800'", path):
        (body,) = Client.bodies([Client.submission("relu", solution)])
        assert body["jobs"][0]["solution"] == "x = '\0'"


@pytest.mark.parametrize(
    ("solution", "facts", "word"),
    [
        (5, {}, "int"),
        (Path("missing.py"), {}, "missing.py"),
        (Path(), {}, "directory"),
        ("x", {"priority": 1_000}, "priority"),
        ("x", {"nmae": "x"}, "nmae"),
    ],
)
def test_what_cannot_be_a_job_is_a_usage_error(solution: Any, facts: dict[str, Any], word: str) -> None:
    with pytest.raises(UsageError, match=word):
        Client.submission("relu", solution, **facts)


def test_jobs_before_a_wrong_one_are_handed_in() -> None:
    solutions = iter(["x", "y", Path("missing.py"), "z"])
    found, wrong = Client.next_ones("relu", solutions, {})
    assert ([one.solution for one in found], type(wrong), list(solutions)) == (["x", "y"], UsageError, ["z"])


def test_one_text_is_not_taken_for_several() -> None:
    async def ask() -> None:
        async with AsyncClient("localhost:8300") as client:
            await anext(client.evaluate_many("relu", "x"))

    with pytest.raises(UsageError, match="several"):
        next(Client("localhost:8300").evaluate_many("relu", "x"))
    with pytest.raises(UsageError, match="several"):
        asyncio.run(ask())


@pytest.mark.parametrize("url", ["ftp://localhost", "http://", "http://localhost:port"])
def test_an_address_that_is_none_is_refused_at_once(url: str) -> None:
    with pytest.raises(UsageError, match="address"):
        harness.connect(url)


def test_who_never_answered_is_asked_for_a_short_time(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []
    monkeypatch.setattr("harness.serve.client.time.sleep", pauses.append)
    with harness.connect("127.0.0.1:9") as client, pytest.raises(MachineError, match="no answer"):
        client.job("job-1")
    assert pauses == [0.5, 1.0]
    client.pause_s(client._httpx.Response(200), 0)
    assert [client.pause_s(None, attempt) for attempt in (4, 5)] == [8.0, None]
