"""The journal: whole lines or none."""

from __future__ import annotations

import dataclasses
import errno
import fcntl
import io
import json
import math
import os
import resource
import shutil
import signal
import tempfile
from pathlib import Path
from typing import Any

import pytest

from harness.errors import JournalError
from harness.model.check import Mismatch
from harness.model.config import Config, CorrectnessConfig, LimitsConfig, TimingConfig
from harness.model.evaluation import Evaluation, Failure
from harness.model.timing import TimerOverhead
from harness.store import journal
from harness.store.journal import Journal, JournalProblem, journal_files, read_journals, read_lines, scan_journals
from harness.store.line import NoRecord, from_line, to_line
from tests.examples import build, check, comparison, failed, passed, sim_environment, timing, wrong_comparison
from tests.processes import map_in_processes

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


@pytest.mark.parametrize("error", [0.5, math.nan, math.inf])
def test_a_line_read_and_written_again_is_the_same_byte_for_byte(error: float) -> None:
    wrong = check(comparison(mismatches=1, max_abs_error=error))
    fills: tuple[float, ...] = (83136, 83136.0)  # both are in journals
    still = [dataclasses.replace(timing(), floors=TimerOverhead(1248.0, 3040.0, fill_ns=fill)) for fill in fills]
    for evaluation in (FULL, failed(checks=(wrong,)), *(passed(timing=one) for one in still)):
        assert to_line(from_line(to_line(evaluation))) == to_line(evaluation)


def test_nan_survives_the_line() -> None:
    line = to_line(failed(checks=(check(comparison(mismatches=1, max_abs_error=math.nan)),)))
    assert math.isnan(from_line(line).checks[0].outputs[0].max_abs_error)


def test_a_line_is_one_line_of_strict_json() -> None:
    line = to_line(FULL)
    assert "\n" not in line
    assert json.loads(line, parse_constant=pytest.fail)["verdict"] == "passed"


@pytest.mark.parametrize("line", ["", "{", "[]", '{"id": "1"}', "null"])
def test_a_foreign_line_is_refused(line: str) -> None:
    with pytest.raises(NoRecord):
        from_line(line)


def test_a_line_that_claims_an_illegal_combination_is_refused() -> None:
    data = json.loads(to_line(failed()))
    with pytest.raises(NoRecord, match="have a failure"):
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
    synced: list[tuple[int, int]] = []
    monkeypatch.setattr(os, "fsync", lambda of: synced.append((os.fstat(of).st_ino, os.fstat(of).st_size)))
    path = Journal(tmp_path, "run-1").append(passed())
    assert synced[0] == (path.stat().st_ino, path.stat().st_size)
    assert [inode for inode, _ in synced[1:]] == [path.parent.stat().st_ino, tmp_path.stat().st_ino]


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
        with pytest.raises(JournalError, match=r"No space left .*--results"):
            kept.append(failed(id="2"))
    assert path.read_bytes() == before
    (rescued,) = spare.glob("*/*.jsonl")
    assert rescued.read_text() == to_line(failed(id="2")) + "\n"
    kept.append(failed(id="2"))
    assert [evaluation.solution.name for evaluation in read_journals(tmp_path)] == ["tiled", "broken"]


def _interrupted(file: io.RawIOBase, data: bytes) -> None:
    file.write(data[: len(data) // 2])
    raise KeyboardInterrupt


def test_an_interruption_leaves_no_torn_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = Journal(tmp_path, "run-1").append(passed())
    before = path.read_bytes()
    monkeypatch.setattr(journal, "_write_all", _interrupted)
    with pytest.raises(KeyboardInterrupt):
        Journal(tmp_path, "run-1").append(failed(id="2"))
    assert path.read_bytes() == before


def test_without_locks_nothing_is_cut_off_that_may_be_anothers(
    tmp_path: Path, spare: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = Journal(tmp_path, "run-1").append(passed())
    before = path.read_bytes()

    def no_locks(file: object, how: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", no_locks)
    monkeypatch.setattr(journal, "_write_all", _full_disk)
    with pytest.raises(JournalError):
        Journal(tmp_path, "run-1").append(failed(id="2"))
    assert path.read_bytes()[: len(before)] == before
    assert len(path.read_bytes()) > len(before)


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
    with pytest.raises(JournalError, match="/spare/"):
        Journal(tmp_path / "results", "run-1").append(passed())


def test_lines_that_cannot_be_used_are_passed_over_and_named(tmp_path: Path) -> None:
    path = Journal(tmp_path, "run-1").append(passed())
    newer = json.dumps({**json.loads(to_line(failed())), "schema": 4})
    path.write_text(f"{to_line(passed())[:50]}\n{newer}\n\n[1]\n{to_line(passed('b'))}\n{to_line(failed('c'))[:70]}")
    assert [evaluation.solution.name for evaluation in read_journals(tmp_path)] == ["b"]
    problems = [
        str(found).removeprefix(f"{path}:") for found in scan_journals(journal_files(tmp_path)) if _is_problem(found)
    ]
    damaged, newer_one, foreign, torn = problems
    assert damaged.startswith("1: a torn or damaged")
    assert newer_one.startswith("2: schema 4")
    assert "update harness" in newer_one
    assert foreign.startswith("4: schema None")
    assert "not a record" in foreign
    assert torn.startswith("6: an unfinished line")
    assert "70 bytes" in torn


def _is_problem(found: Evaluation | JournalProblem) -> bool:
    return isinstance(found, JournalProblem)


def test_what_follows_a_torn_line_starts_a_line_of_its_own(tmp_path: Path) -> None:
    kept = Journal(tmp_path, "run-1")
    path = kept.append(passed("a", id="1"))
    path.write_bytes(path.read_bytes()[:-100])
    kept.append(passed("b", id="2"))
    kept.append(passed("c", id="3"))
    assert [evaluation.solution.name for evaluation in read_journals(tmp_path)] == ["b", "c"]
    assert [found.line for found in scan_journals(journal_files(tmp_path)) if isinstance(found, JournalProblem)] == [1]


def test_a_last_line_that_lacks_its_newline_alone_is_whole(tmp_path: Path) -> None:
    kept = Journal(tmp_path, "run-1")
    path = kept.append(passed("a", id="1"))
    path.write_bytes(path.read_bytes()[:-1])
    assert [evaluation.id for evaluation in read_journals(tmp_path)] == ["1"]
    kept.append(passed("b", id="2"))
    assert path.read_text() == f"{to_line(passed('a', id='1'))}\n{to_line(passed('b', id='2'))}\n"


def test_the_rest_of_a_line_in_the_making_does_not_pass_for_a_line(tmp_path: Path) -> None:
    """The end of the file was met within line 2; its writer went on before the reader asked for line 3."""
    path = tmp_path / "journal.jsonl"
    path.write_text("one\ntw")
    lines = read_lines(path)
    assert [next(lines).data, next(lines).data] == [b"one\n", b"tw"]
    with path.open("a") as file:
        file.write("o\nthree\n")
    assert list(lines) == []
    assert [line.data for line in read_lines(path)] == [b"one\n", b"two\n", b"three\n"]


def test_many_are_appended_with_one_sync_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = Journal(tmp_path, "run-1")
    kept.append_all([passed(id="0"), passed(id="1", environment=sim_environment())])
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", synced.append)
    paths = kept.append_all([passed(id="2"), passed(id="3", environment=sim_environment()), passed(id="4")])
    assert len(synced) == 2
    assert [path.name.split("-")[0] for path in paths] == ["h100", "sim", "h100"]
    assert [[e.id for e in map(from_line, path.read_text().splitlines())] for path in paths[:2]] == [
        ["0", "2", "4"],
        ["1", "3"],
    ]


def test_an_evaluation_in_two_journals_counts_once(tmp_path: Path) -> None:
    """As after copying the results of two machines together."""
    Journal(tmp_path, "run-1").append_all([passed("a", id="1"), passed("b", id="2")])
    shutil.copytree(tmp_path / "run-1", tmp_path / "laptop" / "run-1")
    Journal(tmp_path / "laptop", "run-1").append(passed("c", id="3"))
    found = list(scan_journals(journal_files(tmp_path)))
    assert [e.solution.name for e in found if isinstance(e, Evaluation)] == ["a", "b", "c"]
    assert len(found) == 3


def test_one_id_with_two_contents_is_named(tmp_path: Path) -> None:
    first = Journal(tmp_path, "run-1").append(passed("a", id="1"))
    second = Journal(tmp_path, "run-2").append(passed("b", id="1"))
    found = list(scan_journals(journal_files(tmp_path)))
    assert [e.solution.name for e in found if isinstance(e, Evaluation)] == ["a"]
    (problem,) = (str(p) for p in found if isinstance(p, JournalProblem))
    assert problem.startswith(f"{second}:1: evaluation 1 ")
    assert "'harness index --rebuild'" in problem
    assert first != second


def _append_some(arguments: tuple[Path, int]) -> None:
    results, writer = arguments
    for number in range(20):
        Journal(results, "run-1").append(passed(id=f"{writer}-{number}", timing=timing(blocks=40)))


def test_several_processes_may_append_to_one_file(tmp_path: Path) -> None:
    map_in_processes(_append_some, [(tmp_path, writer) for writer in range(4)])
    found = list(scan_journals(journal_files(tmp_path)))
    assert {e.id for e in found if isinstance(e, Evaluation)} == {f"{w}-{n}" for w in range(4) for n in range(20)}
    assert len(found) == 80


def test_linked_folders_are_followed_and_each_is_read_once(tmp_path: Path) -> None:
    Journal(tmp_path / "elsewhere", "run-1").append(passed())
    results = tmp_path / "results"
    results.mkdir()
    (results / "laptop").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "elsewhere" / "round").symlink_to(results)
    assert [path.parent for path in journal_files(results)] == [results / "laptop" / "run-1"]


def test_a_pipe_and_a_link_to_nowhere_are_no_journals(tmp_path: Path) -> None:
    path = Journal(tmp_path, "run-1").append(passed())
    os.mkfifo(path.with_name("pipe.jsonl"))
    path.with_name("link.jsonl").symlink_to("nowhere")
    assert journal_files(tmp_path) == [path]


@pytest.mark.parametrize(("end", "is_harmless"), [(b"\n", False), (b"", True)])
def test_a_line_that_no_record_has_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: bytes, is_harmless: bool
) -> None:
    path = Journal(tmp_path, "run-1").append_all([passed(id="1"), passed(id="2")])[0]
    first, second = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(first + b"x" * 500_000 + end + (second if end else b""))
    monkeypatch.setattr(journal, "LONGEST_LINE", 100_000)
    lines = list(read_lines(path))
    assert [line.size for line in lines][:2] == [len(first), 500_000 + len(end)]
    assert len(lines[1].data) == 100 + len(end)
    found = list(scan_journals(journal_files(tmp_path)))
    assert [e.id for e in found if isinstance(e, Evaluation)] == (["1", "2"] if end else ["1"])
    assert [(e.line, e.is_harmless) for e in found if isinstance(e, JournalProblem)] == [(2, is_harmless)]


@pytest.mark.parametrize(
    "line", [b"[" * 100_000, b'{"schema":3,"id":[' + b"1," * 1_000_001, b'{"x":"' + b'\\"' * 600_000]
)
def test_a_line_made_to_cost_much_is_no_record(line: bytes) -> None:
    with pytest.raises(NoRecord) as caught:
        from_line(line)
    assert len(str(caught.value)) < 2_100


def test_a_line_of_very_many_faults_has_a_short_complaint() -> None:
    data = {**json.loads(to_line(passed())), "checks": [1] * 20_000}
    with pytest.raises(NoRecord, match="20000 faults"):
        from_line(json.dumps(data))


def test_a_file_limit_leaves_no_torn_line(tmp_path: Path, spare: Path) -> None:
    """A real short write: the kernel takes what fits under the limit, then refuses."""
    kept = Journal(tmp_path, "run-1")
    path = kept.append(passed(id="1"))
    before = path.read_bytes()
    limit, handler = resource.getrlimit(resource.RLIMIT_FSIZE), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 100, limit[1]))
    try:
        with pytest.raises(JournalError, match=r"File too large; .*--results"):
            kept.append(passed(id="2"))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
        signal.signal(signal.SIGXFSZ, handler)
    assert path.read_bytes() == before
    kept.append(passed(id="2"))
    assert [evaluation.id for evaluation in read_journals(tmp_path)] == ["1", "2"]


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


def test_text_of_an_older_harness_that_is_no_unicode_is_read() -> None:
    """JSON carries half of a surrogate pair, for which UTF-8 has no bytes."""
    line = to_line(failed(failure=Failure("ValueError in forward(): !", "mend it")))
    failure = from_line(line.replace("!", "\\ud800")).failure
    assert failure is not None
    assert failure.reason.endswith(": ?")


def test_a_wrong_value_is_kept_with_its_place(tmp_path: Path) -> None:
    Journal(tmp_path, "run-1").append(failed(checks=(check(wrong_comparison()),)))
    (evaluation,) = read_journals(tmp_path)
    mismatch = evaluation.checks[0].outputs[0].first_mismatches[0]
    assert (mismatch.index, mismatch.got, mismatch.want) == ((1, 0), 2.5, -1.0)


def test_a_part_is_written_for_complex_values_alone(tmp_path: Path) -> None:
    """Records of real values read and write as before there were parts."""
    parts = (Mismatch((0,), 1.5, math.nan, "imaginary"), Mismatch((1,), 1.5, math.inf))
    line = to_line(failed(checks=(check(dataclasses.replace(wrong_comparison(), first_mismatches=parts)),)))
    assert '[{"index":[0],"got":1.5,"want":"NaN","part":"imaginary"},{"index":[1],"got":1.5,"want":"Infinity"}]' in line
    assert repr(from_line(line).checks[0].outputs[0].first_mismatches) == repr(parts)


def test_a_folder_that_cannot_be_written_is_found_before_anything_is_done(tmp_path: Path) -> None:
    (tmp_path / "results").write_text("a file where the folder belongs")
    with pytest.raises(JournalError, match=r"results: File exists; .*--results"):
        Journal(tmp_path / "results", "run").require_writable()
    Journal(tmp_path / "fresh", "run").require_writable()
    assert list((tmp_path / "fresh").iterdir()) == []
