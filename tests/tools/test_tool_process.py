"""Running a tool: what it prints is kept, and nothing of it outlives the call."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from harness.errors import MachineError
from harness.sandbox.family import has_ended
from harness.sandbox.wire.sandbox import MARK
from harness.tools import tool_process
from harness.tools.tool_process import Ended, run_tool

MARKED = "0123456789abcdef" * 2


def run(code: str, folder: Path, timeout_s: float = 60) -> Ended:
    environment = {**os.environ, MARK: MARKED}
    return run_tool([sys.executable, "-c", code], environment, folder, MARKED, folder / "log", timeout_s)


def test_what_is_printed_is_kept_and_the_exit_code_is_told(tmp_path: Path) -> None:
    ended = run("import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)", tmp_path)
    assert (ended.code, ended.words) == (3, "exit code 3")
    assert sorted((tmp_path / "log").read_text().split()) == ["err", "out"]


def test_it_runs_in_its_folder(tmp_path: Path) -> None:
    run("import os; print(os.getcwd())", tmp_path)
    assert (tmp_path / "log").read_text().strip() == str(tmp_path)


def test_a_signal_is_told(tmp_path: Path) -> None:
    assert run("import os; os.kill(os.getpid(), 9)", tmp_path).words.endswith("signal 9")


def test_what_takes_too_long_is_ended(tmp_path: Path) -> None:
    ended = run("import time; time.sleep(1000)", tmp_path, timeout_s=0)
    assert ended.code is None
    assert ended.words.startswith("not done after ")


def test_a_child_that_goes_on_and_holds_the_output_is_ended_too(tmp_path: Path) -> None:
    code = "import subprocess; print(subprocess.Popen(['sleep', '1000'], start_new_session=True).pid)"
    assert run(code, tmp_path).code == 0
    assert has_ended(int((tmp_path / "log").read_text()))


def test_a_flood_is_cut_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tool_process, "_LOG_BYTES", 1000)
    assert run("print('x' * 1_000_000)", tmp_path).code == 0
    assert (tmp_path / "log").stat().st_size == 1000


def test_a_program_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(MachineError, match=r"/nowhere/ncu .*: No such file"):
        run_tool(["/nowhere/ncu"], {}, tmp_path, MARKED, tmp_path / "log", 1)
