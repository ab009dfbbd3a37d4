"""The tools of an agent: what they answer, and that nothing else is on their channel."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp.server.mcpserver")

from mcp import Client

from harness.devices import choose_backend
from harness.integrations import KernelTools, create_server
from harness.model.instruments import Sanitizing, ToolRun
from harness.tools import sanitizing, target
from harness.tools.bench import ArmFailed
from harness.workspace.workspace import Workspace
from tests.cli.shell import python
from tests.integrations.doors import FAULTS
from tests.machine import ROOT

NO_MODEL = "x = 1\n"
Ask = Callable[..., tuple[bool, str]]


@pytest.fixture
def ask(tmp_path: Path) -> Iterator[Ask]:
    """Calls a tool: whether it is an error, and its text."""
    with KernelTools(Workspace(FAULTS), tmp_path / "results", "sim", "patient") as tools:
        yield lambda tool, **given: call(tools, tool, given)


def call(tools: KernelTools, tool: str, given: dict[str, Any]) -> tuple[bool, str]:
    async def answer() -> tuple[bool, str]:
        async with Client(create_server(tools)) as client:
            result: Any = await client.call_tool(tool, given)
            assert result.structured_content is None
            return result.is_error, result.content[0].text

    return asyncio.run(answer())


@pytest.mark.sim
def test_what_is_judged_can_be_shown(ask: Ask) -> None:
    is_error, text = ask("run", problem="double", code=NO_MODEL)
    assert not is_error
    assert "load_error" in text
    assert "no class 'ModelNew'" in text
    assert (str(ROOT) in text, str(Path.home()) in text) == (False, False)
    name = next(line.split()[0] for line in text.splitlines() if line.startswith("source-"))
    shown = ask("show", what="double", solution=name)
    assert (shown[0], shown == ask("show")) == (False, True)
    assert f"double / {name}" in shown[1]
    assert ask("run", problem="double", solution="no_model_new")[1].count("load_error") >= 1


@pytest.mark.parametrize(
    ("tool", "given", "words"),
    [
        ("run", {"problem": "duoble"}, "Did you mean 'double'"),
        ("run", {"problem": "../cheats"}, "no problem"),
        ("run", {"problem": "double", "solution": "honets"}, "Did you mean 'honest'"),
        ("run", {"problem": "double", "code": NO_MODEL, "cases": ["tiny"]}, "no case 'tiny'"),
        ("run", {"problem": "double", "code": NO_MODEL, "solution": "honest"}, "not both"),
        ("run", {}, "problem"),
        ("show", {"what": "double"}, "no evaluation"),
        ("show", {"what": "double", "solution": "honest"}, "no evaluation"),
        ("explain", {"word": "wrong_valeus"}, "Did you mean 'wrong_values'"),
        ("profile", {"problem": "double", "solution": "honets"}, "Did you mean 'honest'"),
        ("profile", {"problem": "double", "code": NO_MODEL}, "--trust-code"),
    ],
)
def test_a_mistake_is_answered(ask: Ask, tool: str, given: dict[str, Any], words: str) -> None:
    is_error, text = ask(tool, **given)
    assert is_error
    assert words in text
    assert str(FAULTS) not in text


def test_words_are_explained(ask: Ask) -> None:
    assert "oracle" in ask("explain", word="wrong_values")[1]
    assert "shared-race" in ask("explain")[1]


@pytest.mark.skipif(choose_backend("auto") == "cuda", reason="there is a GPU")
def test_without_a_gpu_profile_says_so(ask: Ask) -> None:
    is_error, text = ask("profile", problem="double", solution="honest")
    assert is_error
    assert "no CUDA GPU" in text


@pytest.mark.parametrize("fails", [False, True])
def test_on_a_gpu_code_is_sanitized_where_it_is_trusted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fails: bool
) -> None:
    seen = []

    def run_sanitizer(asked: Any, tools: Any, say: Callable[[str], None]) -> Sanitizing:
        seen.append((asked.target.name, asked.target.solution.source_path.read_text()))
        if fails:
            raise ArmFailed("it failed in its constructor", "Traceback")
        return Sanitizing("double", "full", "text", asked.gpu, (ToolRun("memcheck", 5.0, (), 0, 0, "/log"),))

    monkeypatch.setattr("harness.integrations.mcp_server.choose_backend", lambda choice: "cuda")
    monkeypatch.setattr(target, "require_gpu", lambda: "a GPU")
    monkeypatch.setattr(target, "find_tool", lambda name: Path("/tools") / name)
    monkeypatch.setattr(sanitizing, "run_sanitizer", run_sanitizer)
    given = {"problem": "double", "code": NO_MODEL}
    with KernelTools(Workspace(FAULTS), tmp_path, trusts_code=False) as tools:
        assert "--trust-code" in call(tools, "sanitize", given)[1]
    with KernelTools(Workspace(FAULTS), tmp_path, trusts_code=True) as tools:
        is_error, text = call(tools, "sanitize", given)
    assert (is_error, ("constructor" if fails else "memcheck") in text) == (fails, True)
    assert [(name[:14], text) for name, text in seen] == [("double/source-", NO_MODEL)]


def test_stdout_is_the_protocols_alone(tmp_path: Path) -> None:
    """Also where a problem prints; and the server ends with its input."""
    folder = tmp_path / "problems" / "loud"
    folder.mkdir(parents=True)
    (folder / "problem.py").write_text("print('LOUD')\nraise ValueError\n")
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    asked: list[dict[str, Any]] = [
        {"id": 1, "method": "initialize", "params": hello},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/list"},
        {"id": 3, "method": "tools/call", "params": {"name": "explain", "arguments": {"word": "passed"}}},
        {"id": 4, "method": "tools/call", "params": {"name": "run", "arguments": {"problem": "loud", "code": "x"}}},
    ]
    command = [sys.executable, "-m", "harness", "-C", str(tmp_path), "mcp", "--backend", "sim"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        answers = {}
        for one in asked:
            server.stdin.write(json.dumps({"jsonrpc": "2.0", **one}) + "\n")
            server.stdin.flush()
            if "id" in one:
                answer = json.loads(server.stdout.readline())
                answers[answer["id"]] = answer["result"]
        server.stdin.close()
        assert server.wait(60) == 0
        assert server.stdout.read() == ""
    tools = [one["name"] for one in answers[2]["tools"]]
    assert tools == ["run", "show", "explain", "profile", "sanitize"]
    assert "loud" in answers[1]["instructions"]
    assert "passed" in answers[3]["content"][0]["text"]


def test_without_its_package_the_command_names_the_extra(tmp_path: Path) -> None:
    (tmp_path / "problems").mkdir()
    program = "import sys; sys.modules['mcp'] = None; from harness.cli.app import main; main()"
    ended = python("-c", program, "-C", str(tmp_path), "mcp")
    assert ended.returncode == 3
    assert "kernel-harness[mcp]" in ended.stderr


@pytest.mark.parametrize(
    ("written", "least", "trusts", "level"),
    [
        ("none", None, False, "files"),
        ("full", None, False, "full"),
        ("none", None, True, "none"),
        ("full", "none", False, "none"),
    ],
)
def test_nothing_is_judged_below_a_level(tmp_path: Path, written: str, least: Any, trusts: bool, level: str) -> None:
    (tmp_path / "configs").mkdir()
    (tmp_path / "configs/own.yaml").write_text(f"limits: {{confinement: {written}}}\n")
    tools = KernelTools(Workspace(tmp_path), config="own", trusts_code=trusts, least=least)
    assert tools._config.limits.confinement == level
