"""How a command ends that is told to from outside."""

from __future__ import annotations

import os
import signal
from types import FrameType

from harness.cli import exit_codes

_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_SHOW_CURSOR = b"\x1b[?25h"


def end_politely() -> None:
    """A polite kill, and a terminal that is gone, end a command as Ctrl-C does: results are kept, tools are ended,
    clocks put back. A second one ends it at once, whatever torch or a problem is busy with. Who has it run on without a
    terminal (nohup) keeps that."""
    for number in _ENDING:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _end)


def _end(number: int, frame: FrameType | None) -> None:
    for one in _ENDING:
        if signal.getsignal(one) is _end:
            signal.signal(one, _end_at_once)
    raise KeyboardInterrupt


def _end_at_once(number: int, frame: FrameType | None) -> None:
    """Workers end with this process."""
    if os.isatty(2):
        os.write(2, _SHOW_CURSOR)
    os.write(2, b"harness: ended at once; results so far are kept\n")
    os._exit(exit_codes.INTERRUPTED)
