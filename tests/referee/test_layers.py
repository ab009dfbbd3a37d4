"""The rooms in which answers are judged build on each other in one direction."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.machine import ROOT

REFEREE = ROOT / "harness" / "referee"
BELOW = {
    "answers": set[str](),
    "tolerance": {"answers"},
    "setting": {"answers", "tolerance"},
    "excuses": {"answers", "setting", "tolerance"},
    "judgement": {"answers", "excuses", "setting", "tolerance"},
    "inputs": {"answers", "setting", "tolerance"},
    "ceilings": {"answers", "setting"},
    "mutants": {"answers", "tolerance", "setting", "judgement", "inputs", "ceilings"},
    "audit": {"answers", "setting", "ceilings"},
}


def imported_rooms(room: str) -> set[str]:
    files = list((REFEREE / room).rglob("*.py")) or [REFEREE / f"{room}.py"]
    return {name for file in files for name in _imported(file)} - {room}


def _imported(file: Path) -> set[str]:
    nodes = ast.walk(ast.parse(file.read_text()))
    modules = (node.module or "" for node in nodes if isinstance(node, ast.ImportFrom))
    return {module.split(".")[2] for module in modules if module.startswith("harness.referee.")}


@pytest.mark.parametrize("room", BELOW)
def test_a_room_imports_those_below_it_alone(room: str) -> None:
    assert imported_rooms(room) == BELOW[room]


def test_no_room_imports_itself_by_way_of_others() -> None:
    built: set[str] = set()
    for room, below in BELOW.items():
        assert below <= built
        built.add(room)
