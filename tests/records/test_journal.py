"""The journal: whole lines or none."""

from __future__ import annotations

import errno
import io
import json
import math
import os
import tempfile
from pathlib import Path
from typing import Any

import pytest

from harness.codec import CodecError
from harness.errors import JournalError
from harness.records import journal
from harness.records.config import Config, CorrectnessConfig, LimitsConfig, TimingConfig
from harness.records.evaluation import Evaluation, Failure
from harness.records.journal import Journal, from_line, read_journals, to_line
from tests.examples import build, check, comparison, failed, passed, sim_environment, timing, wrong_comparison

FULL = passed(
    builds=(build(),),
    checks=(check(), check(comparison(max_rel_error=math.inf))),
    timing=timing(),
    weights="partly_reference_state",
    remarks=("größer als nötig — 3×", "two\nlines"),
    stages_s={"build": 4.5, "timing": 0.1 + 0.2},
    config=Config(
        CorrectnessConfig(seeds=2, sampled_blocks=5),
        TimingConfig(enabled=False, blocks=7, budget_s=1.5),
        LimitsConfig(turn_s=3.0, parallel_builds=4, worker_memory_gib=2.5),
    ),
)


@pytest.mark.parametrize("evaluation", [FULL, failed(), passed(environment=sim_environment())])
def test_an_evaluation_comes_back_from_its_line_exactly(evaluation: Evaluation) -> None:
    assert from_line(to_line(evaluation)) == evaluation


def test_nan_survives_the_line() -> None:
    line = to_line(failed(checks=(check(comparison(mismatches=1, max_abs_error=math.nan)),)))
    assert math.isnan(from_line(line).checks[0].outputs[0].max_abs_error)


def test_a_line_is_one_line_of_strict_json() -> None:
    line = to_line(FULL)
    assert "\n" not in line
    assert json.loads(line, parse_constant=pytest.fail)["verdict"] == "passed"


@pytest.mark.parametrize("line", ["", "{", "[]", '{"id": "1"}', "null"])
def test_a_foreign_line_is_refused(line: str) -> None:
    with pytest.raises(CodecError):
        from_line(line)


def test_a_line_that_claims_an_illegal_combination_is_refused() -> None:
    data = json.loads(to_line(failed()))
    with pytest.raises(CodecError, match="have a failure"):
        from_line(json.dumps({**data, "verdict": "passed"}))


def test_append_adds_whole_lines_to_one_file_per_environment(tmp_path: Path) -> None:
    kept = Journal(tmp_path, "run-1")
    first, second = kept.append(passed()), kept.append(failed())
    third = kept.append(passed(environment=sim_environment()))
    assert first == second
    assert first.parent == third.parent == tmp_path / "run-1"
    assert first.read_text() == to_line(passed()) + "\n" + to_line(failed()) + "\n"
    assert third.name.startswith("sim-torch2.11.0-")


def test_append_syncs_what_it_wrote(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", lambda descriptor: synced.append(os.fstat(descriptor).st_size))
    path = Journal(tmp_path, "run-1").append(passed())
    assert synced == [path.stat().st_size]


def _full_disk(file: io.RawIOBase, data: bytes) -> None:
    file.write(data[: len(data) // 2])
    raise OSError(errno.ENOSPC, "No space left on device")


@pytest.fixture
def spare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The system's temporary folder, for this test."""
    folder = tmp_path / "spare"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def test_a_full_disk_leaves_no_torn_line(tmp_path: Path, spare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = Journal(tmp_path, "run-1")
    path = kept.append(passed())
    before = path.read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr(journal, "_write_all", _full_disk)
        with pytest.raises(JournalError, match=r"No space left on device; free space or choose --results"):
            kept.append(failed())
    assert path.read_bytes() == before
    (rescued,) = spare.glob("*/*.jsonl")
    assert rescued.read_text() == to_line(failed()) + "\n"
    kept.append(failed())
    assert [evaluation.solution.name for evaluation in read_journals(tmp_path)] == ["tiled", "broken"]


def test_short_writes_are_continued(tmp_path: Path) -> None:
    class OneByte(io.RawIOBase):
        data = b""

        def writable(self) -> bool:
            return True

        def write(self, data: Any) -> int:
            self.data += bytes(data[:1])
            return 1

    file = OneByte()
    journal._write_all(file, b"line\n")
    assert file.data == b"line\n"


def test_a_folder_that_cannot_be_made_is_a_journal_error(tmp_path: Path, spare: Path) -> None:
    (tmp_path / "results").write_text("a file")
    with pytest.raises(JournalError, match=r"Results written before are safe, this one is in .*/spare/"):
        Journal(tmp_path / "results", "run-1").append(passed())


def test_reading_passes_over_torn_and_foreign_lines(tmp_path: Path) -> None:
    path = Journal(tmp_path, "run-1").append(passed())
    foreign = json.dumps({**json.loads(to_line(failed())), "schema": 2})
    path.write_text(
        f"{to_line(passed('a'))[:50]}\n{foreign}\n\n[1]\n{to_line(passed('b'))}\n{to_line(failed('c'))[:-5]}"
    )
    assert [evaluation.solution.name for evaluation in read_journals(tmp_path)] == ["b"]


def test_reading_passes_over_a_line_torn_within_a_character(tmp_path: Path) -> None:
    path = Journal(tmp_path, "run-1").append(passed("a"))
    path.write_bytes(path.read_bytes() + '{"remarks":["×'.encode()[:-1])
    assert [evaluation.solution.name for evaluation in read_journals(tmp_path)] == ["a"]


def test_reading_passes_over_a_number_of_too_many_digits(tmp_path: Path) -> None:
    path = Journal(tmp_path, "run-1").append(passed("a"))
    path.write_text('{"seed": ' + "1" * 5000 + "}\n" + path.read_text())
    assert [evaluation.solution.name for evaluation in read_journals(tmp_path)] == ["a"]


def test_a_results_folder_that_is_not_there_holds_nothing(tmp_path: Path) -> None:
    assert list(read_journals(tmp_path / "none")) == []


def test_text_of_a_solution_that_is_no_unicode_is_kept(tmp_path: Path) -> None:
    """A lone surrogate comes through JSON unharmed, but UTF-8 has no bytes for it."""
    Journal(tmp_path, "run-1").append(failed(failure=Failure("ValueError in forward(): \ud800", "mend it")))
    assert [evaluation.solution.name for evaluation in read_journals(tmp_path)] == ["broken"]


def test_a_wrong_value_is_kept_with_its_place(tmp_path: Path) -> None:
    Journal(tmp_path, "run-1").append(failed(checks=(check(wrong_comparison()),)))
    (evaluation,) = read_journals(tmp_path)
    mismatch = evaluation.checks[0].outputs[0].first_mismatches[0]
    assert (mismatch.index, mismatch.got, mismatch.want) == ((1, 0), 2.5, -1.0)
