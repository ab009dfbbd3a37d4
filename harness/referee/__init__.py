"""The trusted side, a module per step of an evaluation: build → inputs → correctness → timing → audit → evaluation."""

import os

os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")
"""Torch takes the host's large tensors in large pages: else most of what an operation on gigabytes takes is the
kernel's, for half a million pages."""
