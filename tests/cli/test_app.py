"""The command line up to the first worker."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness import __main__, __version__
from harness.model.config import Config, CorrectnessConfig
from harness.model.verdict import Verdict
from harness.store.journal import Journal
from tests.cli.shell import WITHOUT_TORCH, Shell, python
from tests.examples import failed, passed, sim_environment
from tests.wording import tells

INSTRUMENTS = ("profile", "sanitize")


@pytest.mark.parametrize("flag", ["--version", "-V"])
def test_version(harness: Shell, flag: str) -> None:
    outcome = harness(flag)
    assert (outcome.code, outcome.out) == (0, f"harness {__version__}\n")


def test_help_names_the_exit_codes(harness: Shell) -> None:
    assert "130 interrupted" in " ".join(harness("-h").out.split())


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("run", "'harness list'"),
        ("run maxpol2d", "'maxpool2d'?"),
        ("run --problem maxpol2d", "'maxpol2d' in {root}/problems. Did you mean 'maxpool2d'?"),
        ("run maxpool2d plan", "'plain'?"),
        ("run plan --problem maxpool2d", "'plain'?"),
        ("run maxpool2d plain --solution plan", "'plain'?"),
        ("run --problem maxpool2d --case smal", "'small'?"),
        ("run --problem maxpool2d --config nosuch", "Valid: quick."),
        ("run --problem maxpool2d --config quik", "'quick'?"),
        ("run --problem maxpool2d --backend rocm", "'rocm'"),
        ("run --problem maxpool2d --seed x", "'--seed'"),
        ("run --problem maxpool2d --sede 1", "--sede"),
        ("run --problem maxpool2d --baseline eager,compil", "'compil'. Did you mean 'compile'?"),
        ("run --problem relu", "{root}/solutions/relu/<name>/solution.py"),
        ("run plain --problem nosuch", "'nosuch'"),
        ("run --solution plain", "which problem?"),
        ("run attempt.py", "--reference"),
        ("run .. --reference ..", "No such file"),
        ("run new.py --reference nosuch.py", "nosuch.py: No such file"),
        ("run new.py other.py --reference ref.py", "one file"),
        (
            "run problems/relu/problem.py --reference solutions/maxpool2d/plain/solution.py",
            "harness: solutions/maxpool2d/plain/solution.py: 'Model' is not defined; a problem needs Model, "
            "get_inputs; it has ModelNew: is it the solution, and swapped",
        ),
        ("compare -p rlu", "'relu'?"),
        ("compare -p relu", "'harness list'"),
        ("compare -s plan", "'plain'?"),
        ("compare --case smal", "'small'?"),
        ("compare --config quik", "'quick'?"),
        ("compare -b eagre", "'eager'?"),
        ("compare --jobs 0", "--jobs"),
        ("compare --max-failures 0", "--max-failures"),
        ("watch maxpol2d plain", "'maxpool2d'?"),
        ("watch maxpool2d plan", "'plain'?"),
        ("watch maxpool2d plain --case smal", "'small'?"),
        *((f"{command} maxpool2d", "2 solutions, name one: plain, shared_tile") for command in INSTRUMENTS),
        *((f"{command} maxpol2d", "no problem 'maxpol2d' in") for command in INSTRUMENTS),
        *((f"{command} maxpool2d plane", "'plain'?") for command in INSTRUMENTS),
        *((f"{command} maxpool2d plain --case smal", "'small'?") for command in INSTRUMENTS),
        ("check-problem rlu", "no problem matches 'rlu'. Did you mean 'relu'?"),
        ("check-problem relu --case ful", "no case 'ful' of 'relu'. Did you mean 'full'?"),
        ("new problem relu", "problems/relu is there already"),
        ("new problem a/b", "'a/b' can't name a problem"),
        ("new problem mine --from nosuch.py", "can't read nosuch.py: No such file or directory"),
        ("new solution rleu first", "no problem 'rleu'"),
        ("new solution maxpool2d plain", "solutions/maxpool2d/plain is there already"),
        ("new solution maxpool2d mine --from plan", "'plain'?"),
        ("gate --problem nosuch", "'nosuch'"),
        ("gate --config nosuch", "no config 'nosuch'"),
        ("gate --policy git:nosuch", "no commit 'nosuch'"),
        ("gate --policy nosuch.yaml", "--policy nosuch.yaml: "),
        ("gate --snapshot nosuch.jsonl", "--snapshot nosuch.jsonl: "),
        ("gate --snapshot git:nosuch", "no commit 'nosuch'"),
        ("gate --snapshot run:nosuch", "no run in"),
        ("gate --changed-since nosuch", "no commit 'nosuch'"),
        ("gate --from-run nosuch", "no run in"),
        ("gate --junit nosuch/gate.xml", "--junit nosuch/gate.xml: "),
        ("gate --sarif /proc/gate.sarif", "--sarif /proc/gate.sarif: "),
        ("gate --sarif configs", "--sarif configs: a folder"),
        ("snapshot show", "'harness snapshot accept'"),
        ("show", "'harness run'"),
        ("explain wall_clok", "is 'wall_clok'. Did you mean 'wall_clock'?"),
        ("explain zzzzzz", "'zzzzzz'. 'harness explain' lists them."),
        ("doctor --again", "say --roofline, too"),
        ("config show wacth", "no command 'wacth'. Did you mean 'watch'?"),
        ("list maxpol2d", "'maxpool2d'?"),
        *((command, "Valid: maxpool2d, relu.") for command in ("prompt", "watch", "history", "new solution")),
        ("-C nowhere list", "--workspace nowhere: "),
        ("rnu", "'rnu'"),
    ],
)
def test_a_mistake_ends_with_two_and_says_what_is_meant_before_anything_runs(
    harness: Shell, workspace: Path, monkeypatch: pytest.MonkeyPatch, line: str, words: str
) -> None:
    monkeypatch.setattr("harness.run.session.open_session", None)
    outcome = harness(*line.split())
    assert (outcome.code, outcome.out) == (2, "")
    assert words.format(root=workspace) in " ".join(outcome.err.split())
    assert not (workspace / "results").exists()


def test_a_bare_file_in_another_language_is_no_solution(harness: Shell, workspace: Path) -> None:
    (workspace / "kernel.cu").write_text("__global__ void kernel() {}")
    outcome = harness("run", "kernel.cu", "--reference", "problems/relu/problem.py")
    assert outcome.code == 2
    assert tells(outcome.err, "kernel.cu", "no Python file", "cuda_sources")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("run maxpol2d", "'maxpool2d'?"),
        ("compare --backend rocm", "'rocm'"),
        ("run maxpool2d --sede 1", "--sede"),
        ("list rleu", "'relu'?"),
        ("-C nowhere list", "nowhere"),
    ],
)
def test_with_json_a_mistake_is_an_object_on_stdout_too(harness: Shell, workspace: Path, line: str, words: str) -> None:
    outcome = harness(*line.split(), "--json")
    assert outcome.code == 2
    assert words in json.loads(outcome.out)["error"]
    assert words in " ".join(outcome.err.split())


@pytest.mark.parametrize("words", [["maxpool2d/plain"], ["solutions/maxpool2d/plain/"], ["maxpool2d", "pl*"]])
def test_a_solution_is_named_as_reports_and_the_shell_name_it(
    harness: Shell, workspace: Path, words: list[str]
) -> None:
    assert "maxpool2d/plain: evaluate\n1 to evaluate" in harness("run", *words, "--dry-run", "--backend", "sim").out


def test_a_broken_file_ends_with_two_and_its_place(harness: Shell, workspace: Path) -> None:
    (workspace / "problems" / "relu" / "problem.yaml").write_text("tolerence: exact")
    outcome = harness("run", "--problem", "relu")
    assert outcome.code == 2
    assert "problems/relu/problem.yaml:1: unknown key" in outcome.err
    assert "'tolerence'" in outcome.err
    assert "'tolerance'?" in outcome.err


def test_check_lists_every_fault_once(harness: Shell, workspace: Path) -> None:
    fine = harness("check")
    assert fine.code == 0
    assert tells(fine.out, "nothing is wrong", "2 problems", "2 solutions", "none")
    assert tells(harness("check", "relu").out, "1 problem", "0 solutions")
    (workspace / "problems/maxpool2d/problem.yaml").write_text("tolerence: exact")
    (workspace / "problems/relu/problem.py").write_text("def (")
    (workspace / "configs/quick.yaml").write_text("timing: {blokcs: 6,\n  calls_per_turn: 0}")
    (workspace / "gate.yaml").write_text("largest_slowdwn: 1")
    (workspace / "solutions/rleu/x").mkdir(parents=True)
    (workspace / "solutions/rleu/x/solution.py").write_text("")
    (workspace / "solutions/relu/forgotten").mkdir(parents=True)
    plain = workspace / "solutions/maxpool2d/plain"
    (plain / "solution.py").write_text("class NewModel: ...")
    outcome = harness("check")
    assert outcome.code == 2
    lines = sorted(outcome.out.splitlines())
    assert [line.partition(": ")[0] for line in lines] == [
        *("configs/quick.yaml:1", "configs/quick.yaml:2", "gate.yaml:1", "problems/maxpool2d/problem.yaml:1"),
        *("problems/relu/problem.py:1", "solutions/maxpool2d/plain/solution.py"),
        *("solutions/relu/forgotten is empty", "solutions/rleu"),
    ]
    assert "'tolerance'" in lines[3]
    assert "'ModelNew'" in lines[5]
    assert "'relu'" in lines[7]
    assert len(json.loads(harness("check", "--json").out)["faults"]) == 8
    (plain / "solution.yaml").write_text("expected_verdict: load_error")
    assert len(json.loads(harness("check", "--json").out)["faults"]) == 7
    outcome = harness("check", "rel*")
    assert (outcome.code, [line.partition(": ")[0] for line in outcome.out.splitlines()]) == (
        2,
        ["problems/relu/problem.py:1"],
    )
    assert "'relu'" in harness("check", "rleu").err


def test_check_names_a_problem_folder_without_problem_py(harness: Shell, workspace: Path) -> None:
    """It told of the solutions alone that no problem has their folder's name, though a folder has."""
    for file in ("problems/maxpool2d/problem.py", "problems/relu/problem.py"):
        (workspace / file).unlink()
    (workspace / "problems/relu/problem.yaml").write_text("title: ReLU")
    (workspace / "problems/__pycache__").mkdir()
    outcome = harness("check")
    assert outcome.code == 2
    maxpool, relu = outcome.out.splitlines()
    assert tells(maxpool, "problems/maxpool2d/problem.py is missing")
    assert tells(relu, "problems/relu/problem.py is missing")


@pytest.mark.parametrize("command", ["check", "run"])
def test_a_case_is_a_word_as_variables_name_them(harness: Shell, workspace: Path, command: str) -> None:
    (workspace / "problems/maxpool2d/problem.yaml").write_text("cases: {very small: {constants: {batch_size: 3}}}")
    outcome = harness(command, "maxpool2d")
    assert outcome.code == 2
    told = outcome.out + outcome.err
    assert tells(told, "problems/maxpool2d/problem.yaml", "cases.very small", "HARNESS_RUN_CASE", "'very_small'")


def test_check_makes_cases_without_memory(harness: Shell, workspace: Path) -> None:
    """The file as it stands makes a terabyte."""
    source = (workspace / "problems/relu/problem.py").read_text().replace("batch_size = 16", "batch_size = 2**26")
    (workspace / "problems/relu/problem.py").write_text(source)
    cases = ("odd: {constants: {batch_size: 3}}", "bad: {constants: {batch_size: -3}}", "worse: {init_inputs: [1]}")
    (workspace / "problems/relu/problem.yaml").write_text(f"cases: {{{', '.join(cases)}}}")
    outcome = harness("check")
    assert outcome.code == 2
    bad, worse = outcome.out.splitlines()
    assert tells(bad, "problems/relu/problem.yaml", "cases.bad", "get_inputs", "-3")
    assert tells(worse, "problems/relu/problem.yaml", "cases.worse", "Model", "init_inputs")


@pytest.mark.parametrize(
    ("was", "becomes"),
    [
        ("torch.rand(batch_size, height, width)", "torch.tensor([float(torch.rand(3).sum())] * batch_size)"),
        ("torch.rand(batch_size, height, width)", "nosuch(batch_size)"),
        ("batch_size = 16", "batch_size = 16\nif batch_size > 3:\n    raise OSError"),
        ("def get_init_inputs():\n", "def get_init_inputs():\n    if batch_size < 4:\n        raise MemoryError\n"),
    ],
)
def test_check_says_nothing_of_cases_of_which_nothing_is_known(
    harness: Shell, workspace: Path, was: str, becomes: str
) -> None:
    """The file as it stands fails as well, or memory is short."""
    source = (workspace / "problems/relu/problem.py").read_text().replace(was, becomes)
    (workspace / "problems/relu/problem.py").write_text(source)
    (workspace / "problems/relu/problem.yaml").write_text("cases: {odd: {constants: {batch_size: 3}}}")
    assert harness("check").code == 0


@pytest.mark.parametrize(
    ("command", "told"),
    [
        (["compare", "relu"], ["relu", "--problem relu"]),
        (["leaderboard", "relu"], ["relu", "--problem relu"]),
        (["snapshot", "accept", "relu", "plain"], ["relu plain", "--problem relu"]),
        (["show", "relu", "plain", "more"], ["more"]),
    ],
)
def test_of_a_word_too_many_its_option_is_told(harness: Shell, command: list[str], told: list[str]) -> None:
    outcome = harness(*command)
    assert outcome.code == 2
    assert tells(outcome.err, "too many", *told)
    assert ("--problem" in outcome.err) == (len(told) == 2)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("source", "faults"),
    [
        ("import torch\nclass ModelNew(torch.nn.Module)\n    pass\n", [":2: expected ':'"]),
        ('class ModelNew: """\\d"""\n', []),
        ("class ModelNew: '\0'\n", [": source code string cannot contain null bytes"]),
        ("# -*- coding: latin-1 -*-\nclass ModelNew: 'ä'\n", []),
    ],
)
def test_check_parses_solutions(harness: Shell, workspace: Path, source: str, faults: list[str]) -> None:
    plain = workspace / "solutions/maxpool2d/plain/solution.py"
    plain.write_text(source, encoding="latin-1")
    found = json.loads(harness("check", "--json").out).get("faults")
    assert found == [f"solutions/maxpool2d/plain/solution.py{fault}" for fault in faults]
    (plain.parent / "solution.yaml").write_text("expected_verdict: load_error")
    assert harness("check").code == 0


@pytest.mark.parametrize("command", [["run", "maxpool2d"], ["compare"]])
def test_a_broken_file_stops_no_other(harness: Shell, workspace: Path, command: list[str]) -> None:
    (workspace / "solutions/maxpool2d/shared_tile/solution.yaml").write_text("athor: me")
    outcome = harness(*command, "--dry-run")
    assert (outcome.code, outcome.out.splitlines()) == (2, ["maxpool2d/plain: evaluate", "1 to evaluate, 0 kept"])
    assert "left out: maxpool2d/shared_tile" in outcome.err
    assert "'author'" in outcome.err
    assert "1 of 2" in outcome.err


def test_a_file_cannot_speak_to_the_terminal_or_to_the_ci(harness: Shell, workspace: Path) -> None:
    text = '"\\e[2Jauthr\\n::warning file=x::spoofed": x'
    (workspace / "solutions" / "maxpool2d" / "plain" / "solution.yaml").write_text(text)
    outcome = harness("run", "--problem", "maxpool2d", "--solution", "plain")
    assert outcome.code == 2
    assert "unknown key" in outcome.err
    assert "spoofed" in outcome.err
    assert "\x1b" not in outcome.err
    assert [line for line in outcome.err.splitlines() if not line.startswith("harness: ")] == []


def test_a_crash_of_ours_cannot_either(harness: Shell, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def crash() -> None:
        raise RuntimeError("\x1b[2J\n::error::spoofed")

    monkeypatch.setattr("harness.workspace.workspace.find_workspace", crash)
    outcome = harness("list")
    assert outcome.code == 3
    assert "| RuntimeError: \ufffd[2J\n| ::error::spoofed\n" in outcome.err
    assert [line for line in outcome.err.splitlines() if not line.startswith("| ")] == []


def test_a_hostile_folder_is_named_and_not_shown(harness: Shell, workspace: Path) -> None:
    hostile = workspace / "solutions" / "maxpool2d" / "\x1b]0;owned\x07"
    hostile.mkdir()
    (hostile / "solution.py").touch()
    outcome = harness("list")
    assert outcome.code == 2
    assert r"solutions/maxpool2d/'\x1b]0;owned\x07': " in outcome.err
    assert outcome.err.strip().isprintable()


def test_a_title_is_one_harmless_line(harness: Shell, workspace: Path) -> None:
    (workspace / "problems" / "relu" / "problem.yaml").write_text('title: "a\\e[2J\\n::error::b"')
    assert "relu  a\ufffd[2J ::error::b" in [line.rstrip() for line in harness("list").out.splitlines()]


def test_list_shows_a_broken_problem_among_the_others(harness: Shell, workspace: Path) -> None:
    (workspace / "problems" / "maxpool2d" / "problem.yaml").write_text("tolerence: exact")
    broken, whole = json.loads(harness("list", "--json").out)["problems"]
    assert "problem.yaml:1: unknown key" in broken["error"]
    assert "'tolerence'" in broken["error"]
    assert [solution["name"] for solution in broken["solutions"]] == ["plain", "shared_tile"]
    assert whole["title"] == "relu"


@pytest.mark.parametrize("command", [["run", "--problem", "relu"], ["list"]])
def test_outside_a_workspace_the_way_to_one_is_named(
    harness: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    outcome = harness(*command)
    assert outcome.code == 2
    assert "'harness init'" in outcome.err


def test_another_workspace_can_be_named(harness: Shell, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir("/")
    outcome = harness("-C", str(workspace), "list", "--json")
    assert [problem["name"] for problem in json.loads(outcome.out)["problems"]] == ["maxpool2d", "relu"]


def test_list_names_problems_cases_and_solutions(harness: Shell, workspace: Path) -> None:
    outcome = harness("list")
    lines = [line.rstrip() for line in outcome.out.splitlines()]
    assert outcome.code == 0
    assert [line.split()[0] for line in lines] == [
        "maxpool2d",
        "cases:",
        "plain",
        "shared_tile",
        "relu",
        "cases:",
        "(no",
    ]
    assert lines[0].endswith("Max pooling (tf32)")
    assert lines[1].endswith("full, small")
    assert "never" in lines[2]


def test_list_names_the_last_verdict(harness: Shell, workspace: Path) -> None:
    journal = Journal(workspace / "results", "run-1")
    journal.append(passed("plain", started_at="2026-11-21T03:10:40.780+00:00"))
    journal.append(failed("plain", Verdict.TIMEOUT, started_at="2026-11-21T05:10:40.780+00:00", id="last"))
    journal.append(passed("plain", started_at="2026-11-21T04:10:40.780+00:00"))
    (plain, _) = harness("list", "maxpool2d").out.splitlines()[2:]
    assert plain.split() == ["plain", "timeout", "on", "cuda,", "2026-11-21T05:10"]
    listing = json.loads(harness("list", "maxpool2d", "--json").out)
    assert listing["problems"] == [
        {
            "name": "maxpool2d",
            "title": "Max pooling",
            "tags": ["pooling"],
            "precision": "tf32",
            "cases": ["full", "small"],
            "solutions": [
                {
                    "name": "plain",
                    "last_verdict": "timeout",
                    "backend": "cuda",
                    "at": "2026-11-21T05:10:40.780+00:00",
                    "evaluation": "last",
                },
                {"name": "shared_tile", "last_verdict": None},
            ],
        }
    ]


@pytest.mark.parametrize("later", ["nothing", "a sanitized pass", "other files"])
def test_a_pass_without_a_look_at_every_access_hides_no_fault_that_one_found(
    harness: Shell, workspace: Path, later: str
) -> None:
    checked, simulated = Config(CorrectnessConfig(sanitize=True)), sim_environment()
    found = failed("plain", Verdict.MEMORY_ERROR, config=checked, environment=simulated, id="found")
    plain = passed("plain", started_at="2026-11-22T05:00:00.000+00:00", environment=simulated, id="plain")
    if later == "other files":
        plain = replace(plain, solution=replace(plain.solution, sha256="ab" * 32))
    journal = Journal(workspace / "results", "run-1")
    for one in (found, plain):
        journal.append(one)
    if later == "a sanitized pass":
        journal.append(replace(plain, config=checked, started_at="2026-11-22T04:00:00.000+00:00", id="fine"))
    (line, _) = harness("list", "maxpool2d").out.splitlines()[2:]
    assert "passed" in line
    assert ("--sanitize found memory_error" in line) is (later == "nothing")
    (problem,) = json.loads(harness("list", "maxpool2d", "--json").out)["problems"]
    fault = {"verdict": "memory_error", "evaluation": "found"} if later == "nothing" else None
    assert problem["solutions"][0].get("sanitized") == fault
    listed = json.loads(harness("list", "--failed", "--json").out)["problems"]
    assert bool(listed) is (later == "nothing")


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        (["maxpool2d"], ["maxpool2d"]),
        (["*"], ["maxpool2d", "relu"]),
        (["r*", "max*"], ["maxpool2d", "relu"]),
        (["--failed"], ["maxpool2d"]),
        (["--failed", "relu"], []),
    ],
)
def test_list_takes_patterns_and_what_failed(
    harness: Shell, workspace: Path, arguments: list[str], names: list[str]
) -> None:
    journal = Journal(workspace / "results", "run-1")
    journal.append(passed("plain"))
    journal.append(failed("shared_tile", id="last"))
    listed = json.loads(harness("list", *arguments, "--json").out)["problems"]
    assert [one["name"] for one in listed] == names
    if "--failed" in arguments and names:
        assert [one["name"] for one in listed[0]["solutions"]] == ["shared_tile"]


def test_init_makes_a_workspace(harness: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    outcome = harness("init", "mine")
    assert outcome.code == 0
    assert outcome.out.splitlines()[-1].endswith("harness run relu")
    made = sorted(str(path.relative_to(tmp_path / "mine")) for path in (tmp_path / "mine").rglob("*") if path.is_file())
    assert made == [
        ".harness/schemas/config.schema.json",
        ".harness/schemas/gate.schema.json",
        ".harness/schemas/harness.schema.json",
        ".harness/schemas/problem.schema.json",
        ".harness/schemas/solution.schema.json",
        "configs/default.yaml",
        "configs/publish.yaml",
        "configs/quick.yaml",
        "harness.yaml",
        "problems/relu/problem.py",
        "problems/relu/problem.yaml",
        "results/.gitignore",
        "solutions/relu/vectorized/solution.py",
        "solutions/relu/vectorized/solution.yaml",
    ]
    monkeypatch.chdir(tmp_path / "mine")
    assert "vectorized" in harness("list").out


def test_init_keeps_what_is_there(harness: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    harness("init")
    problem, config = tmp_path / "problems/relu/problem.py", tmp_path / "configs/default.yaml"
    problem.write_text("mine")
    config.unlink()
    outcome = harness("init")
    assert problem.read_text() == "mine"
    assert config.is_file()
    assert "kept  problems/relu/problem.py" in outcome.out
    assert "made  configs/default.yaml" in outcome.out
    assert harness("init").out.splitlines()[-1] == "nothing to make"


def test_init_does_not_write_over_a_file(harness: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notes").write_text("mine")
    outcome = harness("init", "notes")
    assert (outcome.code, outcome.err.startswith("harness: notes is a file")) == (2, True)


def test_ctrl_c_says_that_results_are_kept(harness: Shell, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("harness.workspace.workspace.find_workspace", interrupted)
    outcome = harness("list")
    assert outcome.code == 130
    assert outcome.err.startswith("harness: interrupted; ")


@pytest.mark.parametrize(("line", "code"), [("--help", 0), ("list", 0), ("run maxpol2d", 2), ("run -p relu", 2)])
def test_a_command_that_runs_no_worker_needs_no_torch(workspace: Path, line: str, code: int) -> None:
    ended = python("-c", WITHOUT_TORCH, *line.split(), cwd=workspace)
    assert (ended.returncode, "Traceback" in ended.stderr, "\x1b" in ended.stdout) == (code, False, False)


@pytest.mark.parametrize("command", ["run", "gate"])
def test_results_that_cannot_be_written_are_told_before_torch_is_loaded(workspace: Path, command: str) -> None:
    line = [command, "-p", "maxpool2d", "--results", "harness.yaml"]
    (workspace / "harness.yaml").write_text("")
    ended = python("-c", WITHOUT_TORCH, *line, cwd=workspace)
    assert (ended.returncode, "can't write" in ended.stderr, "Traceback" in ended.stderr) == (3, True, False)


@pytest.mark.parametrize("line", ["list", "--help", "config show", "explain"])
def test_a_full_disk_behind_the_output_is_said_in_a_line(workspace: Path, line: str) -> None:
    with open("/dev/full", "wb") as full:
        outcome = python("-m", "harness", *line.split(), cwd=workspace, stdout=full.fileno())
    assert outcome.returncode == 3
    (said,) = outcome.stderr.splitlines()
    assert "[Errno 28]" in said


@pytest.mark.parametrize("command", ["list", "--help", "explain"])
def test_a_reader_that_left_is_no_failure_of_a_solution(workspace: Path, command: str) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    outcome = python("-m", "harness", command, cwd=workspace, stdout=writer)
    os.close(writer)
    assert (outcome.returncode, outcome.stderr) == (3, "")


def test_who_has_imported_torch_leaves_without_taking_it_apart() -> None:
    script = """if True:
        import atexit, sys
        from harness import __main__
        from harness.cli import app

        class Slow:
            def __del__(self):
                print("taken apart")

        def command():
            sys.modules["torch"] = Slow()
            atexit.register(print, "reset")
            print("judged")
            sys.exit(4)

        app.main = command
        __main__.main()
    """
    ended = python("-c", script)
    assert (ended.returncode, ended.stdout, ended.stderr) == (4, "judged\nreset\n", "")


def test_a_closed_stream_doesnt_change_the_exit_code() -> None:
    script = """if True:
        import sys
        from harness import __main__
        from harness.cli import app

        def command():
            sys.modules["torch"] = sys
            sys.stdout.close()
            sys.exit(3)

        app.main = command
        __main__.main()
    """
    ended = python("-c", script)
    assert (ended.returncode, ended.stderr) == (3, "")


def test_ctrl_c_before_the_command_is_there_is_no_traceback(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("harness.cli.app.main", interrupted)
    with pytest.raises(SystemExit) as ending:
        __main__.main()
    assert (ending.value.code, capsys.readouterr().err) == (130, "harness: interrupted\n")
