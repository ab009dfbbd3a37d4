"""Building, keeping and refusing toolkits, with a build that takes no time."""

from __future__ import annotations

import importlib.util
import os
import platform
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.cudasim import compiler as compilers
from harness.cudasim import toolkit as toolkits
from harness.cudasim.compiler import Compiler, SimUnavailable, Torch
from harness.cudasim.toolkit import Toolkit, ensure_toolkit

ROOT = Path(__file__).parents[2]

TORCH = Torch(Path("/torch"), "2.9.0+cpu", "-std=c++17")
COMPILER = Compiler(("g++",), "12.2.0", ("-march=x86-64-v3",))


def fake_build(root: Path, torch: Torch, compiler: Compiler, progress: Callable[[str], None]) -> None:
    root.mkdir(parents=True)
    progress("compiling")


def failing_build(root: Path, torch: Torch, compiler: Compiler, progress: Callable[[str], None]) -> None:
    root.mkdir(parents=True)
    (root / "half").write_text("done")
    raise SimUnavailable("does not compile")


KILLED_BUILD = """
import os, sys
from pathlib import Path
from harness.cudasim import toolkit

def build_until_killed(root, torch, compiler, progress):
    root.mkdir(parents=True)
    (root / "half").write_text("done")
    os._exit(9)

torch = toolkit.Torch(Path("/torch"), "2.9.0+cpu", "-std=c++17")
compiler = toolkit.Compiler(("g++",), "12.2.0", ("-march=x86-64-v3",))
toolkit.find_torch, toolkit.find_compiler = lambda: torch, lambda: compiler
toolkit.build_toolkit = build_until_killed
toolkit.ensure_toolkit(Path(sys.argv[1]), print)
"""


@pytest.fixture(autouse=True)
def _machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(toolkits, "find_torch", lambda: TORCH)
    monkeypatch.setattr(toolkits, "find_compiler", lambda: COMPILER)
    monkeypatch.setattr(toolkits, "build_toolkit", fake_build)


def test_toolkit_is_built_once(tmp_path: Path) -> None:
    said: list[str] = []
    first = ensure_toolkit(tmp_path, said.append)
    second = ensure_toolkit(tmp_path, said.append)
    assert first == second
    assert said == ["compiling"]


def test_other_torch_gets_its_own_toolkit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = ensure_toolkit(tmp_path, print)
    monkeypatch.setattr(toolkits, "find_torch", lambda: Torch(Path("/torch"), "2.13.0+cpu", "-std=c++20"))
    assert ensure_toolkit(tmp_path, print) != first


def test_another_translation_gets_its_own_toolkit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "cudasim"
    package.mkdir()
    (package / "translate.py").write_text("first")
    monkeypatch.setattr(toolkits, "_PACKAGE", package)
    monkeypatch.setattr(toolkits, "SLIM_HEADERS", package)
    first = ensure_toolkit(tmp_path / "cache", print)
    (package / "translate.py").write_text("second")
    assert ensure_toolkit(tmp_path / "cache", print).root != first.root


def test_checked_build_is_prepared_when_first_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []

    def precompile(root: Path, torch: Torch, compiler: Compiler, progress: Callable[[str], None]) -> None:
        header = root / "headers/sim/prelude_checked_slim.h.gch"
        header.parent.mkdir(parents=True)
        header.write_text("")
        progress("precompiling")

    monkeypatch.setattr(toolkits, "precompile_checked", precompile)
    plain = ensure_toolkit(tmp_path, said.append)
    first, second = (ensure_toolkit(tmp_path, said.append, is_checked=True) for _ in range(2))
    assert said == ["compiling", "precompiling"]
    assert first == second == Toolkit(plain.root, is_checked=True)


def test_checked_build_has_a_compiler_of_its_own() -> None:
    """By whose name the cache of extensions tells the two builds apart."""
    assert Toolkit(Path("/tk"), is_checked=True).environment()["PYTORCH_NVCC"] == "/tk/bin/nvcc-checked"


def test_failed_build_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(toolkits, "build_toolkit", failing_build)
    with pytest.raises(SimUnavailable, match="does not compile"):
        ensure_toolkit(tmp_path, print)
    assert list(tmp_path.glob("sim-*")) == []


def test_killed_build_does_not_hold_up_the_next(tmp_path: Path) -> None:
    killed = subprocess.run([sys.executable, "-c", KILLED_BUILD, str(tmp_path)], env={"PYTHONPATH": str(ROOT)})
    assert killed.returncode == 9
    (unfinished,) = tmp_path.glob("sim-*")
    toolkit = ensure_toolkit(tmp_path, print)
    assert toolkit.root == unfinished
    assert not (toolkit.root / "half").exists()


def test_two_toolkits_are_kept_and_those_in_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    held = ensure_toolkit(tmp_path, print)
    for age, name in enumerate(("sim-newer", "sim-older", "sim-unfinished")):
        (tmp_path / name).mkdir()
        os.utime(tmp_path / name, times=(0, 1_000_000 - age))
    os.utime(held.root, times=(0, 0))
    monkeypatch.setattr(toolkits, "find_torch", lambda: Torch(Path("/torch"), "2.13.0+cpu", "-std=c++20"))
    current = ensure_toolkit(tmp_path, print)
    assert set(tmp_path.glob("sim-*")) == {current.root, held.root, tmp_path / "sim-newer"}


def test_toolkit_out_of_use_makes_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for version in ("2.7.0", "2.8.0", "2.10.0"):
        monkeypatch.setattr(
            toolkits, "find_torch", lambda version=version: Torch(Path("/torch"), version, "-std=c++17")
        )
        last = ensure_toolkit(tmp_path, print)
        os.utime(last.root, times=(0, int(version.split(".")[1])))
        assert last.in_use is not None
        os.close(last.in_use)
    assert len(list(tmp_path.glob("sim-*"))) == 2
    assert last.root.is_dir()


def test_prepared_is_said_of_the_very_toolkit(tmp_path: Path) -> None:
    (tmp_path / "sim-of-another-torch").mkdir()
    assert not toolkits.is_prepared(tmp_path)
    ensure_toolkit(tmp_path, print)
    assert toolkits.is_prepared(tmp_path)


def test_environment_names_the_stand_ins() -> None:
    assert Toolkit(Path("/tk")).environment() == {
        "CUDA_HOME": "/tk",
        "CUDA_PATH": "/tk",
        "PYTORCH_NVCC": "/tk/bin/nvcc",
        "CXX": "/tk/bin/c++",
        "TORCH_CUDA_ARCH_LIST": "9.0",
        "HARNESS_SIM_SOURCES": str(ROOT),
    }


def fake_torch(folder: Path, monkeypatch: pytest.MonkeyPatch, version: str, cuda: str) -> None:
    package = folder / "torch"
    (package / "utils").mkdir(parents=True)
    (package / "__init__.py").write_text("")
    hip = "'6.4'" if version.endswith("rocm6.4") else "None"
    (package / "version.py").write_text(f"__version__ = '{version}'\ncuda: Optional[str] = {cuda}\nhip = {hip}\n")
    (package / "utils/cpp_extension.py").write_text("cflags = common_cflags + ['-fPIC', '-std=c++20']")
    monkeypatch.setattr(
        importlib.util,
        "find_spec",
        lambda name: importlib.util.spec_from_file_location(name, package / "__init__.py"),
    )


def test_cpu_build_of_torch_is_found_without_importing_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_torch(tmp_path, monkeypatch, "2.7.1+cpu", "None")
    assert compilers.find_torch() == Torch(tmp_path / "torch", "2.7.1+cpu", "-std=c++20")


def test_cuda_build_of_torch_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_torch(tmp_path, monkeypatch, "2.9.0+cu128", "'12.8'")
    assert compilers.find_torch() == Torch(tmp_path / "torch", "2.9.0+cu128", "-std=c++20", cuda="12.8")


def test_old_strings_of_torch_are_those_of_its_headers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_torch(tmp_path, monkeypatch, "2.6.0+cu124", "'12.4'")
    configuration = tmp_path / "torch/share/cmake/Torch/TorchConfig.cmake"
    configuration.parent.mkdir(parents=True)
    configuration.write_text('  set(TORCH_CXX_FLAGS "-D_GLIBCXX_USE_CXX11_ABI=0")\n')
    assert compilers.find_torch().include_flags[0] == "-D_GLIBCXX_USE_CXX11_ABI=0"
    configuration.write_text('  set(TORCH_CXX_FLAGS "-D_GLIBCXX_USE_CXX11_ABI=1")\n')
    assert compilers.find_torch().include_flags[0] == "-isystem"


@pytest.mark.parametrize(
    ("version", "cuda", "message"),
    [
        ("2.9.0+rocm6.4", "None", "torch 2.9.0\\+rocm6.4 is built for AMD's GPUs"),
        ("2.5.1+cpu", "None", "needs torch 2.6 or later, not 2.5.1"),
    ],
)
def test_other_torch_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str, cuda: str, message: str
) -> None:
    fake_torch(tmp_path, monkeypatch, version, cuda)
    with pytest.raises(SimUnavailable, match=message):
        compilers.find_torch()


@pytest.mark.parametrize(
    ("name", "answer", "message"),
    [
        ("system", "Darwin", "Linux x86-64 only, not on Darwin"),
        ("machine", "aarch64", "Linux x86-64 only, not on Linux aarch64"),
        ("libc_ver", ("", ""), "needs glibc.*rather than Alpine"),
    ],
)
def test_other_platform_is_refused(monkeypatch: pytest.MonkeyPatch, name: str, answer: object, message: str) -> None:
    monkeypatch.setattr(platform, name, lambda: answer)
    with pytest.raises(SimUnavailable, match=message):
        compilers.find_torch()


def fake_gcc(folder: Path, name: str, macros: str) -> None:
    script = folder / name
    script.write_text(f"#!/bin/sh\necho '{macros}'\n")
    script.chmod(0o755)


def test_user_s_compiler_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_gcc(tmp_path, "mygcc", '#define __VERSION__ "13.1.0"')
    monkeypatch.setenv("CXX", f"{tmp_path}/mygcc -pipe")
    found = compilers.find_compiler()
    assert (found.command, found.version) == ((f"{tmp_path}/mygcc", "-pipe"), "13.1.0")


def test_our_own_stand_in_is_not_taken_for_the_user_s_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "toolkit.json").write_text("{}")
    fake_gcc(tmp_path / "bin", "c++", '#define __VERSION__ "13.1.0"')
    fake_gcc(tmp_path, "c++", '#define __VERSION__ "12.2.0"')
    monkeypatch.setenv("CXX", f"{tmp_path}/bin/c++")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert compilers.find_compiler().version == "12.2.0"


@pytest.mark.parametrize(
    ("macros", "message"),
    [
        ('#define __VERSION__ "10.2.1"', "c\\+\\+ is gcc 10.2.1"),
        ("#define __clang__ 1", "c\\+\\+ is no g\\+\\+"),
    ],
)
def test_other_compilers_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, macros: str, message: str
) -> None:
    fake_gcc(tmp_path, "c++", macros)
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SimUnavailable, match=message):
        compilers.find_compiler()
