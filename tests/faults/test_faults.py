"""Every known way of failing gets its verdict, and the run goes on with the next solution.

The folder is a workspace: solutions/double/<fault>/ with the verdict that its solution.yaml expects. Honest
look-alikes stand beside the faults. How to run all of the corpus: tests/cheats/test_cheats.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.corpus import MARKS, Case, Corpus, CorpusBackend, parameters, read_families, require_caught, selected_in
from tests.faults.leftovers import CHILDREN, Lookout, living

HERE = Path(__file__).parent
CASES = read_families(HERE, config="patient")
BACKENDS = [pytest.param(backend, marks=mark) for backend, mark in MARKS.items()]


@pytest.fixture(scope="module")
def lookout() -> Lookout:
    return Lookout()


@pytest.fixture(scope="module")
def corpus(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, lookout: Lookout
) -> Iterator[Corpus]:
    results = tmp_path_factory.mktemp("results")
    with closing(Corpus(HERE, results, selected_in(request), meanwhile=lookout)) as corpus:
        yield corpus


@pytest.mark.parametrize(("backend", "case"), parameters(CASES))
def test_solution_gets_its_verdict(corpus: Corpus, backend: CorpusBackend, case: Case) -> None:
    require_caught(corpus.evaluation(backend, case), case)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", CHILDREN)
def test_no_process_outlives_its_evaluation(
    corpus: Corpus, lookout: Lookout, backend: CorpusBackend, name: str
) -> None:
    (case,) = [case for case in CASES if case.solution == name]
    corpus.evaluation(backend, case)
    assert name in lookout.seen  # or it couldn't be missed
    assert name not in living()
