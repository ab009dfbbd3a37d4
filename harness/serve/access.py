"""Access: who may ask, by bearer tokens, and how often."""

from __future__ import annotations

import hmac
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import Field
from pydantic.dataclasses import dataclass as validated

from harness.errors import InvalidFile
from harness.model.record import SETTINGS
from harness.workspace.yaml_file import read_yaml

LOCAL = "local"
"""The owner of all jobs where no tokens are asked for."""


@validated(frozen=True, config=SETTINGS)
class TokenOwner:
    """One who may ask. `may_send_problems`: a problem's text is code that the server runs unconfined, so that only who
    may run code there anyway should."""

    token: Annotated[str, Field(min_length=16)]
    may_send_problems: bool = False


@validated(frozen=True, config=SETTINGS)
class TokenFile:
    """The file that --tokens names."""

    owners: dict[Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]{1,60}$")], TokenOwner]


@dataclass(frozen=True)
class Owner:
    name: str
    may_send_problems: bool


class Access:
    """Says who a request comes from, and keeps its jobs within a rate. `owners` is empty where everybody may ask."""

    def __init__(
        self, owners: dict[str, TokenOwner], jobs_a_minute: int | None, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._owners = owners
        self._rate = jobs_a_minute
        self._now = now
        self._lock = threading.Lock()
        self._left: dict[str, tuple[float, float]] = {}

    @property
    def needs_token(self) -> bool:
        return bool(self._owners)

    def owner(self, authorization: str | None) -> Owner | None:
        """The owner of an Authorization header's bearer token; None for a wrong or missing one."""
        if not self._owners:
            return Owner(LOCAL, may_send_problems=True)
        scheme, _, given = (authorization or "").partition(" ")
        if scheme.lower() != "bearer":
            return None
        found = None
        for name, one in self._owners.items():  # all, so that the time doesn't tell which
            if hmac.compare_digest(one.token.encode(), given.strip().encode()):
                found = Owner(name, one.may_send_problems)
        return found

    def is_beyond(self, jobs: int) -> bool:
        """Say whether so many can never be sent at once."""
        return self._rate is not None and jobs > self._rate

    def wait_s(self, owner: str, jobs: int) -> float:
        """Count so many jobs of an owner; the seconds to wait first where they are too many now, and aren't counted."""
        if self._rate is None:
            return 0.0
        with self._lock:
            left, at = self._left.get(owner, (float(self._rate), self._now()))
            left = min(float(self._rate), left + max(0.0, self._now() - at) * self._rate / 60)
            if jobs <= left:
                self._left[owner] = left - jobs, self._now()
                return 0.0
            return (jobs - left) * 60 / self._rate


def read_tokens(path: Path) -> dict[str, TokenOwner]:
    """Read a file of tokens. Raises: InvalidFile where it breaks its rules or others may read it."""
    if path.exists() and path.stat().st_mode & 0o077:
        raise InvalidFile(f"{path}: others may read these tokens: chmod 600 {path}")
    owners = read_yaml(TokenFile, path).owners
    if not owners:
        raise InvalidFile(f"{path}: it names nobody; write owners: {{NAME: {{token: …}}}}")
    if len({one.token for one in owners.values()}) < len(owners):
        raise InvalidFile(f"{path}: two owners have one token")
    return owners
