"""Workers of the simulator for tests that build."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest

from harness.builder.workers import Workers
from harness.devices.choice import open_host
from harness.run.cache import cache_folder


@pytest.fixture(scope="module")
def workers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workers]:
    """Workers with the machine's toolkit and an extension cache of these tests' own."""
    folder = tmp_path_factory.mktemp("cache")
    with Workers(open_host("sim", cache_folder(), lambda what: None), folder) as made:
        yield made
    shutil.rmtree(folder, ignore_errors=True)
