"""`harness profile` and `harness sanitize`: names, what they refuse, what they end with."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from harness.model.instruments import DeviceTimeline, Profile, SanitizerFinding, SanitizerTool, Sanitizing, ToolRun
from harness.tools import profiling, sanitizing, target
from harness.tools.bench import ArmFailed
from harness.tools.nsight import CounterRequest
from harness.tools.target import Inspection
from tests.cli.shell import Shell
from tests.machine import why_no_gpu

pytestmark = pytest.mark.usefixtures("workspace")


@dataclass
class Asked:
    """What the instruments were asked for."""

    inspections: list[Inspection] = field(default_factory=list)
    counting: CounterRequest | None = None
    tools: tuple[SanitizerTool, ...] = ()


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Asked:
    """A machine with a GPU and tools, and instruments that note what they are asked for and find nothing."""
    noted = Asked()

    def run_profile(one: Inspection, counting: CounterRequest, say: Callable[[str], None]) -> Profile:
        noted.inspections.append(one)
        noted.counting = counting
        say("recording")
        name = one.target.solution.name if one.target.solution else None
        return Profile(
            one.target.problem.name, one.target.case, name, one.gpu, (), DeviceTimeline(3, (), 0, 0, 0, 0), {}
        )

    def run_sanitizer(one: Inspection, tools: tuple[SanitizerTool, ...], say: Callable[[str], None]) -> Sanitizing:
        noted.inspections.append(one)
        noted.tools = tools
        runs = tuple(ToolRun(tool, 5.0, (), 0, 0, "/log") for tool in tools)
        return Sanitizing(one.target.problem.name, one.target.case, "plain", one.gpu, runs)

    monkeypatch.setattr(target, "require_gpu", lambda: "a GPU")
    monkeypatch.setattr(target, "find_tool", lambda name: Path("/tools") / name)
    monkeypatch.setattr(profiling, "run_profile", run_profile)
    monkeypatch.setattr(sanitizing, "run_sanitizer", run_sanitizer)
    return noted


@pytest.mark.skipif(why_no_gpu() is None, reason="there is a GPU")
@pytest.mark.parametrize("command", ["profile", "sanitize"])
def test_without_a_gpu_they_end_with_three_and_say_why(harness: Shell, workspace: Path, command: str) -> None:
    outcome = harness(command, "maxpool2d", "plain")
    assert outcome.code == 3
    assert outcome.err.splitlines()[-1].startswith("harness: no CUDA GPU")
    assert not (workspace / "results").exists()


@pytest.mark.parametrize(("command", "tool"), [("profile", "ncu"), ("sanitize", "compute-sanitizer")])
def test_without_the_tool_they_end_with_three_and_say_what_to_install(
    harness: Shell, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, command: str, tool: str
) -> None:
    monkeypatch.setattr(target, "require_gpu", lambda: "a GPU")
    monkeypatch.setattr(target, "_USUAL", ())
    monkeypatch.setattr(target, "_OWN_FOLDERS", tmp_path)
    monkeypatch.setattr(target.shutil, "which", lambda name, path=None: None)
    monkeypatch.delenv("CUDA_HOME", raising=False)
    monkeypatch.delenv("CUDA_PATH", raising=False)
    outcome = harness(command, "maxpool2d", "plain")
    assert outcome.code == 3
    assert f"no '{tool}' " in outcome.err
    assert "CUDA_HOME" in outcome.err


def test_profile_passes_on_what_it_was_asked(harness: Shell, workspace: Path, asked: Asked, tmp_path: Path) -> None:
    options = "--set full --kernel pool --launches 3 --timeout 9 -o kept --case small"
    outcome = harness("profile", "maxpool2d", "plain", *options.split())
    assert outcome.code == 0
    (one,) = asked.inspections
    assert (one.target.name, one.target.case, one.timeout_s) == ("maxpool2d/plain", "small", 9)
    assert asked.counting == CounterRequest("full", "pool", 3)
    assert (one.program, one.folder) == (Path("/tools/ncu"), workspace / "kept")
    assert outcome.err == "… recording\n"


def test_profile_takes_the_full_case_and_a_folder_among_the_results(
    harness: Shell, workspace: Path, asked: Asked
) -> None:
    assert harness("profile", "maxpool2d", "shared_tile", "--quiet").err == ""
    assert asked.inspections[0].target.case == "full"
    assert asked.inspections[0].folder.parent == workspace / "results" / "profiles"


def test_the_reference_is_profiled_without_a_solution(harness: Shell, asked: Asked) -> None:
    out = harness("profile", "relu", "--arm", "reference", "--json").out
    assert asked.inspections[0].target.solution is None
    assert json.loads(out)["solution"] is None


def test_sanitize_takes_a_small_case_and_all_tools(harness: Shell, asked: Asked) -> None:
    outcome = harness("sanitize", "maxpool2d", "plain")
    assert (outcome.code, asked.inspections[0].target.case) == (0, "small")
    assert asked.tools == ("memcheck", "racecheck", "initcheck", "synccheck")
    assert outcome.out.startswith("maxpool2d/plain clean, case small, on a GPU\n")


def test_sanitize_takes_the_named_tools_alone(harness: Shell, asked: Asked) -> None:
    out = harness("sanitize", "maxpool2d", "plain", "--tool", "synccheck", "--tool", "racecheck", "--json").out
    assert asked.tools == ("synccheck", "racecheck")
    assert json.loads(out)["is_clean"] is True


def test_findings_end_sanitize_with_one(harness: Shell, asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    finding = SanitizerFinding("memcheck", "Invalid __global__ write", "k()", is_own=True)
    runs = (ToolRun("memcheck", 5.0, (finding,), 1, 0, "/log"),)
    found = Sanitizing("maxpool2d", "small", "plain", "a GPU", runs)
    monkeypatch.setattr(sanitizing, "run_sanitizer", lambda one, tools, say: found)
    assert harness("sanitize", "maxpool2d", "plain").code == 1


@pytest.mark.parametrize("command", ["profile", "sanitize"])
def test_an_arm_that_fails_ends_them_with_one_and_is_told(
    harness: Shell, asked: Asked, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    def fail(*asked: object) -> None:
        raise ArmFailed(
            "maxpool2d/plain failed when it was called: ValueError: odd", "Traceback\n::error::ValueError: odd"
        )

    monkeypatch.setattr(profiling, "run_profile", fail)
    monkeypatch.setattr(sanitizing, "run_sanitizer", fail)
    outcome = harness(command, "maxpool2d", "plain", "-q")
    assert outcome.code == 1
    assert outcome.err == (
        "| Traceback\n| ::error::ValueError: odd\nharness: maxpool2d/plain failed when it was called: ValueError: odd\n"
    )
