"""Refusals by Triton's compiler of kernels that its interpreter runs, which takes all of Python.

Another process, in which Triton isn't interpreted, imports the kernel's file again and compiles the launch that was
seen to Triton's own representation. Whatever else goes wrong there says nothing of the kernel.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from contextlib import redirect_stdout, suppress
from typing import Any  # Triton has no types

from harness.devices.described_driver import DescribedDriver
from harness.devices.sim.triton_launch import CompilationError

_LONGEST_S = 30.0
"""The seconds that a worker's kernels may take together: a turn has to end in time."""
_UNDEFINED = re.compile(r"NameError\('(?P<name>\w+) is not defined'\)")


def offer_compiler(interpreter: Any) -> None:
    """Have each kernel compiled once it has run for the first time, or once the interpreter can't run it."""
    function, seen = interpreter.InterpretedFunction, set[Any]()
    run, left_s = function.run, _LONGEST_S

    def why_refused(fn: Any, given: tuple[Any, ...], named: dict[str, Any]) -> str | None:
        nonlocal left_s
        if fn in seen or left_s <= 0:
            return None
        seen.add(fn)
        started = time.monotonic()
        why = _refusal(fn, given, named, left_s)
        left_s -= time.monotonic() - started
        return why

    def ran(kernel: Any, *given: Any, grid: Any, warmup: bool, **named: Any) -> Any:
        result = gap = None
        try:
            result = run(kernel, *given, grid=grid, warmup=warmup, **named)
        except NotImplementedError as error:
            gap = error
        if not warmup and (why := why_refused(kernel.fn, given, named)):
            raise CompilationError(why) from gap
        if gap is not None:
            raise gap
        return result

    function.run = ran


def _refusal(fn: Any, given: tuple[Any, ...], named: dict[str, Any], timeout_s: float) -> str | None:
    """Return what the compiler refuses; None where it takes the kernel, or where that can't be known."""
    with suppress(LookupError, OSError, ValueError, subprocess.SubprocessError):
        launch = [_described(value) for value in given], {name: _described(value) for name, value in named.items()}
        asked = json.dumps([fn.__code__.co_filename, fn.__qualname__, fn.__code__.co_firstlineno, *launch])
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "TRITON_INTERPRET": "0"}
        told = subprocess.run(
            [sys.executable, "-m", __name__],
            input=asked,
            capture_output=True,
            text=True,
            env=environment,
            timeout=timeout_s,
            check=True,
        )
        why: str | None = json.loads(told.stdout)
        is_defined_later = why and (name := _UNDEFINED.search(why)) and name["name"] in fn.__globals__
        return None if is_defined_later else why
    return None


def _described(value: Any) -> tuple[str, Any]:
    """Describe an argument in plain values. Raises: LookupError where it is none that is understood."""
    if isinstance(value, (bool, int, float, str, type(None))):
        return "plain", value
    if isinstance(value, sys.modules["torch"].Tensor):
        return "tensor", str(value.dtype).removeprefix("torch.")
    raise LookupError(type(value).__name__)


def main() -> None:
    """Compile the launch that standard input describes, and print what Triton refuses about it, or null."""
    path, name, line, given, named = json.load(sys.stdin)
    with redirect_stdout(sys.stderr), tempfile.TemporaryDirectory() as folder:
        os.environ["TRITON_CACHE_DIR"] = folder
        kernel = _imported(path, name, line)
        why = _why_refused(kernel, [_value(*one) for one in given], {key: _value(*one) for key, one in named.items()})
    print(json.dumps(why))


def _imported(path: str, name: str, line: int) -> Any:
    """Import a kernel's file, which finds the simulated device's facts, or fails where it asks for more."""
    import torch
    from triton.runtime import JITFunction, driver

    driver.set_active(DescribedDriver({"major": 9, "minor": 0, "multi_processor_count": 132, "warp_size": 32}))
    for asked, answer in {"is_available": True, "device_count": 1, "get_device_capability": (9, 0)}.items():
        setattr(torch.cuda, asked, lambda *_, answer=answer: answer)
    spec = importlib.util.spec_from_file_location("solution", path)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules["solution"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    kernel = getattr(module, name)
    while not isinstance(kernel, JITFunction):
        kernel = kernel.fn
    assert kernel.fn.__code__.co_firstlineno == line
    return kernel


def _value(kind: str, value: Any) -> Any:
    import torch
    import triton

    return triton.MockTensor(getattr(torch, value)) if kind == "tensor" else value


def _why_refused(kernel: Any, given: list[Any], named: dict[str, Any]) -> str | None:
    from triton.compiler import ASTSource, errors

    make = ASTSource.make_ir

    def made(*given: Any, **named: Any) -> None:
        make(*given, **named)
        raise EOFError("what follows depends on the GPU")

    ASTSource.make_ir = made
    try:
        kernel.run(*given, grid=(1,), warmup=True, **named)
    except errors.CompilationError as error:
        while isinstance(error.__cause__, errors.CompilationError):
            error = error.__cause__
        what = error.error_message or repr(error.__cause__)
        return f"{what}, at: {error.src.splitlines()[error.node.lineno - 1].strip()}"
    except (EOFError, RuntimeError) as error:
        return str(error) if str(error).startswith("Unsupported function referenced") else None
    return None


if __name__ == "__main__":
    main()
