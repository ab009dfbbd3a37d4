"""A worker's texts with paths as its author knows them: nothing of where its copy of the solution lay."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from harness.sandbox.wire.device import Finding
from harness.sandbox.wire.layout import files_folder, scratch_folder
from harness.sandbox.wire.messages import Raised, Reply, TurnTaken


def show_text(text: str, folder: Path) -> str:
    """`folder` is the worker's."""
    return text.replace(f"{files_folder(folder)}/", "").replace(f"{scratch_folder(folder)}/", "scratch/")


def show_reply(reply: Reply, folder: Path) -> Reply:
    if not isinstance(reply, (Raised, TurnTaken)):
        return reply
    seen = tuple(_show_finding(finding, folder) for finding in reply.findings)
    if isinstance(reply, TurnTaken):
        return replace(reply, findings=seen)
    message, trace = show_text(reply.message, folder), show_text(reply.traceback, folder)
    return replace(reply, findings=seen, message=message, traceback=trace)


def _show_finding(finding: Finding, folder: Path) -> Finding:
    file = finding.file and show_text(finding.file, folder)
    code = finding.code and show_text(finding.code, folder)
    return replace(finding, file=file, detail=show_text(finding.detail, folder), code=code)
