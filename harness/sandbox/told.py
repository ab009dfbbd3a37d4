"""Whether a worker of the simulator's has told all that the simulator saw.

Findings and launches are taken from the runtime in parts, in the solution's own process: it can take a part for itself.
The runtime's totals, which nobody takes away, then exceed the sum of what came here.
"""

from __future__ import annotations

from collections import Counter

from harness.devices import counted_as
from harness.sandbox.outcome import SolutionFailed
from harness.sandbox.wire.device import Account
from harness.sandbox.wire.messages import Raised, Reply, Request, TakeTurn, TurnTaken


class Told:
    """What one worker has told so far."""

    def __init__(self) -> None:
        self._findings: Counter[str] = Counter()
        self._launches = self._traces = 0

    def add(self, request: Request, reply: Reply) -> None:
        """Raises: SolutionFailed where something was kept from us."""
        if isinstance(request, TakeTurn) and request.traced:
            self._traces += 1
        if not isinstance(reply, (TurnTaken, Raised)):
            return
        for finding in reply.findings:
            self._findings[counted_as(finding)] += finding.count
        self._launches += reply.launches
        if reply.account is None:
            observed = "the simulator's own account of what it has seen was left out"
            raise SolutionFailed.cheating("trace", observed, launches_told=self._launches)
        self._require_all(reply.account)
        self._require_whole_traces(reply.account)

    def _require_all(self, account: Account) -> None:
        missing = {kind: count - self._findings[kind] for kind, count in account.findings.items()}
        kept = [f"{count} of {kind}" for kind, count in missing.items() if count > 0]
        if kept or account.launches != self._launches:
            found = f", and findings were kept back ({', '.join(kept)[:200]})" if kept else ""
            raise SolutionFailed.cheating(
                "trace",
                f"the simulator has seen {account.launches} launches, of which {self._launches} were told{found}: its "
                "report was taken by somebody else",
                launches=account.launches,
                launches_told=self._launches,
                findings=sum(account.findings.values()),
                findings_kept=sum(count for count in missing.values() if count > 0),
            )

    def _require_whole_traces(self, account: Account) -> None:
        if account.traces != self._traces:
            raise SolutionFailed.cheating(
                "trace",
                f"{self._traces} turns were to be traced, and a trace was begun {account.traces} times",
                traces=account.traces,
                traced_turns=self._traces,
            )
