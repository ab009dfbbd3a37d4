"""Texts of extensions: built once for all who send them, by a process that runs nothing of theirs."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.builder.build import BuildOutcome, CompilerRefused, build
from harness.builder.workers import Workers, bring
from harness.devices.environment import FLAGS
from harness.model.config import LimitsConfig
from harness.model.verdict import Verdict
from harness.sandbox.process import SolutionRaised, TextsNotBuilt
from harness.sandbox.wire.codec import encode_value
from harness.sandbox.wire.extension_text import ExtensionText
from harness.sandbox.wire.messages import Construct, Load
from harness.workspace.solution import Solution, load_solution
from tests.wording import tells

pytestmark = pytest.mark.sim

SOLUTION = """
# {remark}
import torch
from torch.utils.cpp_extension import load_inline

CODE = '''{code}'''


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        if torch.cuda.is_available():
            self.one = load_inline("one", "int64_t one();", CODE, functions=["one"], extra_cflags={cflags})
            {after}
"""
DECLARED = "int64_t one();"
CODE = "int64_t one() { return 1; }"
USES = "assert self.one.one() == 1"


def solution(
    folder: Path, remark: str, code: str = CODE, cflags: tuple[str, ...] = ("-O1",), after: str = USES
) -> Solution:
    folder /= remark
    folder.mkdir()
    text = SOLUTION.format(remark=remark, code=code, cflags=list(cflags), after=after)
    (folder / "solution.py").write_text(text)
    (folder / "solution.yaml").write_text(f"author: {remark}\n")  # which no worker sees
    return load_solution(folder)


def built(workers: Workers, one: Solution) -> BuildOutcome:
    return build(workers, one, [], LimitsConfig())


def test_one_text_in_two_solutions_is_compiled_once(workers: Workers, tmp_path: Path) -> None:
    (first,) = built(workers, solution(tmp_path, "first")).builds
    (second,) = built(workers, solution(tmp_path, "second")).builds
    assert (first.was_cached, second.was_cached) == (False, True)
    assert (second.key, second.log) == (first.key, first.log)
    assert "one" in second.output


def test_what_was_built_is_found_by_the_next_worker(workers: Workers, tmp_path: Path) -> None:
    """Else it is looked for again and again, until a worker builds for itself."""
    assert built(workers, solution(tmp_path, "first", "int64_t one() { return 15; }", after="pass")).compilers


def test_a_flag_that_could_run_a_program_is_built_for_its_solution_alone(workers: Workers, tmp_path: Path) -> None:
    flags = ("-O1", "-B/nowhere")
    one, two = (solution(tmp_path, name, cflags=flags) for name in ("first", "second"))
    (first,), (second,), (again,) = (built(workers, each).builds for each in (one, two, one))
    assert (first.was_cached, second.was_cached, again.was_cached) == (False, False, True)


@pytest.mark.heavy
def test_what_can_reach_the_assembler_is_built_for_its_solution_alone(workers: Workers, tmp_path: Path) -> None:
    code = 'int64_t one() { asm volatile("nop"); return 1; }'
    one, two = (solution(tmp_path, name, code) for name in ("first", "second"))
    outcomes = [built(workers, each) for each in (one, two, one)]
    assert [outcome.builds[0].was_cached for outcome in outcomes] == [False, False, True]
    assert all(outcome.compilers for outcome in outcomes)  # no worker builds it for itself


def test_a_refusal_is_remembered_with_its_log(workers: Workers, tmp_path: Path) -> None:
    code = "int64_t one() { return no_such_name; }"
    outcomes = [built(workers, solution(tmp_path, name, code)) for name in ("first", "second")]
    for outcome in outcomes:
        assert isinstance(outcome.failed, CompilerRefused)
        assert outcome.failed.verdict is Verdict.COMPILE_ERROR
        assert "no_such_name" in outcome.failed.errors
        assert "no_such_name" in outcome.failed.log.read_text()
    assert [outcome.builds[0].was_cached for outcome in outcomes] == [False, True]


def test_a_private_refusal_is_remembered_for_its_solution(workers: Workers, tmp_path: Path) -> None:
    one = solution(tmp_path, "first", "int64_t one() { return neither_here; }", ("-B/nowhere",))
    outcomes = [built(workers, one) for _ in range(2)]
    assert [outcome.builds[0].was_cached for outcome in outcomes] == [False, True]
    assert all("neither_here" in str(outcome.failed) for outcome in outcomes)


def test_a_solution_may_catch_a_refusal(workers: Workers, tmp_path: Path) -> None:
    one = solution(tmp_path, "first", "int64_t one() { return nor_there; }", after="pass")
    path = one.folder / "solution.py"
    path.write_text(
        path.read_text().replace("            self.one = load", "          try:\n            self.one = load")
    )
    path.write_text(path.read_text().rstrip().removesuffix("pass") + "pass\n          except RuntimeError: pass\n")
    assert built(workers, load_solution(one.folder)).failed is None


def test_a_missing_header_is_not_remembered(workers: Workers, tmp_path: Path) -> None:
    one = solution(tmp_path, "first", f"#include <no_such_header.h>\n{CODE}")
    outcomes = [built(workers, one) for _ in range(2)]
    assert [outcome.builds[0].was_cached for outcome in outcomes] == [False, False]


def test_the_builder_runs_nothing_of_the_text(workers: Workers, tmp_path: Path) -> None:
    """A library that ends whoever loads it is built, and ends the worker that loads it."""
    code = f"#include <cstdlib>\nstatic int ended = (std::_Exit(7), 0);\n{CODE}"
    outcome = built(workers, solution(tmp_path, "first", code))
    assert "exit code 7" in str(outcome.failed)
    (library,) = (path for path in workers.cache.rglob("one.so") if "shared" in path.parts and is_newest(path))
    assert library.read_bytes().startswith(b"\x7fELF")


def is_newest(path: Path) -> bool:
    return path.stat().st_mtime >= max(other.stat().st_mtime for other in path.parents[1].rglob("one.so"))


def test_what_a_measured_worker_comes_to_is_built_and_known_from_then_on(workers: Workers, tmp_path: Path) -> None:
    one = solution(tmp_path, "first", "int64_t one() { return 12; }", after="pass")
    path = one.folder / "solution.py"
    path.write_text(path.read_text().replace("__init__", "forward") + "        return None\n")
    one = load_solution(one.folder)
    before = built(workers, one)
    assert before.builds == ()
    text = ExtensionText("one", (DECLARED,), ("int64_t one() { return 12; }",), {"one": "one"}, cflags=("-O1",))
    after, again = build(workers, one, [], LimitsConfig(), wanted=[text]), built(workers, one)
    assert [(build.name, build.was_cached) for build in (*after.builds, *again.builds)] == [
        ("one", False),
        ("one", True),
    ]


def test_a_worker_that_is_to_report_builds_nothing(workers: Workers, tmp_path: Path) -> None:
    one = solution(tmp_path, "first", "int64_t one() { return 14; }")
    with workers.start() as worker:
        worker.ask(Load(bring(worker, one.folder, compilers="x"), "ModelNew", FLAGS, "x"), 60)
        with pytest.raises(TextsNotBuilt) as caught:
            worker.ask(Construct(encode_value([]), 0), 60)
    assert [text.cuda_sources for text in caught.value.texts] == [("int64_t one() { return 14; }",)]


def test_a_worker_that_was_offered_no_build_builds_for_itself(workers: Workers, tmp_path: Path) -> None:
    one = solution(tmp_path, "first", "int64_t one() { return 13; }")
    with workers.start() as worker:
        worker.ask(Load(bring(worker, one.folder), "ModelNew", FLAGS), 60)
        with pytest.raises(SolutionRaised) as caught:  # that one isn't 13 was found out
            worker.ask(Construct(encode_value([]), 0), 60)
    assert [(report.succeeded, report.text) for report in caught.value.raised.extensions] == [(True, None)]


def test_a_refused_text_that_forward_came_to_is_said(workers: Workers, tmp_path: Path) -> None:
    """A solution may catch the refusal, and run something else."""
    one = solution(tmp_path, "first", after="pass")
    text = ExtensionText(
        "other", ("int64_t other();",), ("int64_t other() { return and_not_here; }",), {"other": "other"}
    )
    (missing,) = build(workers, one, [], LimitsConfig(), wanted=[text]).missing
    assert tells(missing, "'other'", "and_not_here")
