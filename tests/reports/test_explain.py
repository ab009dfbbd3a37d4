"""Explanations: complete, and fit to be printed as sentences."""

from __future__ import annotations

from typing import get_args

import pytest

from harness.model.arms import METRICS
from harness.model.check import CHECK_NAMES
from harness.model.statistics import SpeedVerdict
from harness.model.verdict import Verdict
from harness.reports.explain import Explanation, everything_explained, explanations
from tests.machine import ROOT

EVERY = everything_explained()


def test_every_verdict_and_every_check_is_explained() -> None:
    assert [*explanations()["verdict"]] == [verdict.value for verdict in Verdict]
    assert tuple(explanations()["check"]) == CHECK_NAMES
    assert all(name in EVERY["cheating"].observed for name in CHECK_NAMES)


def test_no_two_are_named_alike() -> None:
    assert len(EVERY) == sum(map(len, explanations().values()))


def test_every_metric_and_every_word_for_a_speed_is_explained() -> None:
    assert {*get_args(SpeedVerdict), *METRICS} <= explanations()["timing"].keys()


@pytest.mark.parametrize("explanation", EVERY.values(), ids=EVERY)
def test_every_part_says_something_without_a_full_stop_of_its_own(explanation: Explanation) -> None:
    parts = [explanation.meaning, explanation.observed, explanation.causes, explanation.avoid, explanation.look]
    assert min(len(part) for part in parts) >= 5
    assert [part for part in parts if part.endswith(".") or part != part.strip()] == []


def test_a_list_is_no_wrong_output_type() -> None:
    """It counts as a tuple, which C++ returns for several tensors."""
    explained = EVERY["wrong_output_type"]
    assert "list" not in explained.causes
    assert "a list counts as a tuple" in explained.avoid


@pytest.mark.parametrize("word", ["failure", "checks", "timing", "trace", "builds", "config", "protections", "remarks"])
def test_fields_of_the_record_that_are_named_exist(word: str) -> None:
    from harness.model.evaluation import Evaluation

    assert word in Evaluation.__dataclass_fields__
    assert any(word in explanation.look for explanation in EVERY.values())


def test_the_document_on_the_referee_names_every_check() -> None:
    text = (ROOT / "docs" / "referee.md").read_text(encoding="utf-8")
    assert [name for name in CHECK_NAMES if f"`{name}`" not in text] == []
