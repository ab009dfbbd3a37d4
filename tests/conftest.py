"""Marks decide what runs here: `gpu` and `sim` tests skip themselves with the reason."""

from __future__ import annotations

import pytest

from tests.machine import why_no_gpu, why_no_sim


def pytest_runtest_setup(item: pytest.Item) -> None:
    for mark, reason in (("gpu", why_no_gpu), ("sim", why_no_sim)):
        if item.get_closest_marker(mark) and (why := reason()):
            pytest.skip(why)
