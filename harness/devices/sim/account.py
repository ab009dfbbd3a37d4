"""Check whether a worker of the simulator's reported all that was seen, and whether what it calls harmless is so.

Findings and launches are taken from the runtime in parts, in the solution's own process, which can take a part for
itself. The runtime's totals, which nobody takes away, then exceed the sum of what was reported.

The worker also says which findings are harmless, which only the source's text tells. The line is the runtime's, held
against its totals. A remark stands where the line is in the solution's own files, and the same is found there. Else it
is the fault: what a worker alone knows excuses nothing.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property

from harness.cudasim import cuda_texts
from harness.devices.sim.findings import HARMLESS_FINDINGS, RUNTIMES_KIND, counted_as, kind_by_text
from harness.sandbox.wire.device import Account, Finding
from harness.sandbox.wire.messages import Raised, Reply, Request, TakeTurn, TurnTaken

_MOST_PLACES = 64
"""The most places that are looked at for a worker; honest solutions have a handful of remarks, each in one line."""
_HOLE = re.compile(r"\{\s*[\w.]*\s*\}|@\w+@|\$\w+")
_MOST_HOLES, _MOST_CHARS = 4, 200
"""The most holes and characters of a line that Python completes."""
_UNKNOWN = "its line isn't in the solution's files"
_OTHERWISE = "by the solution's files it is no remark"


class FindingsWithheld(Exception):
    """Something that the simulator saw was kept from us. `numbers` are the evidence's."""

    def __init__(self, observed: str, **numbers: float) -> None:
        super().__init__(observed)
        self.numbers = numbers


class AccountOfFindings:
    """The account of one worker: what it has reported so far."""

    def __init__(self) -> None:
        self._findings: Counter[str] = Counter()
        self._launches = self._traces = 0
        self._harmless = HarmlessFindings({})

    def read_files(self, files: Mapping[str, str]) -> None:
        """Take `files`, texts by name, for the solution's."""
        self._harmless = HarmlessFindings(files)

    def checked(self, request: Request, reply: Reply) -> Reply:
        """The reply without harmless findings that the solution's files don't confirm. Raises: FindingsWithheld."""
        if isinstance(request, TakeTurn) and request.traced:
            self._traces += 1
        if not isinstance(reply, (TurnTaken, Raised)):
            return reply
        for finding in reply.findings:
            self._findings[counted_as(finding)] += finding.count
        self._launches += reply.launches
        if reply.account is None:
            observed = "the simulator's own account of what it has seen was left out"
            raise FindingsWithheld(observed, launches_told=self._launches)
        self._require_all(reply.account)
        self._require_whole_traces(reply.account)
        return replace(reply, findings=tuple(self._harmless.settled(finding) for finding in reply.findings))

    def _require_all(self, account: Account) -> None:
        missing = {kind: count - self._findings[kind] for kind, count in account.findings.items()}
        kept = [f"{count} of {kind}" for kind, count in missing.items() if count > 0]
        if kept or account.launches != self._launches:
            found = f", and findings were kept back ({', '.join(kept)[:200]})" if kept else ""
            raise FindingsWithheld(
                f"the simulator has seen {account.launches} launches, of which {self._launches} were told{found}: its "
                "report was taken by somebody else",
                launches=account.launches,
                launches_told=self._launches,
                findings=sum(account.findings.values()),
                findings_kept=sum(count for count in missing.values() if count > 0),
            )

    def _require_whole_traces(self, account: Account) -> None:
        if account.traces != self._traces:
            raise FindingsWithheld(
                f"{self._traces} turns were to be traced, and a trace was begun {account.traces} times",
                traces=account.traces,
                traced_turns=self._traces,
            )


class HarmlessFindings:
    """The decision which findings of one worker are harmless."""

    def __init__(self, files: Mapping[str, str]) -> None:
        """Take `files`, the texts of the solution's files by name."""
        self._texts = cuda_texts(files)
        self._known: dict[tuple[str, str], str | None] = {}
        self._places_left = _MOST_PLACES

    def settled(self, finding: Finding) -> Finding:
        """The finding, as the fault that it may be where it isn't confirmed as harmless."""
        if finding.kind not in HARMLESS_FINDINGS:
            return finding
        about = finding.kind, _plain(finding.code or "")
        if about not in self._known:
            self._known[about] = self._objection(*about) if self._places_left else _UNKNOWN
        objection = self._known[about]
        if objection is None:
            return finding
        return replace(finding, kind=HARMLESS_FINDINGS[finding.kind], detail=f"{finding.detail} ({objection})")

    def _objection(self, kind: str, code: str) -> str | None:
        objection: str | None = _UNKNOWN
        for text, line in (self._places.get(code) or self._filled_in(code)) if code else ():
            if not self._places_left or kind_by_text(RUNTIMES_KIND.get(kind, kind), text, line) != kind:
                return _OTHERWISE
            self._places_left -= 1
            objection = None
        return objection

    def _filled_in(self, code: str) -> list[tuple[str, int]]:
        """Find where it stands with places for names or numbers: a text that Python completes."""
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
        """The places of each line, by the line as it reads."""
        found = defaultdict(list)
        for text in self._texts:
            for number, line in enumerate(text.splitlines(), 1):
                found[_plain(line)].append((text, number))
        return found


def _plain(line: str) -> str:
    """Drop the escapes of a string and the braces of a formatted one: a line reads the same with and without them."""
    for written, meant in (("\\\\", "\\"), ("{{", "{"), ("}}", "}"), ("\t", " ")):
        line = line.replace(written, meant)
    return line.strip()
