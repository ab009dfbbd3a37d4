"""Fork servers that start before torch is imported: an optimisation, which says nothing of what is missing."""

from __future__ import annotations

import pytest

from harness.devices import SimUnavailable
from harness.run import early_start
from harness.sandbox.start import Surroundings


@pytest.fixture(autouse=True)
def no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(early_start, "compute_capability", lambda: None)


@pytest.mark.parametrize("error", [SimUnavailable("no g++"), PermissionError("read-only")])
def test_whoever_opens_the_simulator_says_what_is_missing(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(cache: object) -> bool:
        raise error

    monkeypatch.setattr(early_start, "is_prepared", fail)
    early_start.start_early("auto", Surroundings(), sanitizes=False).close()


@pytest.mark.parametrize(("backend", "sanitizes"), [("cuda", False), ("sim", True)])
def test_none_starts_that_nobody_would_use(backend: str, sanitizes: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(early_start, "is_prepared", lambda cache: pytest.fail("asked"))
    early_start.start_early(backend, Surroundings(), sanitizes).close()
