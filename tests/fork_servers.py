"""Fork servers that all tests share: each session starts its own otherwise, and each of these imports torch for two
seconds of a core."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace

import pytest

from harness.sandbox.fork_server import ForkServers, Kind
from harness.worker.confinement import landlock
from harness.worker.confinement.linux import Unavailable


class OwnForkServers(ForkServers):
    """Those of one test, which may end them."""

    server = ForkServers.server
    close = ForkServers.close


@contextmanager
def shared_fork_servers() -> Iterator[None]:
    with closing(OwnForkServers()) as shared, pytest.MonkeyPatch.context() as patch:
        patch.setattr(ForkServers, "server", lambda own, kind: shared.server(_whatever_is_hidden(kind)))
        patch.setattr(ForkServers, "close", lambda own: None)
        yield


def _whatever_is_hidden(kind: Kind) -> Kind:
    """Only a server inside bubblewrap, where there is no Landlock, depends on what its workers may not see."""
    try:
        landlock.version()
    except Unavailable:
        return kind
    return replace(kind, sandbox=replace(kind.sandbox, hidden=()))
