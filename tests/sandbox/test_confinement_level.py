"""How far workers are confined: what means amount to, who is told, and who is refused."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import get_args

import pytest

from harness.builder.workers import Workers
from harness.devices.choice import open_host
from harness.errors import MachineError
from harness.model.config import Config, ConfinementLevel
from harness.run.cache import cache_folder
from harness.run.session import open_session
from harness.sandbox import process as process_module
from harness.sandbox.start import Surroundings
from harness.sandbox.wire import means
from harness.sandbox.wire.layout import solutions_folder
from harness.sandbox.wire.means import (
    BUBBLEWRAP,
    CONTAINER,
    FILTERED_CALLS,
    IN_CONTAINER,
    LEVELS,
    LIMITS,
    NO_NETWORK,
    OWN_USER,
    READ_ONLY_FILES,
    SCOPED_SIGNALS,
    Level,
    level_of,
)

FILTER = (FILTERED_CALLS, NO_NETWORK)


@pytest.mark.parametrize(
    ("means", "level"),
    [
        ((LIMITS,), "none"),
        ((OWN_USER, *FILTER, SCOPED_SIGNALS), "none"),
        ((BUBBLEWRAP, OWN_USER, *FILTER), "files"),
        ((READ_ONLY_FILES,), "files"),
        ((READ_ONLY_FILES, *FILTER), "files"),
        ((READ_ONLY_FILES, OWN_USER), "files"),
        ((READ_ONLY_FILES, OWN_USER, *FILTER), "full"),
        ((READ_ONLY_FILES, SCOPED_SIGNALS, *FILTER), "full"),
        ((READ_ONLY_FILES, OWN_USER, *FILTER, CONTAINER), "container"),
        ((READ_ONLY_FILES, OWN_USER, CONTAINER), "files"),
        ((OWN_USER, *FILTER, CONTAINER), "none"),
    ],
)
def test_means_amount_to_a_level(means: tuple[str, ...], level: Level) -> None:
    assert level_of(means) == level


def test_a_config_names_these_levels() -> None:
    assert get_args(ConfinementLevel) == get_args(Level) == LEVELS


@pytest.fixture
def without_landlock(monkeypatch: pytest.MonkeyPatch) -> None:
    """As told by workers of a machine that has none."""
    monkeypatch.setattr(process_module, "level_of", lambda means: level_of(set(means) - {READ_ONLY_FILES, BUBBLEWRAP}))
    process_module._say_once.cache_clear()


@pytest.mark.sim
def test_a_worker_that_is_confined_less_than_required_loads_nothing(tmp_path: Path, without_landlock: None) -> None:
    host = open_host("sim", cache_folder(), lambda what: None)
    with (
        Workers(host, tmp_path, surroundings=Surroundings(least="files")) as workers,
        workers.start() as worker,
        pytest.raises(MachineError, match="'none' here, and 'files' is required"),
    ):
        worker.bring({"solution.py": b""}, solutions_folder(worker.folder))


@pytest.mark.sim
def test_a_run_that_wants_more_than_there_is_never_begins(tmp_path: Path, without_landlock: None) -> None:
    (tmp_path / "problems").mkdir()
    with pytest.raises(MachineError, match="'full' is required"):
        open_session(
            "sim", tmp_path, tmp_path / "results", Config().but("limits", confinement="full"), 1, lambda what: None
        )


@pytest.mark.sim
def test_who_isnt_confined_is_told_once(
    tmp_path: Path, without_landlock: None, caplog: pytest.LogCaptureFixture
) -> None:
    host = open_host("sim", cache_folder(), lambda what: None)
    with Workers(host, tmp_path) as workers, caplog.at_level(logging.WARNING, "harness"):
        for _ in range(2):
            with workers.start(for_build=True) as worker:
                worker.await_start()
                assert worker.confinement == "none"
    (record,) = caplog.records
    assert "aren't confined" in record.message
    assert "harness doctor" in record.message


@pytest.mark.sim
def test_a_worker_in_a_container_is_confined_by_that_as_well(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    host = open_host("sim", cache_folder(), lambda what: None)
    monkeypatch.setenv(IN_CONTAINER, "podman")
    monkeypatch.setattr(means, "_MARKS", (str(tmp_path),))
    with Workers(host, tmp_path) as workers, workers.start(for_build=True) as worker:
        worker.await_start()
        assert CONTAINER in worker.protections


@pytest.mark.sim
def test_who_wants_a_container_is_told_how_to_get_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    host = open_host("sim", cache_folder(), lambda what: None)
    monkeypatch.setattr(process_module, "level_of", lambda means: "full")
    with (
        Workers(host, tmp_path, surroundings=Surroundings(least="container")) as workers,
        workers.start(for_build=True) as worker,
        pytest.raises(MachineError, match="--container"),
    ):
        worker.await_start()
