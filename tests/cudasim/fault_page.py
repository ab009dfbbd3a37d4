"""`python -m tests.cudasim.fault_page`: writes the examples of docs/simulator_faults.md anew, as they come."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.cudasim.toolkit import Toolkit, ensure_toolkit
from harness.model.simulator_findings import FINDING_KINDS
from harness.run.cache import cache_folder
from harness.sandbox.wire.device import Finding
from tests.machine import ROOT

PAGE = ROOT / "docs/simulator_faults.md"
KERNELS = Path(__file__).with_name("checked_kernels.cu")
DECLARATIONS = """
std::vector<std::string> names();
void run(std::string name, torch::Tensor a, torch::Tensor b);
torch::Tensor pool(torch::Tensor x, bool wide);
"""
COUNT = 1000
"""The elements of the two tensors that a case is run with."""
END = "<!-- end -->"

Outcomes = dict[str, dict[str, Any]]
"""By the name of a case in checked_kernels.cu, or of a scenario: value, error, findings and launches."""

_LAUNCH = re.compile(r"^\{.*\{ (\w+<<<.*;) \}\},$")
"""A row of the table of cases, which is a launch and no more."""
BEFORE_THE_SOURCE = 3
"""Lines that load_inline puts before a source."""


@dataclass(frozen=True)
class Example:
    """The case of checked_kernels.cu that shows a fault: the line found, with lines before and after it that matter."""

    case: str
    before: int = 0
    after: int = 0
    function: str = ""
    """For a finding that has no line: the function to show."""


EXAMPLES = {
    "illegal-address": Example("write_one_past"),
    "host-pointer": Example("memory_of_new", before=1),
    "freed-pointer": Example("temporary_s_memory", before=1),
    "shared-out-of-bounds": Example("dynamic_one_past", before=1),
    "misaligned-address": Example("load4"),
    "stack-overflow": Example("recurse", after=2),
    "array-index-out-of-bounds": Example("local_past", before=1),
    "uninitialised-shared-read": Example("halo_not_loaded", before=2),
    "uninitialised-global-read": Example("accumulate"),
    "input-write": Example("input_scaled"),
    "const-write": Example("cast_away"),
    "unwritten-output": Example("half_an_output", function="fill"),
    "index-overflow": Example("wide_product", after=1),
    "shared-race": Example("one_barrier_in_a_loop", before=3, after=1),
    "global-race": Example("neighbour_s_result", before=1),
    "launch-error": Example("too_much_shared"),
    "barrier-deadlock": Example("half_at_the_barrier", after=1),
    "device-assert": Example("roots"),
    "integer-divide-by-zero": Example("rows_per_thread"),
    "warp-inactive-lane": Example("lane_of_nobody"),
    "warp-mask": Example("ballot_of_one"),
    "barrier-divergence": Example("barrier_in_both_branches", before=4, after=2),
}
"""By the kind of finding."""


def run_scenarios(toolkit: Toolkit) -> Outcomes:
    """Every case of the kernels for this build, in a process of its own."""
    script = Path(__file__).with_name("checked_scenarios.py" if toolkit.is_checked else "scenarios.py")
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
    """`page` with the marked parts as the findings and the kernels are now."""
    page = _between(page, "builds", "".join(_builds()) + "\n")
    return _between(page, "examples", "".join(_examples(outcomes)))


def _between(page: str, name: str, text: str) -> str:
    before, start, rest = page.partition(f"<!-- {name} -->\n")
    _, end, after = rest.partition(END)
    if not start or not end:
        raise ValueError(f"{PAGE.name} has no part marked <!-- {name} --> … {END}")
    return f"{before}{start}\n{text}{end}{after}"


def _builds() -> Iterator[str]:
    """A table of the verdict that a fault leads to, by the builds that find it."""
    yield "| verdict | both builds find | only `--sanitize` finds |\n|---|---|---|\n"
    verdicts = {about.verdict for about in FINDING_KINDS.values()} - {"unsupported"}
    for verdict in sorted(verdicts, key=lambda name: name or "~"):
        found: dict[bool, list[str]] = {False: [], True: []}
        for kind, about in FINDING_KINDS.items():
            if about.verdict == verdict:
                found[about.build == "checked"].append(f"`{kind}`")
        name = f"`{verdict}`" if verdict else "none: a remark"
        yield f"| {name} | {', '.join(found[False])} | {', '.join(found[True])} |\n"


def _examples(outcomes: Outcomes) -> Iterator[str]:
    for kind, example in EXAMPLES.items():
        finding = next(Finding(**facts) for facts in outcomes[example.case]["findings"] if facts["kind"] == kind)
        said = textwrap.wrap(finding.detail, 112, break_long_words=False, break_on_hyphens=False)
        lines = [*_decisive(finding, example), *(f"// {line}" for line in said)]
        yield f"### {kind}\n\n```cpp\n" + "\n".join(lines) + "\n```\n\n"


def _decisive(finding: Finding, example: Example) -> Iterator[str]:
    """The lines that matter. Of several, those that the finding names are numbered as there, else its own is marked."""
    if not finding.line:
        yield _source_of(example.function)
        return
    first, last = finding.line - example.before, finding.line + example.after
    lines = KERNELS.read_text().splitlines()[first - 1 - BEFORE_THE_SOURCE : last - BEFORE_THE_SOURCE]
    mentioned = " ".join(re.findall(r"\blines? [\d and]+", finding.detail))
    numbers = set(map(int, re.findall(r"\d+", mentioned)))
    for number, line in enumerate(textwrap.dedent("\n".join(lines)).splitlines(), first):
        mark = (
            f"line {number}" if number in numbers else "here" if number == finding.line != last and not numbers else ""
        )
        yield _LAUNCH.sub(r"\1", line) + (f"  // {mark}" if mark and first < last else "")


def _source_of(function: str) -> str:
    """From the line that names it to the first brace that closes at the margin."""
    found = re.search(rf"^[^\n /].*\b{function}\(.*\)\s*\{{(.*\}}$|(\n.*?)*?\n\}}$)", KERNELS.read_text(), re.MULTILINE)
    if not found:
        raise ValueError(f"{KERNELS.name} has no function {function}")
    return found[0]


def main() -> None:
    toolkit = ensure_toolkit(cache_folder(), lambda what: print(what, file=sys.stderr), is_checked=True)
    PAGE.write_text(with_examples(PAGE.read_text(), run_scenarios(toolkit)))
    print(f"{PAGE}: {len(EXAMPLES)} examples")


if __name__ == "__main__":
    main()
