"""What the guard finds replaced, and what it leaves alone. Each patch is undone: the process is the tests' own."""

from __future__ import annotations

import copy
import ctypes
import json
import mmap
import os
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

import harness.devices.base
import harness.worker.arm
from harness.devices.cuda import lead_in, meter, output_copy
from harness.devices.cuda.device import CudaDevice
from harness.devices.cuda.lead_in import LeadIn
from harness.devices.cuda.meter import Meter
from harness.worker import guard
from harness.worker.arm import Arm
from harness.worker.extensions import Extensions
from harness.worker.guard import Guard
from harness.worker.sharing import Sharing


def watching(*held: object) -> Guard:
    """A guard that has found nothing yet."""
    before = Guard(*held)
    assert before.patched() == ()
    return before


@pytest.mark.parametrize(
    ("owner", "name", "said"),
    [
        (time, "perf_counter_ns", "time.perf_counter_ns"),
        (json, "dumps", "json.dumps"),
        (torch, "allclose", "torch.allclose"),
        (torch.testing, "assert_close", "torch.testing.assert_close"),
        (torch.cuda, "synchronize", "torch.cuda.synchronize"),
        (torch.cuda, "Event", "torch.cuda.Event"),
        (torch.cuda.Event, "elapsed_time", "torch.cuda.Event.elapsed_time"),
        (torch.Tensor, "copy_", "torch.Tensor.copy_"),
        (torch.Tensor, "as_strided", "torch.Tensor.as_strided"),
        (harness.worker.arm, "fitting", "harness.worker.arm.fitting"),
        (harness.worker.arm.Arm, "take_turn", "harness.worker.arm.Arm.take_turn"),
    ],
)
def test_a_replaced_function_is_named(owner: Any, name: str, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before = watching()
    monkeypatch.setattr(owner, name, lambda *arguments, **named: 0)
    assert said in before.patched()


def test_exchanged_code_is_found_behind_an_unchanged_name(monkeypatch: pytest.MonkeyPatch) -> None:
    before = Guard()
    function = harness.worker.arm.Arm.take_turn
    monkeypatch.setattr(function, "__code__", (lambda self, request: None).__code__)
    assert before.patched() == ("harness.worker.arm.Arm.take_turn",)


class Watching(TorchFunctionMode):
    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return function(*args, **(kwargs or {}))


def test_a_mode_that_is_left_on_is_found() -> None:
    before = Guard()
    with Watching():
        assert before.patched() == ("a torch function mode",)
    with TorchDispatchMode():
        assert before.patched() == ("a torch dispatch mode",)
    assert before.patched() == ()


def test_a_default_device_is_left_alone() -> None:
    """It is a mode as well, which stays."""
    before = Guard()
    with torch.device("cpu"):
        assert before.patched() == ()


def test_a_tool_that_monitors_the_interpreter_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    tools: dict[int, str] = {}
    monkeypatch.setattr(sys, "monitoring", SimpleNamespace(get_tool=tools.get), raising=False)
    before = watching()
    tools[3] = "mine"
    assert before.patched() == ("sys.monitoring tool 3",)


def test_whoever_evaluates_frames_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    callbacks: list[object] = [None]
    monkeypatch.setattr(guard, "_frame_callback", lambda: callbacks[-1])
    before = watching()
    callbacks.append(len)
    assert before.patched() == ("frame evaluation",)


def test_torch_compile_is_left_alone() -> None:
    before = Guard()
    assert torch.compile(lambda x: x * 2, backend="eager")(torch.ones(3)).tolist() == [2, 2, 2]
    assert before.patched() == ()


def test_native_code_that_was_written_over_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    code = mmap.mmap(-1, 4096)
    address = ctypes.addressof(ctypes.c_char.from_buffer(code))
    code[:16] = bytes(range(16))
    monkeypatch.setattr(guard, "_native_functions", lambda: iter([(address, 16, "libcuda: cuEventElapsedTime")]))
    before = watching()
    code[3] = 0xE9
    assert before.patched() == ("libcuda: cuEventElapsedTime",)


DEFINITION = object.__basicsize__
"""The place of a pointer in a function that is written in C: to its definition, whose second word is its code."""


@pytest.mark.parametrize("level", [0, 1])
def test_a_clock_whose_c_function_is_another_s_is_found(level: int) -> None:
    """`time.perf_counter_ns` stays the same object, with the definition of another function, or with its code."""
    place, other = id(time.perf_counter_ns) + DEFINITION, id(time.process_time_ns) + DEFINITION
    for _ in range(level):
        place, other = word(place).value + 8, word(other).value + 8
    before = watching()
    kept = word(place).value
    word(place).value = word(other).value
    try:
        assert before.patched() == ("time.perf_counter_ns",)
    finally:
        word(place).value = kept
    assert before.patched() == ()


def test_another_address_in_a_function_of_a_library_is_found() -> None:
    held = bare(Meter, _record=ctypes.CDLL(None).labs)
    before = watching(held)
    word(ctypes.addressof(held._record)).value = word(ctypes.addressof(ctypes.CDLL(None).abs)).value
    assert before.patched() == ("Meter._record",)


def word(address: int) -> ctypes.c_size_t:
    return ctypes.c_size_t.from_address(address)


def test_libc_is_looked_at() -> None:
    assert {said for *_, said in guard._native_functions()} >= {"libc: clock_gettime", "libc: sendmsg"}


def test_honest_work_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Functions of its own, of torch.nn.functional, and what libraries wrap."""
    before = Guard()
    monkeypatch.setattr(torch.nn.functional, "relu", lambda x: x)
    monkeypatch.setattr(torch.nn.Module, "__call__", lambda self, x: x)
    monkeypatch.setattr(torch, "my_helper", len, raising=False)
    monkeypatch.setitem(os.environ, "MINE", "1")
    assert before.patched() == ()


class Held:
    """As the GPU's device holds its meter."""

    __module__ = "harness.devices.held"

    def __init__(self, inner: object = None) -> None:
        self.inner = inner
        self.count = 0
        self.record = len

    def elapsed(self) -> int:
        return 5


class Heir(Held):
    """With names of each kind."""

    __module__ = "harness.devices.held"
    kind = "plain"

    @property
    def asked(self) -> int:
        return 1

    @staticmethod
    def made() -> int:
        return 2


class Other(Held):
    pass


@pytest.mark.parametrize(("name", "said"), [("elapsed", "Held.elapsed"), ("record", "Held.record")])
def test_a_function_exchanged_in_one_object_alone_is_found(name: str, said: str) -> None:
    inner = Held()
    before = Guard(Held(inner))
    inner.count = 7
    assert before.patched() == ()
    setattr(inner, name, lambda *arguments: 0)
    assert before.patched() == (said,)


@pytest.mark.parametrize(
    ("name", "value"), [("elapsed", lambda: 0), ("kind", "another"), ("made", lambda: None), ("asked", lambda: 0)]
)
def test_an_attribute_that_hides_what_the_class_has_is_found(name: str, value: object) -> None:
    held = Heir()
    before = watching(held)
    vars(held)[name] = value
    assert before.patched() == (f"Heir.{name}",)


def test_what_the_class_has_and_its_object_too_may_change() -> None:
    """A default of the class, which the object has replaced before anybody else was there."""
    held = Heir()
    held.kind = "mine"
    before = Guard(held)
    held.kind = "another"
    assert before.patched() == ()


@pytest.mark.parametrize("value", [property(lambda self: len), len])
def test_a_new_name_of_a_class_is_found(value: object, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a property it comes before the attribute of each object, which stays."""
    held = Heir()
    before = Guard(held)
    monkeypatch.setattr(Heir, "record", value, raising=False)
    assert before.patched() == ("harness.devices.held.Heir.record",)


def test_a_new_special_name_of_a_class_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    before = Guard()
    monkeypatch.setattr(harness.devices.base.KernelRun, "__bool__", len, raising=False)
    assert before.patched() == ("harness.sandbox.wire.device.KernelRun.__bool__",)


def test_other_bases_are_found() -> None:
    held = Heir()
    before = Guard(held)
    true_bases, Heir.__bases__ = Heir.__bases__, (Other,)
    try:
        assert before.patched() == ("harness.devices.held.Heir.__bases__",)
    finally:
        Heir.__bases__ = true_bases


def test_what_python_notes_in_a_class_is_left_alone() -> None:
    held = Heir()
    before = Guard(held)
    noted = vars(Heir).keys() - {"__slotnames__"}
    assert copy.copy(held).elapsed() == 5
    assert Heir.__annotations__ == {}
    assert vars(Heir).keys() - noted
    assert before.patched() == ()


def test_a_function_of_a_library_that_is_called_by_another_way_is_found() -> None:
    """Its class is the library's alone, and can be given names."""
    held = bare(Meter, _record=ctypes.CDLL(None).labs)
    before = watching(held)
    type(held._record).__call__ = lambda *of: 0
    try:
        (said,) = before.patched()
    finally:
        del type(held._record).__call__
    assert said.endswith("_FuncPtr.__call__")


def an_arm() -> Arm:
    return Arm(CudaDevice(), Extensions(Path("nowhere"), "cuda"))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("take_turn", lambda request: None),
        ("_take", lambda call, keeps: None),
        ("model", None),
        ("device", CudaDevice()),
        ("device", SimpleNamespace()),
        ("extensions", None),
        ("_buffers", {}),
        ("_sharing", Sharing()),
    ],
)
def test_what_is_exchanged_in_the_arm_is_found(name: str, value: object) -> None:
    arm = an_arm()
    before = watching(arm)
    vars(arm)[name] = value
    assert before.patched() == (f"Arm.{name}",)


def test_what_changes_in_an_arm_is_left_alone() -> None:
    arm = an_arm()
    before = Guard(arm)
    arm._class, arm._guard, arm._is_guarded = torch.nn.Identity, before, True
    arm._model, arm._channels_last, arm._flags = torch.nn.Identity(), True, {"one": None}
    arm._buffers[3] = torch.zeros(1)
    arm._sharing.remember([torch.zeros(1)], keeps=True)
    arm._sharing.forget()
    assert arm.extensions.take_reports() == ()
    assert before.patched() == ()


def test_an_exchanged_object_is_found() -> None:
    outer = Held(Held())
    before = Guard(outer)
    outer.inner = Held()
    assert before.patched() == ("Held.inner",)


def bare(cls: type, **state: Any) -> Any:
    """An object of a class that asks for a GPU when it is made."""
    one = cls.__new__(cls)
    vars(one).update(state)
    return one


def device() -> CudaDevice:
    """As it is once it is ready."""
    clock = bare(Meter, _start=ctypes.c_void_p(5), _milliseconds=ctypes.c_float(), _elapsed=ctypes.CDLL(None).labs)
    reading = bare(LeadIn, _loads=7, _blocks=9, _number=1, _here=ctypes.c_uint32(), _meter=clock)
    found = CudaDevice()
    found._can_poison = True
    found._meter, found._lead_in = clock, reading
    return found


class Lying(ctypes.c_float):
    """A clock that shows what it likes."""


class LyingMeter(Meter):
    pass


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        ("_can_poison", False, "CudaDevice._can_poison"),
        ("_lead_in._loads", 0, "LeadIn._loads"),
        ("_lead_in._blocks", 1, "LeadIn._blocks"),
        ("_lead_in._here", ctypes.c_uint32(), "LeadIn._here"),
        ("_meter._milliseconds", Lying(), "Meter._milliseconds"),
        ("_meter._milliseconds.__class__", Lying, "Meter._milliseconds"),
        ("_meter._start", ctypes.c_void_p(5), "Meter._start"),
        ("_meter._start.value", 6, "Meter._start"),
        ("_meter._elapsed.errcheck", lambda *of: 0, "Meter._elapsed"),
        ("_meter._elapsed.restype", ctypes.c_void_p, "Meter._elapsed"),
        ("_meter.__class__", LyingMeter, "Meter.__class__"),
    ],
)
def test_fixed_data_of_what_measures_is_watched(path: str, value: Any, said: str) -> None:
    held = device()
    before = watching(held)
    owner: Any = held
    *outer, name = path.split(".")
    for step in outer:
        owner = getattr(owner, step)
    setattr(owner, name, value)
    assert said in before.patched()


def test_what_changes_as_turns_are_taken_is_left_alone() -> None:
    held: Any = device()
    before = Guard(held)
    held.begin(harness.devices.base.Conditions("end_to_end", 5, late_inputs=True))
    held._output_bytes, held._slow_poisons, held._peak_bytes, held._is_tracing = (4, 5), 4, 3, True
    held._snapshots = held._tracer = None
    held._calls, held._laid_out = 7, (4,)
    held._aside.append(4)
    held._lead_in._number = 2
    held._lead_in._here.value = 2
    held._meter._milliseconds.value = 0.5
    assert before.patched() == ()


@pytest.mark.parametrize(
    ("owner", "name", "value", "said"),
    [
        (lead_in, "_THREADS", 1, "harness.devices.cuda.lead_in._THREADS"),
        (lead_in, "LEAD_IN", "another", "harness.devices.cuda.lead_in.LEAD_IN"),
        (meter, "ctypes", json, "harness.devices.cuda.meter.ctypes"),
        (meter, "round", lambda number: 1, "harness.devices.cuda.meter.round"),
        (CudaDevice, "torch_device", "cpu", "harness.devices.cuda.device.CudaDevice.torch_device"),
        (output_copy._Layout, "of", None, "harness.devices.cuda.output_copy._Layout.of"),
        (Meter, "__getattribute__", object.__getattribute__, "harness.devices.cuda.meter.Meter.__getattribute__"),
        (harness.worker.arm.Arm, "model", None, "harness.worker.arm.Arm.model"),
    ],
)
def test_names_of_our_modules_and_classes_are_watched(
    owner: Any, name: str, value: Any, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = watching()
    monkeypatch.setattr(owner, name, value, raising=False)
    assert said in before.patched()


def test_a_module_that_gets_further_names_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """As packages do by imports, and what torch.compile() traces."""
    before = Guard()
    monkeypatch.setattr(harness.devices.base, "list", json, raising=False)
    monkeypatch.setattr(harness.devices.base, "__compiled_fn_1", len, raising=False)
    assert before.patched() == ()


class Original:
    """Answers for the original where a class is asked for it, and not an object."""

    def __init__(self, original: Any) -> None:
        self._original = original

    def __get__(self, one: Any, owner: Any = None) -> Any:
        return self._original.__get__(one, owner)


def test_a_descriptor_that_answers_for_the_original_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    guard = Guard()
    monkeypatch.setattr(torch.Tensor, "device", Original(torch.Tensor.device), raising=False)
    assert guard.patched() == ("torch.Tensor.device",)


class SaysEqual(type):
    def __eq__(cls, other: object) -> bool:
        return True

    __hash__ = type.__hash__


class EqualToAll(json.JSONEncoder, metaclass=SaysEqual):
    """An encoder that says it is what was there before, None."""


def test_another_encoder_by_default_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    guard = Guard()
    monkeypatch.setitem(json.dumps.__kwdefaults__, "cls", EqualToAll)
    assert guard.patched() == ("json.dumps",)
    monkeypatch.undo()
    monkeypatch.setattr(json._default_encoder, "encode", str, raising=False)  # type: ignore[attr-defined]
    assert guard.patched() == ("json: JSONEncoder",)
    monkeypatch.undo()
    assert guard.patched() == ()
