"""The device's ceilings: measured once, then read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from harness.model.ceilings import ARITHMETICS, Ceiling, Ceilings, read_ceilings, write_ceilings
from harness.referee.ceilings import ceilings
from harness.referee.ceilings.ceilings import device_ceilings, known_ceilings, measure_ceilings, theoretical_bytes_per_s
from tests.examples import ceilings as example


@pytest.fixture
def h100(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A scripted device; each measurement leaves the driver's name."""
    measured: list[str] = []

    def measure(driver: str) -> Ceilings:
        measured.append(driver)
        return example(device="NVIDIA H100", driver=driver, gpu_uuid=ceilings.gpu_uuid())

    monkeypatch.setattr("torch.cuda.get_device_name", lambda index=0: "NVIDIA H100")
    monkeypatch.setattr("torch.cuda.empty_cache", lambda: None)
    monkeypatch.setattr(ceilings, "gpu_uuid", lambda: "GPU-1")
    monkeypatch.setattr(ceilings, "measure_ceilings", measure)
    return measured


def test_ceilings_are_measured_once(tmp_path: Path, h100: list[str]) -> None:
    assert known_ceilings(tmp_path, "580.65") is None
    first, again = device_ceilings(tmp_path, "580.65"), device_ceilings(tmp_path, "580.65")
    assert first == again == example(device="NVIDIA H100", driver="580.65", gpu_uuid="GPU-1")
    assert h100 == ["580.65"]


def test_another_driver_has_ceilings_of_its_own(tmp_path: Path, h100: list[str]) -> None:
    device_ceilings(tmp_path, "580.65")
    device_ceilings(tmp_path, "590.10")
    found = [read_ceilings(path) for path in sorted((tmp_path / "ceilings").iterdir())]
    assert [one.driver for one in found if one] == ["580.65", "590.10"]


def test_another_gpu_of_the_model_has_ceilings_of_its_own(
    tmp_path: Path, h100: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    device_ceilings(tmp_path, "580.65")
    monkeypatch.setattr(ceilings, "gpu_uuid", lambda: "GPU-2")
    assert known_ceilings(tmp_path, "580.65") is None
    found = device_ceilings(tmp_path, "580.65")
    assert found is not None
    assert found.gpu_uuid == "GPU-2"
    assert len(list((tmp_path / "ceilings").iterdir())) == 2


def test_a_harness_that_knew_no_theory_measured_less(tmp_path: Path, h100: list[str]) -> None:
    device_ceilings(tmp_path, "580.65")
    (file,) = (tmp_path / "ceilings").iterdir()
    write_ceilings(file, example(device="NVIDIA H100", driver="580.65", gpu_uuid="GPU-1", multiprocessors=None))
    assert known_ceilings(tmp_path, "580.65") is None


def test_a_file_of_another_device_is_not_believed(tmp_path: Path, h100: list[str]) -> None:
    device_ceilings(tmp_path, "580.65")
    (file,) = (tmp_path / "ceilings").iterdir()
    write_ceilings(file, example(device="NVIDIA H200", driver="580.65", gpu_uuid="GPU-1"))
    assert known_ceilings(tmp_path, "580.65") is None


def test_where_they_cannot_be_kept_this_process_remembers_them(
    tmp_path: Path, h100: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or the audit, which measures nothing, would judge without them."""

    def full(path: Path, found: Ceilings) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr(ceilings, "write_ceilings", full)
    measured = device_ceilings(tmp_path, "580.65")
    assert measured is not None
    assert known_ceilings(tmp_path, "580.65") == measured == device_ceilings(tmp_path, "580.65")
    assert h100 == ["580.65"]


def test_without_memory_there_are_none(tmp_path: Path, h100: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def no_memory(driver: str) -> Ceilings:
        raise torch.OutOfMemoryError("8 GiB")

    monkeypatch.setattr(ceilings, "measure_ceilings", no_memory)
    assert device_ceilings(tmp_path, "580.65") is None


def test_the_peak_is_two_transfers_a_clock_over_the_whole_bus() -> None:
    h100 = SimpleNamespace(memory_clock_rate=2_619_000, memory_bus_width=5120)
    assert theoretical_bytes_per_s(h100) == pytest.approx(3.35232e12)
    assert theoretical_bytes_per_s(h100, seen_mhz=2700) == pytest.approx(3.456e12)
    assert theoretical_bytes_per_s(h100, seen_mhz=810) == pytest.approx(3.35232e12)
    assert theoretical_bytes_per_s(SimpleNamespace(name="a device of an older torch")) is None


def test_the_rates_counts_after_the_memory_has_warmed_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs on a scripted clock: three for warming up, the slow first among them, then twenty that count."""
    now, seconds = [100.0], iter([0.003, 0.002, 0.002, *[0.0011] * 4, 0.0010, *[0.0011] * 15])

    def run(work: Callable[[], object]) -> float:
        now[0] += 0.02
        return next(seconds)

    monkeypatch.setattr(ceilings, "_seconds", run)
    monkeypatch.setattr(ceilings, "time", SimpleNamespace(monotonic=lambda: now[0]))
    assert ceilings._best_seconds(lambda: None) == 0.0010
    assert list(seconds) == []


def test_what_takes_long_is_repeated_less(monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = iter([0.25, 0.26, 0.24])
    clock = iter([0.0, 0.25])
    monkeypatch.setattr(ceilings, "_seconds", lambda work: next(seconds))
    monkeypatch.setattr(ceilings, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    assert ceilings._best_seconds(lambda: None) == 0.24
    assert list(seconds) == []


@pytest.fixture
def timed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Products whose sides are seen; each does 10 TFLOP/s, those of 8192 and more 20."""
    sides: list[int] = []

    def best_seconds(product: Callable[[], int]) -> float:
        side = product()
        sides.append(side)
        return float(2 * side**3 / (1e13 if side < 8192 else 2e13))

    monkeypatch.setattr(ceilings, "_best_seconds", best_seconds)
    monkeypatch.setattr("torch.cuda.synchronize", lambda: None)
    return sides


def test_products_grow_until_they_take_long(timed: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    assert ceilings._best_rate(lambda side: lambda: side) == pytest.approx(2e13)
    assert timed == [4096, 8192]  # 14 and 55 ms
    monkeypatch.setattr(ceilings, "_SLOW_S", 0.01)
    assert ceilings._best_rate(lambda side: lambda: side) == pytest.approx(1e13)


@pytest.mark.parametrize(
    "error", [RuntimeError("not on this device"), AttributeError("_scaled_mm"), NotImplementedError()]
)
def test_a_product_that_the_device_has_not_got_is_left_out(
    error: Exception, timed: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(side: int) -> Callable[[], object]:
        raise error

    monkeypatch.setattr(ceilings, "_plain", lambda dtype: (lambda side: lambda: side,))
    monkeypatch.setattr(ceilings, "_integers", lambda side: lambda: side)
    monkeypatch.setattr(ceilings, "_scaled", missing)
    found = ceilings.measure_matrix_products()
    assert set(found) == set(ARITHMETICS) - {"float8_e4m3"}


def test_too_little_memory_is_not_taken_for_a_missing_product(timed: list[int]) -> None:
    def no_memory(side: int) -> Callable[[], object]:
        raise torch.OutOfMemoryError("256 MiB")

    with pytest.raises(torch.OutOfMemoryError):
        ceilings._best_rate(no_memory)


@pytest.mark.gpu
def test_a_real_device_has_plausible_ceilings() -> None:
    found = measure_ceilings("580.65")
    assert found.matrix_operations_per_s["float16"] > found.matrix_operations_per_s["float32"] > 1e12
    assert found.cache_copy_bytes_per_s > 1e11
    assert 1e11 < found.copy_bytes_per_s < 2e13
    if found.memory_peak_bytes_per_s is not None:
        assert found.memory == Ceiling(found.memory_peak_bytes_per_s, "theory")
    assert found.sm_mhz is not None
    for name, most in found.theory.items():
        assert 0.3 * most < found.matrix_operations_per_s[name] < most
