"""Nothing that was acknowledged is lost, whoever is killed whenever. Longer: benchmarks/store.py --kills 200."""

from __future__ import annotations

import os
from pathlib import Path

from tests.store.fault_injection import kill_at_random

KILLS = int(os.environ.get("HARNESS_TEST_KILLS", "25"))


def test_kills_at_random_moments_lose_nothing_acknowledged(tmp_path: Path) -> None:
    """The tally's own assertions tell: nothing lost, nothing twice, nothing changed, torn lines named."""
    tally = kill_at_random(tmp_path / "results", KILLS, seed=3)
    assert tally.kills == KILLS
    assert len(tally.acknowledged) >= KILLS
    assert tally.found >= len(tally.acknowledged)
