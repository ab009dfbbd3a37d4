"""The trusted side, a module per step of an evaluation: build → inputs → correctness → timing → audit → evaluation."""

import contextlib
import ctypes
import os

os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")
"""Torch takes the host's large tensors in large pages: else most of what an operation on gigabytes takes is the
kernel's, for half a million pages."""

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD, _M_ARENA_MAX = -1, -3, -8
"""Parameters of mallopt(3)."""
with contextlib.suppress(OSError, AttributeError):  # another C library than glibc
    for _parameter, _value in ((_M_ARENA_MAX, 1), (_M_MMAP_THRESHOLD, 2**25), (_M_TRIM_THRESHOLD, 2**30)):
        ctypes.CDLL(None).mallopt(_parameter, _value)
"""Freed memory is kept for the next temporary of a comparison in pieces, whichever thread makes it: else the kernel
gives the same pages anew for each operation, which takes twice as long as the operation."""
