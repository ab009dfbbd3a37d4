"""Being told to stop."""

from __future__ import annotations


class Interrupted(Exception):
    """The run was told to stop while it waited for a worker."""
