"""A queue of its own for each test."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("sqlalchemy")
with warnings.catch_warnings():  # newer versions of starlette want another client there
    warnings.simplefilter("ignore")
    import starlette.testclient  # noqa: F401

from harness.serve import JobQueue


@pytest.fixture
def queue(tmp_path: Path) -> Iterator[JobQueue]:
    with JobQueue(tmp_path / "queue.sqlite", most=50) as queue:
        yield queue
