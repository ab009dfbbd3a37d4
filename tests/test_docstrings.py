"""Docstrings, those below attributes and constants included, begin with a verb or a noun."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from tests.machine import ROOT

FRAGMENT_WORDS = {
    *("of", "for", "in", "on", "with", "without", "by", "to", "from", "as", "at", "if", "where", "when", "whether"),
    *("what", "who", "how", "which", "until", "while", "so", "not", "no", "and", "or", "but", "before", "after"),
    *("beyond", "beside", "between", "since", "because", "also", "only", "under", "over", "into", "within", "once"),
    *("than", "that"),
}
"""First words with which a docstring is a fragment."""


@pytest.mark.parametrize("folder", ["harness", "benchmarks"])
def test_no_docstring_begins_with_a_fragment(folder: str) -> None:
    paths = sorted((ROOT / folder).rglob("*.py"))
    assert paths
    found = [fault for path in paths for fault in faults(path.read_text(encoding="utf-8"), path.relative_to(ROOT))]
    assert not found, "\n".join([f"{len(found)} docstrings begin with a fragment:", *found])


@pytest.mark.parametrize(
    ("source", "line", "text"),
    [
        ('"""Of a module."""', 1, "Of a module."),
        ('class Arm:\n    """Which arm it is.\n\n    More.\n    """', 2, "Which arm it is."),
        ('def f():\n    """\n    Where it is.\n    """', 2, "Where it is."),
        ('async def f():\n    """As g()."""', 2, "As g()."),
        ('LIMIT = 3\n"""In seconds."""', 2, "In seconds."),
        ('class Arm:\n    name: str\n    """Whether it has one."""', 3, "Whether it has one."),
        ('class Arm:\n    def f(self):\n        self.name = 3\n        """If any."""', 4, "If any."),
        ('if HERE:\n    LIMIT = 3\nelse:\n    LIMIT = 4\n    """By default."""', 5, "By default."),
    ],
)
def test_every_kind_of_docstring_is_read(source: str, line: int, text: str) -> None:
    assert faults(source, Path("arm.py")) == [f"arm.py:{line}: {text}"]


def test_nouns_verbs_and_strings_that_document_nothing_pass() -> None:
    source = (
        '"""Arms."""\nLIMIT = 3\n"""Seconds."""\ndef f():\n    """Say whether."""\n    return "of what"\n"as it is"'
    )
    assert faults(source, Path("arm.py")) == []


def faults(source: str, path: Path) -> list[str]:
    """Return 'path:line: first line' for each docstring that begins with a fragment."""
    found = sorted(docstrings(ast.parse(source)))
    return [f"{path}:{line}: {text.splitlines()[0]}" for line, text in found if first_word(text) in FRAGMENT_WORDS]


def docstrings(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield the line and text of each docstring."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            yield from _string(node.body[0]) if node.body else ()
        for _, block in ast.iter_fields(node):
            for before, statement in pairwise(block if isinstance(block, list) else ()):
                if isinstance(before, (ast.Assign, ast.AnnAssign)):
                    yield from _string(statement)


def _string(statement: ast.stmt) -> Iterator[tuple[int, str]]:
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
        text = statement.value.value
        if isinstance(text, str):
            yield statement.lineno, text.strip()


def first_word(text: str) -> str:
    return re.split(r"\W", text, maxsplit=1)[0].lower()
