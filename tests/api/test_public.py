"""The public names: one list, all of them there, documented and typed."""

from __future__ import annotations

import inspect
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import harness
from tests.machine import ROOT

DOCUMENT = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")

PUBLIC = [name for name in harness.__all__ if name != "__version__"]


def test_the_documented_names_are_the_public_names() -> None:
    table = DOCUMENT.partition("## Names")[2]
    rows = re.findall(r"^\| (`[^|]+) \|", table, re.MULTILINE)
    assert sorted(name for row in rows for name in re.findall(r"`(\w+)`", row)) == sorted(harness.__all__)


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_name_is_there_and_says_what_it_is(name: str) -> None:
    value = getattr(harness, name)
    assert value.__name__ == name
    assert value.__module__.startswith("harness.")
    assert inspect.getdoc(value)


@pytest.mark.parametrize("name", [name for name in PUBLIC if inspect.isfunction(getattr(harness, name))])
def test_every_public_function_is_annotated(name: str) -> None:
    function = getattr(harness, name)
    signature = inspect.signature(function)
    assert signature.return_annotation is not inspect.Signature.empty
    assert all(one.annotation is not inspect.Parameter.empty for one in signature.parameters.values())


@pytest.mark.parametrize("name", ["evaluate", "evaluate_many", "iter_tasks", "close"])
def test_every_public_method_of_the_evaluator_is_annotated_and_documented(name: str) -> None:
    method = getattr(harness.Evaluator, name)
    assert method.__doc__
    assert inspect.signature(method).return_annotation is not inspect.Signature.empty


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(AttributeError, match="'evalaute'"):
        harness.evalaute  # noqa: B018
    assert set(dir(harness)) == set(PUBLIC)


def run_python(code: str, cwd: Path) -> str:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", code], cwd=cwd, env=environment, capture_output=True, text=True)
    return done.stdout + done.stderr


def test_import_needs_no_torch_and_no_record(tmp_path: Path) -> None:
    code = "import sys, harness; print(sorted(m for m in sys.modules if m.split('.')[0] in ('harness', 'torch')))"
    assert run_python(code, tmp_path) == "['harness', 'harness.face']\n"


def test_every_name_can_be_imported_by_itself(tmp_path: Path) -> None:
    code = "from harness import *; print(evaluate.__name__, Verdict.PASSED.value, __version__)"
    assert run_python(code, tmp_path) == f"evaluate passed {harness.__version__}\n"


@pytest.mark.heavy
def test_a_type_checker_sees_the_types(tmp_path: Path) -> None:
    mypy = pytest.importorskip("mypy.api")
    (tmp_path / "user.py").write_text(
        "import harness\n"
        "reveal_type(harness.evaluate('relu', 'source').verdict)\n"
        "reveal_type(list(harness.iter_evaluations()))\n"
        "harness.evaluate('relu', 'source', backend='rocm')\n"
        "harness.evalaute()\n"
    )
    arguments = ["--strict", "--no-error-summary", f"--cache-dir={ROOT / '.mypy_cache'}", str(tmp_path / "user.py")]
    config = ["--config-file", str(ROOT / "pyproject.toml"), "--follow-imports=silent"]
    out, _, _ = mypy.run([*config, *arguments])
    assert 'user.py:2: note: Revealed type is "harness.model.verdict.Verdict"' in out
    assert 'user.py:3: note: Revealed type is "list[harness.model.evaluation.Evaluation]"' in out
    assert 'user.py:4: error: Argument "backend" to "evaluate" has incompatible type' in out
    assert 'user.py:5: error: Module has no attribute "evalaute"' in out
