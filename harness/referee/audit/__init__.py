"""Compare what a worker claims with what the referee saw for itself."""

from harness.referee.audit.auditor import Auditor, gather_facts
from harness.referee.audit.company import excusing_company
from harness.referee.audit.custom import TracedCase, accused_of, no_custom_kernel, remarks_on
from harness.referee.audit.idle_gpu import ProbeKernel
from harness.referee.audit.observed import Facts

__all__ = [
    "Auditor",
    "ProbeKernel",
    "Facts",
    "TracedCase",
    "accused_of",
    "excusing_company",
    "gather_facts",
    "no_custom_kernel",
    "remarks_on",
]
