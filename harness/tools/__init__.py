"""Tools that look at a kernel or a problem and decide nothing: profile, sanitize, check-problem, ceilings, doctor.

Other rooms may use what is named here. A name is imported when it is first used: some of them import torch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.face import lazy

if TYPE_CHECKING:
    from harness.tools.alone import check_problems, find_ceilings
    from harness.tools.bench import ArmFailed
    from harness.tools.diagnosis import examine
    from harness.tools.nsight import CounterRequest
    from harness.tools.on_meta import unfit_cases
    from harness.tools.profiling import run_profile
    from harness.tools.sanitizing import run_sanitizer
    from harness.tools.target import Inspection, choose_target, inspection
else:  # a type checker that saw it would let every name pass
    __getattr__, __dir__ = lazy(__name__, __file__)
