"""`python -m tests.conformance.table`: writes the tables of docs/simulator_language.md anew."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from harness.cudasim.unsupported import CONSTRUCTS
from tests.conformance.case import EXACT, Case, Tolerance
from tests.conformance.cases import CASES
from tests.machine import ROOT

PAGE = ROOT / "docs/simulator_language.md"
TITLES = {
    "launch": "Launches and arguments",
    "memory": "Memory",
    "warps": "Barriers, votes and shuffles",
    "groups": "Cooperative groups",
    "atomics": "Atomics",
    "integers": "Integer intrinsics",
    "floats": "Floats, rounding and conversion",
    "half": "float16",
    "bfloat16": "bfloat16",
    "matrices": "Warp matrix functions",
    "runtime": "The runtime API",
    "torch_names": "torch's headers",
}


def tables() -> dict[str, str]:
    """The text between `<!-- name -->` and `<!-- end -->`, by name."""
    return {
        "constructs": "\n".join(_constructs()),
        "tolerances": "\n".join(_tolerances()),
        "unsupported": "\n".join(f"- {construct}" for construct in CONSTRUCTS),
    }


def with_tables(page: str) -> str:
    """`page` with each marked part as the tables have it now."""
    for name, text in tables().items():
        before, start, rest = page.partition(f"<!-- {name} -->\n")
        _, end, after = rest.partition("<!-- end -->")
        if not start or not end:
            raise ValueError(f"{PAGE.name} has no part marked <!-- {name} --> … <!-- end -->")
        page = f"{before}{start}\n{text}\n\n{end}{after}"
    return page


def _constructs() -> Iterator[str]:
    for theme, group in groupby(CASES, key=lambda case: case.theme):
        yield f"**{TITLES[theme]}** (`kernels/{theme}.cu`)\n"
        yield from _rows(list(group))
        yield ""


def _rows(cases: Sequence[Case]) -> Iterator[str]:
    yield "| constructs | kernel | agrees |"
    yield "|---|---|---|"
    for case in cases:
        only = f", on {case.needs[0]}.{case.needs[1]}" if case.needs else ""
        yield f"| {case.covers} | `{case.name}` | {case.tolerance.name}{only} |"


def _tolerances() -> Iterator[str]:
    used: dict[str, Tolerance] = {case.tolerance.name: case.tolerance for case in CASES}
    counts = {name: sum(case.tolerance.name == name for case in CASES) for name in used}
    yield "| agrees | kernels | allowed | since |"
    yield "|---|---:|---|---|"
    for name, tolerance in sorted(used.items(), key=lambda item: -counts[item[0]]):
        allowed = "nothing" if tolerance == EXACT else f"{tolerance.atol:g} + {tolerance.rtol:g}·\\|want\\|"
        yield f"| {name} | {counts[name]} | {allowed} | {tolerance.why} |"


def main() -> None:
    PAGE.write_text(with_tables(PAGE.read_text()))
    print(f"{PAGE}: {len(CASES)} kernels")


if __name__ == "__main__":
    main()
