"""A real server on the simulator: asked by the client, killed, started again."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

import pytest

import harness
from harness.api.loading import source_name
from harness.errors import UsageError
from harness.store.journal import read_journals
from tests.cli.shell import python
from tests.machine import ROOT
from tests.wording import tells

pytestmark = pytest.mark.sim

DOUBLE = """import torch

class Model(torch.nn.Module):
    def forward(self, x):
        return 2 * x

def get_inputs():
    return [torch.randn(256)]

def get_init_inputs():
    return []
"""
PLAIN = "import torch\nclass ModelNew(torch.nn.Module):\n    def forward(self, x):\n        return {}\n"


@contextmanager
def serving(workspace: Path, *options: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """A server and its address."""
    asked = ["-C", str(workspace), "serve", "--port", "0", "--backend", "sim", *options]
    command = [sys.executable, "-m", "harness", *asked]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as server:
        try:
            assert server.stderr is not None
            address = re.search(r"http://\S+:\d+", server.stderr.readline())
            assert address is not None, server.stderr.read()
            yield address[0], server
        finally:
            server.terminate()


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "problems" / "double"
    folder.mkdir(parents=True)
    (folder / "problem.py").write_text(DOUBLE)
    return tmp_path


@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.heavy)])
def test_a_killed_server_loses_no_job_and_repeats_no_verdict(workspace: Path, number: signal.Signals) -> None:
    with serving(workspace) as (address, server):
        with harness.connect(address) as client:
            asked = [client.submission("double", PLAIN.format(f"x * {n}"), name=f"times_{n}") for n in range(6)]
            jobs = client.submit(asked)
            first = client.evaluation(jobs[0].id)
        server.send_signal(signal.SIGKILL)
        server.wait()
    with serving(workspace) as (address, server):
        with harness.connect(address) as client:
            found = [client.evaluation(job.id) for job in jobs]
        server.send_signal(number)
        assert server.wait(30) == 130
        assert server.stderr is not None
        assert "ending" in server.stderr.read()
    assert found[0] == first
    assert [one.verdict.value for one in found] == ["wrong_values"] * 2 + ["no_custom_kernel"] + ["wrong_values"] * 3
    records = list(read_journals(workspace / "results"))
    assert sorted(one.id for one in records) == sorted(one.id for one in found)
    assert {one.solution.name for one in records} == {f"times_{n}" for n in range(6)}


def test_both_clients_bring_evaluations_in_order(workspace: Path) -> None:
    texts = [PLAIN.format("x * 3"), PLAIN.format("x * 2")]

    async def ask(address: str) -> list[str]:
        async with harness.AsyncClient(address) as client:
            return [one.verdict.value async for one in client.evaluate_many("double", texts)]

    with serving(workspace) as (address, _):
        assert asyncio.run(ask(address)) == ["wrong_values", "no_custom_kernel"]
        with harness.connect(address) as client:
            assert [one.verdict.value for one in client.evaluate_many("double", iter(texts))] == [
                "wrong_values",
                "no_custom_kernel",
            ]
            with pytest.raises(UsageError, match="'double'"):
                client.evaluate("duoble", texts[0])


def test_odd_texts_get_verdicts_and_what_was_before_a_missing_file_too(workspace: Path) -> None:
    given = ["", "x = '\ud800'", PLAIN.format("x * 3"), Path("missing.py")]
    with serving(workspace) as (address, _), harness.connect(address) as client:
        evaluations = client.evaluate_many("double", given)
        found = list(islice(evaluations, 3))
        with pytest.raises(UsageError, match="missing"):
            next(evaluations)
    assert [one.verdict.value for one in found] == ["load_error", "load_error", "wrong_values"]
    assert len({one.solution.name for one in found}) == 3


def test_a_text_that_is_too_large_fails_alone(workspace: Path) -> None:
    """Three of those that are sent together are more than a request may have, and one is so by itself."""
    texts = [f"{PLAIN.format(f'x * {n}')}#{'é' * size}" for n, size in enumerate((3 * 10**5, 2**23, 2 * 10**5, 0))]

    async def ask(address: str) -> list[harness.Evaluation]:
        async with harness.AsyncClient(address) as client:
            return [one async for one in client.evaluate_many("double", texts)]

    with serving(workspace, "--most-mib", "1") as (address, _):
        with harness.connect(address) as client:
            found = list(client.evaluate_many("double", texts))
            with pytest.raises(UsageError, match="413"):
                client.evaluate("double", texts[1])
            with pytest.raises(UsageError, match="413"):
                next(client.evaluate_many(f"{DOUBLE}#{'x' * 2**20}", texts))
        again = asyncio.run(ask(address))
    for evaluations in (found, again):
        verdicts = [one.verdict.value for one in evaluations]
        assert verdicts == ["wrong_values", "load_error", "no_custom_kernel", "wrong_values"]
        assert [one.solution.name for one in evaluations] == [source_name(text) for text in texts]
    failure = found[1].failure
    assert failure is not None
    assert tells(failure.reason, "--most-mib")


def test_others_are_let_in_with_tokens_alone(workspace: Path) -> None:
    ended = python("-m", "harness", "-C", str(workspace), "serve", "--host", "0.0.0.0")
    assert (ended.returncode, "--tokens" in ended.stderr) == (2, True)
