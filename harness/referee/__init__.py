"""The trusted side, a module per step of an evaluation: build → inputs → correctness → timing → audit → evaluation."""

import contextlib
import ctypes
import os

os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")
"""Torch takes the host's large tensors in large pages: else most of what an operation on gigabytes takes is the
kernel's, for half a million pages."""

_KEPT = {"MALLOC_ARENA_MAX": (-8, 1), "MALLOC_MMAP_THRESHOLD_": (-3, 2**25), "MALLOC_TRIM_THRESHOLD_": (-1, 2**30)}
"""Parameters of mallopt(3) with their values, by the variables with which a user sets them."""
with contextlib.suppress(OSError, AttributeError):  # another C library than glibc
    for _parameter, _value in (_KEPT[name] for name in _KEPT if name not in os.environ):
        ctypes.CDLL(None).mallopt(_parameter, _value)
"""Freed memory is kept for the next temporary of a comparison in pieces, whichever thread makes it: else the kernel
gives the same pages anew for each operation, which takes twice as long as the operation."""
