"""What differs between two evaluations."""

from __future__ import annotations

from harness.records.environment import YOUNG_FLAGS
from harness.reports.diff import Change, difference
from tests.examples import environment, passed

OLD = {"cudnn_allow_tf32": True}


def test_flags_that_an_older_record_could_not_have_are_no_difference() -> None:
    old, new = passed(environment=environment(flags=OLD)), passed(environment=environment(flags={**OLD, **YOUNG_FLAGS}))
    assert difference(old, new).environment == ()


def test_other_flags_are() -> None:
    changed = {**OLD, **YOUNG_FLAGS, "cudnn_allow_tf32": False, "float32_matmul_precision": "high"}
    old, new = passed(environment=environment(flags=OLD)), passed(environment=environment(flags=changed))
    assert difference(old, new).environment == (
        Change("flags.cudnn_allow_tf32", True, False),
        Change("flags.float32_matmul_precision", None, "high"),
    )
