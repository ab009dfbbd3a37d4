"""The referee's side of the simulator: shared memory in memfds."""

from __future__ import annotations

import fcntl
import mmap
import os
from typing import Literal

import torch

from harness.cudasim import Toolkit
from harness.devices.base import Host, SharedBuffer
from harness.sandbox.wire.device import BufferHandle

_ALIGNMENT = 16
"""The widest access of a CUDA thread: data may end this close to a guard page and still be aligned."""
_SEALS = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL
"""A worker that keeps the descriptor could cut the memory short, and the referee, which reads behind the end, would be
killed by SIGBUS."""


class SimHost(Host):
    """A host without a GPU, in whose process nothing of a worker's stays."""

    name: Literal["cuda", "sim"] = "sim"
    torch_device = "cpu"

    def __init__(self, toolkit: Toolkit) -> None:
        self._toolkit = toolkit

    @property
    def sees_writes(self) -> bool:
        return self._toolkit.is_checked

    def allocate(self, nbytes: int) -> SharedBuffer:
        """Reserve pages, which are taken only when touched: a huge buffer costs what is written to it."""
        size = -(-max(nbytes, 1) // mmap.PAGESIZE) * mmap.PAGESIZE
        offset = (size - nbytes) // _ALIGNMENT * _ALIGNMENT
        descriptor = os.memfd_create("harness", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        os.ftruncate(descriptor, size)
        fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, _SEALS)
        whole = torch.frombuffer(mmap.mmap(descriptor, size), dtype=torch.uint8)
        return SharedBuffer(
            content=whole[offset : offset + nbytes],
            handle=BufferHandle("memfd", max(nbytes, 1), offset=offset),
            descriptor=descriptor,
            release=lambda: os.close(descriptor),
        )

    def allocate_periodic(self, nbytes: int, stretch: torch.Tensor) -> SharedBuffer:
        """Reserve `nbytes` of address space over which the bytes of `stretch` (whole pages) repeat."""
        period = stretch.numel()
        if period % mmap.PAGESIZE:
            raise ValueError(f"a period of {period} bytes is no whole number of pages")
        plain = self.allocate(period)
        plain.content.copy_(stretch)
        return SharedBuffer(
            content=plain.content,
            handle=BufferHandle("periodic_memfd", nbytes, period=period),
            descriptor=plain.descriptor,
            release=plain.release,
        )

    def worker_arguments(self) -> list[str]:
        return self._toolkit.options

    def worker_environment(self, for_build: bool) -> dict[str, str]:
        return self._toolkit.environment()
