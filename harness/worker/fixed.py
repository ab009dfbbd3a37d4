"""Data of ours that is given a value once, and never another in honest work.

Of an object these are the attributes that its __init__ alone assigns. They stand here by name, since a wrong one would
accuse every honest solution; a test holds them against the classes' own text. What does change as turns are taken
(conditions, counters, what is kept for the next call) isn't among them, nor what containers hold. The names of our
modules and classes follow, which must stand for the same.
"""

from __future__ import annotations

import builtins
import ctypes
import gc
import sys
from _ctypes import CFuncPtr
from collections.abc import Iterable
from types import ModuleType
from typing import Any

FIXED = {
    "harness.devices.cuda.device.CudaDevice": "_aside _captures _can_poison",
    "harness.devices.cuda.lead_in.LeadIn": "_nbytes _kept_bytes _memory _sink _blocks _address _sink_address _loads "
    "_counts _counts_address _here _meter _lead_in _evict _nothing",
    "harness.devices.cuda.meter.Meter": "_driver _record _await_event _query _elapsed _await_device _copy _fill "
    "_error_string _load_module _get_function _launch _create_event _set_context _allocate_host _reset_persisting "
    "_context _start _end _stored _milliseconds",
    "harness.devices.cuda.output_copy.Snapshots": "_meter _strided_copy _random",
    "harness.devices.cuda.tracer.Tracer": "_register _register_clock _timestamp _enable _disable _flush _next "
    "_callbacks _clock _buffers",
    "harness.cudasim.loaded.Runtime": "_report _error_string _synchronize _reset_errors _sample_blocks _limit_work "
    "_trace _mark_written _next_place _note_gap _note_stream _begin_capture _end_capture _captured _current_stream",
    "harness.devices.sim.device.SimDevice": "_runtime _triton",
    "harness.worker.arm.Arm": "device extensions _protections _buffers _sharing _tuning",
    "harness.worker.extensions.Extensions": "folder _lent _root _tries_slim _loaded _architectures",
}
"""Fixed attributes of each class whose objects measure, and of what asks them."""

_addressof, _pointer = ctypes.addressof, ctypes.c_void_p.from_address  # found even where ctypes' names are replaced


def fixed_attributes(one: object) -> set[str]:
    """Return the names of this object's fixed attributes."""
    classes = (f"{cls.__module__}.{cls.__qualname__}" for cls in type(one).__mro__)
    return {name for path in classes for name in FIXED.get(path, "").split()}


def own_classes(module: ModuleType) -> list[type]:
    """Return the classes that are defined in the module."""
    return [value for value in vars(module).values() if isinstance(value, type) and value.__module__ == module.__name__]


def hiding_names(one: object) -> frozenset[str]:
    """Names that only the object's class answers for: as an attribute of its own they would come before that."""
    of_classes = {name for cls in type(one).__mro__[:-1] for name in vars(cls)}
    special = {name for name in of_classes if name.startswith("__") and name.endswith("__")}
    return frozenset(of_classes - special - vars(one).keys())


def parts(value: object) -> tuple[object, ...]:
    """Return what could be exchanged inside of a ctypes object that stays the same: its class, the address that it
    holds, how a function is called and who hears of its answer. What a number holds changes."""
    if isinstance(value, CFuncPtr):
        return type(value), value.restype, value.argtypes, value.errcheck, _pointer(_addressof(value)).value
    if isinstance(value, ctypes.c_void_p):
        return type(value), value.value
    return (type(value),)


def are_same(now: tuple[object, ...], before: tuple[object, ...]) -> bool:
    """The very same objects, or equal numbers."""
    return len(now) == len(before) and all(
        one is other or (type(one) is int and type(other) is int and one == other)
        for one, other in zip(now, before, strict=True)
    )


_BY_PYTHON = frozenset({"__annotations__", "__annotations_cache__", "__annotate_func__", "__slotnames__"})
"""Names that Python itself gives a class when it is first asked for annotations (3.10 to 3.14), or an object is
copied."""
_BUILTINS = frozenset(name for name in vars(builtins) if not name.startswith("_"))
_MISSING = object()
_HAS_KNOWN_TABLES = sys.implementation.name == "cpython" and sys.version_info < (3, 15) and object.__basicsize__ == 16
_TABLE_AT, _FIRST = 32, 24
"""The place of a dictionary's pointers to its table, and the table's first byte that only another name or value
changes."""
_WORD = ctypes.sizeof(ctypes.c_void_p)

Snapshot = tuple[memoryview, bytes]
"""A piece of memory as it is whenever it is looked at, and as it was."""


class Names:
    """The names of a module or a class of ours. The values of those that are `fixed` must stay.

    In a class nothing may be added either: it would be asked before an object's own attribute, which stays as it is (a
    property), or in the place of what the class inherits. A module may not be given names that it takes from Python
    itself, since its own would come first.
    """

    def __init__(self, owner: ModuleType | type, fixed: Iterable[str]) -> None:
        is_class = isinstance(owner, type)
        self._said = f"{owner.__module__}.{owner.__qualname__}" if isinstance(owner, type) else owner.__name__
        names: dict[str, Any] = gc.get_referents(vars(owner))[0] if is_class else vars(owner)
        self._names = names
        self.fixed = {name: names[name] for name in fixed}
        self._may_come = names.keys() | _BY_PYTHON if is_class else None
        self._may_not_come = frozenset() if is_class else _BUILTINS - names.keys()
        self._table = _table(names)

    def changed(self) -> list[str]:
        """List names whose value is another now, and those that shouldn't be there."""
        if self._table and all(now.tobytes() == was for now, was in self._table):
            return []
        names = self._names
        found = [name for name, value in self.fixed.items() if names.get(name, _MISSING) is not value]
        if self._may_come is not None:
            found += names.keys() - self._may_come
        found += [name for name in names.keys() & self._may_not_come if not isinstance(names[name], ModuleType)]
        return [f"{self._said}.{name}" for name in found]


def names_of_module(module: ModuleType) -> Names:
    """All of its names but the special ones. No module of ours assigns a name of its own anew."""
    return Names(module, [name for name in vars(module) if not (name.startswith("__") and name.endswith("__"))])


def names_of_class(cls: type, is_own: bool) -> Names:
    """All of its names where it `is_own`, defined in a module of ours; else only none may come."""
    return Names(cls, vars(cls).keys() - _BY_PYTHON if is_own else ())


def snapshot(address: int, nbytes: int) -> Snapshot:
    now = memoryview((ctypes.c_ubyte * nbytes).from_address(address)).cast("B")
    return now, now.tobytes()


def _table(names: dict[str, Any]) -> tuple[Snapshot, ...]:
    """A dictionary's pointers to its table, and the table: who compares them sees names and values in one piece. Asked
    one by one they took 1.2 ms once a turn had driven them out of the processor's caches, and 1.9 where a solution had
    loaded much (an H100's host); but what a turn takes besides its calls must be alike for all arms.

    Nothing where the layout isn't known. Source: Include/cpython/dictobject.h, Include/internal/pycore_dict.h, alike
    from 3.10 to 3.14.
    """
    nbytes = names.__sizeof__() - dict.__basicsize__
    if not _HAS_KNOWN_TABLES or nbytes <= _FIRST:
        return ()
    place = snapshot(id(names) + _TABLE_AT, 2 * _WORD)
    table, values_apart = (int.from_bytes(place[1][at : at + _WORD], sys.byteorder) for at in (0, _WORD))
    return () if values_apart else (place, snapshot(table + _FIRST, nbytes - _FIRST))
