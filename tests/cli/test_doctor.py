"""`harness doctor --roofline`: what it prints, and when it measures. The GPU is scripted."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.model.ceilings import Ceilings
from tests.cli.shell import Shell
from tests.examples import ceilings


class Machine:
    """A GPU that is measured a little faster each time."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.measured = 0
        monkeypatch.setattr("torch.cuda.is_available", lambda: True)
        monkeypatch.setattr("torch.cuda.get_device_name", lambda index=0: "NVIDIA H100 80GB HBM3")
        monkeypatch.setattr("torch.cuda.empty_cache", lambda: None)
        monkeypatch.setattr("harness.referee.ceilings.ceilings.gpu_uuid", lambda: "GPU-1a2b")
        monkeypatch.setattr("harness.tools.alone.driver_version", lambda: "580.65.06")
        monkeypatch.setattr("harness.tools.alone.alone_on_gpu", _alone)
        monkeypatch.setattr("harness.referee.ceilings.ceilings.measure_ceilings", self._measure)

    def _measure(self, driver: str) -> Ceilings:
        self.measured += 1
        return replace(ceilings(), read_bytes_per_s=3.0e12 + 1e10 * self.measured, gpu_uuid="GPU-1a2b")


@contextmanager
def _alone(notify: Any) -> Iterator[None]:
    yield


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Machine:
    monkeypatch.setenv("HARNESS_CACHE", str(tmp_path))
    return Machine(monkeypatch)


def test_ceilings_are_measured_once_and_then_shown(harness: Shell, machine: Machine) -> None:
    first, second = harness("doctor", "--roofline"), harness("doctor", "--roofline")
    assert (first.code, second.code, machine.measured) == (0, 0, 1)
    assert first.out.startswith(
        "NVIDIA H100 80GB HBM3, driver 580.65.06\nmeasured 2026-11-21 15:30 UTC with torch 2.11"
    )
    assert "--again measures anew" not in first.out
    assert "--again measures anew" in second.out
    assert "3.01 TB/s" in second.out


def test_again_measures_anew_and_keeps_it(harness: Shell, machine: Machine) -> None:
    harness("doctor", "--roofline")
    assert "3.02 TB/s" in harness("doctor", "--roofline", "--again").out
    assert "3.02 TB/s" in harness("doctor", "--roofline").out
    assert machine.measured == 2


def test_json_says_which_and_where_they_are_kept(harness: Shell, machine: Machine, tmp_path: Path) -> None:
    found = [json.loads(harness("doctor", "--roofline", "--json").out) for _ in range(2)]
    assert [one["was_cached"] for one in found] == [False, True]
    path = tmp_path / "ceilings" / "NVIDIA-H100-80GB-HBM3-GPU-1a2b-580.65.06.json"
    assert found[0]["file"] == str(path)
    assert json.loads(path.read_text()) == found[0]["ceilings"] == found[1]["ceilings"]


def no_memory(driver: str) -> Ceilings:
    import torch

    raise torch.OutOfMemoryError("4 GiB")


@pytest.mark.parametrize(
    ("name", "lacking", "words"),
    [
        ("torch.cuda.is_available", lambda: False, "'harness doctor'"),
        ("harness.tools.alone.driver_version", lambda: None, "nvidia-smi"),
        ("harness.referee.ceilings.ceilings.measure_ceilings", no_memory, "memory"),
    ],
)
def test_what_the_machine_lacks_is_said_and_ends_with_three(
    harness: Shell, machine: Machine, monkeypatch: pytest.MonkeyPatch, name: str, lacking: Any, words: str
) -> None:
    monkeypatch.setattr(name, lacking)
    outcome = harness("doctor", "--roofline")
    assert (outcome.code, outcome.out) == (3, "")
    assert words in outcome.err
