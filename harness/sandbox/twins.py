"""Whether a finding of the simulator's is a fault or its harmless twin, which only the source's text tells.

The worker says which; the line is the runtime's, held against its totals (told.py). A remark stands where the line is
in the solution's own files, and the same is found there. Else it is the fault: what a worker alone knows excuses
nothing.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property

from harness.cudasim import cuda_texts
from harness.devices import HARMLESS_TWINS, RUNTIMES_KIND, kind_by_text
from harness.sandbox.wire.device import Finding
from harness.sandbox.wire.messages import Raised, Reply, TurnTaken

_MOST_PLACES = 64
"""That are looked at for a worker; honest solutions have a handful of remarks, each in one line."""
_HOLE = re.compile(r"\{\s*[\w.]*\s*\}|@\w+@|\$\w+")
_MOST_HOLES, _MOST_CHARS = 4, 200
"""Of a line that Python completes."""
_UNKNOWN = "its line isn't in the solution's files"
_OTHERWISE = "by the solution's files it is no remark"


class Twins:
    """The referee's decision for one worker."""

    def __init__(self, files: Mapping[str, str]) -> None:
        """`files`: the texts of the solution's files, by name."""
        self._texts = cuda_texts(files)
        self._known: dict[tuple[str, str], str | None] = {}
        self._places_left = _MOST_PLACES

    def settle(self, reply: Reply) -> Reply:
        """The reply with remarks that aren't confirmed as what they may be."""
        if not isinstance(reply, (TurnTaken, Raised)):
            return reply
        return replace(reply, findings=tuple(self._settled(finding) for finding in reply.findings))

    def _settled(self, finding: Finding) -> Finding:
        if finding.kind not in HARMLESS_TWINS:
            return finding
        about = finding.kind, _plain(finding.code or "")
        if about not in self._known:
            self._known[about] = self._objection(*about) if self._places_left else _UNKNOWN
        objection = self._known[about]
        if objection is None:
            return finding
        return replace(finding, kind=HARMLESS_TWINS[finding.kind], detail=f"{finding.detail} ({objection})")

    def _objection(self, kind: str, code: str) -> str | None:
        objection: str | None = _UNKNOWN
        for text, line in (self._places.get(code) or self._filled_in(code)) if code else ():
            if not self._places_left or kind_by_text(RUNTIMES_KIND.get(kind, kind), text, line) != kind:
                return _OTHERWISE
            self._places_left -= 1
            objection = None
        return objection

    def _filled_in(self, code: str) -> list[tuple[str, int]]:
        """Where it stands with places for names or numbers: a text that Python completes."""
        return [place for line, places in self._templates if line.fullmatch(code) for place in places]

    @cached_property
    def _templates(self) -> list[tuple[re.Pattern[str], list[tuple[str, int]]]]:
        found = []
        for line, places in self._places.items():
            parts = _HOLE.split(line)
            if 1 < len(parts) <= _MOST_HOLES + 1 and len(line) <= _MOST_CHARS and any(part.strip() for part in parts):
                found.append((re.compile(r"[\w.]+".join(map(re.escape, parts))), places))
        return found[:_MOST_PLACES]

    @cached_property
    def _places(self) -> Mapping[str, list[tuple[str, int]]]:
        """By a line as it reads: where it stands."""
        found = defaultdict(list)
        for text in self._texts:
            for number, line in enumerate(text.splitlines(), 1):
                found[_plain(line)].append((text, number))
        return found


def _plain(line: str) -> str:
    """As it reads with and without the escapes of a string, and the braces of one that is formatted."""
    for written, meant in (("\\\\", "\\"), ("{{", "{"), ("}}", "}"), ("\t", " ")):
        line = line.replace(written, meant)
    return line.strip()
