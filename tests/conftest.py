"""Marks decide what runs here: tests that bear `gpu`, `sim`, `nvcc` or `heavy` skip themselves with the reason."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

import pytest

from tests.fork_servers import shared_fork_servers
from tests.machine import why_no_gpu, why_no_nvcc, why_no_sim, why_nothing_heavy

_HAS_GPU = any(Path("/dev").glob("nvidia[0-9]*"))


def pytest_configure(config: pytest.Config) -> None:
    """Hundreds of tests simulate, and nvcc would take ten seconds beside each: where there is no GPU it isn't found.
    Tests that want it say so, with the mark and the fixture."""
    if not _HAS_GPU:
        os.environ["CUDA_HOME"] = os.devnull
    # A test process for each core, and torch's threads in each: on busy cores those that wait would spin, and tests of
    # a quarter of a minute take five.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")


@pytest.fixture(scope="module")
def nvcc_is_found() -> Iterator[None]:
    """For tests that bear the mark `nvcc`."""
    from harness.devices.environment import nvcc_version

    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("CUDA_HOME", raising=False)
        nvcc_version.cache_clear()
        yield
    nvcc_version.cache_clear()


@pytest.fixture(scope="session", autouse=True)
def fork_servers() -> Iterator[None]:
    """All tests share theirs, but on a machine with a GPU, where some look at what a session leaves there."""
    with nullcontext() if _HAS_GPU else shared_fork_servers():
        yield


def pytest_runtest_setup(item: pytest.Item) -> None:
    reasons = {"gpu": why_no_gpu, "sim": why_no_sim, "nvcc": why_no_nvcc, "heavy": why_nothing_heavy}
    for mark, reason in reasons.items():
        if item.get_closest_marker(mark) and (why := reason()):
            pytest.skip(why)
