"""The tables of the corpus against its folders."""

from __future__ import annotations

import ast
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.model.verdict import Verdict
from harness.workspace.workspace import Workspace
from tests.corpus import HONEST, Case, folders, parameters, read_families

CHEATS = Path(__file__).parent
FAULTS = CHEATS.parent / "faults"
TABLES = {root: read_families(root, config="") for root in (CHEATS, FAULTS)}
ALL = [(root, case) for root, cases in TABLES.items() for case in cases]


@pytest.mark.parametrize("root", TABLES)
def test_every_folder_is_in_the_table_once_and_the_table_names_no_other(root: Path) -> None:
    names = [case.name for case in TABLES[root]]
    assert len(set(names)) == len(names)
    assert set(names) == folders(root)


@pytest.mark.parametrize(("root", "case"), [pytest.param(*each, id=each[1].name) for each in ALL])
def test_a_solution_expects_what_the_table_says_and_explains_itself_in_a_sentence(root: Path, case: Case) -> None:
    (solution,) = Workspace(root).solutions(case.problem, [case.solution])
    assert solution.about.expected_verdict in case.verdicts
    assert solution.about.explanation.strip().endswith(".")


@pytest.mark.parametrize("root", TABLES)
def test_every_family_has_several_cases(root: Path) -> None:
    families = [case.family for case in TABLES[root]]
    assert {family for family in families if families.count(family) < 2} == set()


def test_there_are_sixty_exploits_and_faults_and_seventy_honest_controls_at_least() -> None:
    honest = [case.name for _, case in ALL if case.family == HONEST]
    assert len(honest) >= 70
    assert len(ALL) - len(honest) >= 60


def test_honest_controls_can_only_pass() -> None:
    assert {word for _, case in ALL if case.family == HONEST for word in case.verdicts} == {Verdict.PASSED}


def test_most_of_the_corpus_runs_without_a_gpu() -> None:
    assert sum(case.runs_on_sim for _, case in ALL) > len(ALL) / 2


@pytest.mark.parametrize(("root", "case"), [pytest.param(*each, id=each[1].name) for each in ALL])
def test_what_a_solution_names_of_ours_is_there(root: Path, case: Case) -> None:
    source = (root / "solutions" / case.name / "solution.py").read_text()
    if case.solution != "syntax_error":
        for name in _names_of_ours(ast.parse(source)):
            pkgutil.resolve_name(name)


def _names_of_ours(tree: ast.AST) -> Iterator[str]:
    """What is imported, and modules that stand as a text."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and re.match(r"harness\b", node.module or ""):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        if isinstance(node, ast.Constant) and re.fullmatch(r"harness(\.\w+)+", str(node.value)):
            yield str(node.value)


def test_what_there_is_on_the_simulator_alone_is_asked_of_no_gpu() -> None:
    (case,) = [case for _, case in ALL if case.solution == "forges_the_simulators_report"]
    assert not case.runs_on_gpu
    assert all(one.id.startswith("sim-") for one in parameters([one for _, one in ALL if one.needs == ("sim",)]))
