"""The client without a server: what it asks for."""

from __future__ import annotations

import pytest

from harness.serve import client as client_module
from harness.serve.client import Client
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
