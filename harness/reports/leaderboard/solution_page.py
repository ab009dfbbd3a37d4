"""The page's section on one solution."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from markupsafe import Markup

from harness.model.evaluation import Evaluation
from harness.reports.blocks import Section
from harness.reports.evaluation import again, findings, record, surroundings
from harness.reports.leaderboard.highlight import coloured
from harness.reports.leaderboard.words import RowView
from harness.reports.numbers import format_error
from harness.reports.pictures.calls import ArmSamples, samples_of
from harness.reports.pictures.drawing import Picture
from harness.reports.pictures.samples import histogram
from harness.reports.untrusted import harmless, shortened

_LONGEST_EXPLANATION = 8_000


@dataclass(frozen=True)
class SolutionView(RowView):
    """A solution's part of the page, too, from its whole evaluation. `all_cases` are the problem's."""

    evaluation: Evaluation = field(kw_only=True)
    all_cases: Sequence[str] = field(kw_only=True)

    @property
    def error(self) -> str:
        return format_error(self.evaluation.checks)

    @property
    def worst(self) -> str:
        """The error for sorting, in JavaScript's notation; '' where nothing was compared."""
        worst = self.evaluation.worst
        return "" if worst is None or math.isnan(worst) else "Infinity" if math.isinf(worst) else repr(worst)

    @property
    def explanation(self) -> str:
        return shortened(self.evaluation.solution.explanation, _LONGEST_EXPLANATION).strip()

    @property
    def arms(self) -> list[tuple[ArmSamples, Picture]]:
        """Each arm's calls with their picture: baselines first, then their control, the solution last."""
        arms = samples_of(self.evaluation.timing).arms if self.evaluation.timing else ()
        return [(arm, Picture(tuple(histogram(arm, 24)), 24)) for arm in arms]

    @property
    def sections(self) -> list[Section]:
        return [*findings(self.evaluation), again(self.evaluation, self.all_cases)]

    @property
    def facts(self) -> list[Section]:
        return [Section("evaluation", [record(self.evaluation)]), *surroundings(self.evaluation)]

    @property
    def sources(self) -> list[tuple[str, Markup, int]]:
        """Each file's name, its text in colour, and how many lines it has."""
        files = [(name, harmless(text)) for name, text in sorted(self.evaluation.solution.files.items())]
        return [(name, coloured(name, text), len(text.splitlines())) for name, text in files]

    @property
    def logs(self) -> list[tuple[str, str]]:
        return [(build.name, shortened(build.output)) for build in self.evaluation.builds if build.output.strip()]

    @cached_property
    def errors_by_case(self) -> dict[str, tuple[str, bool]]:
        """Maps each case that was judged to the error as a multiple of the tolerance, or the verdict that ended it; and
        whether it passed."""
        found, failure = {}, self.evaluation.failure
        for case in dict.fromkeys(check.case for check in self.evaluation.checks):
            checks = tuple(check for check in self.evaluation.checks if check.case == case)
            found[case] = (format_error(checks), all(check.passed for check in checks))
        if failure and failure.case and found.get(failure.case, ("", True))[1]:
            found[failure.case] = (self.entry.verdict.value, False)
        return found
