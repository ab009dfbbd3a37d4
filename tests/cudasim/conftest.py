"""The toolkit is built once per machine; the scenarios of scenarios.py run once per session."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.cudasim import SimUnavailable, Toolkit, ensure_toolkit
from harness.run.cache import cache_folder
from tests.cudasim.fault_page import Outcomes, run_scenarios


def toolkit_or_skip(*, is_checked: bool) -> Toolkit:
    try:
        return ensure_toolkit(cache_folder(), progress=print, is_checked=is_checked)
    except SimUnavailable as reason:
        pytest.skip(str(reason))


@pytest.fixture(scope="session")
def toolkit() -> Toolkit:
    return toolkit_or_skip(is_checked=False)


@pytest.fixture(scope="session")
def outcomes(toolkit: Toolkit) -> Outcomes:
    return run_scenarios(toolkit)


@pytest.fixture(scope="session")
def kernel_lines() -> list[str]:
    """kernels.cu as load_inline writes it, with three includes before it."""
    return [""] * 3 + Path(__file__).with_name("kernels.cu").read_text().splitlines()
