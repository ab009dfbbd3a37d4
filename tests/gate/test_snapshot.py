"""The file of accepted evaluations."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from harness.errors import InvalidFile, JournalError, UsageError
from harness.gate.runs import latest_of_each, read_run
from harness.gate.snapshot import accept, merged, open_snapshot, parse, render, write
from harness.model.verdict import Verdict
from harness.store.journal import Journal
from tests.examples import environment, failed, passed, sim_environment
from tests.gate.builders import timed

TILED = ("maxpool2d", "tiled")


def test_what_is_written_is_read_back() -> None:
    entries = (accept(timed(1_000_000)), accept(failed("wrong")))
    assert parse(render(entries), "snapshot.jsonl") == entries


def test_the_speed_up_follows_from_the_blocks() -> None:
    evaluation = timed(1_000_000)
    assert evaluation.timing is not None
    assert accept(evaluation).speedup == evaluation.timing.speedup


def test_processes_that_disagree_widen_the_accepted_interval_too() -> None:
    evaluation = timed(1_000_000, 0.009)
    assert evaluation.timing is not None
    several = replace(evaluation, timing=replace(evaluation.timing, fresh_at=(0, 2, 10)))
    (entry,) = parse(render([accept(several)]), "snapshot.jsonl")
    assert entry.speedup is not None
    assert entry.speedup == several.timing.speedup  # type: ignore[union-attr]
    assert entry.speedup != accept(evaluation).speedup


def test_an_entry_from_before_metrics_is_gpu_cold() -> None:
    data = json.loads(render([accept(timed(1_000_000))]))
    del data["times"]["metric"], data["times"]["fresh_at"]
    (entry,) = parse(json.dumps(data), "snapshot.jsonl")
    assert entry == accept(timed(1_000_000))


def test_a_line_holds_what_is_compared_and_neither_samples_nor_sources() -> None:
    (line,) = render([accept(timed(1_000_000))]).splitlines()
    assert list(json.loads(line)) == [
        "problem",
        "solution",
        "verdict",
        "evaluation",
        "started_at",
        "problem_sha256",
        "solution_sha256",
        "times",
        "environment",
    ]
    assert len(line) < 2000


def test_the_commit_is_no_part_of_it() -> None:
    assert accept(timed(1_000_000)).environment.commit is None


def test_a_new_entry_takes_the_place_of_the_one_on_the_same_gpu_alone() -> None:
    old, new = accept(timed(1_000_000)), accept(timed(900_000, id="new"))
    t4 = accept(replace(timed(2_000_000, id="t4"), environment=environment(gpu="NVIDIA T4")))
    sim = accept(passed("tiled", id="sim", environment=sim_environment()))
    kept = merged([old, t4, sim], [new], {TILED})
    assert [entry.evaluation for entry in kept] == ["new", "t4", "sim"]


def test_a_new_driver_on_the_same_gpu_replaces_the_entry() -> None:
    new = accept(replace(timed(1_000_000, id="new"), environment=environment(driver="590.1")))
    assert merged([accept(timed(1_000_000))], [new], {TILED}) == (new,)


def test_solutions_that_are_gone_leave_the_snapshot() -> None:
    assert merged([accept(failed("gone"))], [accept(timed(1_000_000))], {TILED}) == (accept(timed(1_000_000)),)


def test_entries_are_sorted_by_problem_and_solution() -> None:
    entries = merged([accept(failed("b")), accept(failed("a"))], [], {("maxpool2d", "a"), ("maxpool2d", "b")})
    assert [entry.solution for entry in entries] == ["a", "b"]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("{", "snapshot.jsonl:2: not JSON; restore it, or accept again"),
        ("{}", "snapshot.jsonl:2: key 'problem' is missing"),
        ("<<<<<<< HEAD", "snapshot.jsonl:2: git left a conflict here"),
    ],
)
def test_a_broken_line_is_refused_with_its_number(line: str, words: str) -> None:
    with pytest.raises(InvalidFile) as caught:
        parse(render([accept(timed(1_000_000))]) + line, "snapshot.jsonl")
    assert words in str(caught.value)


def test_times_that_give_no_interval_are_refused() -> None:
    data = json.loads(render([accept(timed(1_000_000))]))
    data["times"]["solution_ns"].pop()
    with pytest.raises(InvalidFile, match="as many"):
        parse(json.dumps(data), "snapshot.jsonl")


def test_without_a_name_and_a_file_there_is_none(tmp_path: Path) -> None:
    assert open_snapshot(None, tmp_path, tmp_path / "results") is None


def test_a_snapshot_that_is_a_pipe_does_not_pass_for_none(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "snapshot.jsonl")
    with pytest.raises(InvalidFile, match="no plain file"):
        open_snapshot(None, tmp_path, tmp_path)


def test_a_snapshot_that_is_no_utf8_is_refused(tmp_path: Path) -> None:
    (tmp_path / "snapshot.jsonl").write_bytes(b"\xff\n")
    with pytest.raises(InvalidFile, match=r"snapshot\.jsonl:1"):
        open_snapshot(None, tmp_path, tmp_path)


def test_a_run_is_a_snapshot(tmp_path: Path) -> None:
    journal = Journal(tmp_path, "20261121T031035Z-ef9a")
    journal.append(timed(1_000_000, id="first", started_at="2026-11-21T03:00:00.000+00:00"))
    journal.append(timed(1_000_000, id="second", started_at="2026-11-21T04:00:00.000+00:00"))
    found = open_snapshot("run:20261121T03", tmp_path, tmp_path)
    assert found is not None
    assert (found.source, [e.evaluation for e in found.accepted]) == ("run:20261121T031035Z-ef9a", ["second"])


def test_writing_replaces_the_file_as_a_whole(tmp_path: Path) -> None:
    path = tmp_path / "snapshot.jsonl"
    write(path, [accept(timed(1_000_000))])
    write(path, [accept(failed("wrong"))])
    assert [entry.solution for entry in parse(path.read_text(), "x")] == ["wrong"]
    assert [file.name for file in tmp_path.iterdir()] == ["snapshot.jsonl"]


def test_a_folder_that_is_a_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(JournalError, match="can't write"):
        write(tmp_path / "file" / "snapshot.jsonl", [])


def test_the_latest_run_is_the_one_whose_name_has_the_latest_time(tmp_path: Path) -> None:
    for run in ("20261121T031035Z-ef9a", "20261122T031035Z-0000", "h100"):
        Journal(tmp_path, run).append(timed(1_000_000, id=run))
    assert [evaluation.id for evaluation in read_run(tmp_path, "latest").evaluations] == ["20261122T031035Z-0000"]


def test_the_latest_of_one_second_s_runs_is_the_one_written_last(tmp_path: Path) -> None:
    for second, run in enumerate(("20261122T031035Z-ffff", "20261122T031035Z-0000")):
        os.utime(Journal(tmp_path, run).append(timed(1_000_000, id=run)), (second, second))
    assert [evaluation.id for evaluation in read_run(tmp_path, "latest").evaluations] == ["20261122T031035Z-0000"]


def test_lines_that_hold_no_evaluation_are_told_of(tmp_path: Path) -> None:
    path = Journal(tmp_path, "run-1").append(timed(1_000_000))
    whole = path.read_text()
    path.write_text("damaged\n" + whole + whole + whole.replace("somebody", "another") + '{"id": "torn')
    run = read_run(tmp_path, "run-1")
    assert [evaluation.solution.author for evaluation in run.evaluations] == ["somebody"]
    name = path.relative_to(tmp_path)
    damaged, edited, torn = run.remarks
    assert damaged.startswith(f"{name}:1: ")
    assert edited.startswith(f"{name}:4: evaluation 20261121T031040-b1084b09 ")
    assert torn.startswith(f"{name}:5: ")
    assert "12 bytes" in torn


def test_a_run_of_damaged_lines_alone_is_refused(tmp_path: Path) -> None:
    (tmp_path / "run-1").mkdir()
    (tmp_path / "run-1/journal.jsonl").write_text("damaged\n")
    with pytest.raises(UsageError, match=r"no result; run-1/journal\.jsonl:1: "):
        read_run(tmp_path, "run-1")


def test_a_run_as_a_snapshot_tells_of_its_lines_as_well(tmp_path: Path) -> None:
    path = Journal(tmp_path, "run-1").append(timed(1_000_000))
    path.write_text("damaged\n" + path.read_text())
    found = open_snapshot("run:run-1", tmp_path, tmp_path)
    assert found is not None
    assert len(found.remarks) == 1


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("run-3", "no run 'run-3' in"),
        ("run-", "'run-' is the beginning of 2 runs: run-1, run-2"),
        ("", "no run ''"),
        ("../run-1", "no run '../run-1'"),
    ],
)
def test_an_unknown_or_ambiguous_run_is_refused(tmp_path: Path, name: str, words: str) -> None:
    for run in ("run-1", "run-2"):
        Journal(tmp_path, run).append(timed(1_000_000))
    with pytest.raises(UsageError) as caught:
        read_run(tmp_path, name)
    assert words in str(caught.value)


def test_without_a_run_the_way_to_one_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="'harness run'"):
        read_run(tmp_path, "latest")


def test_the_latest_of_each_solution_counts() -> None:
    early = timed(1_000_000, id="early", started_at="2026-11-21T03:00:00.000+00:00")
    late = failed("tiled", Verdict.TIMEOUT, id="late", started_at="2026-11-21T05:00:00.000+00:00")
    assert [e.id for e in latest_of_each([late, early, failed("a", id="a")])] == ["a", "late"]
