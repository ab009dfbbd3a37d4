"""Every known way of cheating is caught by a check that is meant for it, and honest look-alikes pass.

All of the corpus on a GPU: `pytest tests/cheats tests/faults -m gpu`. What needs none: `-m sim`, also part of the plain
`pytest`. Parts by name or family: `-k "side_stream"`; only what is selected is evaluated.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from harness.run.cache import cache_folder
from tests.corpus import MARKS, Case, Corpus, CorpusBackend, parameters, read_families, require_caught, selected_in
from tests.machine import ROOT

HERE = Path(__file__).parent
CASES = read_families(HERE, config="corpus")
WRITERS = ["forged_results", "poisoned_bytecode", "poisoned_extension_cache", "poisoned_torch_import"]
BACKENDS = [pytest.param(backend, marks=mark) for backend, mark in MARKS.items()]


@pytest.fixture(scope="module")
def corpus(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Corpus]:
    with closing(Corpus(HERE, tmp_path_factory.mktemp("results"), selected_in(request))) as corpus:
        yield corpus


@pytest.mark.parametrize(("backend", "case"), parameters(CASES))
def test_a_cheat_is_caught_and_an_honest_solution_passes(corpus: Corpus, backend: CorpusBackend, case: Case) -> None:
    require_caught(corpus.evaluation(backend, case), case)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", WRITERS)
def test_nothing_of_others_was_written(corpus: Corpus, backend: CorpusBackend, name: str) -> None:
    """Their authors write to wherever they can a file `forged_by_corpus…`."""
    (case,) = [case for case in CASES if case.solution == name]
    corpus.evaluation(backend, case)
    assert list(ROOT.glob("*/forged_by_corpus*")) + list((ROOT / "tests").rglob("forged_by_corpus*")) == []
    assert list(ROOT.glob("forged_by_corpus*")) + list((ROOT / "harness").rglob("forged_by_corpus*")) == []
    assert list(cache_folder().rglob("forged_by_corpus*")) == []
