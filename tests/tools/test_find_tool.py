"""Finding the tools, and remedies for what they complain of."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.model.environment import MachineFinding
from harness.tools import target
from harness.tools.target import examine_tools, find_tool, refusal


def put(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def nothing_usual(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No tools but those that a test makes."""
    monkeypatch.setattr(target, "_USUAL", (str(tmp_path / "usual"),))
    monkeypatch.setattr(target, "_OWN_FOLDERS", tmp_path / "opt")


@pytest.mark.usefixtures("nothing_usual")
def test_the_path_comes_first_then_the_toolkit_then_the_newest_of_its_own(tmp_path: Path) -> None:
    put(tmp_path / "opt" / "2024.1.0" / "ncu")
    newest = put(tmp_path / "opt" / "2025.3.1" / "ncu")
    environment = {"PATH": str(tmp_path / "path"), "CUDA_HOME": str(tmp_path / "cuda")}
    assert find_tool("ncu", environment) == newest
    of_toolkit = put(tmp_path / "cuda" / "bin" / "ncu")
    assert find_tool("ncu", environment) == of_toolkit
    on_path = put(tmp_path / "path" / "ncu")
    assert find_tool("ncu", environment) == on_path


@pytest.mark.usefixtures("nothing_usual")
def test_the_sanitizer_lies_in_a_folder_of_the_toolkit_too(tmp_path: Path) -> None:
    tool = put(tmp_path / "usual" / "compute-sanitizer" / "compute-sanitizer")
    assert find_tool("compute-sanitizer", {"PATH": ""}) == tool


@pytest.mark.usefixtures("nothing_usual")
def test_the_doctor_tells_of_both(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CUDA_HOME", raising=False)
    monkeypatch.delenv("CUDA_PATH", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    tool = put(tmp_path / "path" / "ncu")
    found, lacking = examine_tools()
    assert found == MachineFinding("ncu", "good", str(tool))
    assert (lacking.name, lacking.state) == ("compute-sanitizer", "warning")
    assert "'harness sanitize'" in lacking.detail
    assert "run --sanitize" in lacking.detail
    assert "CUDA_HOME" in (lacking.remedy or "")


@pytest.mark.parametrize(
    ("said", "remedy"),
    [
        (
            "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU Performance Counters",
            "NVreg_RestrictProfilingToAdminUsers=0",
        ),
        ("==ERROR== Failed to initialize the profiler: LibraryNotLoaded", "another profiler may hold them"),
        ("========= Error: Device not supported. Please refer to the documentation", "gVisor"),
        ("==ERROR== InterprocessLock: failed to create lock file", "another ncu"),
    ],
)
def test_a_known_refusal_has_a_remedy(said: str, remedy: str) -> None:
    assert remedy in (refusal(said) or "")


def test_an_unknown_one_has_none() -> None:
    assert refusal("==PROF== Disconnected from process 1624") is None
