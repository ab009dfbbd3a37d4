"""The door: a judge that others ask over HTTP, and the client that asks it.

Everything that other rooms may use is named here. The server needs the extra `serve` (FastAPI, uvicorn, SQLAlchemy); a
name is imported when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.face import lazy

if TYPE_CHECKING:
    from harness.serve.access import Access, read_tokens
    from harness.serve.app import create_app
    from harness.serve.client import AsyncClient, Client, connect
    from harness.serve.judges import Judge
    from harness.serve.queue import JobQueue

__getattr__, __dir__ = lazy(__name__, __file__)
