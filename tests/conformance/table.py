"""`python -m tests.conformance.table`: writes the tables of docs/simulator_language.md anew."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator
from itertools import groupby

from harness.cudasim.unsupported import CONSTRUCTS
from tests.conformance.case import EXACT, Case
from tests.conformance.cases import CASES
from tests.machine import ROOT

PAGE = ROOT / "docs/simulator_language.md"
TITLES = {
    "launch": "Launches and arguments",
    "launch_functions": "Launches and arguments",
    "memory": "Memory",
    "warps": "Barriers, votes and shuffles",
    "groups": "Cooperative groups",
    "cub": "CUB",
    "atomics": "Atomics",
    "integers": "Integer intrinsics",
    "floats": "Floats, rounding and conversion",
    "half": "float16 and bfloat16",
    "bfloat16": "float16 and bfloat16",
    "matrices": "Warp matrix functions",
    "ptx": "Inline PTX",
    "hopper": "Inline PTX",
    "runtime": "The runtime API",
    "torch_names": "torch's headers",
    "cublas": "cuBLAS",
}


def tables() -> dict[str, str]:
    """The text between `<!-- name -->` and `<!-- end -->`, by name."""
    return {
        "constructs": "\n".join(_constructs()),
        "tolerances": "\n".join(_tolerances()),
        "unsupported": _wrapped(", ".join(CONSTRUCTS).replace("<<<>>>", "`<<<>>>`") + "."),
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


def _wrapped(text: str, indent: str = "") -> str:
    return textwrap.fill(text, 120, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def _constructs() -> Iterator[str]:
    exact = sum(case.tolerance == EXACT for case in CASES)
    yield f"{exact} of {len(CASES)} test kernels must agree to the last bit; others have a mark.\n"
    for title, group in groupby(CASES, key=lambda case: TITLES[case.theme]):
        yield _wrapped(f"- **{title}**: {'; '.join(_items(group))}", "  ")


def _items(cases: Iterable[Case]) -> Iterator[str]:
    """Each text once with the marks of its cases; what differs only behind ` on ` stands together."""
    marks: dict[str, dict[str, None]] = {}
    for case in cases:
        marks.setdefault(case.covers, {}).update(dict.fromkeys(_marks(case)))
    marked = [text + (f" ({', '.join(names)})" if names else "") for text, names in marks.items()]
    for head, together in groupby(marked, key=lambda text: text.partition(" on ")[0]):
        first, *others = together
        yield ", ".join([first, *(text.removeprefix(f"{head} on ") for text in others)])


def _marks(case: Case) -> Iterator[str]:
    if case.tolerance != EXACT:
        yield case.tolerance.name
    if case.needs:
        yield f"on {case.needs[0]}.{case.needs[1]}"


def _tolerances() -> Iterator[str]:
    used = {case.tolerance.name: case.tolerance for case in CASES if case.tolerance != EXACT}
    yield "| mark | allowed | since |"
    yield "|---|---|---|"
    for name, tolerance in used.items():
        yield f"| {name} | {tolerance.atol:g}+{tolerance.rtol:g}·\\|want\\| | {tolerance.why} |"


def main() -> None:
    PAGE.write_text(with_tables(PAGE.read_text()))
    print(f"{PAGE}: {len(CASES)} kernels")


if __name__ == "__main__":
    main()
