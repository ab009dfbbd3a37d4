"""A watch over what no honest solution replaces: clocks, events, comparisons, the worker's own functions and fixed
data, and the driver's code.

What stands here is looked at before the solution is loaded and after each turn. A worker that finds a replacement says
so; that it finds none proves nothing, since what looks could have been replaced as well. Left out is whatever an honest
library may wrap: torch.nn.functional, Module.__call__, torch.compile and the profilers, print(), __import__().
"""

from __future__ import annotations

import ctypes
import importlib
import json
import os
import re
import sys
from _ctypes import CFuncPtr
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import BuiltinFunctionType, CellType, FunctionType, MethodDescriptorType, ModuleType
from typing import Any

import torch
from torch.utils._device import DeviceContext

from harness.worker.fixed import (
    are_same,
    fixed_attributes,
    hiding_names,
    names_of_class,
    names_of_module,
    own_classes,
    parts,
    snapshot,
)

_PYTHON = {
    "time": "perf_counter perf_counter_ns monotonic monotonic_ns time time_ns process_time process_time_ns",
    "builtins": "isinstance type len getattr vars zip tuple list dict set frozenset id hash all any min max sum int "
    "float str sorted enumerate",
    "json": "dumps loads JSONEncoder JSONDecoder _default_encoder _default_decoder",
    "dataclasses": "fields is_dataclass replace",
    "socket": "socket send_fds recv_fds",
    "struct": "Struct pack unpack",
    "ctypes": "byref addressof string_at c_float c_ubyte c_uint32 c_uint64 c_size_t c_void_p",
    "torch": "equal allclose isclose",
    "torch.testing": "assert_close",
    "torch.cuda": "synchronize current_stream Event Stream",
    "torch._C": "_cuda_synchronize _cuda_getCurrentRawStream",
}
_METHODS = {
    "torch.cuda.Event": "__new__ record wait query elapsed_time synchronize",
    "torch.cuda.Stream": "__new__ synchronize wait_event wait_stream record_event query",
    "torch.utils._device.DeviceContext": "__torch_function__",
    "torch.Tensor": "copy_ data_ptr clone equal allclose isclose __eq__ __ne__ stride size untyped_storage "
    "__getitem__ view as_strided numel device dtype shape layout is_nested is_quantized",
    "json.JSONEncoder": "encode iterencode",
    "json.JSONDecoder": "decode raw_decode",
    "ctypes.c_float": "value",
    "ctypes.c_uint32": "value",
    "ctypes.c_void_p": "value",
    "socket.socket": "send sendall sendmsg recv recv_into recvmsg settimeout close fileno",
}
_NATIVE = {
    "libcudart": "cudaEventRecord cudaEventElapsedTime cudaEventSynchronize cudaDeviceSynchronize "
    "cudaStreamSynchronize cudaLaunchKernel cudaMemcpyAsync",
    "libcuda": "cuEventRecord cuEventQuery cuEventElapsedTime cuEventElapsedTime_v2 cuEventSynchronize "
    "cuCtxSynchronize cuStreamSynchronize cuCtxResetPersistingL2Cache cuLaunchKernel cuLaunchKernelEx "
    "cuMemcpyDtoDAsync_v2 cuMemsetD8Async",
    "libcupti": "cuptiActivityEnable cuptiActivityDisable cuptiActivityFlushAll cuptiActivityGetNextRecord "
    "cuptiActivityRegisterCallbacks cuptiActivityRegisterTimestampCallback",
    "libc": "clock_gettime gettimeofday sendmsg recvmsg send recv",
}
_OPERATORS = "slice.Tensor view.dtype as_strided"
"""Operators by which a call's inputs are made, before its time begins."""
_CODE_BYTES = 16
"""The bytes of code that are compared: a jump to anywhere takes 14 on x86-64."""
_WORD = ctypes.sizeof(ctypes.c_void_p)
_LIBRARY = re.compile(r"(/\S*/(libcudart|libcuda|libcupti|libc)[-.][^/\s]*)$")
_RTLD_NOLOAD = getattr(os, "RTLD_NOLOAD", 4)

_MISSING = object()
_getattr, _vars, _dict = getattr, vars, dict  # found even where builtins are replaced
_kernels_of = torch._C._dispatch_dump_table
_frame_callback = getattr(torch._C._dynamo.eval_frame, "get_eval_frame_callback", lambda: None)
"""The getter of the callback that is asked before any function of Python's runs (PEP 523), and may run another;
torch.compile sets it for a call. Older torch doesn't tell it."""


class Guard:
    """A guard, made before the solution is loaded."""

    def __init__(self, *held: object) -> None:
        """Guard `held`: objects of ours that measure, or ask those that do. What they call may be exchanged in them
        alone."""
        self._held = [(one, type(one), _fixed(one), hiding_names(one)) for one in _reachable(held)]
        own = dict.fromkeys(cls for module in _own_modules() for cls in own_classes(module))
        others = [cls for _, cls, fixed, _ in self._held for cls in (cls, *_function_classes(fixed))]
        classes = dict.fromkeys([*own, *others])
        self._bases = [(cls, cls.__mro__) for cls in classes]
        self._names = [names_of_module(module) for module in _own_modules()]
        self._names += [names_of_class(cls, cls in own) for cls in classes]
        self._attributes = [(owner, name, _static(owner, name), said) for owner, name, said in _guarded()]
        held_by_name = [value for names in self._names for value in names.fixed.values()]
        functions = _functions(held_by_name)
        self._codes = [(one, one.__code__, one.__defaults__, one.__kwdefaults__) for one in functions]
        self._by_name = [(kept, (*kept.values(),), one) for one in functions if (kept := one.__kwdefaults__)]
        codecs = (_getattr(json, "_default_encoder"), _getattr(json, "_default_decoder"))
        self._codecs = [(one, (*_vars(one).values(),)) for one in codecs]
        self._cells = [(cell, _contents(cell), one) for one in functions for cell in one.__closure__ or ()]
        self._hooks = _hooks()
        self._operators = [(name, _kernels_of(f"aten::{name}")) for name in _OPERATORS.split()]
        self._native = [
            (*snapshot(at, size), said) for at, size, said in (*_native_functions(), *_python_c_functions())
        ]

    def patched(self) -> tuple[str, ...]:
        """Names of what is no longer the original."""
        found = [said for said, hook in _hooks().items() if hook is not self._hooks[said]]
        found += [said for owner, name, original, said in self._attributes if _static(owner, name) is not original]
        found += [said for names in self._names for said in names.changed()]
        found += [
            f"torch.ops.aten.{name}" for name, kernels in self._operators if _kernels_of(f"aten::{name}") != kernels
        ]
        found += [f"{_named(cls)}.__bases__" for cls, bases in self._bases if cls.__mro__ is not bases]
        exchanged = [
            function
            for function, code, defaults, by_name in self._codes
            if function.__code__ is not code
            or function.__defaults__ is not defaults
            or function.__kwdefaults__ is not by_name
        ]
        exchanged += [one for kept, values, one in self._by_name if not are_same((*kept.values(),), values)]
        exchanged += [function for cell, content, function in self._cells if _contents(cell) is not content]
        found += [f"{function.__module__}.{function.__qualname__}" for function in exchanged]
        found += [
            f"json: {type(one).__name__}"
            for one, values in self._codecs
            if not are_same((*_vars(one).values(),), values)
        ]
        found += [said for now, was, said in self._native if now.tobytes() != was]
        for one, cls, fixed, hiding in self._held:
            state = _vars(one)
            names = [
                name
                for name, value, inner in fixed
                if state.get(name, _MISSING) is not value or not are_same(parts(value), inner)
            ]
            names += ["__class__"] if type(one) is not cls else []
            found += [f"{cls.__name__}.{name}" for name in (*names, *(hiding & state.keys()))]
        return (*_dict.fromkeys(found),)


def _reachable(held: Iterable[object]) -> list[object]:
    """List these objects, and those of ours that they hold."""
    found: list[object] = []
    waiting = list(held)
    while waiting:
        one = waiting.pop()
        if type(one).__module__.split(".")[0] == "harness" and hasattr(one, "__dict__") and one not in found:
            found.append(one)
            waiting += vars(one).values()
    return found


def _fixed(one: object) -> list[tuple[str, object, tuple[object, ...]]]:
    """List what it has of its own to call, the objects of ours that it holds, and its fixed data: attribute, value, and
    the value's parts."""
    fixed = fixed_attributes(one)
    return [
        (name, value, parts(value))
        for name, value in vars(one).items()
        if name in fixed or callable(value) or type(value).__module__.split(".")[0] == "harness"
    ]


def _function_classes(fixed: Iterable[tuple[str, object, object]]) -> list[type]:
    """ctypes gives the functions of each library a class of their own, by which they are called."""
    return [type(value) for _, value, _ in fixed if isinstance(value, CFuncPtr)]


def _named(cls: type) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"


def _hooks() -> dict[str, object]:
    """Return what the interpreter calls between any two lines of ours, or torch at any operation."""
    monitoring = _getattr(sys, "monitoring", None)  # since Python 3.12
    tools = {f"sys.monitoring tool {one}": monitoring.get_tool(one) for one in range(6)} if monitoring else {}
    modes = {
        "a torch function mode": _others_mode(
            torch._C._get_function_stack_at(place) for place in range(torch._C._len_torch_function_stack())
        ),
        "a torch dispatch mode": _others_mode(
            torch._C._get_dispatch_stack_at(place) for place in range(torch._C._len_torch_dispatch_stack())
        ),
    }
    ours = {"sys.setprofile": sys.getprofile(), "sys.settrace": sys.gettrace(), "frame evaluation": _frame_callback()}
    return {**ours, **tools, **modes}


def _others_mode(modes: Iterable[object]) -> object:
    """The first that was entered and not left again, but for the one of torch.set_default_device()."""
    return next((mode for mode in modes if type(mode) is not DeviceContext), None)


def _guarded() -> Iterator[tuple[Any, str, str]]:
    """Yield owner, attribute and what to call it."""
    for module, names in _PYTHON.items():
        owner = importlib.import_module(module)
        yield from ((owner, name, f"{module}.{name}") for name in names.split() if hasattr(owner, name))
    for path, names in _METHODS.items():
        module, _, name_of_class = path.rpartition(".")
        cls = _getattr(importlib.import_module(module), name_of_class)
        yield from ((cls, name, f"{path}.{name}") for name in names.split() if hasattr(cls, name))


def _own_modules() -> list[ModuleType]:
    return [module for name, module in sorted(sys.modules.items()) if name.split(".")[0] == "harness"]


def _static(owner: Any, name: str) -> object:
    """Look up what stands there by itself: a descriptor can answer as if it were the original."""
    for one in owner.__mro__ if isinstance(owner, type) else ():
        if name in _vars(one):
            return _vars(one)[name]
    return _getattr(owner, name, None)


def _functions(named: Iterable[object]) -> dict[FunctionType, None]:
    """Functions of Python's, each once, that are guarded, and our own among these: their code could be exchanged
    without touching a name."""
    guarded = [_getattr(owner, name) for owner, name, _ in _guarded()]
    functions = (_getattr(value, "fget", None) or _getattr(value, "__func__", value) for value in (*guarded, *named))
    return {
        one: None
        for one in functions
        if isinstance(one, FunctionType) and (one in guarded or one.__module__.split(".")[0] == "harness")
    }


def _contents(cell: CellType) -> object:
    try:
        return cell.cell_contents
    except ValueError:
        return _MISSING


def _native_functions() -> Iterator[tuple[int, int, str]]:
    """Yield address, bytes of code and name of each, in the libraries that are loaded already."""
    for library, path in _loaded_libraries().items():
        try:
            handle = ctypes.CDLL(path, mode=_RTLD_NOLOAD)
        except OSError:
            continue
        for name in _NATIVE[library].split():
            function = _getattr(handle, name, None)
            if function is not None:
                address = ctypes.cast(function, ctypes.c_void_p).value
                if address:
                    yield address, _CODE_BYTES, f"{library}: {name}"


def _python_c_functions() -> Iterator[tuple[int, int, str]]:
    """Yield address, size and name of what CPython reads when it calls a function that is written in C: two pointers in
    the object, its definition (name, address, flags and text) and its code. Source: Include/cpython/methodobject.h and
    descrobject.h, the same from 3.10 to 3.14."""
    definition_at = {BuiltinFunctionType: object.__basicsize__, MethodDescriptorType: object.__basicsize__ + 3 * _WORD}
    called_at = object.__basicsize__ + 4 * _WORD
    for owner, name, said in _guarded():
        function = _getattr(owner, name)
        if type(function) not in definition_at:
            continue
        place = id(function) + definition_at[type(function)]
        definition = _word_at(place)
        yield place, _WORD, said
        yield id(function) + called_at, _WORD, said
        yield definition, 4 * _WORD, said
        yield _word_at(definition + _WORD), _CODE_BYTES, said


def _word_at(address: int) -> int:
    return int.from_bytes(snapshot(address, _WORD)[1], sys.byteorder)


def _loaded_libraries() -> dict[str, str]:
    found: dict[str, str] = {}
    for line in Path("/proc/self/maps").read_text().splitlines():
        if match := _LIBRARY.search(line):
            found.setdefault(match[2], match[1])
    return found
