"""`python -m tests.cudasim.beside_compute_sanitizer`: the faulty kernels of checked_kernels.cu under the tools of
compute-sanitizer, on a GPU, and the honest ones under all of them. Writes the table of docs/simulator_faults.md."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from harness.model.instruments import SanitizerTool
from harness.model.simulator_findings import FINDING_KINDS
from harness.tools.sanitizer_log import read_log
from harness.tools.sanitizing import sanitizer_command
from tests.cudasim.fault_page import COUNT, DECLARATIONS, KERNELS, PAGE
from tests.cudasim.test_checked import FAULTS, HONEST
from tests.machine import ROOT

TOOL_OF: dict[str, SanitizerTool] = {
    **dict.fromkeys(("illegal-address", "shared-out-of-bounds", "array-index-out-of-bounds"), "memcheck"),
    **dict.fromkeys(("misaligned-address", "host-pointer", "freed-pointer", "stack-overflow"), "memcheck"),
    **dict.fromkeys(("device-assert", "launch-error", "const-write"), "memcheck"),
    **dict.fromkeys(("shared-race", "global-race"), "racecheck"),
    **dict.fromkeys(("uninitialised-global-read", "uninitialised-shared-read"), "initcheck"),
    **dict.fromkeys(("barrier-after-exit", "barrier-divergence", "barrier-deadlock"), "synccheck"),
    **dict.fromkeys(("warp-mask", "warp-inactive-lane"), "synccheck"),
}
"""The tool that comes nearest to a kind of finding. The others have none: nobody but the caller knows of an input."""
TOOLS: tuple[SanitizerTool, ...] = ("memcheck", "racecheck", "initcheck", "synccheck")
LIMIT_S = 60
START, END = "<!-- compute-sanitizer -->\n", "<!-- end of compute-sanitizer -->"


@dataclass(frozen=True)
class Look:
    """What a tool said of some cases in one process; `reports` are its headlines, None where there was no end."""

    cases: tuple[str, ...]
    tool: SanitizerTool
    reports: tuple[str, ...] | None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", type=Path, default=Path("compute-sanitizer"))
    parser.add_argument("--jobs", type=int, default=max(1, min(10, (os.cpu_count() or 2) - 2)))
    parser.add_argument("--library", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--cases", nargs="+", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.cases:
        run_cases(arguments.library, arguments.cases)
        return
    with tempfile.TemporaryDirectory() as folder:
        library = build(Path(folder))
        faulty = [((name,), TOOL_OF[kind]) for name, kind, *_ in FAULTS if kind in TOOL_OF]
        honest = [(tuple(HONEST), tool) for tool in TOOLS]
        with ThreadPoolExecutor(arguments.jobs) as pool:
            looks = []
            for one in pool.map(lambda row: look(arguments.program, library, *row), [*honest, *faulty]):
                looks.append(one)
                what = "no end" if one.reports is None else "; ".join(one.reports) or "nothing"
                print(f"{one.cases[0] if len(one.cases) == 1 else 'honest':<28}{one.tool:<11}{what}", flush=True)
    table = "\n".join(rows(looks))
    print(table)
    page = PAGE.read_text()
    if START in page:
        before, _, rest = page.partition(START)
        PAGE.write_text(f"{before}{START}\n{table}\n\n{END}{rest.partition(END)[2]}")


def build(folder: Path) -> Path:
    """The extension's library, by the real nvcc."""
    from torch.utils.cpp_extension import load_inline

    load_inline(
        "harness_checked",
        cpp_sources=DECLARATIONS,
        cuda_sources=KERNELS.read_text(),
        functions=["names", "run", "pool"],
        extra_cuda_cflags=["-lineinfo"],
        build_directory=str(folder),
    )
    return folder / "harness_checked.so"


def look(program: Path, library: Path, cases: Sequence[str], tool: SanitizerTool) -> Look:
    log = library.with_name(f"{tool}-{cases[0]}.log")
    module = "tests.cudasim.beside_compute_sanitizer"
    command = [
        *sanitizer_command(program, tool, log),
        *(sys.executable, "-m", module, "--library", str(library), "--cases", *cases),
    ]
    environment = {**os.environ, "PYTORCH_NO_CUDA_MEMORY_CACHING": "1", "PYTHONPATH": str(ROOT)}
    try:
        ended = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=LIMIT_S * len(cases))
    except subprocess.TimeoutExpired:
        return Look(tuple(cases), tool, None)
    if not log.exists():
        raise SystemExit(f"{' '.join(command)}\n{ended.stdout[-2000:]}{ended.stderr[-2000:]}")
    found = read_log(log.read_text(), tool)
    return Look(tuple(cases), tool, tuple(report.finding.kind for report in found.reported))


def run_cases(library: Path, cases: Sequence[str]) -> None:
    """In the process that is looked at. Inputs as the simulator's tests have them, 16 bytes past the end included."""
    import importlib.util

    import torch

    spec = importlib.util.spec_from_file_location(library.stem, library)
    assert spec is not None
    assert spec.loader is not None
    extension = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(extension)
    for case in cases:
        a = torch.arange(COUNT, dtype=torch.float32).cuda()
        b = torch.empty(COUNT, device="cuda")
        extension.run(case, a, b)
        torch.cuda.synchronize()


def rows(looks: Sequence[Look]) -> Iterator[str]:
    """A Markdown table: by tool, how many of the kernels of each kind of finding it reports."""
    found = {one.cases[0]: one for one in looks if len(one.cases) == 1}
    yield "| tool | kernels reported of those run |"
    yield "|---|---|"
    faults = [kind for kind, about in FINDING_KINDS.items() if about.verdict not in (None, "unsupported")]
    for tool in TOOLS:
        shares = [f"`{kind}` {_share(kind, found)}" for kind in faults if TOOL_OF.get(kind) == tool]
        yield f"| {tool} | {', '.join(shares)} |"
    yield f"| none | {', '.join(f'`{kind}`' for kind in faults if kind not in TOOL_OF)} |"
    honest = [one for one in looks if len(one.cases) > 1]
    words = "; ".join(f"{one.tool}: {', '.join(one.reports or ('no end',))}" for one in honest if one.reports != ())
    yield f"| all | {words or 'nothing'} on the {len(HONEST)} honest kernels |"


def _share(kind: str, found: Mapping[str, Look]) -> str:
    looks = [found[name] for name, its_kind, *_ in FAULTS if its_kind == kind]
    hung = sum(one.reports is None for one in looks)
    return f"{sum(bool(one.reports) for one in looks)}/{len(looks)}" + (f" ({hung} hang)" if hung else "")


if __name__ == "__main__":
    main()
