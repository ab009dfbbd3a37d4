"""`harness explain`."""

from __future__ import annotations

import json

import pytest

from harness.model.check import CHECK_NAMES
from harness.model.simulator_findings import FINDING_KINDS
from harness.model.verdict import Verdict
from harness.reports.explain import explanations
from tests.cli.shell import Shell


def test_without_a_word_everything_is_listed(harness: Shell) -> None:
    outcome = harness("explain")
    assert outcome.code == 0
    first = {line.split(" ")[0] for line in outcome.out.splitlines()}
    assert {verdict.value for verdict in Verdict} | set(CHECK_NAMES) | set(explanations()["timing"]) <= first


def test_a_verdict_is_explained(harness: Shell) -> None:
    words = " ".join(harness("explain", "no_custom_kernel").out.split())
    assert words.startswith("no_custom_kernel: ")
    for heading in ("how it is seen", "what causes it", "what to do", "in the record"):
        assert heading in words
    assert "trace.kernels" in words


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("tail", "side stream"),
        ("noisy", "an A/A interval (of 99 %) that leaves out 1"),
        ("inconclusive", "measure longer (timing.blocks"),
        ("gpu_cold", "after the cache was swept"),
        ("shared-race", "in its checked build (--sanitize); it leads to nondeterministic"),
        ("host-pointer", "in both of its builds; it leads to memory_error"),
        ("same-value-write", "a remark, which leads to no verdict"),
    ],
)
def test_a_word_is_explained(harness: Shell, word: str, said: str) -> None:
    assert said in " ".join(harness("explain", word).out.split())


def test_programs_get_json(harness: Shell) -> None:
    one = json.loads(harness("explain", "timeout", "--json").out)
    assert one["name"] == "timeout"
    assert "limit" in one["meaning"]
    assert set(one) == {"name", "meaning", "observed", "causes", "avoid", "look"}
    every = json.loads(harness("explain", "--json").out)
    assert len(every) == len(Verdict) + len(CHECK_NAMES) + len(explanations()["timing"]) + len(FINDING_KINDS)


@pytest.mark.parametrize("words", [(), ("cheating",), ("roofline",), ("noisy",)])
def test_explanations_fit_eighty_columns(harness: Shell, terminal: None, words: tuple[str, ...]) -> None:
    assert [line for line in harness("explain", *words).out.splitlines() if len(line) > 80] == []
