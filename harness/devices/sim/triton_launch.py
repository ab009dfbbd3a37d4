"""One launch of a kernel of Triton's: which of its programs run, and whether what they touch is theirs."""

from __future__ import annotations

import inspect
import linecache
import random
import re
import sys
import time
import traceback
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

import numpy

from harness.sandbox.wire.device import Finding

if TYPE_CHECKING:
    import torch

_MOST_PROGRAMS = (2**31 - 1, 65_535, 65_535)
"""The limits of a grid (CUDA C++ Programming Guide, Compute Capabilities)."""
_MOST_ASKED = 20_000
"""The times in a row for which a program may ask for the same number before it is taken to wait for another's."""
_TRIED_S = 0.2
"""The time after which a launch's first programs say how long all of them would take."""


class KernelFault(Exception):
    """A fault that a GPU would report; `finding` has its line."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding.detail)
        self.finding = finding


class CompilationError(Exception):
    """The refusal of a kernel by Triton's compiler, by the name that it has there."""


@dataclass
class TritonLaunch:
    """A launch under way: its tensors by their parameters, and how much of it is to run."""

    kernel: str
    tensors: Mapping[str, torch.Tensor]
    sampled: tuple[int, int] | None
    """The number of programs, and the seed by which they are chosen; None runs all."""
    work_s: float | None
    is_atomic: bool = False
    has_own_pointers: bool = False
    """True once it has made addresses of numbers: they may lie in tensors that it wasn't given."""
    functions: set[Any] = field(default_factory=set)
    """Those that were called."""
    programs: int = 0
    """All of its grid, whether they run or not; known once the first begins."""
    _started: float = 0.0
    _chosen: frozenset[int] | None = None
    _program: tuple[int, int, int] | None = None
    _ran: int = 0
    _asked: tuple[str, int, tuple[int, int, int] | None] | None = None
    _times: int = 0

    def begins(self, program: Sequence[int], grid: Sequence[int]) -> bool:
        """Tell whether this program is to run. Raises: KernelFault where all of them would take too long, or are too
        many for a grid."""
        if any(size > most for size, most in zip(grid, _MOST_PROGRAMS, strict=True)):
            raise self.fault("launch-error", f"a grid of {tuple(grid)} programs, where {_MOST_PROGRAMS} are the most")
        self.programs = programs = grid[0] * grid[1] * grid[2]
        if self.sampled is not None:
            self._chosen = self._chosen if self._chosen is not None else _chosen(programs, *self.sampled)
            if (program[0] * grid[1] + program[1]) * grid[2] + program[2] not in self._chosen:
                return False
            programs = len(self._chosen)
        self._started = self._started or time.perf_counter()
        taken_s = time.perf_counter() - self._started
        if self.work_s is not None and taken_s > _TRIED_S and taken_s * programs > self.work_s * self._ran:
            raise self.fault("too-much-work", f"{programs:,} programs, of which {self._ran:,} took {taken_s:.1f} s")
        self._program = (program[0], program[1], program[2])
        self._ran += 1
        return True

    def require_inside(self, pointers: Any, mask: Any, words: str) -> Iterator[tuple[int, int]]:
        """Require that all that isn't masked out lies in memory of the launch's tensors, and return where that is, as
        addresses and numbers of bytes. Raises: KernelFault, NotImplementedError where it would wait for ever."""
        self.is_atomic |= words.startswith("atomic")
        self._require_progress(words, pointers.data)
        size = max(1, pointers.get_element_ty().primitive_bitwidth // 8)
        places = pointers.data
        wanted = True if mask is None else numpy.broadcast_to(mask.data, places.shape).astype(bool)
        is_outside = numpy.full(places.shape, wanted)
        for first, end in map(_range, self.tensors.values()):
            is_outside &= (places < first) | (places + numpy.uint64(size) > end)
        if is_outside.any() and not self.has_own_pointers:
            wrong = places[is_outside]
            detail = f"{words} of {size} bytes {self._where(int(wrong.flat[0]))}"
            raise self.fault("illegal-address", detail, count=int(wrong.size))
        return _runs(places[numpy.broadcast_to(wanted, places.shape)], size)

    def _require_progress(self, words: str, places: Any) -> None:
        """Raises: NotImplementedError for a program that waits, since no other one runs before it ends."""
        asked = (words, int(places.flat[0]), self._program) if places.size == 1 and words != "store" else None
        self._times = self._times + 1 if asked and asked == self._asked else 0
        self._asked = asked
        if self._times > _MOST_ASKED:
            raise NotImplementedError(f"program {self._program} waits for another one, in a loop with one {words}")

    def fault(self, kind: str, detail: str, raised: BaseException | None = None, count: int = 1) -> KernelFault:
        """Make the error of the kernel's line that is under way, or from which `raised` came."""
        frames = reversed(list(traceback.walk_tb(raised.__traceback__))) if raised else traceback.walk_stack(None)
        file, line, code = _place(frames)
        return KernelFault(Finding(kind, detail, self.kernel, file, line, block=self._program, count=count, code=code))

    def refusal(self, raised: Exception) -> CompilationError:
        """Make the error of Triton's compiler for the line of the kernel from which `raised` came."""
        file, line, code = _place(reversed(list(traceback.walk_tb(raised.__traceback__))))
        return CompilationError(f"{file}:{line}: {raised}, at: {code}")

    def _where(self, address: int) -> str:
        """Say how far it lies from the nearest tensor."""
        misses = []
        for name, (first, end) in ((name, _range(tensor)) for name, tensor in self.tensors.items()):
            misses += [(address - end, f"behind the end of {name}")] if address >= end else []
            misses += [(first - address, f"before the beginning of {name}")] if address < first else []
        return "{:,} bytes {}".format(*min(misses)) if misses else "over the end of a tensor"


def bound_arguments(kernel: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Bind a launch's arguments to the kernel's parameters. Raises: TypeError, KeyError, AssertionError, as Triton's
    own launcher does for arguments and options that it doesn't take."""
    from triton._C import libtriton
    from triton.backends.compiler import BaseBackend
    from triton.compiler import make_backend
    from triton.runtime import driver

    parameters = inspect.signature(kernel).parameters
    given = inspect.getcallargs(kernel, *args, **{name: kwargs[name] for name in kwargs if name in parameters})
    options = vars(make_backend(driver.active.get_current_target()).parse_options(dict(kwargs)))
    for name in kwargs:
        if name not in parameters and name not in options:
            raise KeyError(f"Keyword argument {name} was specified but unrecognised")
    specialize = getattr(libtriton, "native_specialize_impl", None)  # Triton 3.5 and newer
    for name, value in given.items():
        is_taken = parameters[name].annotation is not inspect.Parameter.empty or hasattr(value, "data_ptr")
        if specialize and not (is_taken or callable(value)):
            specialize(BaseBackend, value, False, True, True)
    return given


def is_refused(error: Exception) -> bool:
    """Tell whether Triton's compiler would refuse the kernel as well: for an unknown name, or by the rules of its
    language on shapes and sizes, which the interpreter shares."""
    if isinstance(error, CompilationError):
        return True
    frame, line = list(traceback.walk_tb(error.__traceback__))[-1]
    if frame.f_globals.get("__name__") == "triton.language.semantic":
        code = linecache.getline(frame.f_code.co_filename, line)
        is_rule = isinstance(error, ValueError) or type(error).__name__ == "IncompatibleTypeErrorImpl"
        return is_rule and code.lstrip().startswith("raise ")
    if isinstance(error, TypeError) and (called := _WRONGLY_CALLED.match(str(error))):
        return called[1] in vars(sys.modules["triton.language"])
    return is_of_kernel(error) and (isinstance(error, NameError) or "module 'triton.language" in str(error))


_WRONGLY_CALLED = re.compile(r"(\w+)\(\) (?:missing|takes|got)\b")


def is_static(error: AssertionError) -> bool:
    """Tell whether a static assertion failed."""
    return list(traceback.walk_tb(error.__traceback__))[-1][0].f_code.co_name == "_new_static_assert"


def is_of_kernel(error: Exception) -> bool:
    """Tell whether the kernel asserts or raises, and not the interpreter for itself."""
    frame, _ = list(traceback.walk_tb(error.__traceback__))[-1]
    return frame.f_code.co_name == "create_assert" or not str(frame.f_globals.get("__name__")).startswith("triton.")


def _chosen(programs: int, count: int, seed: int) -> frozenset[int]:
    if count >= programs:
        return frozenset(range(programs))
    between = random.Random(seed).sample(range(1, programs - 1), max(0, count - 2))
    return frozenset([*([0, programs - 1][:count]), *between])


def _runs(places: Any, size: int) -> Iterator[tuple[int, int]]:
    """Join elements of `size` bytes that follow each other."""
    ordered = numpy.unique(places)
    for run in numpy.split(ordered, numpy.flatnonzero(numpy.diff(ordered) != size) + 1):
        if run.size:
            yield int(run[0]), int(run.size) * size


def _range(tensor: torch.Tensor) -> tuple[int, int]:
    """The memory that the tensor is a view of: a kernel may well use more of it."""
    storage = tensor.untyped_storage()
    return storage.data_ptr(), storage.data_ptr() + storage.nbytes()


def _place(frames: Iterable[tuple[FrameType, int]]) -> tuple[str, int, str | None]:
    """Find the innermost line that is neither ours nor a library's: its file's name, its number and its text."""
    for frame, line in frames:
        name = frame.f_globals.get("__name__", "").partition(".")[0]
        if name not in ("harness", "triton", "numpy"):
            file = frame.f_code.co_filename
            return Path(file).name, line, linecache.getline(file, line).strip() or None
    return "", 0, None
