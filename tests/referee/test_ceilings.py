"""The device's ceilings: measured once, then read."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from harness.records.ceilings import read_ceilings, write_ceilings
from harness.referee import ceilings
from harness.referee.ceilings import device_ceilings

pytestmark = pytest.mark.gpu


def test_ceilings_are_measured_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = device_ceilings(tmp_path, "580.65")
    assert found is not None
    assert found.bfloat16_operations_per_s > found.float32_operations_per_s > 1e12
    assert found.cache_copy_bytes_per_s > 1e11
    assert 1e11 < found.copy_bytes_per_s < 2e13
    (file,) = (tmp_path / "ceilings").iterdir()
    write_ceilings(file, dataclasses.replace(found, read_bytes_per_s=1.0))
    monkeypatch.setattr(ceilings, "measure_ceilings", lambda device, driver: pytest.fail("measured again"))
    again = device_ceilings(tmp_path, "580.65")
    assert again is not None
    assert again.read_bytes_per_s == 1.0


def test_another_driver_has_ceilings_of_its_own(tmp_path: Path) -> None:
    device_ceilings(tmp_path, "580.65")
    device_ceilings(tmp_path, "590.10")
    drivers = [read_ceilings(path) for path in sorted((tmp_path / "ceilings").iterdir())]
    assert [found.driver for found in drivers if found] == ["580.65", "590.10"]
