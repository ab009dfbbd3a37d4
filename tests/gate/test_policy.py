"""gate.yaml, validated at the edge."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from harness.errors import InvalidFile
from harness.gate.policy import Policy, load_policy
from tests.gate.test_scope import commit, git

WAIVER = "waivers: [{problem: relu, solution: '*', what: performance, reason: new driver, owner: ann, expires: %s}]"


def policy(tmp_path: Path, text: str) -> Policy:
    (tmp_path / "gate.yaml").write_text(text)
    return load_policy(None, tmp_path)


def complaint(tmp_path: Path, text: str) -> str:
    with pytest.raises(InvalidFile) as caught:
        policy(tmp_path, text)
    return str(caught.value)


def test_without_a_file_the_defaults_hold(tmp_path: Path) -> None:
    found = load_policy(None, tmp_path)
    assert found == Policy()
    assert (found.largest_slowdown, found.remeasure, found.inconclusive, found.unsupported) == (
        0.05,
        2,
        "allow",
        "forbid",
    )


def test_a_named_file_is_looked_for_in_the_workspace_too(tmp_path: Path) -> None:
    (tmp_path / "strict.yaml").write_text("remeasure: 5")
    assert load_policy("strict.yaml", tmp_path).remeasure == 5
    assert load_policy(str(tmp_path / "strict.yaml"), Path("elsewhere")).remeasure == 5


def test_the_policy_of_a_commit_holds_whatever_the_file_says_now(tmp_path: Path) -> None:
    (tmp_path / "gate.yaml").write_text("remeasure: 5")
    git(tmp_path, "init", "-q", "-b", "main")
    commit(tmp_path)
    (tmp_path / "gate.yaml").write_text("remeasure: 0")
    assert load_policy("git:main", tmp_path).remeasure == 5
    (tmp_path / "gate.yaml").write_text("remesure: 0")
    commit(tmp_path)
    with pytest.raises(InvalidFile, match=r"^main:gate\.yaml:1: .*'remesure'"):
        load_policy("git:main", tmp_path)


def test_the_last_pattern_that_says_a_thing_decides_it(tmp_path: Path) -> None:
    text = """
largest_slowdown: 0.1
problems:
  "*": {least_speedup: 1.5, correctness_only: true}
  conv*: {least_speedup: 0.2}
  conv2d_square: {correctness_only: false}
"""
    found = policy(tmp_path, text)
    demands = [found.demands(problem) for problem in ("relu", "conv1d", "conv2d_square")]
    assert [(one.least_speedup, one.largest_slowdown, one.correctness_only) for one in demands] == [
        (1.5, 0.1, True),
        (0.2, 0.1, True),
        (0.2, 0.1, False),
    ]


@pytest.mark.parametrize("written", ["2026-12-31", "'2026-12-31'"])
def test_a_day_is_read_with_and_without_quotes(tmp_path: Path, written: str) -> None:
    (entry,) = policy(tmp_path, WAIVER % written).waivers
    assert str(entry.expires) == "2026-12-31"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("largest_slowdwn: 0.1", "unknown key 'largest_slowdwn'. Did you mean 'largest_slowdown'?"),
        ("largest_slowdown: 5", "largest_slowdown: must be at most 1; not 5"),
        ("least_speedup: 0", "least_speedup: must be above 0"),
        ("problems: {relu: {largest_slowdown: -1}}", "problems.relu.largest_slowdown: must be at least 0"),
        ("problems: {relu: {least_speedpu: 1}}", "unknown key 'problems.relu.least_speedpu'"),
        ("inconclusive: maybe", "'maybe' is none of its words"),
        ("remeasure: 99", "remeasure: must be at most 10"),
        (WAIVER % "soon", "'soon' is no date; write it as 2026-12-31"),
        (WAIVER % "2026-13-31", "gate.yaml:1: waivers[0].expires: '2026-13-31' is no date"),
        (WAIVER % "5", "waivers[0].expires"),
        ((WAIVER % "2026-12-31").replace("owner: ann", "owner: ' '"), "waivers[0].owner: must not be empty"),
        ((WAIVER % "2026-12-31").replace("owner: ann, ", ""), "key 'owner' is missing"),
        ((WAIVER % "2026-12-31").replace("performance", "everything"), "'everything' is none of its words"),
    ],
)
def test_a_broken_policy_is_refused_with_its_place(tmp_path: Path, text: str, words: str) -> None:
    message = complaint(tmp_path, text)
    assert re.search(r"gate\.yaml:\d+: ", message)
    assert words in message
