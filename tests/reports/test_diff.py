"""What differs between two evaluations."""

from __future__ import annotations

from typing import Any

import pytest

from harness.model.environment import YOUNG_FLAGS
from harness.reports.diff import ChangedFact, Difference
from tests.examples import environment, passed
from tests.wording import tells

OLD = {"cudnn_allow_tf32": True}


def test_flags_that_an_older_record_could_not_have_are_no_difference() -> None:
    old, new = passed(environment=environment(flags=OLD)), passed(environment=environment(flags={**OLD, **YOUNG_FLAGS}))
    assert Difference(old, new).environment == []


def test_other_flags_are() -> None:
    changed = {**OLD, **YOUNG_FLAGS, "cudnn_allow_tf32": False, "float32_matmul_precision": "high"}
    old, new = passed(environment=environment(flags=OLD)), passed(environment=environment(flags=changed))
    assert Difference(old, new).environment == [
        ChangedFact("flags.cudnn_allow_tf32", True, False),
        ChangedFact("flags.float32_matmul_precision", None, "high"),
    ]


def test_two_gpus_of_one_model_are_a_caution() -> None:
    old, same, other = (passed(environment=environment(gpu_uuid=uuid)) for uuid in ("GPU-1", "GPU-1", "GPU-2"))
    assert Difference(old, same).caution is None
    found = Difference(old, other)
    assert found.environment == [ChangedFact("gpu_uuid", "GPU-1", "GPU-2")]
    assert found.caution is not None
    assert tells(found.caution, "2 GPUs")


@pytest.mark.parametrize("fact", [{"gpu_uuid": "GPU-1"}, {"triton": "3.6.0"}])
def test_a_fact_that_an_older_record_lacks_is_no_difference(fact: dict[str, Any]) -> None:
    found = Difference(passed(environment=environment()), passed(environment=environment(**fact)))
    assert (found.environment, found.caution) == ([], None)
