"""A headless Chromium for the tests that open a page; they skip themselves where there is none."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.reports.leaderboard.chromium import Chromium, why_no_browser


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("browser") and (why := why_no_browser()):
        pytest.skip(why)


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    """One browser for a module; every test opens a page of its own in it."""
    profile: Path = tmp_path_factory.mktemp("chromium")
    with Chromium(profile) as browser:
        yield browser
