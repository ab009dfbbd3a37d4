"""Triton on the simulated device: its own interpreter runs a kernel's programs one after another, and each asks here
before it touches memory.

Only the code of solutions gets Triton. Torch, which would compile for a GPU with it, is told that there is none.
"""

from __future__ import annotations

import importlib.util
import inspect
import math
import operator
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING, Any  # Triton has no types, and its interpreter none that are meant for others

import numpy

from harness.cudasim import UNSUPPORTED_MARK
from harness.devices.sim.findings import RuntimeReport, counted_as
from harness.devices.sim.triton_compiler import FailedAssertion, TritonCompiler, offer_compiler
from harness.devices.sim.triton_driver import offer_driver
from harness.devices.sim.triton_formats import offer_formats
from harness.devices.sim.triton_launch import (
    CompilationError,
    KernelFault,
    TritonLaunch,
    bound_arguments,
    is_of_kernel,
    is_refused,
    is_static,
)
from harness.devices.sim.triton_libdevice import not_traced, offer_libdevice
from harness.devices.sim.triton_logic import offer_logic
from harness.sandbox.wire.device import Account, Finding

if TYPE_CHECKING:
    import torch

_ACCESSES = {
    "create_masked_load": "load",
    "create_masked_store": "store",
    "create_atomic_rmw": "atomic operation",
    "create_atomic_cas": "atomic operation",
}
"""The interpreter's accesses of memory, to which all others come down."""
_LONGEST_TRIES_S = 10.0
"""The seconds after which an autotuner's further configurations run no program."""
_NO_TENSOR = "constexpr"
"""Parameters whose annotation has this word are constants to Triton's compiler: `tl.constexpr`, in quotes as well."""


@dataclass(eq=False)
class TritonKernels:
    """Account of the kernels of Triton's that ran in this process, and how the next ones are to run."""

    mark_written: Callable[[int, int], None]
    """Is told address and number of the bytes that kernels write."""
    next_place: Callable[[], int]
    """Gives each launch its place among all that runs."""
    is_captured: Callable[[Callable[[], None]], bool]
    """Keeps a launch for a CUDA graph, where one is captured."""

    def __post_init__(self) -> None:
        self.ran: list[tuple[str, int, int]] = []
        """The kernel, the number of programs and the place of each launch since the trace began."""
        self._findings: list[Finding] = []
        self._launches = self._atomic_launches = 0
        self._reported = 0, 0
        self._launch: TritonLaunch | None = None
        self._sampled: tuple[int, int] | None = None
        self._work_s: float | None = None
        self._is_trying, self._tried_s = False, 0.0

    def offer(self) -> None:
        """Let all code but torch's import Triton, where it is installed."""
        sys.modules.pop("triton", None)
        if importlib.util.find_spec("triton") is None:
            sys.modules["triton"] = None  # type: ignore[assignment]
            return
        import torch.utils._triton

        for name in ("has_triton", "has_triton_package"):
            setattr(torch.utils._triton, name, lambda: not _is_of_torch(_caller()))
        sys.meta_path.insert(0, _Finder(self._take_over))

    def limit_launches(self, count: int | None, seed: int, seconds: float | None) -> None:
        """Run the first, the last and `count` - 2 random programs of each launch; all of them for None, none for 0.
        Give up one that would take longer, by what its first programs take."""
        self._sampled, self._work_s = None if count is None else (count, seed), seconds

    def added_to(self, report: RuntimeReport) -> RuntimeReport:
        """Add what these kernels did since the last report, and to the account all that they ever did."""
        findings, launches = self._reported
        self._reported = len(self._findings), self._launches
        counts = Counter(report.account.findings)
        for finding in self._findings:
            counts[counted_as(finding)] += finding.count
        account = Account(
            report.account.launches + self._launches,
            dict(counts),
            report.account.traces,
            report.account.atomics + self._atomic_launches,
        )
        ran = dict[str, tuple[int, int, int, int]]()
        for name, programs, place in self.ran:
            count, _, before, _ = ran.get(name, (0, 0, 0, 0))
            ran[name] = count + 1, 0, before + programs, place
        return RuntimeReport(
            (*report.findings, *self._findings[findings:]),
            report.launches + self._launches - launches,
            None if report.ran is None else {**report.ran, **ran},
            account,
        )

    def _take_over(self, compiler: TritonCompiler) -> None:
        from triton.runtime import interpreter
        from triton.runtime.autotuner import Autotuner

        executor, builder = interpreter.GridExecutor, interpreter.InterpreterBuilder
        function = interpreter.InterpretedFunction
        function.__call__ = self._called(function.__call__)
        executor.__init__ = self._made(executor.__init__, interpreter.interpreter_builder)
        executor.__call__ = self._launched(executor.__call__)
        executor._init_args_hst = lambda _, args, kwargs: (list(args), dict(kwargs))  # all of it is the host's memory
        executor._restore_args_dev = lambda *_: None
        interpreter._implicit_cvt = _with_numbers(interpreter)
        interpreter._patch_lang = self._once_a_launch(interpreter._patch_lang)
        for name, words in _ACCESSES.items():
            setattr(builder, name, self._accessed(getattr(builder, name), words))
        builder.create_splat = _keeping_flags(builder.create_splat)
        builder.create_int_to_ptr = self._made_pointer(builder.create_int_to_ptr)
        offer_libdevice(interpreter)
        offer_formats(interpreter)
        offer_logic(interpreter)
        offer_compiler(interpreter, compiler)
        offer_driver(interpreter)
        Autotuner.do_bench = property(lambda tuner: self._try_out, lambda tuner, chosen: None)

    def _try_out(self, launch: Callable[[], object], quantiles: object = None) -> list[float]:
        """Launch a kernel with one configuration of its autotuner's, as a GPU does to measure it: what that leaves in
        outputs, and what goes wrong, is the kernel's. Times mean nothing here: the first configuration that runs
        will do."""
        self._is_trying, started = True, time.perf_counter()
        try:
            with not_traced():
                launch()
        except (FailedAssertion, NotImplementedError):  # where none runs, the first one's launch tells why
            return [math.inf] * 3
        finally:
            self._is_trying = False
            self._tried_s += time.perf_counter() - started
        return [0.0] * 3

    def _called(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def called(function: Any, *args: Any, **kwargs: Any) -> Any:
            if self._launch is None:  # in the words of the compiler's JITFunction
                raise RuntimeError("Cannot call @triton.jit'd outside of the scope of a kernel")
            return call(function, *args, **kwargs)

        return called

    def _once_a_launch(self, patch: Callable[..., Any]) -> Callable[..., Any]:
        """Let the interpreter put itself into the language of a function at its first call in a launch. It would at
        each call, and take longer than most calls do."""

        def patched(fn: Any) -> Any:
            seen = self._launch.functions if self._launch is not None else set()
            if fn in seen:
                return None
            seen.add(fn)
            return patch(fn)

        return patched

    def _made(self, init: Callable[..., None], grid: Any) -> Callable[..., None]:
        def made(executor: Any, fn: Any, *rest: Any, **more: Any) -> None:
            init(executor, fn, *rest, **more)
            kinds = inspect.get_annotations(fn)
            executor.constexprs = [name for name, kind in kinds.items() if _NO_TENSOR in str(kind)]
            executor.fn = _Programs(executor.fn, lambda: self._current().begins(grid.grid_idx, grid.grid_dim))

        return made

    def _launched(self, call: Callable[..., None]) -> Callable[..., None]:
        def launched(executor: Any, *args: Any, **kwargs: Any) -> None:
            before = self._launch
            if before is not None and before.programs:  # else it is a hook that runs before the kernel
                raise CompilationError("a kernel launches another one")
            executor.grid = _launched_grid(executor.grid, bound_arguments(executor.fn, args, kwargs))
            if self._is_trying:
                is_enough = self._sampled is not None or self._tried_s > _LONGEST_TRIES_S
                executor.grid = (0,) if is_enough else executor.grid
            elif self.is_captured(lambda: launched(executor, *args, **kwargs)):
                return
            tensors = dict(_tensors([*zip(executor.arg_names, args, strict=False), *kwargs.items()]))
            self._launch = launch = TritonLaunch(executor.fn.__name__, tensors, self._sampled, self._work_s)
            launch.has_own_pointers = any(map(_is_mere_address, [*args, *kwargs.values()]))
            self._launches += not self._is_trying
            try:
                call(executor, *args, **kwargs)
            except Exception as error:  # whatever a kernel of a stranger's raises, in as many wrappers as it has calls
                self._fail(launch, error)
            finally:
                self._launch = before
                if not self._is_trying:
                    self.ran.append((launch.kernel, launch.programs, self.next_place()))
                    self._atomic_launches += launch.is_atomic

        return launched

    def _fail(self, launch: TritonLaunch, error: BaseException) -> None:
        """Raise what the device would report for a fault, and the compiler for what it refuses; what the interpreter
        can't do is a gap of the simulator's."""
        while error.__cause__ is not None and error.__cause__.__traceback__ is not None:
            error = error.__cause__
        if isinstance(error, Exception) and is_refused(error):
            raise launch.refusal(error) from error
        if isinstance(error, AssertionError) and is_static(error):
            raise FailedAssertion(f"static_assert: {error}") from error
        if isinstance(error, AssertionError) and is_of_kernel(error):
            error = launch.fault("device-assert", str(error) or "an assertion failed", error)
        if not isinstance(error, KernelFault):
            raise NotImplementedError(f"{UNSUPPORTED_MARK} Triton's interpreter: {error!r}") from error
        self._findings.append(error.finding)
        raise RuntimeError(f"CUDA error: {error.finding.kind} in {launch.kernel}")

    def _current(self) -> TritonLaunch:
        if self._launch is None:
            raise RuntimeError("a kernel of Triton's runs outside of a launch")
        return self._launch

    def _accessed(self, access: Callable[..., Any], words: str) -> Callable[..., Any]:
        names = list(inspect.signature(access).parameters)
        pointers = "ptrs" if "ptrs" in names else "ptr"

        def accessed(*args: Any, **named: Any) -> Any:
            given = {**dict(zip(names, args, strict=False)), **named}
            touched = self._current().require_inside(given[pointers], given.get("mask"), words)
            for address, nbytes in touched if words != "load" else ():
                self.mark_written(address, nbytes)
            return access(*args, **named)

        return accessed

    def _made_pointer(self, convert: Callable[..., Any]) -> Callable[..., Any]:
        def made(*args: Any) -> Any:
            self._current().has_own_pointers = True
            return convert(*args)

        return made


def _launched_grid(grid: Any, given: dict[str, Any]) -> tuple[int, ...]:
    """The grid as a GPU's launcher takes it: any sequence, of which the first three numbers count, or a function of the
    arguments as they were given. Raises: TypeError where they are no numbers, and whatever the function raises."""
    return tuple(map(operator.index, tuple(grid(given) if callable(grid) else grid)[:3]))


def _with_numbers(interpreter: Any) -> Callable[[Any], Any]:
    """Give kernels the floats among their arguments as a GPU's have them: scalars of 32 bits, with methods."""
    convert, language = interpreter._implicit_cvt, interpreter.tl

    def converted(argument: Any) -> Any:
        if not isinstance(argument, float):
            return convert(argument)
        handle = interpreter.TensorHandle(numpy.array([argument], dtype=numpy.float32), language.float32)
        return language.tensor(handle, language.float32)

    return converted


class _Programs:
    """A kernel's function as the interpreter calls it once for each program: only some may be wanted."""

    def __init__(self, fn: Callable[..., None], begins: Callable[[], bool]) -> None:
        self._fn, self._begins = fn, begins
        self.__name__, self.__signature__ = fn.__name__, inspect.signature(fn)
        self.__globals__ = fn.__globals__  # whose Triton the interpreter takes over

    def __call__(self, *args: Any, **kwargs: Any) -> None:
        if self._begins():
            self._fn(*args, **kwargs)


def _tensors(named: Iterable[tuple[str, Any]]) -> Iterator[tuple[str, torch.Tensor]]:
    """Yield tensors by the parameter that they came with, those of tuples and descriptors, too. Raises: ValueError."""
    import torch

    for name, value in named:
        value = getattr(value, "base", value) if not isinstance(value, torch.Tensor) else value
        if isinstance(value, tuple):
            yield from _tensors((f"{name}[{place}]", item) for place, item in enumerate(value))
        elif isinstance(value, torch.Tensor):
            if value.device.type != "cuda":
                raise ValueError(f"{name} cannot be accessed by a kernel of Triton's (a tensor of the CPU's?)")
            yield name, value


def _is_mere_address(value: Any) -> bool:
    """Tell whether it is an object of a solution's own that a launcher takes for a pointer: its memory isn't known."""
    import torch

    return hasattr(value, "data_ptr") and not isinstance(getattr(value, "base", value), torch.Tensor)


class _Finder(MetaPathFinder):
    """Finds Triton for all but torch, with its interpreter switched on and `then` called once it is imported."""

    def __init__(self, then: Callable[[TritonCompiler], None]) -> None:
        self._then = then

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> ModuleSpec | None:
        if fullname != "triton":
            return None
        if _is_of_torch(_importer()):
            raise ModuleNotFoundError("No module named 'triton'", name="triton")
        sys.meta_path.remove(self)
        compiler = TritonCompiler()
        os.environ["TRITON_INTERPRET"] = "1"
        spec = importlib.util.find_spec("triton")
        if spec is not None and spec.loader is not None:
            run = spec.loader.exec_module

            def run_then(module: ModuleType) -> None:
                run(module)
                self._then(compiler)

            setattr(spec.loader, "exec_module", run_then)  # noqa: B010 - of this loader alone
        return spec


def _keeping_flags(splat: Callable[..., Any]) -> Callable[..., Any]:
    """Let a flag that is spread over a block stay one: the interpreter notes what was compared as its type."""

    def spread(builder: Any, *given: Any) -> Any:
        made = splat(builder, *given)
        if any(one.data.dtype == bool for one in given if hasattr(one, "data")):
            made.data = made.data.astype(bool)
        return made

    return spread


def _is_of_torch(module: str) -> bool:
    return module.partition(".")[0] == "torch"


def _caller() -> str:
    """The name of the module that called what asks."""
    return str(sys._getframe(2).f_globals.get("__name__", ""))


def _importer() -> str:
    """The name of the module whose line imports."""
    frame = sys._getframe(2)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("importlib"):
        frame = frame.f_back
    return str(frame.f_globals.get("__name__", ""))
