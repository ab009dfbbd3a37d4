"""Refusals by Triton's compiler of kernels that its interpreter runs, which takes all of Python.

A child of the worker, in which Triton isn't interpreted, imports the kernel's file again and compiles the launch that
was seen to Triton's own representation. Whatever else goes wrong there says nothing of the kernel.
"""

from __future__ import annotations

import dataclasses
import importlib.util
import linecache
import os
import re
import signal
import sys
import tempfile
import time
from contextlib import suppress
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NoReturn  # Triton has no types

from harness.devices.described_driver import DescribedDriver
from harness.devices.sim.triton_launch import CompilationError

_LONGEST_S = 30.0
"""The seconds that a worker's kernels may take together: a turn has to end in time."""
_ASSERTED = "static_assert"
_UNDEFINED = re.compile(r"NameError\('(?P<name>\w+) is not defined'\)")

_Launch = tuple[str, str, int, list[Any], dict[str, Any]]
"""A kernel's file, name and first line, and the arguments of a launch as _described() has them."""


class FailedAssertion(CompilationError):
    """A static assertion that doesn't hold. An autotuner goes on without the configuration."""


class TritonCompiler:
    """The child. It is forked before Triton is imported and so begins with all of torch, whose import takes seconds."""

    def __init__(self) -> None:
        self._asked, theirs = Pipe()
        self._pid = -1
        with suppress(OSError):  # too many processes: then nothing will answer
            self._pid = os.fork()
        if not self._pid:
            _serve(theirs)
        theirs.close()

    def why_refused(self, launch: _Launch, timeout_s: float) -> str | None:
        """Return what it refuses; None where it takes the kernel, or where that can't be known. A child that is late is
        ended."""
        with suppress(OSError, EOFError):
            self._asked.send(launch)
            if self._asked.poll(timeout_s):
                why: str | None = self._asked.recv()
                return why
            os.kill(self._pid, signal.SIGKILL)
            os.waitpid(self._pid, 0)
        return None


def offer_compiler(interpreter: Any, compiler: TritonCompiler) -> None:
    """Have each kernel compiled once it has run for the first time, or once the interpreter can't run it."""
    function, seen = interpreter.InterpretedFunction, set[Any]()
    run, left_s = function.run, _LONGEST_S

    def why_refused(fn: Any, given: tuple[Any, ...], named: dict[str, Any]) -> str | None:
        nonlocal left_s
        if fn in seen or left_s <= 0:
            return None
        seen.add(fn)
        started = time.monotonic()
        with suppress(LookupError):
            described = [_described(value) for value in given], {key: _described(value) for key, value in named.items()}
            launch = (fn.__code__.co_filename, fn.__qualname__, fn.__code__.co_firstlineno, *described)
            why = compiler.why_refused(launch, left_s)
            left_s -= time.monotonic() - started
            is_defined_later = why and (name := _UNDEFINED.search(why)) and name["name"] in fn.__globals__
            return None if is_defined_later else why
        return None

    def ran(kernel: Any, *given: Any, grid: Any, warmup: bool, **named: Any) -> Any:
        result = gap = None
        try:
            result = run(kernel, *given, grid=grid, warmup=warmup, **named)
        except (NotImplementedError, FailedAssertion) as error:
            gap = error
        if not warmup and (why := why_refused(kernel.fn, given, named)):
            raise (FailedAssertion if _ASSERTED in why.partition(" at: ")[0] else CompilationError)(why) from gap
        if gap is not None:
            raise gap
        return result

    function.run = ran


def _described(value: Any) -> tuple[str, Any]:
    """Describe an argument in plain values. Raises: LookupError where it is none that is understood."""
    if type(value) in (bool, int, float, str, type(None)):
        return "plain", value
    if hasattr(value, "data_ptr") and hasattr(value, "dtype"):
        return "tensor", str(value.dtype).removeprefix("torch.")
    if type(value).__name__ == "dtype":  # torch's or Triton's
        return type(value).__module__.partition(".")[0], str(value).removeprefix("torch.")
    raise LookupError(type(value).__name__)


def _serve(asked: Connection) -> NoReturn:
    """Answer the worker until it hangs up, and end. Of its files, which others wait to see closed, only `asked` stays
    open, and nothing is printed."""
    try:
        nowhere = os.open(os.devnull, os.O_RDWR)
        for standard in range(3):
            os.dup2(nowhere, standard)
        os.closerange(3, asked.fileno())
        os.closerange(asked.fileno() + 1, os.sysconf("SC_OPEN_MAX"))
        os.environ["TRITON_INTERPRET"] = "0"
        with tempfile.TemporaryDirectory() as folder:
            os.environ["TRITON_CACHE_DIR"] = folder
            while True:
                asked.send(_answer(asked.recv()))
    finally:
        os._exit(0)


def _answer(launch: _Launch) -> str | None:
    path, name, line, given, named = launch
    with suppress(Exception):  # the file is a stranger's
        kernel = _imported(path, name, line)
        return _why_refused(kernel, [_value(*one) for one in given], {key: _value(*one) for key, one in named.items()})
    return None


def _imported(path: str, name: str, line: int) -> Any:
    """Import a kernel's file, which finds the simulated device's facts."""
    import torch
    from triton.runtime import JITFunction, driver

    torch.set_num_threads(1)  # the others stayed in the worker
    for file, module in [*sys.modules.items()]:  # what was being imported when this process began never ends here
        is_begun = getattr(getattr(module, "__spec__", None), "_initializing", False)
        if is_begun and not file.startswith(("torch", "triton")):
            del sys.modules[file]
    properties: Any = torch.cuda.get_device_properties(0)
    driver.set_active(DescribedDriver(dataclasses.asdict(properties)))
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

    if kind == "triton":
        return triton.language.dtype(value)
    if kind in ("tensor", "torch"):
        return triton.MockTensor(getattr(torch, value)) if kind == "tensor" else getattr(torch, value)
    return value


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
        return _worded(error, Path(kernel.fn.__code__.co_filename))
    except (EOFError, RuntimeError) as error:
        return str(error) if str(error).startswith("Unsupported function referenced") else None
    finally:
        ASTSource.make_ir = make
    return None


def _worded(error: Any, file: Path) -> str:
    """Say what Triton's innermost error says, and the innermost line of the file that led to it."""
    from triton.compiler import errors

    text, place, code, cause = "".join(linecache.getlines(str(file))), "", "", error
    while isinstance(cause, errors.CompilationError):
        error, cause = cause, cause.__cause__
        if (begin := text.find(error.src)) >= 0:
            line = text.count("\n", 0, begin) + error.node.lineno
            place, code = f"{file.name}:{line}: ", text.split("\n")[line - 1].strip()
        elif not place:
            code = error.src.split("\n")[error.node.lineno - 1].strip()
    what = error.error_message or (repr(cause) if cause else "")
    what = what.partition(". The following argument types")[0]
    if isinstance(error, errors.CompileTimeAssertionFailure):
        what = f"{_ASSERTED}: {what}"
    return f"{place}{what}, at: {code}"
