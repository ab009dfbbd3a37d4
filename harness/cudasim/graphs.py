"""CUDA graphs: what is captured doesn't run, and runs at each replay, on the memory that the capture saw.

The runtime keeps what extensions launch and copy (runtime/capture.cpp). torch's operators are kept here, with their
place among launches. A capture finds the form of their results on torch's meta device, which computes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn  # Any: torch's operators take and return anything

import torch
from torch.utils._python_dispatch import TorchDispatchMode, _get_current_dispatch_mode_stack
from torch.utils._pytree import tree_leaves, tree_map

from harness.cudasim.unsupported import UNSUPPORTED_MARK

if TYPE_CHECKING:
    from harness.cudasim.loaded import Runtime

_TORCHS = ("aten", "prims", "torchvision")
"""Namespaces of operators that run as one; others are made of them, and of launches."""
_OF_MEMORY = ("empty", "new_empty", "resize_", "set_")
"""Beginnings of the names of operators that do nothing on a stream."""
_WAITING = {torch.Tag.data_dependent_output, torch.Tag.dynamic_output_shape}
"""Tags of operators whose results the host waits for."""
_COPIES = (torch.ops.aten.copy_.default, torch.ops.aten._to_copy.default, torch.ops.aten._foreach_copy_.default)
"""Operators that read the host's memory at each replay; others take what they need of it at the capture."""
_INTO_INDICES = ("aten::index_put", "aten::index_put_", "aten::_index_put_impl_", "aten::_unsafe_index_put")
_NOT_PINNED = "Cannot copy between CPU and CUDA tensors during CUDA graph capture unless the CPU tensor is pinned."
_NEVER_CAPTURED = "Called CUDAGraph::replay without a preceding successful capture."


class Graph:
    """Stands for torch.cuda.CUDAGraph, in a subclass that has the runtime."""

    runtime: ClassVar[Runtime]

    def __init__(self, keep_graph: bool = False) -> None:
        self._capture: Capture | None = None
        self._work: Capture | None = None

    def capture_begin(self, pool: object = None, capture_error_mode: str = "global", **_: object) -> None:
        """Keep from now on what is given to the current stream."""
        self._capture = Capture(self.runtime)
        self._capture.__enter__()  # type: ignore[no-untyped-call]
        self.runtime.begin_capture()

    def capture_end(self) -> None:
        """Stop keeping it. Raises RuntimeError if something was done that a capture doesn't allow."""
        capture, self._capture = self._capture, None
        if capture is not None:
            capture.__exit__(None, None, None)  # type: ignore[no-untyped-call]
            self.runtime.end_capture()
            capture.end = self.runtime.captured()
        self._work = capture

    def replay(self) -> None:
        """Run it all. Raises RuntimeError if nothing was captured."""
        if self._work is None:
            raise RuntimeError(_NEVER_CAPTURED)
        self._work.replay()

    def reset(self) -> None:
        """Forget what was captured."""
        self._work = None

    def pool(self) -> tuple[int, int]:
        """Return torch's token of a pool of memory; here each graph keeps its own."""
        return (0, 0)

    def instantiate(self) -> None:
        """Do nothing: a graph is ready once it is captured."""

    def enable_debug_mode(self) -> None:
        """Do nothing: debug_dump() is refused."""

    def debug_dump(self, debug_path: str) -> NoReturn:
        """Raise NotImplementedError."""
        refuse(self.runtime, "debug_dump() of a CUDA graph")

    def raw_cuda_graph(self) -> NoReturn:
        """Raise NotImplementedError."""
        refuse(self.runtime, "raw_cuda_graph()")


@dataclass(frozen=True)
class _Replayed:
    """A call that replays make; `place`: how much work the runtime had kept by then."""

    place: int
    call: Callable[[], object]
    results: Sequence[object]
    """The leaves of what it returns, in their order; tensors are those in memory of their own."""

    def run(self) -> None:
        for kept, result in zip(self.results, tree_leaves(self.call()), strict=False):
            if isinstance(kept, torch.Tensor) and result.numel():  # what a backward pass would need may be left out
                kept.copy_(result)


class _Mode(TorchDispatchMode):
    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]

    def __init_subclass__(cls) -> None:
        """Do nothing: torch's own keeps its compiler away from the mode, and imports it first, which takes a second."""


class Capture(_Mode):
    """The work of one capture, and the memory that it was given."""

    def __init__(self, runtime: Runtime) -> None:
        super().__init__()
        self._runtime = runtime
        self._calls: list[_Replayed] = []
        self._memory: list[object] = []
        self._first = self.end = runtime.captured()

    def replay(self) -> None:
        """Run launches and operators in their order. Raises RuntimeError once one of them fails."""
        done = self._first
        # What autocast did, the capture has seen; and below autograd memory of inference_mode() can be written, too.
        with torch.autocast("cuda", enabled=False), torch._C._AutoDispatchBelowADInplaceOrView():
            for kept in self._calls:
                torch.ops.harness_sim.replay(done, kept.place)
                kept.run()
                done = kept.place
            torch.ops.harness_sim.replay(done, self.end)

    def __torch_dispatch__(
        self, func: Any, types: object, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        kwargs = dict(kwargs or {})
        if not any(map(_is_on_device, tree_leaves((args, kwargs)))):
            return func(*args, **kwargs)
        with self:
            made_of_others = func.decompose(*args, **kwargs)
            if made_of_others is NotImplemented and func.namespace not in _TORCHS:
                return func._op_dk(torch._C.DispatchKey.CUDA, *args, **kwargs)
        if made_of_others is not NotImplemented:
            return made_of_others
        self._refuse_waiting(func, args, kwargs)
        made = func(*args, **kwargs) if _is_of_memory(func) else self._kept(func, args, kwargs)
        self._memory.append(made)
        return made

    def keep(self, call: Callable[[], object], results: Sequence[object] = ()) -> None:
        """Have replays make this call, after all that was kept before, and store its results."""
        self._calls.append(_Replayed(self._runtime.captured(), call, results))

    def _kept(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Keep a call for replays, and return what it will fill: arguments of its own, or new memory."""
        if any(isinstance(one, torch.Tensor) and one.layout != torch.strided for one in tree_leaves((args, kwargs))):
            refuse(self._runtime, f"{func} of a sparse tensor in a CUDA graph")
        try:
            forms = func(*tree_map(_as_meta, args), **tree_map(_as_meta, kwargs))
        except NotImplementedError:
            refuse(self._runtime, f"{func} in a CUDA graph")
        is_alone = len(func._schema.returns) == 1
        written = [_written_argument(func, returned, args, kwargs) for returned in func._schema.returns]
        made = [
            tree_map(_made, form) if argument is None else argument
            for form, argument in zip([forms] if is_alone else forms or (), written, strict=True)
        ]
        own = [one if argument is None else None for one, argument in zip(made, written, strict=True)]
        keeping = _alias if func in _COPIES else _as_captured
        args, kwargs = tree_map(keeping, args), tree_map(keeping, kwargs)
        self.keep(lambda: func(*args, **kwargs), tree_leaves(tree_map(_alias, own)))
        return made[0] if is_alone else tuple(made) or None

    def _refuse_waiting(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Raise RuntimeError for what a stream can't do while it is captured, in torch's words."""
        if _is_waited_for(func, args):
            self._runtime.synchronize()
        if func is torch.ops.aten.lift_fresh.default and args[0].numel():  # torch.tensor() has copied its data
            raise RuntimeError(_NOT_PINNED)
        if func not in (torch.ops.aten.copy_.default, torch.ops.aten._to_copy.default):
            return
        if func is torch.ops.aten.copy_.default:
            target, source, *rest = args
            is_waiting, device = not any(rest), target.device
        else:
            target, source = None, args[0]
            is_waiting, device = not kwargs.get("non_blocking"), kwargs.get("device") or source.device
        if source.device.type == device.type:
            return
        host = source if device.type == "cuda" else target
        if host is None or not torch.ops.harness_sim.is_pinned(host):
            raise RuntimeError(_NOT_PINNED)
        if is_waiting:
            self._runtime.synchronize()


def refuse(runtime: Runtime, construct: str) -> NoReturn:
    """Report what can't be simulated, and raise NotImplementedError with it."""
    runtime.note_gap(construct)
    raise NotImplementedError(f"{UNSUPPORTED_MARK} {construct}")


def is_kept(launch: Callable[[], object]) -> bool:
    """Have the capture under way, if there is one, keep the launch of a kernel that isn't the runtime's."""
    captures = [mode for mode in _get_current_dispatch_mode_stack() if isinstance(mode, Capture)]
    for capture in captures[-1:]:
        capture.keep(launch)
    return bool(captures)


def _is_on_device(value: object) -> bool:
    device = value.device if isinstance(value, torch.Tensor) else value
    return isinstance(device, torch.device) and device.type == "cuda"


def _is_waited_for(func: Any, args: tuple[Any, ...]) -> bool:
    """Say whether the host waits for results, such as the number of elements that a mask chooses."""
    if func is torch.ops.aten.index.Tensor:
        return any(map(_is_mask, args[1]))
    if func._schema.name not in _INTO_INDICES:
        return bool(_WAITING.intersection(func.tags))
    indices, values = [one for one in args[1] if one is not None], args[2]
    is_number = values.numel() == 1 and values.device.type == "cpu"
    is_fill = len(indices) == 1 and is_number and not any(args[3:4])  # torch makes a masked_fill_ of it
    return any(map(_is_mask, indices)) and not is_fill


def _is_mask(index: torch.Tensor | None) -> bool:
    return index is not None and index.dtype in (torch.bool, torch.uint8)


def _is_of_memory(func: Any) -> bool:
    """Say whether it only reserves memory, or looks at it in another way."""
    aliases = [returned.alias_info for returned in func._schema.returns]
    name = func._schema.name.split("::")[1]
    return name.startswith(_OF_MEMORY) or any(alias is not None and not alias.is_write for alias in aliases)


def _written_argument(func: Any, returned: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return the argument that an operator returns, having written it; None where its result is new."""
    if returned.alias_info is None:
        return None
    for position, argument in enumerate(func._schema.arguments):
        if argument.alias_info is not None and argument.alias_info.before_set == returned.alias_info.before_set:
            return args[position] if position < len(args) else kwargs[argument.name]
    return None


def _as_meta(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return torch.empty_strided(value.size(), value.stride(), dtype=value.dtype, device="meta")
    if isinstance(value, torch.device):
        return torch.device("meta")
    return None if isinstance(value, torch.Generator) else value


def _made(form: Any) -> Any:
    """Reserve memory of this form, in which nobody has written."""
    if not isinstance(form, torch.Tensor):
        return form
    return torch.empty_strided(form.size(), form.stride(), dtype=form.dtype, device="cuda")


def _alias(value: Any) -> Any:
    """Return the same memory under a name of ours, which stays if a tensor is given other memory."""
    return value.detach() if isinstance(value, torch.Tensor) else value


def _as_captured(value: Any) -> Any:
    """Return a copy of the host's memory, as it is at the capture, and the same memory of the device."""
    return value.clone() if isinstance(value, torch.Tensor) and value.device.type == "cpu" else _alias(value)
