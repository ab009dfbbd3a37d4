"""Journals of former versions of the harness stay readable."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness.model.evaluation import Evaluation
from harness.model.record import hash_contents
from harness.model.verdict import Verdict
from harness.store.line import NoRecord, from_line, outline_from_line, to_line
from tests.examples import failed, passed

SCHEMA_1 = (Path(__file__).parent / "schema_1.jsonl").read_text(encoding="utf-8")
"""A line of the first run on an H100, as the harness of that day wrote it."""


@pytest.fixture(scope="module")
def old() -> Evaluation:
    return from_line(SCHEMA_1)


def test_a_record_of_schema_1_is_read_whole(old: Evaluation) -> None:
    assert json.loads(SCHEMA_1)["schema"] == 1
    assert (old.schema, old.id, old.verdict) == (3, "20261121T043416-02390737", Verdict.PASSED)
    assert (old.problem.name, old.solution.name) == ("maxpool2d", "shared_tile")
    assert len(old.checks) == 38
    assert old.timing is not None
    assert old.timing.baselines == ("eager",)
    assert len(old.timing.turns) == 48


def test_its_cases_are_those_that_were_judged(old: Evaluation) -> None:
    assert " ".join(old.cases) == (
        "small odd strided dilated strided_dilated not_overlapping gaps large_windows identity single_output "
        "single_row full"
    )


def test_what_schema_1_did_not_keep_is_absent(old: Evaluation) -> None:
    assert (old.work, old.solution.explanation, old.solution.files, old.problem.title) == (None, "", {}, "")
    assert old.builds[0].output == ""


def test_it_is_written_in_the_schema_of_today(old: Evaluation) -> None:
    assert json.loads(to_line(old))["schema"] == 3
    assert from_line(to_line(old)) == old


def test_a_case_of_schema_1_that_failed_before_its_first_check_counts_as_asked_for() -> None:
    data = json.loads(to_line(failed(checks=())))
    del data["cases"]
    assert from_line(json.dumps({**data, "schema": 1})).cases == ("small",)


@pytest.mark.parametrize("odd", [{"checks": 5}, {"checks": [{}]}, {"failure": 7}, {"checks": [{"case": []}]}])
def test_a_line_of_schema_1_that_makes_no_sense_is_refused(odd: dict[str, object]) -> None:
    data = {**json.loads(to_line(failed(checks=()))), "schema": 1}
    with pytest.raises(NoRecord):
        from_line(json.dumps({**data, **odd}))
    with pytest.raises(NoRecord, match="schema True"):
        from_line(json.dumps({**data, "schema": True}))


def _of_2(files: dict[str, str], sha256: str | None = None) -> str:
    """A record of schema 2, with the hash over all of the solution's files if no other is given."""
    data = json.loads(to_line(passed()))
    given = sha256 or hash_contents((name, text.encode()) for name, text in files.items())
    solution = {**data["solution"], "files": files, "sha256": given}
    return json.dumps({**data, "schema": 2, "solution": solution})


def test_a_solutions_prose_has_no_part_in_its_hash_any_more() -> None:
    code = {"solution.py": "class ModelNew: ..."}
    read = from_line(_of_2({"NOTES.md": "slow at first", **code, "why.md": "…"}))
    assert read.solution.sha256 == hash_contents([("solution.py", b"class ModelNew: ...")])
    assert sorted(read.solution.files) == ["NOTES.md", "solution.py", "why.md"]
    assert outline_from_line(_of_2({"NOTES.md": "fast at last", **code})).solution.sha256 == read.solution.sha256


@pytest.mark.parametrize("files", [{"NOTES.md": "all but the data.bin"}, {}, {"\ud800.md": "\ud800"}])
def test_a_hash_that_is_not_of_the_files_in_the_record_stays(files: dict[str, str]) -> None:
    assert from_line(_of_2(files, "c0de" * 16)).solution.sha256 == "c0de" * 16


@pytest.mark.parametrize(
    ("schema", "complaint"),
    [
        (4, "schema 4, 3 is the newest known here: update harness to read it"),
        (0, "schema 0, 3 is the newest known here: not a record of harness"),
        ("3", "schema '3', 3 is the newest known here: not a record of harness"),
    ],
)
def test_another_schema_is_refused_with_a_remedy(schema: object, complaint: str) -> None:
    line = json.dumps({**json.loads(to_line(passed())), "schema": schema})
    with pytest.raises(NoRecord) as caught:
        from_line(line)
    assert str(caught.value) == complaint
