"""`--container`: the command that a container's tool gets, and what becomes of its end. The tool is a script here."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from harness.cli import exit_codes
from harness.run import container
from harness.run.container import without_workspace
from harness.sandbox.wire import means
from harness.sandbox.wire.means import IN_CONTAINER
from tests.cli.shell import Shell

pytestmark = pytest.mark.usefixtures("workspace")


@pytest.fixture
def tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A podman that notes its words in a file, and ends with the code of another."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "code").write_text("0")
    script = folder / "podman"
    script.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > {folder}/words\nexit $(cat {folder}/code)\n')
    script.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=":")
    monkeypatch.delenv(IN_CONTAINER, raising=False)
    monkeypatch.setattr(container, "_OF_GPUS", tmp_path / "no GPU")
    return folder


def words_of(tool: Path) -> list[str]:
    return (tool / "words").read_text().splitlines()


def test_a_container_gets_the_workspace_to_read_and_results_to_write(
    harness: Shell, tool: Path, workspace: Path
) -> None:
    outcome = harness("-C", str(workspace), "run", "maxpool2d", "--container", "img", "--results", "out")
    words = words_of(tool)
    assert outcome.code == 0
    assert words[0] == "run"
    assert words[words.index("img") :] == ["img", *shlex.split("run maxpool2d --container img --results out")]
    volumes = {word.removeprefix("--volume=") for word in words if word.startswith("--volume=")}
    written = {f"{workspace}/out:{workspace}/out", "/scratch", "harness-cache:/var/cache/harness"}
    read = {f"{path}:{path}:ro" for path in (workspace, *(workspace / p for p in ("problems", "solutions", "configs")))}
    assert volumes == {*read, *written}
    assert {"--network=none", "--read-only", "--cap-drop=all", f"--env={IN_CONTAINER}=podman"} <= set(words)
    assert f"--workdir={workspace}" in words
    assert not any(word.startswith(("--gpus", "--device")) for word in words)


def test_bare_files_are_to_be_read_there_too(harness: Shell, tool: Path, workspace: Path) -> None:
    elsewhere = workspace / "elsewhere"
    elsewhere.mkdir()
    for name in ("ref.py", "mine.py"):
        (elsewhere / name).write_text((workspace / "problems/relu/problem.py").read_text())
    words = ("elsewhere/mine.py", "--reference", "elsewhere/ref.py", "--container", "img")
    assert harness("run", *words).code == 0
    assert {f"--volume={elsewhere}:{elsewhere}:ro", f"--volume={workspace}:{workspace}:ro"} <= set(words_of(tool))


def test_gpus_and_their_locks_go_along_unless_the_simulator_is_asked_for(
    harness: Shell, tool: Path, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(container, "_OF_GPUS", workspace)
    monkeypatch.setattr(container, "lock_files", lambda: [Path("/locks/one")])
    harness("run", "maxpool2d", "--container", "img")
    assert {"--device=nvidia.com/gpu=all", "--volume=/locks/one:/locks/one"} <= set(words_of(tool))
    (tool / "podman").rename(tool / "docker")
    monkeypatch.setattr(container, "_TOOLS", ("docker",))
    harness("run", "maxpool2d", "--container", "img")
    assert "--gpus=all" in words_of(tool)
    harness("run", "maxpool2d", "--container", "img", "--backend", "sim")
    assert not any(word.startswith(("--gpus", "--device", "--volume=/locks")) for word in words_of(tool))


def test_variables_of_harness_and_those_of_a_config_go_along_but_not_its_cache(
    harness: Shell, tool: Path, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HARNESS_CACHE", "/mine")
    monkeypatch.setenv("TMPDIR", "/mine")
    asked = ("HARNESS_RUN_SEED", "CUDA_VISIBLE_DEVICES", "WANTED")
    for name in asked:
        monkeypatch.setenv(name, "4")
    (workspace / "configs" / "quick.yaml").write_text("limits: {pass_environment: [WANTED]}")
    harness("run", "maxpool2d", "--container", "img", "--config", "quick")
    words = words_of(tool)
    assert {f"--env={name}" for name in asked} <= set(words)
    assert "--env=TMPDIR" not in words
    assert [word for word in words if "HARNESS_CACHE" in word] == ["--env=HARNESS_CACHE=/var/cache/harness"]


@pytest.mark.parametrize("code", [exit_codes.FAILED, exit_codes.USAGE, exit_codes.INCONCLUSIVE])
def test_its_exit_code_is_the_commands(harness: Shell, tool: Path, code: int) -> None:
    (tool / "code").write_text(str(code))
    assert harness("run", "maxpool2d", "--container", "img").code == code


@pytest.mark.parametrize("code", [125, 127, 137])
def test_a_tool_that_fails_itself_is_the_machines_fault(harness: Shell, tool: Path, code: int) -> None:
    (tool / "code").write_text(str(code))
    outcome = harness("compare", "--container", "img")
    assert outcome.code == exit_codes.MACHINE
    assert "'img'" in outcome.err
    assert "podman build" in outcome.err


def test_without_a_tool_the_option_is_refused(harness: Shell, tool: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    outcome = harness("run", "maxpool2d", "--container", "img")
    assert outcome.code == exit_codes.USAGE
    assert "podman or docker" in outcome.err


def test_a_cluster_is_no_container(harness: Shell, tool: Path) -> None:
    assert harness("compare", "--container", "img", "--engine", "ray").code == exit_codes.USAGE


def test_in_there_the_option_has_been_followed(harness: Shell, tool: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(IN_CONTAINER, "podman")
    monkeypatch.setattr(means, "_MARKS", ("/nowhere",))
    assert not container.is_inside()  # a variable alone says little
    monkeypatch.setattr(means, "_MARKS", (str(tool),))
    assert harness("run", "maxpool2d", "--container", "img", "--dry-run").code == 0
    assert container.is_inside()
    assert not (tool / "words").exists()


def test_a_path_with_a_colon_is_refused(harness: Shell, tool: Path) -> None:
    outcome = harness("run", "maxpool2d", "--container", "img", "--results", "a:b")
    assert outcome.code == exit_codes.USAGE
    assert "a:b" in outcome.err


@pytest.mark.parametrize(
    ("line", "left"),
    [("run a -C b", "run a -C b"), ("-C x run a", "run a"), ("--workspace=x run", "run"), ("-V -C x run", "run")],
)
def test_a_workspace_that_was_gone_to_is_left_out(line: str, left: str) -> None:
    assert without_workspace(line.split()) == left.split()
