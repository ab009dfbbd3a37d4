"""What decides whether a built extension may be used again: whatever its build could have read."""

from __future__ import annotations

import inspect
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from torch.utils import cpp_extension

from harness.worker import extension_key as module
from harness.worker.extension_key import extension_key


def key(function: Callable[..., Any] = cpp_extension.load, **arguments: Any) -> str:
    call: inspect.BoundArguments = inspect.signature(function).bind("same", **arguments)
    return extension_key(call, "", Path("/nowhere/of-a-worker"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "tree" / "solution"
    (made / "sub" / "__pycache__").mkdir(parents=True)
    (made / "main.cu").write_text("int main;")
    return made


@pytest.mark.parametrize(
    "name", ["main.cu", "tile.cuh", "impl.cu", "x.hh", "sub/k.cuh", "sub/k", ".hidden", "sub/__pycache__/k.cuh"]
)
def test_every_file_in_and_below_a_sources_folder_counts(folder: Path, name: str) -> None:
    sources = [str(folder / "main.cu")]
    (folder / name).write_text("1")
    before = key(sources=sources)
    assert key(sources=sources) == before
    (folder / name).write_text("2")
    assert key(sources=sources) != before


def test_files_of_linked_folders_count(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "shared").mkdir()
    (folder / "linked").symlink_to(tmp_path / "shared")
    (folder / "loop").symlink_to(folder)
    before = key(sources=[str(folder / "main.cu")])
    (tmp_path / "shared" / "k.cuh").touch()
    assert key(sources=[str(folder / "main.cu")]) != before


def test_compiled_python_does_not_count(folder: Path) -> None:
    before = key(sources=str(folder / "main.cu"))
    (folder / "sub" / "__pycache__" / "x.pyc").touch()
    assert key(sources=str(folder / "main.cu")) == before


@pytest.mark.parametrize(
    "arguments",
    [
        {"extra_include_paths": ["{include}"]},
        {"extra_include_paths": "{include}"},
        {"extra_cflags": ["-O3", "-I{include}"]},
        {"extra_cuda_cflags": ["-I", "{include}", "-O3"]},
        {"extra_cuda_cflags": ["-isystem={include}"]},
        {"extra_cuda_cflags": ["--include-path", "{include}"]},
        {"extra_cflags": ["-include", "{include}/deep/k.impl"]},
        {"cuda_sources": ['  #  include "{include}/deep/k.impl"\n']},
        {"cpp_sources": "#include <{include}/main.h>\n"},
    ],
)
def test_what_a_build_is_told_to_include_counts(folder: Path, arguments: dict[str, Any]) -> None:
    (folder / "deep").mkdir()
    (folder / "deep" / "k.impl").write_text("1")
    filled = {
        name: [value.format(include=folder) for value in values]
        if isinstance(values, list)
        else values.format(include=folder)
        for name, values in arguments.items()
    }
    given = {"cpp_sources": "", **filled}
    before = key(cpp_extension.load_inline, **given)
    (folder / "deep" / "k.impl").write_text("2")
    assert key(cpp_extension.load_inline, **given) != before


@pytest.mark.parametrize("name", ["CPATH", "CPLUS_INCLUDE_PATH"])
def test_include_paths_of_the_environment_count(folder: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(name, f"{folder}:")
    before = key(cpp_extension.load_inline, cpp_sources="")
    (folder / "main.cu").write_text("long main;")
    assert key(cpp_extension.load_inline, cpp_sources="") != before


@pytest.mark.parametrize("name", ["CC", "CXX", "CPATH", "NVCC_APPEND_FLAGS", "TORCH_CUDA_ARCH_LIST", "NVCC_CCBIN"])
def test_variables_of_compilers_count(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.delenv(name, raising=False)
    before = key(cpp_extension.load_inline, cpp_sources="")
    monkeypatch.setenv(name, "/nowhere/x")
    assert key(cpp_extension.load_inline, cpp_sources="") != before


def test_of_the_temporary_folder_only_headers_count(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    before = key(sources=str(folder / "main.cu"))
    (folder / "sub" / "of_another_process.log").touch()
    assert key(sources=str(folder / "main.cu")) == before
    (folder / "tile.cuh").touch()
    assert key(sources=str(folder / "main.cu")) != before


def test_beyond_the_limit_size_and_time_count(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_READ_BYTES", 4)
    before = key(sources=str(folder / "main.cu"))
    assert key(sources=str(folder / "main.cu")) == before
    os.utime(folder / "main.cu", ns=(1, 1))
    assert key(sources=str(folder / "main.cu")) != before


def test_a_pipe_beside_the_sources_is_not_waited_for(folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    assert len(key(sources=str(folder / "main.cu"))) == 32


def test_a_source_that_is_not_there_is_left_to_the_compiler(folder: Path) -> None:
    assert key(sources=str(folder / "none.cu")) != key(sources=str(folder / "main.cu"))


def test_where_the_workers_folder_lies_decides_nothing(tmp_path: Path) -> None:
    """It is another in every run; files count by their place in it."""
    keys = []
    for name in ("first", "second"):
        folder = tmp_path / name / "files"
        folder.mkdir(parents=True)
        (folder / "main.cu").write_text("int main;")
        given = {"name": "same", "sources": [str(folder / "main.cu")], "extra_cflags": [f"-I{folder}"]}
        call = inspect.signature(cpp_extension.load).bind(**given)
        keys.append(extension_key(call, "", tmp_path / name))
    assert keys[0] == keys[1]
