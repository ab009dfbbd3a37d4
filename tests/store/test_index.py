"""The index: what the journals hold, found fast, whatever happened to the files."""

from __future__ import annotations

import os
import shutil
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.errors import JournalError, UsageError
from harness.model.config import Config, TimingConfig
from harness.model.evaluation import Evaluation, ProblemRef
from harness.model.verdict import Verdict
from harness.store import index_file, indexing
from harness.store.entry import columns_of, entry_of
from harness.store.index import open_index
from harness.store.journal import Journal
from harness.store.line import to_line
from tests.examples import environment, failed, passed, sim_environment, timing
from tests.processes import map_in_processes


def at(minute: int, evaluation: Evaluation, **changes: Any) -> Evaluation:
    """The evaluation with a time and an id of its own."""
    return replace(
        evaluation,
        id=f"20261121T10{minute:02}00-{minute:08x}",
        started_at=f"2026-11-21T10:{minute:02}:00.000+00:00",
        **changes,
    )


def timed(solution_ns: int = 1_000_000, name: str = "tiled", **changes: Any) -> Evaluation:
    return passed(name, timing=timing(solution_ns=solution_ns), **changes)


def keep(results: Path, *evaluations: Evaluation, run: str = "run-1") -> Path:
    return Journal(results, run).append_all(evaluations)[0]


def edit(results: Path, *statements: str) -> None:
    """Change the index's tables behind its back."""
    with closing(sqlite3.connect(results / ".index.sqlite")) as database, database:
        for statement in statements:
            database.execute(statement)


def ids(results: Path) -> list[str]:
    """The last digit of each id."""
    with open_index(results) as index:
        return [entry.id[-1] for entry in index.entries()]


def test_entries_come_oldest_first_and_whole(tmp_path: Path) -> None:
    late, early = at(2, failed()), at(1, timed())
    keep(tmp_path, late, early)
    with open_index(tmp_path) as index:
        assert list(map(columns_of, index.entries())) == [columns_of(entry_of(early)), columns_of(entry_of(late))]


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({"problem": "relu"}, ["2"]),
        ({"solution": "plain"}, ["3"]),
        ({"run": "run-9"}, ["4"]),
        ({"backend": "sim"}, ["5"]),
        ({"environment": environment().fingerprint}, ["1", "2", "3", "4"]),
        ({"problem": "maxpool2d", "solution": "tiled", "backend": "cuda"}, ["1", "4"]),
        ({"problem": "max%"}, []),
    ],
)
def test_entries_are_found_by_their_facts(tmp_path: Path, facts: dict[str, str], expected: list[str]) -> None:
    keep(
        tmp_path,
        at(1, passed()),
        at(2, passed(problem=ProblemRef("relu", "aa" * 32, "float32"))),
        at(3, passed("plain")),
        at(4, passed(run="run-9")),
        at(5, passed(environment=sim_environment())),
    )
    with open_index(tmp_path) as index:
        assert [entry.id[-1] for entry in index.entries(**facts)] == expected


def test_the_latest_of_a_solution_may_be_asked_for_on_one_backend(tmp_path: Path) -> None:
    keep(tmp_path, at(1, passed()), at(2, failed("tiled")), at(3, passed(environment=sim_environment())))
    with open_index(tmp_path) as index:
        latest, on_gpu = index.latest("maxpool2d", "tiled"), index.latest("maxpool2d", "tiled", backend="cuda")
        assert latest is not None
        assert on_gpu is not None
        assert (latest.id[-1], on_gpu.id[-1]) == ("3", "2")
        assert index.latest("maxpool2d", "nosuch") is None


def test_the_latest_of_each_key(tmp_path: Path) -> None:
    other = Config(timing=TimingConfig(blocks=13))
    keep(tmp_path, at(1, passed()), at(2, passed()), at(3, passed(config=other)))
    first, second = passed().key, passed(config=other).key
    many = [f"{number:016x}" for number in range(1200)]  # more than one query takes
    with open_index(tmp_path) as index:
        found = index.latest_by_key([first, *many, second])
    assert {key: entry.id[-1] for key, entry in found.items()} == {first: "2", second: "3"}


def test_an_evaluation_is_found_by_its_id_a_beginning_its_end_or_as_the_last(tmp_path: Path) -> None:
    one, two = at(1, timed()), at(12, failed())
    keep(tmp_path, two, one)
    with open_index(tmp_path) as index:
        assert index.evaluation(one.id) == one
        assert index.evaluation("20261121T1012") == two
        assert index.evaluation("0000000c") == two
        assert index.evaluation("last") == two
        assert list(index.evaluations([two.id, one.id])) == [two, one]


def test_a_problem_and_a_solution_name_their_newest_evaluation(tmp_path: Path) -> None:
    one, two, three = (at(minute, passed()) for minute in (1, 12, 13))
    other = replace(three, solution=replace(three.solution, name="other"))
    keep(tmp_path, two, other, one)
    with open_index(tmp_path) as index:
        assert index.evaluation(one.problem.name) == other
        assert index.evaluation(f"{one.problem.name}/{one.solution.name}") == two
        with pytest.raises(UsageError, match=f"Did you mean '{one.problem.name}/other'"):
            index.evaluation(f"{one.problem.name}/othr")


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("20261121", "'20261121' fits several evaluations: 20261121T100100-00000001, 20261121T101200-0000000c"),
        ("20261121T100100-00000007", "Did you mean '20261121T100100-00000001'?"),
        ("%", "no evaluation '%' in "),
        ("_", "no evaluation '_' in "),
        ("", "no evaluation '' in "),
    ],
)
def test_a_wrong_id_is_answered_with_a_suggestion(tmp_path: Path, name: str, complaint: str) -> None:
    keep(tmp_path, at(1, passed()), at(12, passed()))
    with open_index(tmp_path) as index, pytest.raises(UsageError) as caught:
        index.evaluation(name)
    assert complaint in str(caught.value)


def test_without_evaluations_there_is_no_last(tmp_path: Path) -> None:
    with open_index(tmp_path / "none") as index:
        with pytest.raises(UsageError, match=r"/none .*'harness run'"):
            index.evaluation("last")
        assert index.entries() == []
    assert not (tmp_path / "none").exists()


def test_what_is_appended_later_is_there_at_the_next_opening(tmp_path: Path) -> None:
    keep(tmp_path, at(1, passed()))
    assert ids(tmp_path) == ["1"]
    keep(tmp_path, at(2, passed()))
    keep(tmp_path, at(3, passed()), run="run-2")
    assert ids(tmp_path) == ["1", "2", "3"]


def test_what_is_known_is_not_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keep(tmp_path, at(1, passed()), at(2, passed()))
    assert ids(tmp_path) == ["1", "2"]
    read: list[int] = []
    original = indexing.read_lines
    monkeypatch.setattr(
        indexing, "read_lines", lambda path, offset=0, number=1: read.append(number) or original(path, offset, number)
    )
    assert ids(tmp_path) == ["1", "2"]
    assert read == []
    keep(tmp_path, at(3, passed()))
    assert ids(tmp_path) == ["1", "2", "3"]
    assert read == [1, 3]  # the last known line, to see that the file is the same; then the new one


def test_what_is_removed_truncated_or_replaced_goes(tmp_path: Path) -> None:
    first = keep(tmp_path, at(1, passed()), at(2, passed()))
    second = keep(tmp_path, at(3, passed()), run="run-2")
    third = keep(tmp_path, at(4, passed()), run="run-3")
    assert ids(tmp_path) == ["1", "2", "3", "4"]
    first.write_text(first.read_text().splitlines()[0] + "\n")
    second.unlink()
    third.write_text(to_line(at(5, passed())) + "\n" + to_line(at(6, passed())) + "\n")
    assert ids(tmp_path) == ["1", "5", "6"]


def test_a_journal_of_equal_length_that_was_edited_is_read_again(tmp_path: Path) -> None:
    path = keep(tmp_path, at(1, passed()))
    assert ids(tmp_path) == ["1"]
    path.write_text(path.read_text().replace("-00000001", "-00000009"))
    os.utime(path, ns=(1, 1))
    assert ids(tmp_path) == ["9"]


def test_a_torn_line_is_reported_until_it_is_whole(tmp_path: Path) -> None:
    path = keep(tmp_path, at(1, passed()))
    line = to_line(at(2, passed())) + "\n"
    path.write_text(path.read_text() + line[:300])
    with open_index(tmp_path) as index:
        (problem,) = index.status().problems
        assert (problem.path, problem.line) == (path, 2)
        assert "300 bytes" in problem.what
    path.write_text(path.read_text() + line[300:])
    with open_index(tmp_path) as index:
        assert index.status().problems == ()
        assert [entry.id[-1] for entry in index.entries()] == ["1", "2"]


def test_a_line_torn_by_a_crash_stays_named_and_what_follows_counts(tmp_path: Path) -> None:
    path = keep(tmp_path, at(1, passed()))
    path.write_bytes(path.read_bytes()[:-50])
    assert ids(tmp_path) == []
    keep(tmp_path, at(2, passed()))
    with open_index(tmp_path) as index:
        assert [entry.id[-1] for entry in index.entries()] == ["2"]
        (problem,) = index.status().problems
        assert problem.line == 1
        assert "torn" in problem.what


def test_a_last_line_that_lacks_its_newline_alone_counts_once(tmp_path: Path) -> None:
    path = keep(tmp_path, at(1, passed()))
    path.write_bytes(path.read_bytes()[:-1])
    assert ids(tmp_path) == ["1"]
    keep(tmp_path, at(2, passed()))
    assert ids(tmp_path) == ["1", "2"]
    with open_index(tmp_path) as index:
        assert index.evaluation("00000002").id[-1] == "2"


def test_a_merged_copy_counts_once_and_takes_over_when_the_first_goes(tmp_path: Path) -> None:
    keep(tmp_path, at(1, passed()), at(2, passed()))
    shutil.copytree(tmp_path / "run-1", tmp_path / "a-machine" / "run-1")
    with open_index(tmp_path) as index:
        status = index.status()
        assert (status.evaluations, status.copies, status.journals, status.problems) == (2, 2, 2, ())
    shutil.rmtree(tmp_path / "a-machine")
    assert ids(tmp_path) == ["1", "2"]
    keep(tmp_path, at(3, passed()))
    assert ids(tmp_path) == ["1", "2", "3"]


@pytest.mark.parametrize("order", [("a", "b"), ("b", "a")])
def test_of_two_contents_for_one_id_the_first_path_counts_whichever_came_first(
    tmp_path: Path, order: tuple[str, str]
) -> None:
    for run in order:
        keep(tmp_path, at(1, passed(f"of_{run}")), run=run)
        ids(tmp_path)
    with open_index(tmp_path) as index:
        assert [entry.solution for entry in index.entries()] == ["of_a"]
        (problem,) = index.status().problems
        assert problem.path.parent.name == "b"
        assert "20261121T100100-00000001" in problem.what
        assert "another content" in problem.what


def test_an_evaluation_whose_line_changed_since_is_not_passed_off(tmp_path: Path) -> None:
    path = keep(tmp_path, at(1, passed()))
    with open_index(tmp_path) as index:
        path.write_text(to_line(at(1, passed("other"))) + "\n")
        with pytest.raises(JournalError, match=r"jsonl:1 is not the line"):
            index.evaluation("last")
        path.unlink()
        with pytest.raises(JournalError, match="jsonl:1 can't"):
            index.evaluation("last")


@pytest.mark.parametrize("damage", [b"not a database at all" * 100, b"SQLite format 3\x00" + b"\xff" * 5000])
def test_a_damaged_index_is_made_anew_and_says_so(tmp_path: Path, damage: bytes) -> None:
    keep(tmp_path, at(1, passed()))
    ids(tmp_path)
    (tmp_path / ".index.sqlite").write_bytes(damage)
    said: list[str] = []
    with open_index(tmp_path, say=said.append) as index:
        assert [entry.id[-1] for entry in index.entries()] == ["1"]
    assert len(said) == 1
    assert "was damaged" in said[0]
    assert ids(tmp_path) == ["1"]


def test_damage_met_in_the_middle_of_the_work_is_repaired(tmp_path: Path) -> None:
    keep(tmp_path, *(at(minute, passed()) for minute in range(60)))
    ids(tmp_path)
    path = tmp_path / ".index.sqlite"
    data = bytearray(path.read_bytes())
    data[3 * 4096 :] = b"\xff" * (len(data) - 3 * 4096)  # the header and the list of tables stay
    path.write_bytes(data)
    said: list[str] = []
    with open_index(tmp_path, say=said.append) as index:
        assert len(index.entries()) == 60
    assert any("was damaged" in what for what in said)


def test_damage_while_another_has_the_file_open_is_answered_in_memory(tmp_path: Path) -> None:
    keep(tmp_path, at(1, passed()))
    said: list[str] = []
    with open_index(tmp_path):
        (tmp_path / ".index.sqlite").write_bytes(b"nonsense" * 1000)
        (tmp_path / ".index.sqlite-wal").write_bytes(b"")
        with open_index(tmp_path, say=said.append) as other:
            assert [entry.id[-1] for entry in other.entries()] == ["1"]
            assert other.status().path is None
    assert "can't be replaced" in said[0]


def test_an_index_of_another_version_is_made_anew(tmp_path: Path) -> None:
    keep(tmp_path, at(1, passed()))
    ids(tmp_path)
    edit(tmp_path, "PRAGMA user_version = 1", "DELETE FROM entry")
    assert ids(tmp_path) == ["1"]


def test_a_rebuild_forgets_what_was_wrong(tmp_path: Path) -> None:
    keep(tmp_path, at(1, passed()))
    ids(tmp_path)
    edit(tmp_path, "DELETE FROM entry")
    assert ids(tmp_path) == []
    with open_index(tmp_path, rebuild=True) as index:
        assert len(index.entries()) == 1


def test_where_no_file_can_be_kept_the_index_is_in_memory(tmp_path: Path) -> None:
    keep(tmp_path, at(1, passed()))
    (tmp_path / ".index.sqlite").mkdir()
    said: list[str] = []
    with open_index(tmp_path, say=said.append) as index:
        assert [entry.id[-1] for entry in index.entries()] == ["1"]
        assert index.status().path is None
    (what,) = said
    assert str(tmp_path) in what
    assert "in memory" in what


def test_an_index_in_memory_starts_from_the_file_that_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep(tmp_path, at(1, passed()))
    ids(tmp_path)
    keep(tmp_path, at(2, passed()), run="run-2")

    def read_only(path: Path, mode: int) -> Any:
        raise PermissionError(30, "Read-only file system")

    monkeypatch.setattr(index_file, "_lock", read_only)
    with open_index(tmp_path) as index:
        assert [entry.id[-1] for entry in index.entries()] == ["1", "2"]
        assert index.status().path is None


def test_an_open_index_keeps_its_answers_while_another_rebuilds(tmp_path: Path) -> None:
    keep(tmp_path, at(1, passed()))
    with open_index(tmp_path) as index:
        keep(tmp_path, at(2, passed()))
        with open_index(tmp_path, rebuild=True) as other:
            assert len(other.entries()) == 2
            assert [entry.id[-1] for entry in index.entries()] == ["1"]


def _open_and_count(results: Path) -> int:
    with open_index(results) as index:
        return len(index.entries())


def test_several_who_index_at_once_do_it_once(tmp_path: Path) -> None:
    for run in range(4):
        keep(tmp_path, *(at(15 * run + minute, passed()) for minute in range(15)), run=f"run-{run}")
    assert map_in_processes(_open_and_count, [tmp_path] * 8) == [60] * 8
    with open_index(tmp_path) as index:
        assert (index.status().evaluations, index.status().copies) == (60, 0)


def test_a_name_that_is_no_unicode_is_kept_readable(tmp_path: Path) -> None:
    path = keep(tmp_path, at(1, passed("a!b")))
    path.write_text(path.read_text().replace("a!b", "a\\udcffb"))
    with open_index(tmp_path) as index:
        assert [entry.solution for entry in index.entries()] == ["a?b"]
        assert index.evaluation("last").solution.name == "a?b"


def test_a_number_that_no_column_holds_is_a_line_that_cannot_be_used(tmp_path: Path) -> None:
    first = {turn.arm: turn for turn in timing().turns if turn.block == 0}.values()
    odd = replace(timing(), turns=tuple(replace(turn, call_ns=(1 << 70,)) for turn in first))
    keep(tmp_path, at(1, passed(timing=odd)), at(2, passed()))
    with open_index(tmp_path) as index:
        assert [entry.id[-1] for entry in index.entries()] == ["2"]
        (problem,) = index.status().problems
        assert "1180591620717411303424" in problem.what


def test_many_lines_take_several_transactions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indexing, "_A_TRANSACTION", 2)
    keep(tmp_path, *(at(minute, passed()) for minute in range(5)))
    assert ids(tmp_path) == ["0", "1", "2", "3", "4"]
    monkeypatch.setattr(indexing, "_A_TRANSACTION_BYTES", 1)
    keep(tmp_path, *(at(minute, passed()) for minute in range(5, 8)))
    assert ids(tmp_path) == ["0", "1", "2", "3", "4", "5", "6", "7"]


def test_the_status_counts(tmp_path: Path) -> None:
    keep(tmp_path, at(1, passed()), at(2, passed(run="other")))
    with open_index(tmp_path) as index:
        status = index.status()
    assert (status.evaluations, status.runs, status.journals, status.copies) == (2, 2, 1, 0)
    assert status.path == tmp_path / ".index.sqlite"


def test_tallies_count_by_environment_config_problem_version_and_solution(tmp_path: Path) -> None:
    changed = replace(passed().problem, sha256="00" * 32)
    keep(
        tmp_path,
        at(1, timed()),
        at(2, failed("tiled")),
        at(3, passed(environment=sim_environment())),
        at(4, timed(problem=changed)),
        at(5, failed("plain")),
        at(6, timed(config=Config(timing=TimingConfig(blocks=13)))),
    )
    with open_index(tmp_path) as index:
        entries, tallies = index.entries(), index.tallies()
    found = {
        (t.environment_label, t.config, t.problem_sha256[:2], t.solution): (
            t.evaluations,
            t.is_measured,
            t.newest[14:16],
            t.is_simulated,
        )
        for t in tallies
    }
    gpu, sim = entries[0].environment_label, entries[2].environment_label
    usual, other, version = entries[0].config, entries[5].config, entries[0].problem_sha256[:2]
    assert found == {
        (gpu, usual, version, "tiled"): (2, True, "02", False),
        (sim, usual, version, "tiled"): (1, False, "03", True),
        (gpu, usual, "00", "tiled"): (1, True, "04", False),
        (gpu, usual, version, "plain"): (1, False, "05", False),
        (gpu, other, version, "tiled"): (1, True, "06", False),
    }


def as_end_to_end(evaluation: Evaluation) -> Evaluation:
    assert evaluation.timing is not None
    return replace(evaluation, timing=replace(evaluation.timing, metric="end_to_end"))


class TestNewest:
    """What of several evaluations a leaderboard is given."""

    def newest(self, results: Path, *evaluations: Evaluation) -> list[str]:
        keep(results, *evaluations)
        with open_index(results) as index:
            return [entry.id[-1] for entry in index.newest()]

    def test_the_newest_of_a_source_not_the_fastest(self, tmp_path: Path) -> None:
        times = {1: 900_000, 2: 500_000, 3: 700_000, 4: 800_000}
        assert self.newest(tmp_path, *(at(minute, timed(ns)) for minute, ns in times.items())) == ["4"]

    def test_the_newest_of_each_source(self, tmp_path: Path) -> None:
        other = replace(passed().solution, sha256="22" * 32)
        edited = [at(minute, timed(solution=other)) for minute in (3, 4)]
        assert self.newest(tmp_path, *(at(minute, timed()) for minute in (0, 1, 2)), *edited) == ["2", "4"]

    def test_the_newest_by_each_metric(self, tmp_path: Path) -> None:
        waiting = [at(minute, as_end_to_end(timed(100_000))) for minute in (2, 3, 4)]
        assert self.newest(tmp_path, at(0, timed()), at(1, timed(500_000)), *waiting) == ["1", "4"]

    def test_the_newest_that_may_be_ranked_where_the_newest_may_not(self, tmp_path: Path) -> None:
        noisy = passed(timing=timing(blocks=5))
        every = [*(at(minute, timed()) for minute in (0, 1, 2)), at(3, noisy), at(4, noisy)]
        assert self.newest(tmp_path, *every) == ["2", "4"]

    def test_the_newest_that_says_something_of_the_solution(self, tmp_path: Path) -> None:
        ours = [at(minute, failed("tiled", verdict=Verdict.HARNESS_ERROR)) for minute in (3, 4, 5)]
        every = [at(0, timed()), at(1, failed("tiled", verdict=Verdict.TIMEOUT)), at(2, failed("tiled"))]
        assert self.newest(tmp_path, *every, *ours) == ["0", "2", "5"]

    @pytest.mark.parametrize(
        "unfit",
        [
            failed("tiled"),
            passed(),
            timed(400_000, environment=environment(gpu="NVIDIA H200")),
            timed(400_000, config=Config(timing=TimingConfig(blocks=13))),
            passed(timing=timing(solution_ns=400_000, blocks=5)),
            timed(400_000, solution=replace(passed().solution, expected_verdict=Verdict.TIMEOUT)),
        ],
        ids=["failed", "not timed", "another environment", "another config", "noisy", "meant to fail"],
    )
    def test_what_may_not_be_ranked_hides_nothing_that_may(self, tmp_path: Path, unfit: Evaluation) -> None:
        ours = failed("tiled", verdict=Verdict.HARNESS_ERROR)
        assert "1" in self.newest(tmp_path, at(0, timed()), at(1, timed(500_000)), at(2, unfit), at(3, ours))

    def test_the_newest_elsewhere_is_among_them(self, tmp_path: Path) -> None:
        elsewhere = [at(minute, passed(environment=sim_environment())) for minute in (2, 3, 4)]
        assert self.newest(tmp_path, at(1, timed()), *elsewhere) == ["1", "4"]
