"""The reference of one case inside the referee: inputs, state, the form of its outputs, the float64 oracle."""

from __future__ import annotations

import copy
import random
import sys
import types
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy
import torch
from torch.overrides import TorchFunctionMode

from harness.protocol.messages import Structure
from harness.protocol.values import NotPlain, encode_value
from harness.records.check import OracleKind
from harness.workspace.problem import Problem

_PIECE_BYTES = {"cuda": 2 * 2**30, "cpu": 256 * 2**20}
"""Inputs and outputs of one piece of the oracle in float64; intermediates and the comparison take a few times that."""


class InvalidProblem(Exception):
    """The problem's own code fails: no solution can be judged."""


@dataclass(frozen=True)
class OutputSpec:
    """What the reference returns."""

    structure: Structure
    dtypes: tuple[torch.dtype, ...]
    shapes: tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Piece:
    """The oracle's outputs for rows [start, stop) of dimension 0, or for everything."""

    rows: slice
    outputs: tuple[torch.Tensor, ...]


class Reference:
    """problem.py with a case's constants, executed here: problems are trusted, solutions never come here.

    `device` is where inputs are made and the oracle computes.
    """

    def __init__(self, problem: Problem, case: str, device: str) -> None:
        self._problem = problem
        self._case = case
        self._device = device
        self._module = types.ModuleType(f"harness_problem_{problem.name}")
        with _blamed_on(self, "problem.py can't be executed"):
            code = compile(problem.source_for(case), str(problem.folder / "problem.py"), "exec", dont_inherit=True)
            sys.modules[self._module.__name__] = self._module  # dataclasses look their module up
            with _Placed(device):
                exec(code, self._module.__dict__)
        override = problem.cases[case].init_inputs
        with _blamed_on(self, "get_init_inputs() failed"):
            self.init_inputs: list[Any] = (
                list(self._module.get_init_inputs()) if override is None else [_as_written(v) for v in override]
            )
        try:
            encode_value(self.init_inputs)
        except NotPlain as error:
            raise InvalidProblem(f"get_init_inputs() of case '{case}' returns a {error}; plain values belong") from None

    @property
    def on_gpu(self) -> bool:
        return self._device == "cuda"

    def construct(self, seed: int) -> torch.nn.Module:
        """A Model made as a worker makes its own: on the CPU under the seed, then moved."""
        with _blamed_on(self, "Model(*init_inputs) failed"):
            _seed_everything(seed)
            with torch.no_grad(), _Placed(self._device):
                model: torch.nn.Module = self._module.Model(*self.init_inputs)
            return model.to(self._device).eval()

    def make_inputs(self, seed: int) -> list[Any]:
        """get_inputs() under a seed, made on the device itself: on the CPU large ones take minutes."""
        with _blamed_on(self, "get_inputs() failed"), torch.device(self._device), _Placed(self._device):
            _seed_everything(seed)
            inputs = list(self._module.get_inputs())
        return [value.to(self._device) if isinstance(value, torch.Tensor) else value for value in inputs]

    def input_specs(self) -> list[torch.Tensor]:
        """The inputs without memory, as meta tensors. Raises: InvalidProblem where get_inputs() needs real ones."""
        with _blamed_on(self, "get_inputs() works on no meta device"), torch.device("meta"), _Placed("meta"):
            return list(self._module.get_inputs())

    def output_spec(self, model: torch.nn.Module, inputs: Sequence[Any]) -> OutputSpec:
        """From meta tensors where the model can, else from a run."""
        try:
            with torch.no_grad(), torch.device("meta"):
                returned = _to(model, "meta")(*[_to(value, "meta") for value in inputs])
        except Exception:  # meta kernels are missing or the model makes tensors of its own: run it
            real = self.make_inputs(0) if any(_is_meta(value) for value in inputs) else inputs
            with _blamed_on(self, "Model.forward() failed"), torch.no_grad():
                returned = model(*real)
        structure, outputs = _unpack(returned, self)
        return OutputSpec(structure, tuple(t.dtype for t in outputs), tuple(tuple(t.shape) for t in outputs))

    def _complain(self, what: str, error: BaseException) -> InvalidProblem:
        return InvalidProblem(f"{what} in case '{self._case}': {type(error).__name__}: {error}")


class Oracle:
    """The right answer: the reference in float64, or in strict float32 where its code refuses float64."""

    def __init__(self, reference: Reference, model: torch.nn.Module, independent_batch: bool, device: str) -> None:
        self._reference = reference
        self._independent = independent_batch
        self._budget = _PIECE_BYTES[device]
        self._native = model
        with _blamed_on(reference, "Model can't be copied"), torch.no_grad():
            self._double = copy.deepcopy(model).double()
        self.kind: OracleKind = "float64"
        self.why_float32: str | None = None

    def pieces(self, inputs: Sequence[Any], spec: OutputSpec, rows: Sequence[int] | None = None) -> Iterator[Piece]:
        """The answer piece by piece; only the named rows where `rows` is given."""
        count = _common_rows(inputs, spec) if self._independent else None
        if count is None:
            yield Piece(slice(None), self.answer(inputs))
            return
        step = 1 if rows is not None else max(1, self._budget // _row_bytes(inputs, spec, count))
        for start in rows if rows is not None else range(0, count, step):
            part = slice(start, min(start + step, count))
            yield Piece(part, self.answer(_rows(inputs, part)))

    def verify_independence(self, inputs: Sequence[Any], spec: OutputSpec) -> None:
        """Compare two rows alone with the same rows together, where the problem claims that they are independent.

        Raises: InvalidProblem where the claim is wrong.
        """
        count = _common_rows(inputs, spec) if self._independent else None
        if count is None or count < 2:
            return
        both = self.answer(_rows(inputs, slice(0, 2)))
        rtol, atol = (1e-6, 1e-9) if self.kind == "float64" else (1e-3, 1e-4)
        for row in (0, 1):
            alone = self.answer(_rows(inputs, slice(row, row + 1)))
            for one, two in zip(alone, both, strict=True):
                if not torch.allclose(one, two[row : row + 1], rtol=rtol, atol=atol, equal_nan=True):
                    raise InvalidProblem("independent_batch is claimed, but rows along dimension 0 do depend on others")

    def answer(self, inputs: Sequence[Any]) -> tuple[torch.Tensor, ...]:
        """The outputs for these inputs, whole."""
        if self.kind == "float64":
            try:
                with torch.no_grad(), _strict_float32():
                    return tuple(_unpack(self._double(*[_double(v) for v in inputs]), self._reference)[1])
            except (torch.OutOfMemoryError, MemoryError):
                raise
            except Exception as error:  # e.g. forward() makes float32 tensors of its own
                self.kind = "float32"
                self.why_float32 = f"the reference refuses float64 ({type(error).__name__}); judged against float32"
        with _blamed_on(self._reference, "Model.forward() failed"), _strict_float32(), torch.no_grad():
            return tuple(_unpack(self._native(*inputs), self._reference)[1])


class _blamed_on:  # noqa: N801 - reads as a phrase in 'with'
    """Context: an exception of the problem's code becomes InvalidProblem."""

    def __init__(self, reference: Reference, what: str) -> None:
        self._reference = reference
        self._what = what

    def __enter__(self) -> None: ...

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: object) -> None:
        ours = (InvalidProblem, torch.OutOfMemoryError, MemoryError)
        if isinstance(error, Exception) and not isinstance(error, ours):
            raise self._reference._complain(self._what, error) from error


class _Placed(TorchFunctionMode):
    """Context: what the problem's code puts on 'cuda' comes to the referee's device instead.

    Some files write .cuda() or device="cuda"; where the referee has no GPU, or wants no memory, that must not matter.
    """

    def __init__(self, device: str) -> None:
        super().__init__()
        self._device = device

    def __torch_function__(self, func: Any, kinds: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is torch.Tensor.cuda:
            func, args, kwargs = torch.Tensor.to, (args[0], self._device), {}
        placed = {key: self._replace(value) for key, value in (kwargs or {}).items()}
        return func(*(self._replace(value) for value in args), **placed)

    def _replace(self, value: Any) -> Any:
        is_cuda = isinstance(value, (str, torch.device)) and str(value).partition(":")[0] == "cuda"
        return torch.device(self._device) if is_cuda else value


class _strict_float32:  # noqa: N801
    """Context: no tf32 in the oracle."""

    def __enter__(self) -> None:
        self._saved = (torch.backends.cudnn.allow_tf32, torch.backends.cuda.matmul.allow_tf32)
        torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = False

    def __exit__(self, *_: object) -> None:
        torch.backends.cudnn.allow_tf32, torch.backends.cuda.matmul.allow_tf32 = self._saved


def _seed_everything(seed: int) -> None:
    """Also the generators that a problem may use besides torch's: its inputs must come out the same again."""
    torch.manual_seed(seed)
    random.seed(seed)
    numpy.random.seed(seed % 2**32)


def _as_written(value: Any) -> Any:
    """YAML has no tuples; kernel sizes and the like are tuples in Python."""
    return tuple(_as_written(item) for item in value) if isinstance(value, (list, tuple)) else value


def _unpack(returned: Any, reference: Reference) -> tuple[Structure, list[torch.Tensor]]:
    if isinstance(returned, torch.Tensor):
        return "tensor", [returned]
    if returned and type(returned) in (tuple, list) and all(isinstance(item, torch.Tensor) for item in returned):
        return ("tuple" if type(returned) is tuple else "list"), list(returned)
    raise InvalidProblem(f"Model.forward() returns a {type(returned).__name__}; tensors, or a tuple or list of them")


def _to(value: Any, device: str) -> Any:
    if isinstance(value, torch.nn.Module):
        return copy.deepcopy(value).to(device)
    return value.to(device) if isinstance(value, torch.Tensor) else value


def _is_meta(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.is_meta


def _double(value: Any) -> Any:
    return value.double() if isinstance(value, torch.Tensor) and value.is_floating_point() else value


def _rows(inputs: Sequence[Any], part: slice) -> list[Any]:
    return [value[part] if isinstance(value, torch.Tensor) else value for value in inputs]


def _common_rows(inputs: Sequence[Any], spec: OutputSpec) -> int | None:
    tensors = [value for value in inputs if isinstance(value, torch.Tensor)]
    counts = {tensor.shape[0] if tensor.dim() else None for tensor in tensors}
    counts |= {shape[0] if shape else None for shape in spec.shapes}
    return counts.pop() if len(counts) == 1 else None


def _row_bytes(inputs: Sequence[Any], spec: OutputSpec, rows: int) -> int:
    elements = sum(value.numel() for value in inputs if isinstance(value, torch.Tensor))
    elements += sum(int(torch.Size(shape).numel()) for shape in spec.shapes)
    return max(1, 8 * elements // max(1, rows))
