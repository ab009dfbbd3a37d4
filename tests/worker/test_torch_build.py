"""How torch is called to build an extension."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import pytest
import torch

from harness.worker.extensions import Extensions
from harness.worker.torch_build import build


@pytest.mark.parametrize(("hip", "flags"), [(None, ["-O2", "-Xptxas=-v"]), ("6.4", ["-O2"])])
def test_ptxas_reports_of_kernels_where_there_is_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hip: str | None, flags: list[str]
) -> None:
    asked: dict[str, Any] = {}

    def torchs(name: str, cuda_sources: str, extra_cuda_cflags: list[str], **others: Any) -> None:
        asked["flags"] = extra_cuda_cflags
        Path(others["build_directory"], "x.so").touch()

    monkeypatch.setattr(torch.version, "hip", hip)
    call = inspect.signature(torchs).bind("x", "__global__ void f() {}", ["-O2"])
    build(torchs, call, tmp_path, "0" * 32, tries_slim=False)
    assert asked["flags"] == flags


@pytest.mark.parametrize(("hip", "is_slim"), [(None, True), ("6.4", False)])
def test_slim_headers_are_nvccs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hip: str | None, is_slim: bool
) -> None:
    monkeypatch.setattr(torch.version, "hip", hip)
    assert bool(Extensions(tmp_path, "cuda")._headers()) is is_slim
