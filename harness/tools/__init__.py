"""What looks at a kernel or a problem and decides nothing: profile, sanitize, check-problem, ceilings, doctor.

Other rooms may use what is named here. A name is imported when it is first used: some of them import torch.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from harness.tools.alone import check_problems as check_problems
    from harness.tools.alone import find_ceilings as find_ceilings
    from harness.tools.bench import ArmFailed as ArmFailed
    from harness.tools.diagnosis import examine as examine
    from harness.tools.nsight import Counting as Counting
    from harness.tools.profiling import run_profile as run_profile
    from harness.tools.sanitizing import run_sanitizer as run_sanitizer
    from harness.tools.target import choose_target as choose_target
    from harness.tools.target import inspection as inspection

_HOMES = {
    "alone": "check_problems find_ceilings",
    "bench": "ArmFailed",
    "diagnosis": "examine",
    "nsight": "Counting",
    "profiling": "run_profile",
    "sanitizing": "run_sanitizer",
    "target": "choose_target inspection",
}


if not TYPE_CHECKING:  # a type checker that saw it would let every name pass

    def __getattr__(name: str) -> Any:
        for home, names in _HOMES.items():
            if name in names.split():
                return getattr(importlib.import_module(f"harness.tools.{home}"), name)
        raise AttributeError(f"module 'harness.tools' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted(" ".join(_HOMES.values()).split())
