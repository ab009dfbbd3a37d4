"""The end of a command that is told to end from outside."""

from __future__ import annotations

import contextlib
import os
import signal
from types import FrameType

from harness.cli import exit_codes

_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_SHOW_CURSOR = b"\x1b[?25h"


def end_politely(*, then_at_once: bool = False) -> None:
    """A polite kill, and a terminal that is gone, end a command like Ctrl-C: results are kept, tools are ended, and
    clocks are put back. A command that ignores the loss of its terminal (nohup) still does.

    `then_at_once`: a Ctrl-C after the first signal waits for nothing, whatever torch or a problem is busy with. Further
    signals of the other kinds are ignored: a terminal that is closed may send several.
    """
    for number in _ENDING:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _end if then_at_once else signal.default_int_handler)


def _end(number: int, frame: FrameType | None) -> None:
    for one in _ENDING:
        if signal.getsignal(one) is _end:
            signal.signal(one, _end_at_once if one is signal.SIGINT else signal.SIG_IGN)
    raise KeyboardInterrupt


def _end_at_once(number: int, frame: FrameType | None) -> None:
    """Workers end with this process. A locked clock is the next run's to put back."""
    try:
        with contextlib.suppress(OSError):
            os.write(2, _SHOW_CURSOR if os.isatty(2) else b"")
            os.write(2, b"harness: ended at once; results so far are kept\n")
    finally:
        os._exit(exit_codes.INTERRUPTED)
