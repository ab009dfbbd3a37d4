"""Data of ours that is given a value once, and never another in honest work.

Of an object these are the attributes that its __init__ alone assigns. They stand here by name, since a wrong one would
accuse every honest solution; a test holds them against the classes' own text. What does change as turns are taken
(conditions, counters, what is kept for the next call) isn't among them, nor what containers hold.
"""

from __future__ import annotations

import ctypes
from _ctypes import CFuncPtr
from types import ModuleType

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
    "_trace _mark_written _next_place _note_gap _begin_capture _end_capture _captured _current_stream",
    "harness.devices.sim.device.SimDevice": "_runtime _triton",
    "harness.worker.arm.Arm": "device extensions _buffers _sharing _tuning",
    "harness.worker.extensions.Extensions": "folder _lent _root _tries_slim _loaded",
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
