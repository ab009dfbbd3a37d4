"""One tool over one arm: whose the findings are, and what becomes of tools and arms that fail."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from harness.model.instruments import ToolRun
from harness.tools.arm_task import ArmReport
from harness.tools.bench import ArmFailed
from harness.tools.sanitizing import look
from tests.tools import fakes

KERNEL = "twice_kernel(float const*, float*, int)"
SOURCE = (fakes.WORKSPACE / "solutions/double/overrun/solution.py").read_text().split('"""')[3]


def run(folder: Path, program: Path, kernel: str = KERNEL, timeout_s: float = 60) -> ToolRun:
    asked = fakes.inspection(fakes.target(), program, folder, timeout_s)
    with fakes.bench(asked.target, fakes.built(kernel)) as bench:
        return look(bench, "memcheck", asked)


def sanitizer(
    folder: Path, log: str, said: ArmReport | None = None, edits: dict[str, str] | None = None, **how: Any
) -> Path:
    """A tool that writes one of the logs, edited."""
    text = (fakes.DATA / f"{log}.log").read_text()
    for old, new in (edits or {}).items():
        text = text.replace(old, new)
    (folder / "log").write_text(text)
    return fakes.tool(folder / "compute-sanitizer", {"--log-file": folder / "log"}, said, **how)


def test_a_finding_in_the_solutions_kernel_is_its_own_and_in_its_own_lines(tmp_path: Path) -> None:
    found = run(tmp_path, sanitizer(tmp_path, "memcheck_overrun", fakes.report("call", source=SOURCE), code=6))
    (finding,) = found.findings
    assert finding.is_own
    assert finding.kernel == KERNEL
    assert (finding.source, finding.text) == (
        "solution.py:13",
        "if (i <= count) y[i] = 2.0f * (i < count ? x[i] : 0.0f);",
    )
    assert (finding.thread, finding.block, finding.nbytes) == ((44, 0, 0), (1, 0, 0), 4)
    assert (found.errors, found.complaint) == (3, None)


def test_a_finding_in_a_kernel_of_torch_is_not(tmp_path: Path) -> None:
    edits = {"_Z12twice_kernelPKfPfi": "_ZN2at6native13reduce_kernelILi512ELi1EEEvv", " in cuda.cu:10": ""}
    (finding,) = run(tmp_path, sanitizer(tmp_path, "memcheck_overrun", fakes.report("end"), edits)).findings
    assert not finding.is_own
    assert finding.kernel == "void at::native::reduce_kernel<512, 1>()"


@pytest.mark.parametrize(("library", "is_own"), [("double_overrun.so", True), ("libtorch_cuda.so", False)])
def test_a_launch_that_fails_belongs_to_the_solution_whose_code_made_it(
    tmp_path: Path, library: str, is_own: bool
) -> None:
    """Not one inside of torch, whoever called it: torch tries what may fail."""
    program = sanitizer(tmp_path, "memcheck_failed_launch", fakes.report("end"), {"double.so": library})
    found = run(tmp_path, program)
    (finding,) = found.findings
    assert (finding.is_own, finding.kernel, finding.source) == (is_own, None, "solution.py:32")
    assert found.complaint is None


def test_an_arm_that_others_findings_end_was_not_looked_through(tmp_path: Path) -> None:
    found = run(tmp_path, sanitizer(tmp_path, "memcheck_failed_launch", fakes.report("call"), code=6))
    assert [finding.is_own for finding in found.findings] == [False]
    assert found.complaint is not None
    assert "exit code 6" in found.complaint


def test_a_clean_arm_has_none(tmp_path: Path) -> None:
    found = run(tmp_path, sanitizer(tmp_path, "memcheck_clean", fakes.report("end")))
    assert (found.findings, found.errors, found.complaint) == ((), 0, None)


def test_an_arm_that_raises_under_a_tool_that_finds_nothing_has_failed_itself(tmp_path: Path) -> None:
    said = fakes.report("call", error="Traceback …\nValueError: columns must be a multiple of 32\n")
    with pytest.raises(ArmFailed, match=r"double/overrun .*called: ValueError: columns") as caught:
        run(tmp_path, sanitizer(tmp_path, "memcheck_clean", said, code=1))
    assert caught.value.details.startswith("Traceback")


def test_an_arm_that_crashes_silently_has_failed_itself(tmp_path: Path) -> None:
    with pytest.raises(ArmFailed, match=r"double/overrun .*loaded: exit code 7"):
        run(tmp_path, sanitizer(tmp_path, "memcheck_clean", fakes.report("load"), prints="last words", code=7))


def test_a_tool_that_refuses_the_gpu_complains_with_the_remedy(tmp_path: Path) -> None:
    (tmp_path / "refusing.log").write_text("========= COMPUTE-SANITIZER\n========= Error: Device not supported.\n")
    program = fakes.tool(tmp_path / "tool", {"--log-file": tmp_path / "refusing.log"}, None, code=1)
    complaint = run(tmp_path, program).complaint or ""
    assert complaint.startswith("Error: Device not supported.: ")
    assert "GPU" in complaint


def test_a_tool_that_dies_complains_with_its_last_words(tmp_path: Path) -> None:
    program = fakes.tool(tmp_path / "tool", {}, None, prints="libsanitizer.so: cannot open", code=127)
    complaint = run(tmp_path, program).complaint or ""
    assert "summary (exit code 127)" in complaint
    assert complaint.endswith(": libsanitizer.so: cannot open")


def test_a_tool_that_takes_too_long_complains_and_keeps_what_it_found(tmp_path: Path) -> None:
    complaint = run(tmp_path, sanitizer(tmp_path, "memcheck_clean"), timeout_s=0).complaint or ""
    assert "--timeout" in complaint
