"""The changes that a module made to torch's global flags, in words. Only its own process says that it made them."""

from __future__ import annotations

from collections.abc import Sequence

from harness.sandbox.wire.messages import Flag, FlagChange


def flag_remarks(who: str, changes: Sequence[FlagChange], known: Sequence[FlagChange] = ()) -> list[str]:
    """Make one remark, or none where there is no change besides those that are `known`."""
    new = [change for change in changes if change not in known]
    words = ", ".join(f"{change.name} {_said(change.before)} → {_said(change.after)}" for change in new)
    return [f"by its process's own account {who} changed torch's flags: {words}"] if new else []


def _said(flag: Flag | None) -> str:
    if flag is None:
        return "contradictory"
    return flag if isinstance(flag, str) else "on" if flag else "off"
