"""What docs/gate.md shows is what there is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import typer.main
import yaml

from harness.cli.app import app
from harness.gate.policy import Policy, load_policy
from tests.machine import ROOT

PAGE = (ROOT / "docs" / "gate.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```yaml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
WITHOUT_GPU, WITH_GPU, POLICY = BLOCKS


def test_the_policy_is_valid_and_states_the_defaults(tmp_path: Path) -> None:
    (tmp_path / "gate.yaml").write_text(POLICY)
    policy = load_policy(None, tmp_path)
    assert Policy(problems=policy.problems, waivers=policy.waivers) == policy
    assert [entry.owner for entry in policy.waivers] == ["ann"]


@pytest.mark.parametrize("text", [WITHOUT_GPU, WITH_GPU], ids=["sim", "cuda"])
def test_a_workflow_is_yaml_with_a_gate_in_it(text: str) -> None:
    workflow = yaml.safe_load(text)
    (job,) = workflow["jobs"].values()
    assert sum("harness gate" in step.get("run", "") for step in job["steps"]) == 1


def test_every_option_on_the_page_exists() -> None:
    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    known = {
        name
        for command in ("gate",)
        for option in commands[command].params
        for name in (*option.opts, *option.secondary_opts)
    }
    known |= {name for option in commands["snapshot"].commands["accept"].params for name in option.opts}
    theirs = {"--gpus", "--rm", "--edit-last", "--create-if-none", "--body-file", "--system", "--torch-backend"}
    named = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", PAGE))
    assert "--changed-since" in named
    assert named - theirs - known == set()
