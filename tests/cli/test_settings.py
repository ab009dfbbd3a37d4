"""Options from variables and files: who wins, and what a mistake is answered with."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.shell import Shell

pytestmark = pytest.mark.usefixtures("workspace")


def effective(harness: Shell, command: str, option: str) -> tuple[Any, str]:
    """An option's value and origin, as `harness config show` tells them."""
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


def test_without_settings_the_default_holds(harness: Shell) -> None:
    assert effective(harness, "run", "backend") == ("auto", "default")


def test_pyproject_sets_an_option(harness: Shell, workspace: Path) -> None:
    (workspace / "pyproject.toml").write_text('[tool.harness.run]\nbackend = "sim"\n')
    assert effective(harness, "run", "backend") == ("sim", f"{workspace}/pyproject.toml [tool.harness]")


def test_harness_yaml_is_stronger_than_pyproject(harness: Shell, workspace: Path) -> None:
    (workspace / "pyproject.toml").write_text('[tool.harness.run]\nbackend = "sim"\nseed = 5\n')
    (workspace / "harness.yaml").write_text("run: {backend: cuda}")
    assert effective(harness, "run", "backend") == ("cuda", f"{workspace}/harness.yaml")
    assert effective(harness, "run", "seed") == (5, f"{workspace}/pyproject.toml [tool.harness]")


def test_a_variable_is_stronger_than_every_file(
    harness: Shell, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (workspace / "harness.yaml").write_text("run: {backend: cuda}")
    monkeypatch.setenv("HARNESS_RUN_BACKEND", "sim")
    assert effective(harness, "run", "backend") == ("sim", "HARNESS_RUN_BACKEND")


def test_the_command_line_is_stronger_than_a_variable(harness: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HARNESS_RUN_PROBLEM", "nosuch")
    assert "no problem 'nosuch'" in harness("run").err
    assert "no problem 'other'" in harness("run", "--problem", "other").err


def test_a_value_of_a_file_reaches_the_command(harness: Shell, workspace: Path) -> None:
    (workspace / "harness.yaml").write_text("run: {problem: maxpool2d, solution: [plain, nosuch]}")
    assert "no solution 'nosuch'" in harness("run").err


def test_defaults_reach_every_command_that_has_the_option(harness: Shell, workspace: Path) -> None:
    (workspace / "harness.yaml").write_text("watch: {backend: cuda}\ndefaults: {backend: sim}")
    assert effective(harness, "run", "backend")[0] == "sim"
    assert effective(harness, "watch", "backend")[0] == "cuda"


def test_flags_and_lists_can_be_set(harness: Shell, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (workspace / "harness.yaml").write_text("run: {timing: false, solution: plain, case: [full, small]}")
    assert effective(harness, "run", "timing")[0] is False
    assert effective(harness, "run", "solution")[0] == ["plain"]
    assert effective(harness, "run", "case")[0] == ["full", "small"]
    monkeypatch.setenv("HARNESS_RUN_TIMING", "1")
    monkeypatch.setenv("HARNESS_RUN_CASE", "odd wide")
    assert effective(harness, "run", "timing") == (True, "HARNESS_RUN_TIMING")
    assert effective(harness, "run", "case") == (["odd", "wide"], "HARNESS_RUN_CASE")


def test_an_empty_variable_sets_nothing(harness: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HARNESS_RUN_BACKEND", "")
    assert effective(harness, "run", "backend") == ("auto", "default")


def test_an_option_of_two_words_is_set_by_either_spelling(harness: Shell, workspace: Path) -> None:
    for key in ("max-failures", "max_failures"):
        (workspace / "harness.yaml").write_text(f"run: {{{key}: 3}}")
        assert effective(harness, "run", "max-failures")[0] == 3


def test_a_command_of_two_words_has_a_section_in_a_section(
    harness: Shell, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (workspace / "harness.yaml").write_text("config: {schema: {output: schemas}}")
    assert effective(harness, "config schema", "output")[0] == str(workspace / "schemas")
    monkeypatch.setenv("HARNESS_CONFIG_SCHEMA_OUTPUT", "elsewhere")
    assert effective(harness, "config schema", "output") == ("elsewhere", "HARNESS_CONFIG_SCHEMA_OUTPUT")


def test_a_path_in_a_file_is_seen_from_the_file(
    harness: Shell, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (workspace / "harness.yaml").write_text("run: {results: kept}")
    monkeypatch.chdir(workspace / "problems")
    assert effective(harness, "run", "results")[0] == str(workspace / "kept")


def test_pyproject_is_found_above_the_workspace(harness: Shell, workspace: Path, tmp_path: Path) -> None:
    inner = workspace / "kernels"
    (inner / "problems").mkdir(parents=True)
    (workspace / "pyproject.toml").write_text("[tool.harness.run]\nseed = 7\n")
    assert effective(harness, "run", "seed")[0] == 7
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
    ("yaml", "place"), [("run: {backend: rocm}", "run.backend: "), ("run: {seed: 1.5}", "run.seed: ")]
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
