"""The right answer: the reference in float64, in pieces where memory is short."""

from __future__ import annotations

import contextlib
import copy
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from harness.model.check import OracleKind
from harness.referee.answers.choices import Choice, Following, Noting
from harness.referee.answers.float8_sums import Float8Sums
from harness.referee.answers.invalid_problem import PROBLEM_ERRORS, InvalidProblem, lacks_memory
from harness.referee.answers.kernel_kinds import KernelKind, as_kernels_choose
from harness.referee.answers.output_spec import OutputSpec, tensors_of
from harness.referee.answers.perturbed import perturbed
from harness.referee.answers.placed import Placed
from harness.referee.answers.reference import Reference, blamed_on
from harness.referee.answers.rows import Rows, agree_roughly, claimed_rows, is_floating, possible_rows, some_rows
from harness.referee.answers.serial_sums import serially, unfused
from harness.referee.answers.tf32 import convolutions_in_tf32, cut_to_tf32, tf32_allowed
from harness.referee.answers.uncast import Uncast
from harness.sandbox.memory import available_bytes
from harness.sandbox.wire.construction import has_channels, in_channels_last

_PIECE_BYTES = {"cuda": 2 * 2**30, "cpu": 256 * 2**20}
"""Bytes of inputs and outputs of one piece, in float64; intermediates and the comparison take a few times as much."""
_PIECE_SHARE = 1 / 48
"""The share of a GPU's free memory that a piece may take."""
_DOUBLE = 8
"""Bytes of a float64."""
_SEARCHED_BYTES = {"cuda": 32 * 2**20, "cpu": 2**20}
"""The bytes of inputs and outputs in float64 above which rows are searched for: judging a few rows then saves more time
than the search takes."""
_HOST_FACTOR = 2
"""The memory of inputs and outputs, and as much again for intermediates."""

Piece = tuple[slice, tuple[torch.Tensor, ...]]
"""Some rows (dimension 0), or all, with the oracle's outputs for them."""


@dataclass
class FoundRows:
    """The rows that were found to be independent, once they have been searched for."""

    rows: Rows | None = None
    is_searched: bool = False


class Oracle:
    """The right answer: the reference in float64, or in strict float32 where its code refuses float64."""

    def __init__(
        self,
        reference: Reference,
        model: torch.nn.Module,
        spec: OutputSpec,
        independent_batch: bool = False,
        found: FoundRows | None = None,
    ) -> None:
        """`found`: by an earlier oracle of the same model; what this one finds is added."""
        self._reference = reference
        self.spec = spec
        self._is_claimed = independent_batch
        self._found = found or FoundRows()
        self._budget = piece_bytes(reference.device)
        self._native = model
        self._device = reference.device
        with blamed_on(reference, "Model can't be copied"), torch.no_grad():
            is_large = reference.on_gpu and 2 * _state_bytes(model) > self._budget
            self._double = None if is_large else copy.deepcopy(model).double()
            # As it is before any call; parameters are the model's own.
            self._unused = copy.deepcopy(model, {id(one): one for one in model.parameters()}) if is_large else None
        self._noting: Noting | None = None
        self._has_convolutions = True
        """False once a call of the model's was seen to have none."""
        self.kind: OracleKind = "float64"
        self.why_float32: str | None = None

    def for_model(self, model: torch.nn.Module) -> Oracle:
        """The same for another model of the reference's, of whose rows nothing is known."""
        return Oracle(self._reference, model, self.spec)

    def pieces(self, inputs: Sequence[Any]) -> Iterator[Piece]:
        """Compute the answer piece by piece: smaller pieces where the device's memory is short, and on the host where
        not even one row fits. Raises: torch.OutOfMemoryError where the host has no room either."""
        rows = self.rows(inputs)
        if rows is None:
            yield slice(None), self.answer_anywhere(inputs)
            return
        step = self.rows_of_a_piece(inputs, rows)
        start = 0
        while start < rows.count:
            part = slice(start, min(start + step, rows.count))
            given = rows.of(inputs, part)
            outputs = self.answer_anywhere(given) if step == 1 else self.answer_if_room(given)
            if outputs is None:
                step = (step + 1) // 2
                continue
            yield part, outputs
            del outputs
            start = part.stop

    def rows_of_a_piece(self, inputs: Sequence[Any], rows: Rows) -> int:
        """The number of rows that are computed at once, at least one."""
        return min(rows.count, max(1, self._budget // _row_bytes(inputs, self.spec, rows)))

    def find_rows(self, inputs: Sequence[Any]) -> bool:
        """Verify that rows are independent where the problem claims it; else, for a large answer, find by experiment
        which dimensions of the inputs can be divided.

        Returns whether the reference ran on these very inputs, which it may have changed.

        Raises: InvalidProblem where the claim is wrong.
        """
        if self._reference.irregular:
            if self._is_claimed:
                raise InvalidProblem(
                    "independent_batch is claimed, but sparse and jagged inputs aren't divided into rows"
                )
            return False
        if self._is_claimed:
            claimed = claimed_rows(inputs, self.spec)
            if claimed and claimed.count > 1 and not self._are_independent(claimed, inputs, (0, 1)):
                raise InvalidProblem("independent_batch is claimed, but rows along dimension 0 do depend on others")
            return False
        most = min(_SEARCHED_BYTES[self._device], self._budget)
        if self._found.is_searched or count_elements(inputs, self.spec) * _DOUBLE <= most:
            return False
        self._found.is_searched = True
        for rows in possible_rows(inputs, self.spec):
            if self._can_divide(rows, inputs):
                self._found.rows = rows if self._divides_whole(rows, inputs) else None
                return True
        return False

    def has_independent_items(self, inputs: Sequence[Any]) -> bool:
        """Say whether rows along dimension 0 of all inputs and outputs give the same answers alone as together, though
        the problem doesn't claim it. The reference may change these inputs."""
        rows = None if self._reference.irregular or self._reference.step else claimed_rows(inputs, self.spec)
        return (
            rows is not None and rows.count > 1 and self._can_divide(rows, inputs) and self._divides_whole(rows, inputs)
        )

    def answer(self, inputs: Sequence[Any], may_turn: bool = True) -> tuple[torch.Tensor, ...]:
        """Compute the outputs for these inputs in one piece, in float64 if the reference permits; the inputs stay as
        they are. `may_turn`: whether an error there makes the oracle a float32 one for good."""
        if self.kind == "float64":
            try:
                with torch.no_grad(), tf32_allowed(False):
                    model = self._double_on(self._device)
                    return _outputs(model(*[_own_double(v) for v in inputs]))
            except PROBLEM_ERRORS as error:  # e.g. forward() makes float32 tensors of its own
                if lacks_memory(error):
                    raise torch.OutOfMemoryError(str(error)) from error
                if not may_turn:
                    raise
                self.kind = "float32"
                self.why_float32 = f"the reference refuses float64 ({type(error).__name__}); judged against float32"
        return self._strictly(copied(inputs))

    def left_in(self, inputs: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """Return what a call leaves in these inputs: by the reference in its own precision, and by the oracle."""
        native, exact = copied(inputs), copied(inputs)
        self.native(native)
        if self.kind == "float64":
            exact = [_double(value) for value in exact]
            with tf32_allowed(False):
                self._run(self._double_on(self._device), exact)
        else:
            self._strictly(exact)
        return native, exact

    def native(self, inputs: Sequence[Any]) -> tuple[torch.Tensor, ...]:
        """Run the reference in its own precision, under the flags that all arms have."""
        return self._run(self._native, inputs)

    def ways(self, inputs: Sequence[Any]) -> Iterator[tuple[str, tuple[torch.Tensor, ...]]]:
        """Run the reference in each way in which an honest kernel may compute. Yields a name and the outputs."""
        yield "eager", self.native(copied(inputs))
        yield from self.reformulations(inputs)

    def reformulations(self, inputs: Sequence[Any]) -> Iterator[tuple[str, tuple[torch.Tensor, ...]]]:
        """Run the reference with only the way of computing changed: without tf32, and in another memory layout, for
        which cuDNN chooses other algorithms. On a CPU, where the verdict is to be a GPU's, convolutions as such a GPU
        computes them. Yields a name and the outputs."""
        if not self._reference.on_gpu:
            yield from self._as_on_a_gpu(inputs)
            return
        yield "strict float32", self._strictly(copied(inputs))
        if any(map(has_channels, inputs)):
            with blamed_on(self._reference, "Model.forward() failed"), torch.no_grad():
                model = _copied(self._native, self._device, in_channels_last)
                values = map(in_channels_last, copied(inputs))
                outputs = None
                with contextlib.suppress(RuntimeError), self._noted():  # a view() in it may ask for another layout
                    outputs = _outputs(model(*values))
            if outputs is not None:
                yield "channels-last", outputs

    def _as_on_a_gpu(self, inputs: Sequence[Any]) -> Iterator[tuple[str, tuple[torch.Tensor, ...]]]:
        if torch.backends.cudnn.allow_tf32 and self._has_convolutions:
            with convolutions_in_tf32() as mode:
                outputs = self._run(self._native, copied(inputs))
            self._has_convolutions = mode.count > 0
            if mode.count:
                yield "tf32 convolutions", outputs
                yield "strict float32", self._run(self._native, copied(inputs))

    def summed_serially(self, inputs: Sequence[Any]) -> tuple[torch.Tensor, ...] | None:
        """Run the reference with every sum taken term by term in float32; None where it has no sums."""
        with serially() as mode:
            outputs = self._run(self._native, copied(inputs))
        return outputs if mode.count else None

    def cut_to_tf32(self, inputs: Sequence[Any]) -> tuple[torch.Tensor, ...] | None:
        """Run the reference with convolutions that drop what tf32 doesn't hold, which errs up to twice as much as to
        round it; None where it has none, or torch allows them no tf32."""
        if not torch.backends.cudnn.allow_tf32 or not self._has_convolutions:
            return None
        with tf32_allowed(False), convolutions_in_tf32(cut_to_tf32) as mode:
            outputs = self._run(self._native, copied(inputs))
        self._has_convolutions = mode.count > 0
        return outputs if mode.count else None

    def perturbed(self, inputs: Sequence[Any], seed: int, units: float) -> tuple[torch.Tensor, ...]:
        """Run the reference with every rounded result off by up to so many units in the last place (perturbed()).
        Raises: InvalidProblem, also where that could do harm."""
        with perturbed(seed, units):
            return self._run(self._native, copied(inputs))

    @contextlib.contextmanager
    def noting(self) -> Iterator[Noting]:
        """Context: what the reference chose when it last ran in its own precision is noted."""
        self._noting = Noting()
        try:
            yield self._noting
        finally:
            self._noting = None

    def following(
        self, inputs: Sequence[Any], choices: Sequence[Choice], want: Sequence[torch.Tensor]
    ) -> tuple[torch.Tensor, ...] | None:
        """Compute answer(), which is `want`, with these choices in place of its own; None where it has others to make,
        or other shapes then. Raises: torch.OutOfMemoryError."""
        with Following(choices) as mode:
            outputs = self._tried(inputs, want)
        return outputs if mode.has_followed else None

    def choosing(
        self, inputs: Sequence[Any], kind: KernelKind, seed: int, want: Sequence[torch.Tensor]
    ) -> tuple[torch.Tensor, ...] | None:
        """Compute answer(), which is `want`, with the choices that the reference makes as_kernels_choose().
        Raises: torch.OutOfMemoryError; InvalidProblem, also where that could do harm."""
        with self.noting() as noted, as_kernels_choose(kind, seed):
            self._run(self._native, copied(inputs))
        return self.following(inputs, noted.choices, want)

    def uncast(
        self, inputs: Sequence[Any], want: Sequence[torch.Tensor]
    ) -> tuple[tuple[torch.Tensor, ...], set[torch.dtype]] | None:
        """Compute answer(), which is `want`, without casts to half precision, but with the choices that it makes with
        them; also return the formats meant. None where nothing is cast, or can't be left out. Raises:
        torch.OutOfMemoryError."""
        if not self._reference.may_cast_to_half:
            return None
        with Noting() as noted:
            self._tried(inputs, want)
        with Following(noted.choices) as mode, Uncast() as casts:
            outputs = self._tried(inputs, want)
        return (outputs, casts.halves) if outputs and casts.halves and mode.has_followed else None

    def summed_in_float8(self, inputs: Sequence[Any]) -> tuple[torch.Tensor, ...] | None:
        """Run the reference with products of float8 numbers as tensor cores add them up; None where it has none."""
        if not self._reference.may_use_float8:
            return None
        with unfused(), Float8Sums(0) as mode:
            outputs = self._run(self._native, copied(inputs))
        return outputs if mode.count else None

    def _tried(self, inputs: Sequence[Any], want: Sequence[torch.Tensor]) -> tuple[torch.Tensor, ...] | None:
        """Compute answer() where the reference may fail, or give other shapes than `want`, for what it is run with."""
        try:
            outputs = self.answer(inputs, may_turn=False)
        except torch.OutOfMemoryError:
            raise
        except (*PROBLEM_ERRORS, InvalidProblem):
            return None
        return outputs if [one.shape for one in outputs] == [one.shape for one in want] else None

    @property
    def has_rows(self) -> bool:
        """True where rows can be judged one by one."""
        return self._is_claimed or self._found.rows is not None

    def rows(self, inputs: Sequence[Any]) -> Rows | None:
        """The rows that can be judged one by one, as claimed or found; None where rows depend on each other."""
        if self._reference.irregular:
            return None
        if self._is_claimed:
            return claimed_rows(inputs, self.spec)
        found = self._found.rows
        return found if found and found.fit(inputs) else None

    def _strictly(self, inputs: Sequence[Any]) -> tuple[torch.Tensor, ...]:
        with tf32_allowed(False):
            return self._run(self._native, inputs)

    def _run(self, model: torch.nn.Module, inputs: Sequence[Any]) -> tuple[torch.Tensor, ...]:
        with blamed_on(self._reference, "Model.forward() failed"), torch.no_grad(), self._noted():
            return _outputs(model(*inputs))

    def _noted(self) -> contextlib.AbstractContextManager[object]:
        return self._noting or contextlib.nullcontext()

    def _double_on(self, device: str) -> torch.nn.Module:
        """The model in float64, made for one call where it is large: on a GPU that takes milliseconds."""
        if self._double is None:
            assert self._unused is not None
            return _copied(self._unused, device, _double)
        return self._double if device == self._device else _copied(self._double, device)

    def answer_if_room(self, inputs: Sequence[Any]) -> tuple[torch.Tensor, ...] | None:
        """Return answer(), or None where the device's memory is too short."""
        with contextlib.suppress(torch.OutOfMemoryError, MemoryError):
            return self.answer(inputs)
        if self._reference.on_gpu:  # by now nothing of the attempt is alive
            torch.cuda.empty_cache()
        return None

    def answer_anywhere(self, inputs: Sequence[Any]) -> tuple[torch.Tensor, ...]:
        """Compute answer(), on the host where the device's memory is too short. Raises: torch.OutOfMemoryError."""
        outputs = self.answer_if_room(inputs)
        return outputs if outputs is not None else self._on_host(inputs)

    def _on_host(self, inputs: Sequence[Any]) -> tuple[torch.Tensor, ...]:
        """Compute answer() on the CPU. Raises: torch.OutOfMemoryError."""
        needed = _HOST_FACTOR * _DOUBLE * count_elements(inputs, self.spec)
        if needed > (free := available_bytes()):
            raise torch.OutOfMemoryError(
                f"out of memory: the right answer takes {needed / 2**30:.1f} GiB of the host's memory, which has "
                f"{free / 2**30:.1f} GiB free, and doesn't fit onto the GPU"
            )
        is_double = self.kind == "float64"
        given = [value.cpu() if isinstance(value, torch.Tensor) else value for value in inputs]
        try:
            model = self._double_on("cpu") if is_double else _copied(self._native, "cpu")
            with blamed_on(self._reference, "Model.forward() failed on the host"), torch.no_grad(), Placed("cpu"):
                returned = model(*map(_double, given) if is_double else given)
            return _outputs(returned)
        except InvalidProblem as error:  # it holds tensors that stay on the GPU, or only that one has the operation
            raise torch.OutOfMemoryError(f"out of memory, and on the host {error}") from error

    def _can_divide(self, rows: Rows, inputs: Sequence[Any]) -> bool:
        """Say whether a few distant rows give the same answers alone as together, in any order."""
        picks = some_rows(rows.count)
        try:
            for some in (picks, picks[:1]):  # first: what raises in the oracle makes that float32 for good
                self.native(rows.together(inputs, some))
            return all(self._are_independent(rows, inputs, order) for order in (picks, picks[::-1]))
        except (InvalidProblem, torch.OutOfMemoryError, MemoryError):
            return False

    def _are_independent(self, rows: Rows, inputs: Sequence[Any], picks: Sequence[int]) -> bool:
        together = self.answer(rows.together(inputs, picks))
        rtol, atol = (1e-6, 1e-9) if self.kind == "float64" else (1e-3, 1e-4)
        for place, pick in enumerate(picks):
            alone = self.answer(rows.together(inputs, (pick,)))
            for one, all_of_them in zip(alone, together, strict=True):
                other = all_of_them[place : place + 1]
                if one.shape != other.shape or not torch.allclose(one, other, rtol=rtol, atol=atol, equal_nan=True):
                    return False
        return True

    def _divides_whole(self, rows: Rows, inputs: Sequence[Any]) -> bool:
        """Say whether rows give the same answers alone as within the whole input, in the reference's own precision:
        this finds answers that depend on a row's position."""
        picks = some_rows(rows.count)
        alone = [self.native(rows.together(inputs, (pick,))) for pick in picks]
        whole = self.native(inputs)
        return all(
            agree_roughly(one, output[pick : pick + 1])
            for pick, outputs in zip(picks, alone, strict=True)
            for one, output in zip(outputs, whole, strict=True)
        )


def _outputs(returned: Any) -> tuple[torch.Tensor, ...]:
    return tuple(tensors_of(returned))


def _double(value: Any) -> Any:
    return value.double() if is_floating(value) else value


def _own_double(value: Any) -> Any:
    """Copy a tensor, in float64 if it is floating: a reference may work in place."""
    if not isinstance(value, torch.Tensor):
        return value
    double = _double(value)
    return value.clone() if double is value else double


def copied(inputs: Sequence[Any]) -> list[Any]:
    """Copies of the tensors among the inputs: a reference may work in place."""
    return [value.clone() if isinstance(value, torch.Tensor) else value for value in inputs]


def _copied(
    model: torch.nn.Module, device: str, convert: Callable[[torch.Tensor], torch.Tensor] = lambda value: value
) -> torch.nn.Module:
    """Copy a model to a device, converting each parameter and buffer once, without a second copy on the way."""
    memo: dict[int, Any] = {}
    for tensor in (*model.parameters(), *model.buffers()):
        copied = convert(tensor.detach().to(device, copy=True))
        is_parameter = isinstance(tensor, torch.nn.Parameter)
        memo[id(tensor)] = torch.nn.Parameter(copied, tensor.requires_grad) if is_parameter else copied
    return copy.deepcopy(model, memo)


def _state_bytes(model: torch.nn.Module) -> int:
    return sum(tensor.nbytes for tensor in (*model.parameters(), *model.buffers()))


def piece_bytes(device: str) -> int:
    """Return how many bytes the inputs and outputs of one piece may take in float64."""
    if device != "cuda":
        return _PIECE_BYTES[device]
    free: int = torch.cuda.mem_get_info()[0]
    return min(_PIECE_BYTES[device], int(free * _PIECE_SHARE))


def count_elements(inputs: Sequence[Any], spec: OutputSpec) -> int:
    read = sum(value.numel() for value in inputs if isinstance(value, torch.Tensor))
    return read + sum(math.prod(shape) for shape in spec.shapes)


def _row_bytes(inputs: Sequence[Any], spec: OutputSpec, rows: Rows) -> int:
    elements: int = sum(value.numel() for value, axis in rows.with_axes(inputs) if axis is not None)
    elements += sum(math.prod(shape) for shape in spec.shapes)
    return max(1, _DOUBLE * elements // max(1, rows.count))
