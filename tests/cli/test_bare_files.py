"""`harness run FILE --reference FILE` from its beginning to its end."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.shell import Shell
from tests.wording import tells
from tests.workspace.test_problem import SOURCE

pytestmark = pytest.mark.sim


def test_words_name_the_files_that_were_named(harness: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for file, text in (("a/ref.py", SOURCE), ("b/mine.py", "\nimport nosuch_module\n")):
        (tmp_path / file).parent.mkdir()
        (tmp_path / file).write_text(text)
    run = harness("run", "b/mine.py", "--reference", "a/ref.py", "--backend", "sim", "-q")
    assert run.code == 1
    assert "on import of b/mine.py" in run.out
    assert 'File "b/mine.py", line 2' in run.out
    assert "solution.py" not in run.out
    told = harness("feedback", "last").out
    assert tells(told, "on import of b/mine.py", "b/mine.py", "b/mine.py, as it was judged")
    assert "solution.py" not in told
    shown = harness("show", "last").out
    assert "harness run b/mine.py --reference a/ref.py" in shown
