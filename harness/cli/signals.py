"""How a command ends that is told to from outside."""

from __future__ import annotations

import signal


def end_politely() -> None:
    """A polite kill, and a terminal that is gone, end a command as Ctrl-C does: results are kept, tools are ended,
    clocks put back. Who has it run on without a terminal (nohup) keeps that."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler)
