"""`python -m tests.cudasim.fault_page`: writes the examples of docs/simulator_faults.md anew, as they come."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from harness.cudasim.toolkit import Toolkit, ensure_toolkit
from harness.model.simulator_findings import FINDING_KINDS
from harness.referee.judgement import describe_finding
from harness.run.cache import cache_folder
from harness.sandbox.wire.device import Finding
from tests.machine import ROOT

PAGE = ROOT / "docs/simulator_faults.md"
KERNELS = Path(__file__).with_name("checked_kernels.cu")
START, END = "<!-- examples -->\n", "<!-- end -->"

Outcomes = dict[str, dict[str, Any]]
"""By the name of a case in checked_kernels.cu."""

EXAMPLES = {
    "illegal-address": ("write_one_past", "write_one_past"),
    "shared-out-of-bounds": ("dynamic_one_past", "dynamic_one_past"),
    "array-index-out-of-bounds": ("local_past", "local_past"),
    "uninitialised-shared-read": ("halo_not_loaded", "halo_not_loaded"),
    "uninitialised-global-read": ("accumulate", "accumulate"),
    "misaligned-address": ("load4", "load4"),
    "host-pointer": ("memory_of_new", "memory_of_new"),
    "freed-pointer": ("temporary_s_memory", "temporary_s_memory"),
    "stack-overflow": ("recurse", "deeper"),
    "shared-race": ("one_barrier_in_a_loop", "one_barrier_in_a_loop"),
    "global-race": ("neighbour_s_result", "neighbour_s_result"),
    "index-overflow": ("wide_product", "wide_product"),
    "const-write": ("cast_away", "cast_away"),
    "input-write": ("input_scaled", "in_place"),
    "unwritten-output": ("half_an_output", "fill"),
    "launch-error": ("too_much_shared", "touch"),
    "barrier-not-reached": ("return_before_barrier", "return_before_barrier"),
    "barrier-divergence": ("barrier_in_both_branches", "barrier_in_both_branches"),
    "barrier-deadlock": ("half_at_the_barrier", "half_at_the_barrier"),
    "warp-inactive-lane": ("lane_of_nobody", "lane_of_nobody"),
    "warp-mask": ("ballot_of_one", "ballot_of_one"),
    "device-assert": ("roots", "root"),
    "integer-divide-by-zero": ("rows_per_thread", "rows_per_thread"),
}
"""By the kind of finding: the case that shows it, and the function in checked_kernels.cu."""


def run_scenarios(toolkit: Toolkit) -> Outcomes:
    """Every case of checked_kernels.cu, in a process of its own."""
    script = Path(__file__).with_name("checked_scenarios.py")
    run = subprocess.run(
        [sys.executable, str(script), str(toolkit.root)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    if run.returncode:
        raise RuntimeError(run.stderr)
    found: Outcomes = json.loads(run.stdout)
    return found


def with_examples(page: str, outcomes: Outcomes) -> str:
    """`page` with the marked part as the kernels behave now."""
    before, start, rest = page.partition(START)
    _, end, after = rest.partition(END)
    if not start or not end:
        raise ValueError(f"{PAGE.name} has no part marked {START.strip()} … {END}")
    return f"{before}{start}\n{''.join(_examples(outcomes))}{end}{after}"


def _examples(outcomes: Outcomes) -> Iterator[str]:
    for kind, (case, function) in EXAMPLES.items():
        facts = next(facts for facts in outcomes[case]["findings"] if facts["kind"] == kind)
        yield f"**`{kind}`**: {FINDING_KINDS[kind].meaning}\n\n```cpp\n{_source_of(function)}\n```\n\n"
        yield f"```text\n{_shown(Finding(**facts))}\n```\n\n"


def _source_of(function: str) -> str:
    """From the line that names it to the first brace that closes at the margin."""
    found = re.search(rf"^[^\n /].*\b{function}\(.*\)\s*\{{(.*\}}$|(\n.*?)*?\n\}}$)", KERNELS.read_text(), re.MULTILINE)
    if not found:
        raise ValueError(f"{KERNELS.name} has no function {function}")
    return found[0]


def _shown(finding: Finding) -> str:
    lines = textwrap.wrap(describe_finding(finding), 118, subsequent_indent="  ", break_long_words=False)
    return "\n".join([*lines, f"{finding.line:>5} | {finding.code}"] if finding.code else lines)


def main() -> None:
    toolkit = ensure_toolkit(cache_folder(), lambda what: print(what, file=sys.stderr), is_checked=True)
    PAGE.write_text(with_examples(PAGE.read_text(), run_scenarios(toolkit)))
    print(f"{PAGE}: {len(EXAMPLES)} examples")


if __name__ == "__main__":
    main()
