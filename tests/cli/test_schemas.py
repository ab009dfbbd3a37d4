"""Schemas for editors: up to date, true to our own files, and strict."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pydantic
import pytest
import yaml

from harness.cli import settings
from harness.cli.app import app
from harness.cli.config import schema_texts
from harness.workspace.workspace import Workspace
from tests.cli.shell import Shell
from tests.machine import ROOT

jsonschema = pytest.importorskip("jsonschema")

FILES = [
    *(("problem", path) for path in sorted(ROOT.glob("problems/*/problem.yaml"))),
    *(("solution", path) for path in sorted(ROOT.glob("solutions/*/*/solution.yaml"))),
    *(("problem", path) for path in sorted(ROOT.glob("tests/*/problems/*/problem.yaml"))),
    *(("solution", path) for path in sorted(ROOT.glob("tests/*/solutions/*/*/solution.yaml"))),
    *(("config", path) for path in sorted([*ROOT.glob("configs/*.yaml"), *ROOT.glob("tests/*/configs/*.yaml")])),
    *(("gate", path) for path in sorted(ROOT.glob("gate.yaml"))),
]

TEXTS = schema_texts(settings.prepare(app))

TEMPLATE = ROOT / "harness" / "workspace" / "template"


def schema(name: str) -> dict[str, Any]:
    text: dict[str, Any] = json.loads(TEXTS[f"{name}.schema.json"])
    return text


def errors(name: str, text: str) -> list[str]:
    found = jsonschema.Draft202012Validator(schema(name)).iter_errors(yaml.safe_load(text))
    return [error.message for error in found]


@pytest.mark.parametrize(("name", "path"), FILES, ids=lambda value: str(value).removeprefix(f"{ROOT}/"))
def test_our_own_files_fit_their_schema(name: str, path: Path) -> None:
    assert errors(name, path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("name", ["problem", "solution", "config", "gate", "harness"])
def test_each_schema_is_a_schema(name: str) -> None:
    jsonschema.Draft202012Validator.check_schema(schema(name))


of_fields = pytest.mark.skipif(
    tuple(map(int, pydantic.VERSION.split(".")[:2])) < (2, 11),
    reason="this pydantic describes no fields of dataclasses",
)


@of_fields
@pytest.mark.parametrize("name", sorted(TEXTS))
def test_the_committed_schemas_are_up_to_date(name: str) -> None:
    """If not: harness config schema --output docs/schemas"""
    assert (ROOT / "docs" / "schemas" / name).read_text(encoding="utf-8") == TEXTS[name]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("problem", "tolerence: exact"),
        ("problem", "tolerance: exactly"),
        ("problem", "cases: {small: {constant: {rows: 8}}}"),
        ("solution", "expected_verdict: pased"),
        ("solution", "language: rust"),
        ("config", "timing: {block: 12}"),
        ("config", "correctness: {seeds: three}"),
        ("gate", "waivers: [{problem: relu}]"),
        ("harness", "run: {bakend: sim}"),
        ("harness", "run: {backend: rocm}"),
        ("harness", "rnu: {backend: sim}"),
        ("harness", "run: {seed: [1]}"),
    ],
)
def test_a_mistake_is_marked(name: str, text: str) -> None:
    assert errors(name, text) != []


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("problem", "tolerance: {atol: 1.0e-6, rtol: 0.0}\ncases: {full: null, odd: {init_inputs: [3, [2, 1]]}}"),
        ("config", "timing: {baselines: [eager, compile], budget_s: 5}"),
        ("config", "limits: {parallel_builds: null}"),
        ("harness", "defaults: {backend: sim}\nrun: {solution: plain, case: [full], timing: false, seed: 3}"),
        ("harness", "config: {show: {origin: true}}"),
    ],
)
def test_what_the_harness_takes_the_schema_takes(name: str, text: str) -> None:
    assert errors(name, text) == []


def test_the_example_of_the_document_fits_the_schema_and_the_harness(harness: Shell, workspace: Path) -> None:
    document = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    example = document.partition("```yaml\n")[2].partition("```")[0]
    assert errors("harness", example) == []
    (workspace / "harness.yaml").write_text(example)
    rows = json.loads(harness("config", "show", "run", "--json").out)["options"]
    found = {row["option"]: row["value"] for row in rows}
    assert (found["backend"], found["case"], found["timing"]) == ("sim", ["small", "odd"], False)


def _undescribed(schema: Any, path: str = "") -> list[str]:
    if not isinstance(schema, dict):
        return []
    missing = []
    for name, below in schema.get("properties", {}).items():
        is_section = "properties" in below
        missing += [] if is_section or below.get("description") else [f"{path}.{name}"]
        missing += _undescribed(below, f"{path}.{name}")
    return missing + [item for name, part in schema.get("$defs", {}).items() for item in _undescribed(part, name)]


@of_fields
@pytest.mark.parametrize("name", ["problem", "solution", "config", "gate", "harness"])
def test_every_key_is_explained(name: str) -> None:
    assert _undescribed(schema(name)) == []


def test_an_initialised_workspace_points_its_editors_to_the_schemas(harness: Shell, tmp_path: Path) -> None:
    harness("init", str(tmp_path / "mine"))
    files = sorted((tmp_path / "mine").rglob("*.yaml"))
    assert [path.name for path in files] == [
        *("default.yaml", "publish.yaml", "quick.yaml", "harness.yaml", "problem.yaml", "solution.yaml")
    ]
    for path in files:
        first = path.read_text(encoding="utf-8").splitlines()[0]
        named = path.parent / first.removeprefix("# yaml-language-server: $schema=")
        content = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
        jsonschema.Draft202012Validator(json.loads(named.read_text(encoding="utf-8"))).validate(content)


def test_schemas_are_written_where_asked(harness: Shell, workspace: Path) -> None:
    outcome = harness("config", "schema", "--output", "editors")
    assert outcome.out.splitlines()[0] == "wrote editors/problem.schema.json"
    assert {path.name: path.read_text(encoding="utf-8") for path in (workspace / "editors").iterdir()} == TEXTS
    assert sorted(json.loads(harness("config", "schema").out)) == sorted(TEXTS)


def test_a_folder_that_cannot_be_made_is_named(harness: Shell, workspace: Path) -> None:
    (workspace / "editors").write_text("a file")
    outcome = harness("config", "schema", "--output", "editors")
    assert outcome.code == 2
    assert outcome.err.startswith("harness: ")
    assert "editors" in outcome.err


@pytest.mark.parametrize("name", ["default", "quick", "publish"])
def test_a_new_workspace_has_our_own_configs(name: str) -> None:
    ours, theirs = (Workspace(root).config(name) for root in (ROOT, ROOT / "harness/workspace/template"))
    assert ours == theirs
