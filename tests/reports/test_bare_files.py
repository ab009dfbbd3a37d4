"""Bare files are named as the user named them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from harness.reports.bare_files import by_its_files
from harness.reports.evaluation import surroundings
from harness.reports.prompt import feedback_text
from harness.reports.run import remark_lines
from tests.examples import passed

SAID = "solution.py:3 and problem.py:4"


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (SAID, "my/gelu.py:3 and ref.py:4"),
        ("solutions/maxpool2d/plain/solution.py", "my/gelu.py"),
        ("solutions/maxpool2d/other/solution.py", "solutions/maxpool2d/other/solution.py"),
        ("my_solution.py", "my_solution.py"),
    ],
)
def test_words_that_mean_the_copies_name_the_files(words: str, named: str) -> None:
    of_workspace = passed("plain")
    assert by_its_files(of_workspace, words) == words
    problem, solution = replace(of_workspace.problem, file="ref.py"), replace(of_workspace.solution, file="my/gelu.py")
    assert by_its_files(replace(of_workspace, problem=problem, solution=solution), words) == named


def test_remarks_name_the_files_in_every_report() -> None:
    made = passed("plain", remarks=(SAID,))
    made = replace(
        made, problem=replace(made.problem, file="ref.py"), solution=replace(made.solution, file="my/gelu.py")
    )
    (line,) = remark_lines([made])
    *_, remarks = surroundings(made)
    for text in (str(line), str(remarks.blocks), feedback_text(made)):
        assert "my/gelu.py:3 and ref.py:4" in text
