"""Gather what the audit knows of a case besides its turns."""

from __future__ import annotations

import functools
from dataclasses import replace
from pathlib import Path

from harness.model.evaluation import Work
from harness.referee.audit.impossible_speed import inputs_that_matter
from harness.referee.audit.kernels import in_framework_libraries, own_kernels
from harness.referee.audit.observed import Facts
from harness.referee.audit.operators import operators_of_reference
from harness.referee.audit.run_time import Written, is_compiled_by_torch
from harness.referee.audit.traced_turn import output_sizes
from harness.referee.ceilings.ceilings import known_ceilings
from harness.referee.setting import Setting


def gather_facts(
    setting: Setting,
    written: Written,
    work: Work | None,
    cache: Path,
    driver: str | None,
    can_trace: bool = False,
    least_share: float = 0.0,
) -> Facts:
    """Gather the facts; `driver` is None without a GPU. Its ceilings were measured before any solution was on it."""
    always = Facts(
        on_gpu=setting.on_gpu,
        can_trace=can_trace,
        own=own_kernels(written.builds),
        outputs=output_sizes(setting.spec),
        work=work,
        inputs_that_matter=functools.partial(inputs_that_matter, setting),
        reference=operators_of_reference(setting),
        least_share=least_share,
    )
    if not setting.on_gpu:
        return always
    return replace(
        always,
        ceilings=known_ceilings(cache, driver) if driver else None,
        in_framework=in_framework_libraries,
        is_compiled_by_torch=is_compiled_by_torch,
        is_left_to_torch=written.leaves_to_torch,
    )
