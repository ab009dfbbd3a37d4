"""Names of bare files: those under which the user knows them, not those of the copies that were judged."""

from __future__ import annotations

import re

from harness.model.evaluation import Evaluation


def by_its_files(evaluation: Evaluation, words: str) -> str:
    """Call bare files as the user does, where the words mean the copies that were judged."""
    problem, solution = evaluation.problem, evaluation.solution
    files = {"problem.py": problem.file, "solution.py": solution.file}
    folders = f"problems/{re.escape(problem.name)}/|solutions/{re.escape(problem.name)}/{re.escape(solution.name)}/"
    return re.sub(
        rf"(?<![\w./-])(?:{folders})?(problem\.py|solution\.py)\b", lambda match: files[match[1]] or match[0], words
    )
