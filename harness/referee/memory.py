"""The memory of the GPU, or the simulator's host: whether a case fits at all, asked before anything runs there, and
whether memory is scarce."""

from __future__ import annotations

import math
import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils._pytree import tree_leaves

from harness.model.verdict import Verdict
from harness.referee.answers.invalid_problem import PROBLEM_ERRORS, InvalidProblem
from harness.referee.answers.operator_mode import OperatorMode
from harness.referee.answers.oracle import piece_bytes
from harness.referee.answers.output_spec import tensor_bytes
from harness.referee.answers.reference import Reference
from harness.referee.buffers.slots import PROCESS_BYTES
from harness.sandbox.memory import available_bytes
from harness.sandbox.outcome import SolutionFailed
from harness.workspace.problem import Problem

_LARGE_SHARE = 1 / 16
"""Cases whose inputs and parameters take less of the memory that is there aren't asked: on meta tensors torch imports
its compiler first, which takes 3.5 s on an H100's host."""
_PROCESSES = 3
"""The referee, the solution's worker and the first baseline's."""
_STATES = 3
"""Copies of the model's parameters: the referee's and two workers'. Where the oracle's in float64 finds no room, it
computes on the host."""
_HOST_STATES = 6
"""Copies of the parameters at once on the simulator's host: the reference's, the oracle's in float64, which take two,
one that is shared, and two of a worker that moves its module to the device. Level 2 no. 59, with 4 GiB of parameters,
took 16 GiB in the referee and 8 in the worker."""
_SCARCE = 0.5
"""A claim to have run out of memory is no reason to leave baselines out while more than this share is free."""
_PIECES = 2
"""Times the budget of a piece: for what is between inputs and outputs, too."""


@dataclass(frozen=True)
class Need:
    """The memory that the reference takes. `peak_bytes` is the most that is alive at once in an eager call, with
    `input_bytes` and `state_bytes`, without what libraries take as workspaces."""

    input_bytes: int
    state_bytes: int
    output_bytes: int
    peak_bytes: int

    def least_bytes(self, piece_bytes: int) -> int:
        """Return the least with which the case can be judged: one set of buffers, and then either a call of one arm,
        whose worker gives back what it took, or fresh inputs and the oracle's pieces in float64."""
        call = self.peak_bytes - self.input_bytes - self.state_bytes
        judging = self.input_bytes + _PIECES * piece_bytes
        shared = self.input_bytes + self.output_bytes + _STATES * self.state_bytes
        return shared + max(call, judging) + _PROCESSES * PROCESS_BYTES


def require_memory(problem: Problem, cases: Sequence[str]) -> bool:
    """Require that the GPU has enough memory for each of the cases; say whether it has for others beside. Raises:
    SolutionFailed (unsupported)."""
    present = torch.cuda.mem_get_info()[0] + torch.cuda.memory_reserved() - torch.cuda.memory_allocated()
    large, has_room = present * _LARGE_SHARE, True
    for case in cases:
        need = need_of(problem, case, large)
        if need is not None and need.input_bytes + need.state_bytes < large:
            continue
        has_room = False
        needed = need.least_bytes(piece_bytes("cuda")) if need else 0
        if needed > present:
            raise too_little(case, f"needs {_gib(needed)}, and {_gib(present)} are there")
    return has_room


def require_host_memory(problem: Problem, cases: Sequence[str]) -> None:
    """Require that the simulator's host has enough memory for the parameters of each of the cases. Raises:
    SolutionFailed (unsupported)."""
    present = available_bytes()
    for case in cases:
        need = need_of(problem, case, math.inf)
        needed = _HOST_STATES * need.state_bytes if need else 0
        if needed > present:
            raise too_little(case, f"needs {_gib(needed)}, and {_gib(present)} are there", "the simulator's host")


def too_little(case: str, why: str, on: str = "the GPU") -> SolutionFailed:
    """The verdict on a case for which the GPU, or the simulator's host, is too small."""
    return SolutionFailed(
        Verdict.UNSUPPORTED,
        f"too little memory on {on}: case '{case}' {why}",
        next_step="run it on a GPU with more memory, or add a smaller case to problem.yaml; nothing is said of the "
        "solution here",
    )


def need_of(problem: Problem, case: str, least_bytes: float = 0) -> Need | None:
    """Find the need by meta tensors, which take no memory: of inputs and parameters alone where they take less than
    `least_bytes`. Return None where the problem's code needs real memory."""
    try:
        reference = Reference(problem, case, "cpu")
        inputs = reference.input_specs()
        model = reference.construct_on_meta()
        given, state = tensor_bytes(inputs), tensor_bytes([*model.parameters(), *model.buffers()])
        if given + state < least_bytes:
            return Need(given, state, 0, given + state)
        live = Live()
        with torch.no_grad(), torch.device("meta"), live:
            returned = model(*inputs)
    except (InvalidProblem, *PROBLEM_ERRORS):  # a run says what is wrong
        return None
    return Need(given, state, tensor_bytes(tree_leaves(returned)), live.peak_bytes + given + state)


def is_memory_scarce() -> bool:
    """Say whether the driver, too, finds memory scarce where a solution says so."""
    free, total = torch.cuda.mem_get_info()
    return free < total * _SCARCE


class Live(OperatorMode):
    """Context: follows what operations allocate until it is given back."""

    def __init__(self) -> None:
        super().__init__()
        self.peak_bytes = self._live_bytes = 0
        self._known: dict[int, weakref.ref[Any]] = {}

    def __torch_dispatch__(self, func: Any, kinds: Any, args: Any = (), kwargs: Any = None) -> Any:
        before = {_number(value) for value in tree_leaves((args, kwargs)) if isinstance(value, torch.Tensor)}
        result = func(*args, **(kwargs or {}))
        for value in tree_leaves(result):
            if isinstance(value, torch.Tensor) and (number := _number(value)) not in before | self._known.keys():
                self._take(value.untyped_storage(), number)
        return result

    def _take(self, storage: torch.UntypedStorage, number: int) -> None:
        nbytes = storage.nbytes()

        def given_back(_: object) -> None:
            self._known.pop(number, None)
            self._live_bytes -= nbytes

        self._known[number] = weakref.ref(storage, given_back)
        self._live_bytes += nbytes
        self.peak_bytes = max(self.peak_bytes, self._live_bytes)


def _number(tensor: torch.Tensor) -> int:
    return int(tensor.untyped_storage()._cdata)


def _gib(nbytes: float) -> str:
    return f"{nbytes / 2**30:.1f} GiB"
