"""`harness plot`."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from harness.model.evaluation import Work
from harness.store.journal import Journal
from tests.cli.shell import Shell
from tests.examples import failed, passed, timing
from tests.wording import tells

pytestmark = pytest.mark.usefixtures("results")

pytest.importorskip("matplotlib", reason="the extra 'plots' is not installed")

WORK = Work(4_290_000_000, None)
OLD = passed("plain", timing=timing(), work=WORK, id="20261121T100000-aaaaaaaa", started_at="2026-11-21T10:00:00+00:00")
NEW = passed("plain", timing=timing(), work=WORK, id="20261121T110000-bbbbbbbb", started_at="2026-11-21T11:00:00+00:00")
OTHER = passed("fast", timing=timing(), id="20261121T103000-cccccccc", started_at="2026-11-21T10:30:00+00:00")
WRONG = failed("plain", id="20261121T120000-dddddddd", started_at="2026-11-21T12:00:00+00:00")


@pytest.fixture
def results(workspace: Path) -> Path:
    Journal(workspace / "results", "run-1").append_all([OLD, OTHER, NEW, WRONG])
    return workspace / "results"


def test_of_a_problem_each_solutions_newest_that_was_timed_is_drawn(harness: Shell) -> None:
    outcome = harness("plot", "maxpool2d", "--format", "svg")
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.splitlines() == [
        "plots/maxpool2d-fast-cccccccc-samples.svg",
        "plots/maxpool2d-plain-bbbbbbbb-samples.svg",
        "plots/maxpool2d-plain-bbbbbbbb-roofline.svg",
    ]
    assert sorted(map(str, Path("plots").iterdir())) == sorted(outcome.out.splitlines())


@pytest.mark.parametrize("named", [["aaaaaaaa"], ["20261121T10000"]])
def test_an_evaluation_is_named_as_show_names_it(harness: Shell, named: list[str]) -> None:
    outcome = harness("plot", *named, "--format", "png", "--output", "elsewhere")
    assert outcome.out.splitlines() == [
        "elsewhere/maxpool2d-plain-aaaaaaaa-samples.png",
        "elsewhere/maxpool2d-plain-aaaaaaaa-roofline.png",
    ]


def test_the_last_evaluation_is_no_misspelt_problem(harness: Shell, results: Path) -> None:
    problem = replace(WRONG.problem, name="list")
    Journal(results, "run-2").append(replace(WRONG, problem=problem, id="20261121T130000-eeeeeeee"))
    outcome = harness("plot")
    assert (outcome.code, outcome.out) == (2, "")
    assert tells(outcome.err, "20261121T130000-eeeeeeee of list/plain", "no times", "wrong_values")


def test_one_solution_in_both_formats_and_as_numbers(harness: Shell) -> None:
    (line,) = harness("plot", "maxpool2d", "fast", "--json").out.splitlines()
    found = json.loads(line)
    assert found["files"] == ["plots/maxpool2d-fast-cccccccc-samples.svg", "plots/maxpool2d-fast-cccccccc-samples.png"]
    assert [(arm["arm"], arm["median_ns"]) for arm in found["arms"]] == [("eager", 3_000_000), ("solution", 1_000_000)]
