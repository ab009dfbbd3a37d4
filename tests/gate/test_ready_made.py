"""The Action, the hooks and the container file that the repository offers, as far as they run here."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.machine import ROOT

ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
HOOKS = {one["id"]: one for one in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))}


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A workspace under version control, with a `harness` on the path."""
    folder = tmp_path / "kernels"
    program = tmp_path / "bin/harness"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m harness "$@"\n')
    program.chmod(0o755)
    run("harness init kernels", tmp_path)
    run("git init -q && git add . && git -c user.name=a -c user.email=a@b commit -qm first", folder)
    return folder


def run(script: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    path = f"{folder.parent / 'bin'}{os.pathsep}{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT), **variables}
    command = ["bash", "-e", "-o", "pipefail", "-c", script]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def steps() -> dict[str, Any]:
    return {one.get("id") or one.get("name", "cache"): one for one in ACTION["runs"]["steps"]}


@pytest.mark.sim
@pytest.mark.parametrize(("is_broken", "code"), [(False, 0), (True, 1)])
def test_the_action_gates_a_workspace(workspace: Path, tmp_path: Path, is_broken: bool, code: int) -> None:
    if is_broken:
        solution = workspace / "solutions/relu/vectorized/solution.py"
        solution.write_text(solution.read_text().replace("x < 0.0f ? 0.0f : x", "x"))
    output = tmp_path / "output"
    variables = {
        "BACKEND": "sim",
        "WORKSPACE": "kernels",
        "OPTIONS": "--no-sanitize  --problem relu",
        "BASE": "",
        "RUNNER_TEMP": str(tmp_path),
        "GITHUB_OUTPUT": str(output),
    }
    assert steps()["gate"]["env"].keys() <= variables.keys()
    assert run(steps()["Install harness where it is missing"]["run"], tmp_path, BACKEND="sim").returncode == 0
    ended = run(steps()["gate"]["run"], tmp_path, **variables)
    assert ended.returncode == code, ended.stderr
    assert ("::error" in ended.stdout) is is_broken
    assert Path(output.read_text().strip().removeprefix("sarif=")).is_file()


def test_every_input_of_the_action_is_used() -> None:
    used = set(re.findall(r"\$\{\{ inputs\.(\w+) \}\}", (ROOT / "action.yml").read_text(encoding="utf-8")))
    assert used == ACTION["inputs"].keys()


@pytest.mark.sim
@pytest.mark.heavy
def test_the_hooks_find_what_a_commit_would_break(workspace: Path) -> None:
    assert [run(hook["entry"], workspace).returncode for hook in HOOKS.values()] == [0, 0]
    solution = workspace / "solutions/relu/vectorized/solution.py"
    solution.write_text(solution.read_text().replace("x < 0.0f ? 0.0f : x", "x"))
    assert run("git add . && " + HOOKS["harness-gate"]["entry"], workspace).returncode == 1
    solution.with_name("solution.yaml").write_text("athor: me\n")
    assert run(HOOKS["harness-check"]["entry"], workspace).returncode == 2


def test_hooks_start_for_the_files_that_they_judge() -> None:
    for hook in HOOKS.values():
        assert re.search(hook["files"], "solutions/relu/vectorized/solution.py")
        assert not re.search(hook["files"], "README.md")


def test_the_container_has_what_it_copies_and_a_torch_for_its_cuda() -> None:
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")
    for line in re.findall(r"^COPY (.+)$", text, re.MULTILINE):
        assert all((ROOT / name).exists() for name in shlex.split(line)[:-1])
    major, minor, _ = re.search(r"^ARG CUDA=(\d+)\.(\d+)\.(\d+)$", text, re.MULTILINE).groups()  # type: ignore[union-attr]
    assert f"/whl/cu{major}{minor}\n" in text
    assert text.rstrip().endswith('ENTRYPOINT ["harness"]')
