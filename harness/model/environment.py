"""The place where an evaluation ran: everything that a number depends on and the code doesn't say; and a machine's
fitness."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
from collections.abc import Iterable
from dataclasses import field
from functools import cached_property
from typing import Literal

from pydantic.dataclasses import dataclass

from harness.model.record import RECORD, as_json

BackendName = Literal["cuda", "sim"]
Flag = bool | str

YOUNG_FLAGS: dict[str, Flag] = {
    "cudnn_enabled": True,
    "cudnn_deterministic": False,
    "float32_matmul_precision": "highest",
    "matmul_allow_fp16_reduced_precision_reduction": True,
    "matmul_allow_bf16_reduced_precision_reduction": True,
    "deterministic_algorithms": False,
    "flash_sdp": True,
    "mem_efficient_sdp": True,
    "math_sdp": True,
    "cudnn_sdp": True,
}
"""torch's switches that are set and recorded since later than the first journals, with torch's defaults: what ran
before ran under these."""


@dataclass(frozen=True, config=RECORD)
class Environment:
    """Facts read off the machine. They are None where the machine couldn't say."""

    backend: BackendName
    gpu: str | None
    gpu_memory_bytes: int | None
    driver: str | None
    compute_capability: str | None
    torch: str
    torch_cuda: str | None
    cudnn: str | None
    nvcc: str | None
    host_compiler: str | None
    python: str
    os: str
    cpu: str
    cpu_count: int
    harness: str
    flags: dict[str, Flag]
    """torch's global switches as every worker has them before its module is loaded, e.g. cudnn_allow_tf32."""
    commit: str | None = None
    """The workspace's git commit, with '+' where files differ from it."""
    variables: dict[str, str] = field(default_factory=dict)
    """Environment variables that steer compilers, those alone that are set, e.g. NVCC_APPEND_FLAGS."""
    gpu_uuid: str | None = None
    """The GPU of the model, 'GPU-…' as nvidia-smi -L shows it; None where the evaluation came to none. Two of a model
    differ: see of_several_gpus()."""
    triton: str | None = None
    """Triton's version; None without it, and in records from before it was noted."""

    @cached_property
    def fingerprint(self) -> str:
        """Eight hexadecimal digits; equal where numbers may be compared. The workspace's commit, Triton's version and
        which GPU of the model it was have no part in it, and neither no variables nor torch's defaults change what it
        was before they were recorded."""
        ignored = {"commit", "gpu_uuid", "triton", *(() if self.variables else ("variables",))}
        facts = {key: value for key, value in as_json(self).items() if key not in ignored}
        facts["flags"] = self.telling_flags
        return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:8]

    @property
    def telling_flags(self) -> dict[str, Flag]:
        """Flags that older records have, and others where they aren't torch's defaults."""
        return {name: flag for name, flag in self.flags.items() if YOUNG_FLAGS.get(name) != flag}

    @property
    def label(self) -> str:
        """A file-system-safe name for people, e.g. 'h100-80gb-hbm3-torch2.11.0-3fa9c1d2'."""
        device = self.gpu or "sim"
        words = re.findall(r"[a-z0-9.]+", device.replace("NVIDIA", "").lower())
        return "-".join([*words, f"torch{self.torch.split('+')[0]}", self.fingerprint])


def of_several_gpus(uuids: Iterable[str | None]) -> str | None:
    """Say what a reader must know of numbers from these GPUs of one model; None where they are from one, as far as
    known.

    Records from before GPUs were named say nothing of theirs. Sixteen kernels on seven H100s: most took the same to
    0.1 %, but eager `avgpool2d` and `conv2d_asymmetric` differed by 0.8 and 1.3 %, so that speed-ups over them did
    (docs/timing.md).
    """
    given = set(uuids)
    known = len(given - {None})
    if known < 2:
        return None
    least = "at least " if None in given else ""
    return f"measured on {least}{known} GPUs of this model, on which the same kernels' ratios may differ by 1 %"


@dataclasses.dataclass(frozen=True)
class MachineFinding:
    """A finding about the machine. `remedy` says what to do where the state isn't good."""

    name: str
    state: Literal["good", "missing", "warning"]
    detail: str
    remedy: str | None = None
