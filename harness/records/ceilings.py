"""How fast a device can be at best, as measured on it."""

from __future__ import annotations

import json
import math
import os
from dataclasses import astuple, dataclass
from pathlib import Path

from harness.codec import CodecError, decode, encode


@dataclass(frozen=True)
class Ceilings:
    """Rates per second. A copy's bytes are those read and those written, together; an operation is a multiplication or
    an addition. `cache_bytes` is the L2 cache's size, `cache_copy_bytes_per_s` a copy that stays inside it."""

    device: str
    driver: str
    cache_bytes: int
    copy_bytes_per_s: float
    read_bytes_per_s: float
    write_bytes_per_s: float
    cache_copy_bytes_per_s: float
    float32_operations_per_s: float
    tf32_operations_per_s: float
    bfloat16_operations_per_s: float

    def __post_init__(self) -> None:
        rates = astuple(self)[3:]
        if self.cache_bytes < 0 or not all(math.isfinite(rate) and rate > 0 for rate in rates):
            raise ValueError("ceilings are positive rates")

    @property
    def memory_bytes_per_s(self) -> float:
        """The best of reading, writing and both."""
        return max(self.copy_bytes_per_s, self.read_bytes_per_s, self.write_bytes_per_s)

    @property
    def operations_per_s(self) -> float:
        """Of the fastest arithmetic that was measured."""
        return max(self.float32_operations_per_s, self.tf32_operations_per_s, self.bfloat16_operations_per_s)


def read_ceilings(path: Path) -> Ceilings | None:
    """What write_ceilings() left; None where there is nothing, or something else."""
    try:
        return decode(Ceilings, json.loads(path.read_bytes()))
    except (OSError, ValueError, CodecError):
        return None


def write_ceilings(path: Path, ceilings: Ceilings) -> None:
    """Whole or not at all. Raises: OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    whole = path.with_suffix(f".{os.getpid()}")
    whole.write_text(json.dumps(encode(ceilings)))
    whole.replace(path)
