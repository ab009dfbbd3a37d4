"""Merging: another machine's evaluations, each once, nothing overwritten."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from harness.errors import UsageError
from harness.store.journal import Journal, read_journals
from harness.store.line import to_line
from harness.store.merging import merge_journals
from tests.examples import failed, passed


def test_what_is_new_is_taken_over_as_it_is(tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    one, two, three = passed(id="1", run="a"), failed(id="2", run="a"), passed(id="3", run="b")
    target = Journal(here, "a").append(one)
    Journal(there, "a").append_all([one, two])
    Journal(there, "b").append(three)
    merged = merge_journals(there, here, {"1"})
    assert (merged.copied, merged.known, merged.problems) == (2, 1, ())
    assert target.read_text() == f"{to_line(one)}\n{to_line(two)}\n"
    assert {evaluation.id for evaluation in read_journals(here)} == {"1", "2", "3"}
    assert merge_journals(there, here, {"1", "2", "3"}).copied == 0


def test_an_evaluation_that_stands_there_twice_is_taken_over_once(tmp_path: Path) -> None:
    Journal(tmp_path / "there", "a").append_all([passed(id="1"), passed(id="1")])
    merged = merge_journals(tmp_path / "there", tmp_path / "here", set())
    assert (merged.copied, merged.known) == (1, 1)


def test_what_cannot_be_read_stays_and_is_named(tmp_path: Path) -> None:
    path = Journal(tmp_path / "there", "a").append(passed(id="1"))
    path.write_text(f"{{torn\n{path.read_text()}")
    merged = merge_journals(tmp_path / "there", tmp_path / "here", set())
    assert merged.copied == 1
    assert [(problem.path, problem.line) for problem in merged.problems] == [(path, 1)]


@pytest.mark.parametrize("run", ["../outside", "/tmp/outside", ".hidden", ""])
def test_a_run_that_names_another_place_is_refused(tmp_path: Path, run: str) -> None:
    Journal(tmp_path / "there", "a").append(replace(passed(), run=run))
    merged = merge_journals(tmp_path / "there", tmp_path / "here", set())
    assert (merged.copied, len(merged.problems)) == (0, 1)
    assert not (tmp_path / "here").exists()


def test_a_folder_without_journals_or_the_same_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no journal in "):
        merge_journals(tmp_path, tmp_path / "here", set())
    with pytest.raises(UsageError, match="merge into"):
        merge_journals(tmp_path, tmp_path, set())
