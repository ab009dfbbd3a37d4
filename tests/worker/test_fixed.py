"""What the guard takes for fixed is held against the text of every class: an attribute that honest work assigns anew
would accuse everybody."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.worker.fixed import FIXED

ROOT = Path(__file__).parents[2]
OURS = sorted((ROOT / "harness").rglob("*.py"))
METHODS = (ast.FunctionDef, ast.AsyncFunctionDef)


def file_of(path: str) -> Path:
    return ROOT.joinpath(*path.split(".")[:-1]).with_suffix(".py")


def class_of(path: str) -> ast.ClassDef:
    tree = ast.parse(file_of(path).read_text())
    (found,) = (one for one in tree.body if isinstance(one, ast.ClassDef) and one.name == path.rpartition(".")[2])
    return found


def assigned(tree: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """Attributes that are assigned or deleted somewhere in there, with whose they are."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, (ast.Store, ast.Del)):
            yield node.attr, node.value


def of_self(tree: ast.AST) -> list[str]:
    return [name for name, whose in assigned(tree) if isinstance(whose, ast.Name) and whose.id == "self"]


def imported_of_ours(tree: ast.Module) -> set[str]:
    """Names under which a module knows modules of ours."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "harness":
            for alias in node.names:
                place = ROOT.joinpath(*(node.module or "").split("."), alias.name)
                if place.is_dir() or place.with_suffix(".py").is_file():
                    found.add(alias.asname or alias.name)
        if isinstance(node, ast.Import):
            found |= {alias.asname or "harness" for alias in node.names if alias.name.split(".")[0] == "harness"}
    return found


@pytest.mark.parametrize("path", FIXED)
def test_fixed_attributes_are_those_that_init_alone_assigns(path: str) -> None:
    methods = [one for one in class_of(path).body if isinstance(one, METHODS)]
    (init,) = (one for one in methods if one.name == "__init__")
    elsewhere = {name for one in methods if one is not init for name in of_self(one)}
    assert set(FIXED[path].split()) == set(of_self(init)) - elsewhere


@pytest.mark.parametrize("path", FIXED)
def test_no_method_assigns_by_other_means(path: str) -> None:
    names = {node.id for node in ast.walk(class_of(path)) if isinstance(node, ast.Name)}
    attributes = {node.attr for node in ast.walk(class_of(path)) if isinstance(node, ast.Attribute)}
    assert not names & {"setattr", "delattr", "vars"}
    assert not attributes & {"__dict__", "__setattr__", "__class__"}


def test_nobody_assigns_a_fixed_attribute_from_outside() -> None:
    fixed = {name for names in FIXED.values() for name in names.split()}
    for file in OURS:
        for name, whose in assigned(ast.parse(file.read_text())):
            assert name not in fixed or ast.unparse(whose) == "self", f"{file}: {ast.unparse(whose)}.{name}"


@pytest.mark.parametrize("path", FIXED)
def test_all_that_such_a_class_inherits_is_ours(path: str) -> None:
    """The guard watches our classes alone: in another, a solution could answer for all that inherit from it."""
    module, _, name = path.rpartition(".")
    cls = getattr(importlib.import_module(module), name)
    assert {base.__module__.partition(".")[0] for base in cls.__mro__[:-1]} == {"harness"}


def test_no_class_with_fixed_attributes_has_heirs() -> None:
    """They could assign them, too."""
    names = {path.rpartition(".")[2] for path in FIXED}
    for file in OURS:
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.ClassDef):
                assert not names & {ast.unparse(base).rpartition(".")[2] for base in node.bases}, file


def test_no_module_assigns_its_own_names_anew() -> None:
    for file in OURS:
        tree = ast.parse(file.read_text())
        assert not [node for node in ast.walk(tree) if isinstance(node, ast.Global)], file
        if file != ROOT / "harness" / "__init__.py":  # which only lists them
            assert not [node for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id == "globals"], file


def test_nobody_assigns_to_a_module_or_a_class_of_ours() -> None:
    for file in OURS:
        tree = ast.parse(file.read_text())
        classes = {"cls"} | {node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}
        whose = {ast.unparse(one).split(".")[0] for _, one in assigned(tree)}
        assert not whose & (classes | imported_of_ours(tree)), file
