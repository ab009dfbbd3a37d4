"""Options from variables and files: who wins, and what a mistake is answered with."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.shell import Shell

pytestmark = pytest.mark.usefixtures("workspace")

TOML, YAML = "{root}/pyproject.toml [tool.harness]", "{root}/harness.yaml"


def effective(harness: Shell, what: str) -> tuple[Any, str]:
    """A command's option, its value and origin as `harness config show` tells them."""
    command, _, option = what.rpartition(" ")
    outcome = harness("config", "show", *command.split(), "--json")
    assert outcome.code == 0, outcome.err
    rows = [row for row in json.loads(outcome.out)["options"] if (row["command"], row["option"]) == (command, option)]
    (row,) = rows
    return row["value"], row["origin"]


def complaint(harness: Shell, workspace: Path, yaml: str) -> str:
    (workspace / "harness.yaml").write_text(yaml)
    outcome = harness("list")
    assert (outcome.code, outcome.out) == (2, "")
    return outcome.err.removeprefix(f"harness: {workspace}/harness.yaml: ").rstrip("\n")


@pytest.mark.parametrize(
    ("toml", "yaml", "variable", "option", "value", "origin"),
    [
        ("", "", "", "run backend", "auto", "default"),
        ("backend = 'sim'", "", "", "run backend", "sim", TOML),
        ("backend = 'sim'", "run: {backend: cuda}", "", "run backend", "cuda", YAML),
        ("seed = 5", "run: {backend: cuda}", "", "run seed", 5, TOML),
        ("", "run: {backend: cuda}", "RUN_BACKEND=sim", "run backend", "sim", "HARNESS_RUN_BACKEND"),
        ("", "", "RUN_BACKEND=", "run backend", "auto", "default"),
        ("", "watch: {backend: cuda}\ndefaults: {backend: sim}", "", "run backend", "sim", YAML),
        ("", "watch: {backend: cuda}\ndefaults: {backend: sim}", "", "watch backend", "cuda", YAML),
        ("", "run: {timing: false}", "", "run timing", False, YAML),
        ("", "run: {timing: false}", "RUN_TIMING=1", "run timing", True, "HARNESS_RUN_TIMING"),
        ("", "run: {solution: plain}", "", "run solution", ["plain"], YAML),
        ("", "run: {case: [full, small]}", "", "run case", ["full", "small"], YAML),
        ("", "run: {case: full}", "RUN_CASE=odd wide", "run case", ["odd", "wide"], "HARNESS_RUN_CASE"),
        ("", "run: {max-failures: 3}", "", "run max-failures", 3, YAML),
        ("", "run: {max_failures: 3}", "", "run max-failures", 3, YAML),
        ("", "config: {schema: {output: schemas}}", "", "config schema output", "{root}/schemas", YAML),
        ("", "", "CONFIG_SCHEMA_OUTPUT=a", "config schema output", "a", "HARNESS_CONFIG_SCHEMA_OUTPUT"),
    ],
)
def test_the_strongest_place_that_sets_an_option_decides(
    harness: Shell,
    workspace: Path,
    monkeypatch: pytest.MonkeyPatch,
    toml: str,
    yaml: str,
    variable: str,
    option: str,
    value: Any,
    origin: str,
) -> None:
    (workspace / "pyproject.toml").write_text(f"[tool.harness.run]\n{toml}\n")
    (workspace / "harness.yaml").write_text(yaml)
    if variable:
        monkeypatch.setenv(*f"HARNESS_{variable}".split("="))
    value = value.format(root=workspace) if isinstance(value, str) else value
    assert effective(harness, option) == (value, origin.format(root=workspace))


def test_the_command_line_is_stronger_than_a_variable(harness: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HARNESS_RUN_PROBLEM", "nosuch")
    assert "no problem 'nosuch'" in harness("run").err
    assert "no problem 'other'" in harness("run", "--problem", "other").err


def test_a_value_of_a_file_reaches_the_command(harness: Shell, workspace: Path) -> None:
    (workspace / "harness.yaml").write_text("run: {problem: maxpool2d, solution: [plain, nosuch]}")
    assert "no solution 'nosuch'" in harness("run").err


def test_a_path_in_a_file_is_seen_from_the_file(
    harness: Shell, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (workspace / "harness.yaml").write_text("run: {results: kept}")
    monkeypatch.chdir(workspace / "problems")
    assert effective(harness, "run results")[0] == str(workspace / "kept")


def test_pyproject_is_found_above_the_workspace(harness: Shell, workspace: Path, tmp_path: Path) -> None:
    inner = workspace / "kernels"
    (inner / "problems").mkdir(parents=True)
    (workspace / "pyproject.toml").write_text("[tool.harness.run]\nseed = 7\n")
    assert effective(harness, "run seed")[0] == 7
    outcome = harness("-C", str(inner), "config", "show", "run", "--json")
    seeds = [row["value"] for row in json.loads(outcome.out)["options"] if row["option"] == "seed"]
    assert seeds == [7]


@pytest.mark.parametrize("text", ["[tool.other]\nx = 1\n", "[tool.other\nbroken"])
def test_a_pyproject_that_is_not_for_us_is_left_alone(harness: Shell, workspace: Path, text: str) -> None:
    (workspace / "pyproject.toml").write_text(text)
    assert harness("list").code == 0


def test_a_broken_pyproject_that_is_for_us_is_named(harness: Shell, workspace: Path) -> None:
    (workspace / "pyproject.toml").write_text("[tool.harness\n")
    outcome = harness("list")
    assert outcome.code == 2
    assert f"{workspace}/pyproject.toml: " in outcome.err


@pytest.mark.parametrize(
    ("yaml", "expected"),
    [
        ("rnu: {}", "no command 'rnu'. Did you mean 'run'?"),
        ("run: {bakend: sim}", "run: unknown option 'bakend'. Did you mean 'backend'?"),
        ("run: {no-timing: true}", "run: unknown option 'no-timing'. Did you mean 'timing'?"),
        ("defaults: {bakend: sim}", "defaults.bakend: no command has this option. Did you mean 'backend'?"),
        ("config: {shwo: {}}", "config: unknown option 'shwo'. Did you mean 'show'?"),
        ("run: {timing: 3}", "run.timing: 3 where true or false belongs"),
        ("run: {seed: true}", "run.seed: bool where one value belongs"),
        ("run: {seed: [1]}", "run.seed: list where one value belongs"),
        ("run: [backend]", "run: list where a mapping of options belongs"),
        ("- run", "list where a mapping of keys belongs"),
    ],
)
def test_a_mistake_is_named_with_its_place(harness: Shell, workspace: Path, yaml: str, expected: str) -> None:
    assert complaint(harness, workspace, yaml) == expected


@pytest.mark.parametrize(
    ("yaml", "place"),
    [
        ("run: {backend: rocm}", "run.backend: "),
        ("run: {seed: 1.5}", "run.seed: "),
        ("defaults: {backend: rocm}", "defaults.backend: "),
        ("defaults: {quiet: 3}", "defaults.quiet: "),
        ("config: {schema: {output: [a]}}", "config.schema.output: "),
    ],
)
def test_a_value_is_checked_as_on_the_command_line(harness: Shell, workspace: Path, yaml: str, place: str) -> None:
    assert complaint(harness, workspace, yaml).startswith(place)


def test_a_misspelt_variable_gets_a_hint_and_stops_nothing(harness: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HARNESS_RUN_BAKCEND", "sim")
    outcome = harness("list")
    assert outcome.code == 0
    assert outcome.err == "harness: HARNESS_RUN_BAKCEND sets no option. Did you mean 'HARNESS_RUN_BACKEND'?\n"


@pytest.mark.parametrize("name", ["HARNESS_RUN_ID", "HARNESS_BUILD_ID", "HARNESS_CACHE", "HARNESS_LIST"])
def test_a_variable_of_another_program_is_left_alone(
    harness: Shell, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv(name, "x")
    assert harness("list").err == ""


def test_the_workspace_can_be_named_by_a_variable(
    harness: Shell, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir("/")
    monkeypatch.setenv("HARNESS_WORKSPACE", str(workspace))
    assert "maxpool2d" in harness("list").out


def test_a_wrong_value_of_a_variable_is_named_with_it(harness: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HARNESS_RUN_SEED", "many")
    outcome = harness("config", "show", "run")
    assert outcome.code == 2
    assert outcome.err.startswith("harness: HARNESS_RUN_SEED: ")


def test_a_variable_that_the_command_refuses_is_named(harness: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HARNESS_RUN_BACKEND", "smi")
    for line in (["run", "maxpool2d"], ["config", "show", "run"]):
        outcome = harness(*line)
        assert outcome.code == 2
        assert "HARNESS_RUN_BACKEND: 'smi'" in outcome.err
    assert "'--backend': 'smi'" in harness("run", "maxpool2d", "--backend", "smi").err


def test_every_variable_is_the_commands_and_the_options_name(harness: Shell) -> None:
    rows = json.loads(harness("config", "show", "--json").out)["options"]
    assert len(rows) > 30
    for row in rows:
        name = f"HARNESS_{row['command']}_{row['option']}".replace(" ", "_").replace("-", "_").upper()
        assert row["variable"] == name


def test_show_prints_values_and_on_request_origins(harness: Shell, workspace: Path) -> None:
    (workspace / "harness.yaml").write_text("watch: {seed: 5, case: [full, small]}")
    plain = [line.split() for line in harness("config", "show", "watch").out.splitlines()]
    assert ["seed", "5"] in plain
    assert ["case", "full", "small"] in plain
    assert ["config", "not", "set"] in plain
    assert ["timing", "no"] in plain
    with_origin = harness("config", "show", "watch", "--origin").out
    assert "HARNESS" not in with_origin
    assert "default" in with_origin
