"""`harness leaderboard` from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness.model.config import Config, CorrectnessConfig
from harness.store.entry import config_hash
from harness.store.journal import Journal
from tests.cli.shell import WITHOUT_TORCH, Shell, python
from tests.reports.leaderboard.samples import broken, other_gpu, simulated, solution, timed

QUICK = Config(correctness=CorrectnessConfig(seeds=1))


@pytest.fixture
def harness(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Shell:
    monkeypatch.setenv("COLUMNS", "80")
    return Shell(monkeypatch, capsys)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with nothing in it but results/; becomes the working directory."""
    for evaluation in (
        timed("relu", "fast", 3.0),
        timed("relu", "half", 9.0, solution=solution("half", precision="float16")),
        timed("softmax", "only", 2.0),
        broken("softmax", "bad"),
        timed("softmax", "quick", 1.1, config=QUICK),
        timed("softmax", "elsewhere", 1.1, environment=other_gpu()),
        simulated("softmax", "dry"),
    ):
        Journal(tmp_path / "results", "run1").append(evaluation)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def ranked(out: str) -> list[str]:
    problems = json.loads(out)["problems"]
    return [f"{p['name']}/{s['solution']}" for p in problems for s in p["standings"] if s["rank"] is not None]


def test_a_table_needs_nothing_but_results(harness: Shell, terminal: None, folder: Path) -> None:
    outcome = harness("leaderboard")
    assert outcome.code == 0
    assert "strict float32" in outcome.out
    assert "dry: passed: simulated" in outcome.out
    assert max(len(line) for line in outcome.out.splitlines()) <= 80
    assert "\x1b" not in outcome.out


def test_results_can_lie_anywhere(
    harness: Shell, folder: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path_factory.mktemp("empty"))
    assert "strict float32" in harness("leaderboard", "--results", str(folder / "results")).out


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ([], ["relu/fast", "relu/half", "softmax/only"]),
        (["--problem", "soft*"], ["softmax/only"]),
        (["--precision", "half"], ["relu/half"]),
        (["--environment", "l4"], ["softmax/elsewhere"]),
        (["--config", config_hash(QUICK)], ["softmax/quick"]),
    ],
)
def test_options_choose_what_is_ranked(harness: Shell, folder: Path, options: list[str], expected: list[str]) -> None:
    outcome = harness("leaderboard", "--format", "json", *options)
    assert (outcome.code, ranked(outcome.out)) == (0, expected)


def test_a_config_can_be_named_by_its_file(harness: Shell, folder: Path) -> None:
    (folder / "problems").mkdir()
    (folder / "configs").mkdir()
    (folder / "configs" / "quick.yaml").write_text("correctness: {seeds: 1}\n")
    assert ranked(harness("leaderboard", "--format", "json", "--config", "quick").out) == ["softmax/quick"]


@pytest.mark.parametrize(
    ("name", "start"), [("b.md", "# Leaderboard"), ("b.json", "{"), ("b.html", "<!doctype html>"), ("b.txt", "leader")]
)
def test_the_ending_of_the_output_chooses_the_form(harness: Shell, folder: Path, name: str, start: str) -> None:
    outcome = harness("leaderboard", "--output", name)
    assert (outcome.code, outcome.out, outcome.err) == (0, "", f"wrote {name}\n")
    assert (folder / name).read_text(encoding="utf-8").startswith(start)


def test_the_form_that_is_asked_for_outweighs_the_ending(harness: Shell, folder: Path) -> None:
    harness("leaderboard", "--output", "b.txt", "--format", "markdown")
    assert (folder / "b.txt").read_text(encoding="utf-8").startswith("# Leaderboard")


def test_open_writes_the_page_and_shows_it(harness: Shell, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []
    monkeypatch.setattr("webbrowser.open", lambda url: shown.append(url) or True)
    assert harness("leaderboard", "--open").code == 0
    page = folder / "results" / "leaderboard.html"
    assert (shown, page.read_text(encoding="utf-8")[:15]) == ([page.as_uri()], "<!doctype html>")


def test_a_plot_comes_beside_the_table(harness: Shell, folder: Path) -> None:
    pytest.importorskip("matplotlib")
    outcome = harness("leaderboard", "--plot", "board.svg")
    assert (outcome.code, outcome.err) == (0, "wrote board.svg\n")
    assert "strict float32" in outcome.out
    assert (folder / "board.svg").is_file()


def test_an_empty_journal_says_how_to_fill_it(harness: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "results").mkdir()
    monkeypatch.chdir(tmp_path)
    outcome = harness("leaderboard")
    assert (outcome.code, "'harness run'" in outcome.err) == (2, True)


def test_an_output_that_cant_be_written_is_the_machines_fault(harness: Shell, folder: Path) -> None:
    outcome = harness("leaderboard", "--output", "no/such/folder.md")
    assert (outcome.code, "choose another --output" in outcome.err) == (3, True)


def test_torch_is_not_needed(folder: Path) -> None:
    done = python("-c", WITHOUT_TORCH, "leaderboard", "--format", "html", cwd=folder)
    assert (done.returncode, done.stdout[:15], done.stderr) == (0, "<!doctype html>", "")
