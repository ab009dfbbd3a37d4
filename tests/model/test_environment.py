"""Environments: which numbers may be compared."""

from __future__ import annotations

import re
from typing import Any

import pytest
from pydantic import TypeAdapter

from harness.model.environment import YOUNG_FLAGS, Environment, of_several_gpus
from harness.model.record import as_json
from tests.examples import environment, sim_environment


def test_the_commit_has_no_part_in_the_fingerprint() -> None:
    assert environment(commit="aaaa").fingerprint == environment(commit=None).fingerprint


@pytest.mark.parametrize(
    "change",
    [
        {"gpu": "NVIDIA H200"},
        {"driver": "570.1"},
        {"torch": "2.12.0+cu130"},
        {"nvcc": None},
        {"flags": {"cudnn_allow_tf32": False}},
        {"harness": "0.2.0"},
        {"cpu_count": 17},
    ],
)
def test_every_other_fact_has(change: dict[str, Any]) -> None:
    assert environment(**change).fingerprint != environment().fingerprint


def test_variables_that_steer_compilers_make_another_environment() -> None:
    one, other = (environment(variables={"NVCC_APPEND_FLAGS": flags}) for flags in ("-O0", "-O3"))
    assert len({environment().fingerprint, one.fingerprint, other.fingerprint}) == 3


def test_environments_from_before_variables_were_recorded_keep_their_fingerprint() -> None:
    assert environment().fingerprint == "49e7c5bb"
    old = {key: value for key, value in as_json(environment()).items() if key != "variables"}
    assert TypeAdapter(Environment).validate_python(old) == environment()


def test_torchs_defaults_are_what_ran_before_they_were_recorded() -> None:
    today = environment(flags={"cudnn_allow_tf32": True, **YOUNG_FLAGS})
    assert today.fingerprint == environment().fingerprint == "49e7c5bb"
    assert today.telling_flags == {"cudnn_allow_tf32": True}


@pytest.mark.parametrize("change", [{"flash_sdp": False}, {"float32_matmul_precision": "high"}])
def test_other_flags_make_another_environment(change: dict[str, bool | str]) -> None:
    other = environment(flags={"cudnn_allow_tf32": True, **YOUNG_FLAGS, **change})
    assert other.fingerprint != environment().fingerprint
    assert TypeAdapter(Environment).validate_python(as_json(other)) == other


def test_the_order_of_flags_does_not_matter() -> None:
    one, other = {"a": True, "b": False}, {"b": False, "a": True}
    assert environment(flags=one).fingerprint == environment(flags=other).fingerprint


def test_a_fingerprint_is_eight_hexadecimal_digits() -> None:
    assert re.fullmatch("[0-9a-f]{8}", environment().fingerprint)


def test_the_label_names_gpu_and_torch() -> None:
    assert environment().label == f"h100-80gb-hbm3-torch2.11.0-{environment().fingerprint}"


def test_the_label_of_a_simulated_environment() -> None:
    assert sim_environment().label == f"sim-torch2.11.0-{sim_environment().fingerprint}"


def test_a_label_can_name_a_file_whatever_the_gpu_is_called() -> None:
    assert re.fullmatch(r"[\w.+-]+", environment(gpu="NVIDIA A100/PCIe (40 GB)").label)


@pytest.mark.parametrize("fact", [{"gpu_uuid": "GPU-1"}, {"triton": "3.6.0"}])
def test_facts_that_old_records_lack_have_no_part_in_the_fingerprint(fact: dict[str, Any]) -> None:
    assert environment(**fact).fingerprint == environment().fingerprint
    old = {key: value for key, value in as_json(environment()).items() if key not in fact}
    assert TypeAdapter(Environment).validate_python(old) == environment()


@pytest.mark.parametrize(
    ("uuids", "several"),
    [(("a", "b", "a"), "2"), (("a", None, "b"), "at least 2"), (("a", None), ""), ((None, None), ""), ((), "")],
)
def test_numbers_of_several_gpus_of_a_model_are_told(uuids: tuple[str | None, ...], several: str) -> None:
    told = of_several_gpus(uuids)
    assert (told or "").startswith(f"measured on {several} GPUs") is bool(several)
    assert bool(told) is bool(several)
