"""The corpus of exploits, faults and honest look-alikes: its tables, and evaluating its cases.

tests/cheats/ and tests/faults/ are workspaces with a solution folder per case. families.yaml in each says what a case
must end as, by family: a verdict, or the check whose evidence makes it `cheating`; several words where chance decides.
`needs: gpu` marks what the simulator can't show, `needs: sim` what there is on the simulator alone.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pytest
import yaml

from harness.model.check import CHECK_NAMES
from harness.model.evaluation import Evaluation
from harness.model.verdict import Verdict
from harness.run.session import Session, open_session
from harness.workspace.problem import FULL, Problem
from harness.workspace.selection import Task
from harness.workspace.workspace import Workspace
from tests.corpus_builds import extension_of, share_builds

CorpusBackend = Literal["sim", "cuda"]
MARKS = {"sim": pytest.mark.sim, "cuda": pytest.mark.gpu}
HONEST = "honest"
"""The family of the look-alikes."""
_NO_GAIN = 1.1
"""An exploit that passes has won no more than this over the reference: they do the same work."""
_KEYS = {"caught_by", "needs", "config", "says", "cases"}


@dataclass(frozen=True)
class Case:
    """One solution folder. `says`: words that its failure's reason must hold; `config`: one of the workspace's;
    `cases`: the problem's that are run, where they aren't the usual ones."""

    family: str
    problem: str
    solution: str
    caught_by: tuple[str, ...]
    needs: tuple[str, ...]
    config: str
    says: str | None
    cases: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return f"{self.problem}/{self.solution}"

    @property
    def verdicts(self) -> set[Verdict]:
        return {Verdict.CHEATING if word in CHECK_NAMES else Verdict(word) for word in self.caught_by}

    @property
    def runs_on_sim(self) -> bool:
        return "gpu" not in self.needs

    @property
    def runs_on_gpu(self) -> bool:
        return "sim" not in self.needs


def read_families(root: Path, config: str) -> list[Case]:
    """The cases of a workspace's families.yaml, which run under `config` unless they name another."""
    table = yaml.safe_load((root / "families.yaml").read_text())
    return [
        _case(family, name, written, config)
        for family, about in table.items()
        for name, written in about["cases"].items()
    ]


def folders(root: Path) -> set[str]:
    """What there is: `problem/solution` for every solution folder."""
    return {f"{path.parent.parent.name}/{path.parent.name}" for path in root.glob("solutions/*/*/solution.py")}


def parameters(cases: Sequence[Case]) -> list[Any]:
    """Of a test that takes `backend` and `case`: what each of them can show."""
    chosen: dict[CorpusBackend, Sequence[Case]] = {
        "sim": _on_sim(cases),
        "cuda": [case for case in cases if case.runs_on_gpu],
    }
    return [
        pytest.param(backend, case, marks=MARKS[backend], id=f"{backend}-{case.name.replace('/', '-')}")
        for backend, these in chosen.items()
        for case in these
    ]


def _on_sim(cases: Sequence[Case]) -> list[Case]:
    """What the simulator can show; of each family of exploits and faults the first, and the first honest solution of
    each problem, unless $HARNESS_CORPUS is 'all': all of them take ten minutes on two cores, mostly compiling and
    waiting for time-outs."""
    possible = [case for case in cases if case.runs_on_sim]
    if os.environ.get("HARNESS_CORPUS") == "all":
        return possible
    firsts: dict[str, Case] = {}
    for case in possible:
        firsts.setdefault(case.problem if case.family == HONEST else case.family, case)
    return list(firsts.values())


class Corpus:
    """Evaluates cases when first asked for one: all that this test run has selected, in a session per config. Each
    answer comes as soon as it is there, so that a run that is stopped has told what it knew. To be closed."""

    def __init__(
        self,
        root: Path,
        results: Path,
        selected: Iterable[tuple[CorpusBackend, Case]],
        observe: Callable[[Evaluation], None] = lambda evaluation: None,
        meanwhile: AbstractContextManager[None] | None = None,
    ) -> None:
        """`observe` is told of every evaluation as it comes; `meanwhile` is entered while there are some."""
        self._observe = observe
        self._meanwhile = meanwhile or nullcontext()
        self._workspace = Workspace(root)
        self._results = results
        self._selected = list(selected)
        self._found: dict[tuple[CorpusBackend, str], Evaluation] = {}
        self._coming: Generator[Evaluation, None, None] | None = None

    def evaluation(self, backend: CorpusBackend, case: Case) -> Evaluation:
        wanted = (backend, case.name)
        if not self._is_found(wanted):
            self.close()
            self._coming = self._evaluations(backend, self._missing(backend, case))
            self._is_found(wanted)
        if not self._missing(backend):
            self.close()
        return self._found[wanted]

    def _is_found(self, wanted: tuple[CorpusBackend, str]) -> bool:
        """By what is under way, if by anything."""
        while wanted not in self._found and self._coming is not None and next(self._coming, None) is not None:
            pass
        return wanted in self._found

    def close(self) -> None:
        """End what is under way."""
        if self._coming is not None:
            self._coming.close()
        self._coming = None

    def _missing(self, backend: CorpusBackend, *more: Case) -> list[Case]:
        wanted = {one.name: one for one in (*(case for chosen, case in self._selected if chosen == backend), *more)}
        return [case for case in wanted.values() if (backend, case.name) not in self._found]

    def _evaluations(self, backend: CorpusBackend, cases: Sequence[Case]) -> Generator[Evaluation, None, None]:
        by_config = defaultdict(list)
        for case in cases:
            by_config[case.config].append(case)
        with self._meanwhile:
            for config, these in by_config.items():
                yield from self._of_config(backend, config, these)

    def _of_config(
        self, backend: CorpusBackend, config: str, cases: Sequence[Case]
    ) -> Generator[Evaluation, None, None]:
        tasks, settings = [task_of(self._workspace, backend, case) for case in cases], self._workspace.config(config)
        with open_session(backend, self._workspace.root, self._results, settings, None, lambda what: None) as session:
            first, others = _by_extension(backend, tasks)
            yield from self._taken(backend, session, first)
            _BUILT.update({(backend, extension_of(task.solution)): task for task in first})
            for text, of_one in others.items():
                if (built := _BUILT.get((backend, text))) is not None:
                    share_builds(backend, built.solution, [task.solution for task in of_one])
            yield from self._taken(backend, session, [task for of_one in others.values() for task in of_one])

    def _taken(
        self, backend: CorpusBackend, session: Session, tasks: Sequence[Task]
    ) -> Generator[Evaluation, None, None]:
        with closing(session.evaluate(tasks, lambda job, what: None)) as evaluations:
            for evaluation in evaluations:
                self._found[backend, f"{evaluation.problem.name}/{evaluation.solution.name}"] = evaluation
                self._observe(evaluation)
                yield evaluation


def task_of(workspace: Workspace, backend: CorpusBackend, case: Case) -> Task:
    """The task that a case of a workspace stands for."""
    problem = workspace.problem(case.problem)
    (solution,) = workspace.solutions(case.problem, [case.solution])
    return Task(problem, solution, case.cases or _cases_of(problem, backend))


_BUILT: dict[tuple[CorpusBackend, str | None], Task] = {}
"""Of each extension the task that has built it, in this process."""


def _by_extension(backend: CorpusBackend, tasks: Sequence[Task]) -> tuple[list[Task], dict[str | None, list[Task]]]:
    """A task for each extension that hasn't been built, and the others; without an extension nothing is shared."""
    groups: dict[str | None, list[Task]] = defaultdict(list)
    for task in tasks:
        groups[extension_of(task.solution)].append(task)
    first = [groups[text].pop(0) for text in groups if text is not None and (backend, text) not in _BUILT]
    return first, groups


def selected_in(request: pytest.FixtureRequest) -> list[tuple[CorpusBackend, Case]]:
    """The backends and cases of the tests of this module that pytest is going to run."""
    found: list[tuple[CorpusBackend, Case]] = []
    for item in request.session.items:
        if isinstance(item, pytest.Function) and item.path == request.path and hasattr(item, "callspec"):
            backend, case = (item.callspec.params.get(name) for name in ("backend", "case"))
            if isinstance(case, Case):
                found.append(("sim" if backend == "sim" else "cuda", case))
    return found


def require_caught(evaluation: Evaluation, case: Case) -> None:
    """The verdict is one that the table names; `cheating` by a check that it names, with its numbers in words; what
    passed without being honest has gained nothing."""
    failure = evaluation.failure
    if failure is None:
        assert Verdict.PASSED in case.verdicts, (case.name, evaluation.verdict)
        if case.family != HONEST and (timing := evaluation.timing) is not None and timing.speedup is not None:
            assert timing.speedup.low < _NO_GAIN, (case.name, timing.speedup)
        return
    assert evaluation.verdict in case.verdicts, (case.name, evaluation.verdict, failure)
    assert failure.next_step
    if evaluation.verdict is Verdict.CHEATING:
        checks = {evidence.check for evidence in failure.evidence}
        assert checks & set(case.caught_by), (case.name, failure.evidence)
    if case.says is not None:
        assert case.says in f"{failure.reason}\n{failure.details}", (case.name, failure)


def _case(family: str, name: str, written: Any, config: str) -> Case:
    about = written if isinstance(written, dict) else {"caught_by": written}
    assert set(about) <= _KEYS, f"{name}: unknown keys {set(about) - _KEYS}"
    problem, solution = name.split("/")
    caught_by, needs = _several(about.get("caught_by") or "passed"), _several(about.get("needs") or [])
    cases = _several(about.get("cases") or [])
    return Case(family, problem, solution, caught_by, needs, about.get("config", config), about.get("says"), cases)


def _several(written: str | list[str]) -> tuple[str, ...]:
    return (written,) if isinstance(written, str) else tuple(written)


def _cases_of(problem: Problem, backend: CorpusBackend) -> tuple[str, ...]:
    """On the simulator the small ones, where there are such."""
    small = tuple(name for name in problem.cases if name != FULL)
    return small if backend == "sim" and small else tuple(problem.cases)
