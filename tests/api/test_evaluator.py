"""Many evaluations through one session: order, duplicates, endings, with a scripted session."""

from __future__ import annotations

import dataclasses
import itertools
import threading
from collections.abc import Generator, Iterable
from pathlib import Path
from typing import Any, cast

import pytest

import harness
from harness.model.evaluation import Evaluation
from harness.run.engine import Engine
from harness.store.journal import Journal
from harness.workspace.selection import Task
from tests.examples import passed, sim_environment
from tests.files import laid
from tests.workspace.test_problem import SOURCE


@dataclasses.dataclass(frozen=True)
class FakeSession:
    """Takes `ahead` tasks at once and answers them in reverse order, the order that surprises most."""

    config: harness.Config
    seed: int
    journal: Journal
    log: list[Any]
    run: str = "run-1"
    ahead: int = 3
    stop: threading.Event = dataclasses.field(default_factory=threading.Event)

    def evaluate(self, tasks: Iterable[Task], observe: object) -> Generator[Evaluation, None, None]:
        waiting = iter(tasks)
        try:
            while batch := list(itertools.islice(waiting, self.ahead)):
                for task in reversed(batch):
                    self.log.append((task.solution.name, task.cases, self.seed))
                    yield self._answer(task)
        except GeneratorExit:
            self.stop.set()
            raise

    def _answer(self, task: Task) -> Evaluation:
        assert task.solution.source_path.exists()
        about = passed().solution
        solution = dataclasses.replace(
            about, name=task.solution.name, sha256=task.solution.sha256, files=task.solution.texts()
        )
        evaluation = passed(solution=solution, environment=sim_environment())
        self.journal.append(evaluation)
        return evaluation

    def __enter__(self) -> FakeSession:
        return self

    def __exit__(self, *error: object) -> None:
        self.log.append("closed")


class Opened:
    """What open_session was called with, and what its sessions were asked."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []
        self.log: list[Any] = []
        self.sessions: list[FakeSession] = []
        self.engine = Engine()

    def __call__(
        self,
        engine: Engine,
        backend: str,
        workspace: Path,
        results: Path,
        config: harness.Config,
        seed: int | None,
        say: object,
    ) -> FakeSession:
        self.engine = engine
        self.calls.append((backend, workspace, config, seed))
        self.sessions.append(FakeSession(config, -1 if seed is None else seed, Journal(results, "run-1"), self.log))
        return self.sessions[-1]


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Opened:
    sessions = Opened()
    monkeypatch.setattr("harness.api.evaluator.open_session", sessions)
    monkeypatch.chdir(tmp_path)
    return sessions


def sources(*texts: str) -> list[str]:
    return [f"{text}\n" for text in texts]


def texts(evaluations: Iterable[Evaluation]) -> list[str]:
    return [evaluation.solution.files["solution.py"].strip() for evaluation in evaluations]


def test_evaluations_come_in_the_order_of_the_sources(opened: Opened) -> None:
    with harness.Evaluator() as evaluator:
        assert texts(evaluator.evaluate_many(SOURCE, sources(*"abcdefg"))) == [*"abcdefg"]


def test_equal_sources_under_way_are_evaluated_once_and_answered_each(opened: Opened) -> None:
    with harness.Evaluator() as evaluator:
        assert texts(evaluator.evaluate_many(SOURCE, sources(*"aabab"))) == [*"aabab"]
    assert len([entry for entry in opened.log if entry != "closed"]) == 2


def test_an_endless_stream_is_read_only_some_way_ahead(opened: Opened) -> None:
    taken = []

    def endless() -> Iterable[str]:
        for number in itertools.count():
            taken.append(number)
            yield f"x = {number}\n"

    with harness.Evaluator() as evaluator:
        evaluations = evaluator.evaluate_many(SOURCE, endless())
        assert texts(itertools.islice(evaluations, 7)) == [f"x = {number}" for number in range(7)]
        assert len(taken) <= 10


def test_folders_of_sources_go_once_they_are_answered(opened: Opened) -> None:
    with harness.Evaluator() as evaluator:
        assert evaluator._scratch is not None
        root = evaluator._scratch.root
        list(evaluator.evaluate_many(SOURCE, sources(*"abcab")))
        assert [path.name for path in root.rglob("solution.py")] == []
    assert not root.exists()


def test_an_iteration_that_ends_early_leaves_a_usable_evaluator(opened: Opened) -> None:
    with harness.Evaluator() as evaluator:
        for _ in evaluator.evaluate_many(SOURCE, sources(*"abcd")):
            break
        assert texts(evaluator.evaluate_many(SOURCE, sources("e"))) == ["e"]
    assert len(opened.calls) == 2


def test_a_source_that_raises_ends_the_iteration_with_its_error(opened: Opened) -> None:
    def broken() -> Iterable[str]:
        yield "a\n"
        raise LookupError("the model is gone")

    with harness.Evaluator() as evaluator, pytest.raises(LookupError, match="model is gone"):
        list(evaluator.evaluate_many(SOURCE, broken()))


def test_a_solution_whose_files_changed_meanwhile_is_an_error_not_a_gap(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    def tampered(session: FakeSession, task: Task) -> Evaluation:
        return passed(environment=sim_environment())

    monkeypatch.setattr(FakeSession, "_answer", tampered)
    with harness.Evaluator() as evaluator, pytest.raises(harness.HarnessError, match="changed"):
        list(evaluator.evaluate_many(SOURCE, sources("a")))


def test_each_call_draws_its_inputs_anew_unless_a_seed_is_given(opened: Opened) -> None:
    with harness.Evaluator() as evaluator:
        for _ in range(2):
            evaluator.evaluate(SOURCE, "a\n")
    first, second = (entry[2] for entry in opened.log if entry != "closed")
    assert first != second
    opened.log.clear()
    with harness.Evaluator(seed=7) as evaluator:
        for _ in range(2):
            evaluator.evaluate(SOURCE, "a\n")
    assert [entry[2] for entry in opened.log if entry != "closed"] == [7, 7]


def test_nothing_is_written_unless_a_folder_is_named(opened: Opened, tmp_path: Path) -> None:
    harness.evaluate(SOURCE, "a\n")
    assert list(tmp_path.iterdir()) == []
    harness.evaluate(SOURCE, "a\n", results=tmp_path / "kept", name="mine")
    assert [evaluation.solution.name for evaluation in harness.read_journals(tmp_path / "kept")] == ["mine"]


def test_arguments_reach_the_session(opened: Opened, tmp_path: Path) -> None:
    (tmp_path / "problems").mkdir()
    laid(tmp_path, {"configs/quick.yaml": "timing: {blocks: 7}"})
    with harness.Evaluator(backend="sim", config="quick", seed=3, workspace=tmp_path) as evaluator:
        evaluator.evaluate(SOURCE, "a\n", cases=["full"])
    (backend, root, config, seed) = opened.calls[0]
    assert (backend, root, config.timing.blocks, seed) == ("sim", tmp_path, 7, 3)
    assert opened.log[0][1:] == (("full",), 3)
    assert opened.log[-1] == "closed"


def test_mistakes_are_raised_before_anything_runs(opened: Opened) -> None:
    with harness.Evaluator() as evaluator:
        with pytest.raises(harness.UsageError, match="case 'smal'"):
            evaluator.evaluate(SOURCE, "a\n", cases=["smal"])
        with pytest.raises(harness.UsageError, match="no problems/ in"):
            evaluator.evaluate("relu", "a\n")
    with pytest.raises(harness.UsageError, match="closed"):
        evaluator.evaluate(SOURCE, "a\n")
    assert opened.log == ["closed"]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"seed": "a"}, "seed .*'a'"),
        ({"config": {"timing": {}}}, "config .*dict"),
    ],
)
def test_an_argument_of_another_type_is_a_mistake(arguments: dict[str, Any], complaint: str, opened: Opened) -> None:
    with pytest.raises(harness.UsageError, match=complaint):
        harness.Evaluator(**arguments)
    assert opened.log == []


@pytest.mark.parametrize("given", ["class ModelNew: ...\n", Path("solution.py")])
def test_one_solution_is_not_many(opened: Opened, given: Any) -> None:
    with harness.Evaluator() as evaluator, pytest.raises(harness.UsageError, match="takes several solutions"):
        next(evaluator.evaluate_many(SOURCE, given))


def test_results_may_be_named_by_a_string(opened: Opened, tmp_path: Path) -> None:
    with harness.Evaluator(results=cast(Path, str(tmp_path / "kept"))) as evaluator:
        evaluator.evaluate(SOURCE, "a\n")
    assert (tmp_path / "kept").exists()


def test_patterns_choose_what_is_compared(opened: Opened, tmp_path: Path) -> None:
    laid(tmp_path, {f"problems/{name}/problem.py": SOURCE for name in ("relu", "gelu")})
    for name in ("relu/plain", "relu/tiled", "gelu/plain"):
        laid(tmp_path, {f"solutions/{name}/solution.py": "class ModelNew: ...\n"})
    assert len(harness.compare()) == 3
    assert sorted(e.solution.name for e in harness.compare("relu", ["pl*", "ti*"])) == ["plain", "tiled"]
    assert next(harness.iter_evaluations("g*")).solution.name == "plain"
    with pytest.raises(harness.UsageError, match="'rleu'"):
        harness.compare("rleu")


def test_the_engine_is_chosen_by_name(opened: Opened) -> None:
    with harness.Evaluator(engine="ray", ray_address="10.0.0.1:6379", ray_gpu="H100"):
        assert opened.engine == Engine("ray", "10.0.0.1:6379", "H100")
    with pytest.raises(harness.UsageError, match="local, ray"):
        harness.Evaluator(engine="slurm")  # type: ignore[arg-type]
