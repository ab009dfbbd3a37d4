"""Tools that look at a kernel or a problem and decide nothing: profile, sanitize, check-problem, ceilings, doctor.

Other rooms may use what is named here. A name is imported when it is first used: some of them import torch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.face import lazy

if TYPE_CHECKING:
    from harness.tools.alone import check_problems as check_problems
    from harness.tools.alone import find_ceilings as find_ceilings
    from harness.tools.bench import ArmFailed as ArmFailed
    from harness.tools.diagnosis import examine as examine
    from harness.tools.nsight import CounterRequest as CounterRequest
    from harness.tools.profiling import run_profile as run_profile
    from harness.tools.sanitizing import run_sanitizer as run_sanitizer
    from harness.tools.target import Inspection as Inspection
    from harness.tools.target import choose_target as choose_target
    from harness.tools.target import inspection as inspection
else:  # a type checker that saw it would let every name pass
    __getattr__, __dir__ = lazy(__name__, __file__)
