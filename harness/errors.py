"""Errors on our side of the line, or on the user's. What a solution did is a verdict, never one of these.

HarnessError
├── UsageError        a name, an option or a file that the user wrote is wrong (exit 2)
│   └── InvalidFile   a YAML or Python file of the workspace, named with file and key
├── MachineError      the machine lacks something that the job needs (exit 3)
└── JournalError      a result can't be written or read (exit 3)
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

_LONGEST_MESSAGE = 2000


class HarnessError(Exception):
    """Base of everything that the harness raises on purpose."""


class UsageError(HarnessError):
    """The request can't be carried out as the user wrote it."""


class InvalidFile(UsageError):
    """A file of the workspace breaks its rules: `faults` has all that is wrong with it, the message the first."""

    def __init__(self, message: str, *others: str) -> None:
        self.faults = tuple(map(bounded, (message, *others)))
        super().__init__(self.faults[0])


class MachineError(HarnessError):
    """The machine lacks something: no GPU, no compiler, no space."""


class JournalError(HarnessError):
    """The journal can't take or give a record."""


class Interrupted(Exception):
    """The run was told to stop. No error of anyone's."""


@contextmanager
def refused(kind: type[HarnessError], what: str, advice: str = "") -> Iterator[None]:
    """Turn what the system refuses within, such as a file that can't be written, into an error of ours."""
    try:
        yield
    except OSError as error:
        raise kind(f"{what}: {error.strerror or error}{advice and f'; {advice}'}") from None


def bounded(message: str) -> str:
    """Leave out the middle of a message that quotes something long."""
    half = _LONGEST_MESSAGE // 2
    return message if len(message) <= 2 * half else f"{message[:half]} […] {message[-half:]}"
