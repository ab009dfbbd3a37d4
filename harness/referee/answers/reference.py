"""The reference of one case inside the referee: its inputs, its model, the form of its outputs."""

from __future__ import annotations

import contextlib
import copy
import functools
import inspect
import itertools
import math
import random
import sys
import threading
import traceback
import types
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Literal, NamedTuple

import numpy
import torch

from harness.referee.answers.invalid_problem import PROBLEM_ERRORS, InvalidProblem, lacks_memory
from harness.referee.answers.output_spec import OutputSpec, dtype_name, spec_of, tensors_of, versions
from harness.referee.answers.placed import Placed, WithoutFloats
from harness.sandbox.outcome import without_native_frames
from harness.sandbox.wire.codec import NotPlain, encode_value
from harness.sandbox.wire.construction import (
    as_leaves,
    is_differentiable,
    keeping_statistics,
    large_draws_on,
    take_batch_statistics,
    training_step,
    varied_initialisers,
)
from harness.sandbox.wire.input_form import Form, NoForm, irregular_kinds, leaves, put_together, take_apart
from harness.sandbox.wire.messages import Step
from harness.sandbox.wire.structure import unpack
from harness.workspace.open_order import names_choice
from harness.workspace.problem import Problem

_GENERATORS = threading.RLock()
"""Random generators belong to the process: between the seeding and the last draw no other thread runs problem code."""
_STATED = ("least_bytes", "least_operations")
_BEYOND = 2**63
_OF_HALVES = "half", "float16", "autocast"
"""Words of which a problem.py that may cast to half precision has one: bfloat16 holds the second."""


class Reference:
    """problem.py with a case's constants, executed in this process: problems are trusted, solutions never run here.

    `device` is 'cuda' or 'cpu': inputs are made and the oracle computes there.
    """

    def __init__(self, problem: Problem, case: str, device: str) -> None:
        self.case = case
        self.path = str(problem.folder / "problem.py")
        self.device = device
        self._batch_statistics = problem.batch_statistics
        self._is_step = problem.backward
        self._may_choose = names_choice(problem.source)
        self.may_cast_to_half = any(word in problem.source for word in _OF_HALVES)
        self.may_use_float8 = "float8" in problem.source
        self._assembly = _Assembly()
        self._module = types.ModuleType(f"harness_problem_{problem.name}")
        with _GENERATORS, blamed_on(self, "problem.py can't be executed"):
            code = compile(problem.source_for(case), self.path, "exec", dont_inherit=True)
            sys.modules[self._module.__name__] = self._module  # dataclasses look their module up
            self._module.__dict__["print"] = _print_aside
            with Placed(device):
                exec(code, self._module.__dict__)
        override = problem.cases[case].init_inputs
        with _GENERATORS, blamed_on(self, "get_init_inputs() failed"):
            draw = self._module.__dict__.get("get_init_inputs", list)
            self.init_inputs: list[Any] = list(draw()) if override is None else [_as_written(v) for v in override]
        try:
            encode_value(self.init_inputs)
        except NotPlain as error:
            raise InvalidProblem(f"get_init_inputs() of case '{case}' returns a {error}; plain values belong") from None
        is_stated = override is None and not self._is_step
        stated = {name: self._module.__dict__.get(name) for name in _STATED if is_stated}
        self._stated: dict[str, int | None] = {name: self._number(name, value) for name, value in stated.items()}

    @property
    def on_gpu(self) -> bool:
        return self.device == "cuda"

    def constant(self, name: str) -> Any:
        """Look up a name that problem.py defines."""
        return self._module.__dict__[name]

    def stated(self, name: Literal["least_bytes", "least_operations"]) -> int | None:
        """Return what problem.py states of a call's work by the case's constants; None where it is left to the count,
        as for training steps and in cases with init inputs of their own."""
        return self._stated.get(name)

    def _number(self, name: str, value: Any) -> int | None:
        if value is None:
            return None
        if not isinstance(value, (int, float)) or not 0 <= value < _BEYOND:  # nor is NaN
            raise InvalidProblem(f"{name} of case '{self.case}' is {value!r}; a number from 0 to 2^63 belongs here")
        return math.ceil(value)

    def construct(self, seed: int, varies: bool = False) -> torch.nn.Module:
        """Make a Model as a worker makes its own: on the CPU under the seed, where the device draws what is large; then
        moved.

        `varies`: initialise constant parameters at random, as the message Construct asks workers to.
        """
        return self._ready(self._constructed(seed, varies))

    def construct_on_meta(self) -> torch.nn.Module:
        """Make a Model without memory. Raises: InvalidProblem where its constructor needs real tensors."""
        return self._ready(self._constructed_on_meta())

    def _constructed(self, seed: int, varies: bool = False) -> torch.nn.Module:
        initialisers = varied_initialisers(seed) if varies else contextlib.nullcontext()
        with _GENERATORS, blamed_on(self, "Model(*init_inputs) failed"):
            _seed_everything(seed, self.device)
            with torch.no_grad(), large_draws_on(self.device), Placed(self.device), initialisers:
                model = self._new_model()
            return model.to(self.device)

    def _constructed_on_meta(self) -> torch.nn.Module:
        complaint = "Model(*init_inputs) works on no meta device"
        with _GENERATORS, blamed_on(self, complaint), torch.no_grad(), torch.device("meta"), Placed("meta"):
            model = self._new_model()
        return model.to("meta")

    def _new_model(self) -> torch.nn.Module:
        model: torch.nn.Module = self._module.Model(*self.init_inputs)
        if not isinstance(model, torch.jit.ScriptModule):  # that takes no hooks, and has tensors for inputs
            model.register_forward_pre_hook(self._assembly, prepend=True)
        return model

    def _ready(self, model: torch.nn.Module) -> torch.nn.Module:
        model.eval()
        if self._batch_statistics:
            take_batch_statistics(model)
        return TrainingStep(model, self.step) if self.step else model

    @property
    def step(self) -> Step | None:
        """The training step that a call is; None where it is forward() alone."""
        found = self._backward
        return Step(found.parameters, len(found.cotangents), found.structure) if self._is_step else None

    @functools.cached_property
    def _backward(self) -> _Backward:
        """Found by a run, without memory where the problem's code permits. Raises: InvalidProblem where no output has a
        gradient."""
        if not self._is_step:
            return _Backward({}, (), "")
        if not self.on_gpu:  # there meta tensors take longer than a run
            with contextlib.suppress(InvalidProblem):
                return self._find_backward(self._constructed_on_meta(), self.forward_specs())
        return self._find_backward(self._constructed(0), self._draw(0))

    def _find_backward(self, model: torch.nn.Module, inputs: Sequence[Any]) -> _Backward:
        with torch.enable_grad(), blamed_on(self, "Model.forward() failed"):
            returned = model.eval()(*as_leaves(inputs))
            reached = [one for one in tensors_of(returned) if one.requires_grad]
            if not reached:
                raise InvalidProblem("problem.yaml has backward: true, but no output of Model.forward() has a gradient")
            own = {name: parameter for name, parameter in model.named_parameters() if parameter.requires_grad}
            ones = [torch.ones_like(output) for output in reached]
            gradients = torch.autograd.grad(reached, list(own.values()), ones, allow_unused=True) if own else ()
        pairs = zip(own.items(), gradients, strict=True)
        used = {name: dtype_name(one.dtype) for (name, one), grad in pairs if grad is not None}
        forms = tuple((tuple(output.shape), output.dtype) for output in reached)
        return _Backward(used, forms, unpack(returned)[0])

    @property
    def forms(self) -> tuple[Form, ...] | None:
        """The forms of the inputs whose parts have been drawn; None where each input is a part."""
        return self._assembly.forms

    @property
    def irregular(self) -> set[str]:
        """The kinds of sparse and jagged inputs, which can't be divided into rows."""
        return irregular_kinds(self.forms or ())

    def leaves(self, count: int) -> list[tuple[str, list[str]]]:
        """Name the tensors and plain values of all inputs, which have `count` parts, and the parts of each."""
        forms = self.forms or (None,) * count
        found = [leaf for number, form in enumerate(forms) for leaf in leaves(form, f"input {number}")]
        rest = count - sum(len(parts) for _, parts in found)  # cotangents
        names = [f"input {number}" for number in range(len(forms), len(forms) + rest)]
        return found + [(name, [name]) for name in names]

    def positions(self, count: int) -> dict[str, tuple[int, ...]]:
        """The positions of each argument of Model.forward() among `count` parts of inputs."""
        places = itertools.count()
        forms = self.forms or (None,) * count
        return {
            name: tuple(next(places) for _, parts in leaves(form, name) for _ in parts)
            for name, form in zip(self._arguments, forms, strict=False)
        }

    @property
    def _arguments(self) -> list[str]:
        """The names of Model.forward()'s arguments."""
        return list(inspect.signature(self._module.Model.forward).parameters)[1:]

    def make_inputs(self, seed: int) -> list[Any]:
        """Call get_inputs() under a seed, on the device itself: on the CPU large inputs take minutes. Returns the parts
        of the inputs, as which the models that are constructed here take them. A training step's cotangents follow."""
        forms = self._backward.cotangents  # first: to find them, others are drawn
        with _GENERATORS:
            inputs = self._draw(seed)
            return inputs + [torch.randn(shape, dtype=dtype, device=self.device) for shape, dtype in forms]

    def _draw(self, seed: int) -> list[Any]:
        with _GENERATORS, blamed_on(self, "get_inputs() failed"), torch.device(self.device), Placed(self.device):
            _seed_everything(seed, self.device)
            inputs = self._apart(self._module.get_inputs())
        return [value.to(self.device) if isinstance(value, torch.Tensor) else value for value in inputs]

    def make_integers(self, seed: int) -> list[Any]:
        """Make the inputs, but floating-point numbers, which take most of the memory, as meta tensors. What follows
        from integers alone, such as a mask, is real. Raises: InvalidProblem where real tensors follow from meta ones.
        """
        with _GENERATORS, blamed_on(self, "get_inputs() works on no meta device"), WithoutFloats("cpu"):
            _seed_everything(seed, "cpu")
            return self._apart(self._module.get_inputs())

    def _apart(self, inputs: Iterable[Any]) -> list[Any]:
        values, parts = list(inputs), list[Any]()
        try:
            forms = tuple(take_apart(value, parts) for value in values)
        except NoForm as error:
            raise InvalidProblem(f"get_inputs() of case '{self.case}' returns a {error}") from None
        self._assembly.expect(forms)
        # Gradients are asked for in problem.yaml; an input that has some could not be changed in place.
        return [part.detach() if isinstance(part, torch.Tensor) else part for part in parts]

    def input_specs(self) -> list[torch.Tensor]:
        """Make the inputs as meta tensors. Raises: InvalidProblem where get_inputs() needs real memory."""
        forms = self._backward.cotangents
        return self.forward_specs() + [torch.empty(shape, dtype=dtype, device="meta") for shape, dtype in forms]

    def forward_specs(self) -> list[torch.Tensor]:
        """Make the inputs of Model.forward() as meta tensors. Raises: as input_specs()."""
        complaint = "get_inputs() works on no meta device"
        with _GENERATORS, blamed_on(self, complaint), torch.device("meta"), Placed("meta"):
            inputs = self._apart(self._module.get_inputs())
        if self.irregular:
            raise InvalidProblem(f"{complaint}: sparse and jagged inputs need their indices")
        return inputs

    def output_spec(self, model: torch.nn.Module, inputs: Sequence[Any]) -> OutputSpec:
        """Find the form of the outputs, on meta tensors where the model supports them, else by a run.

        On a GPU a run takes milliseconds, while meta tensors make torch import its compiler (3.5 s on an H100's host).
        """
        run = None if self.on_gpu else _run_on_meta(model, inputs)
        if run is None:
            is_real = not any(isinstance(value, torch.Tensor) and value.is_meta for value in inputs)
            real = inputs if is_real else self.make_inputs(0)
            with blamed_on(self, "Model.forward() failed"):
                run = _run(model, real)
        *of_run, changed = run
        found = spec_of(*of_run)
        return replace(found, changed_inputs=changed, gradients=self._gradients(inputs), may_choose=self._may_choose)

    def _gradients(self, inputs: Sequence[Any]) -> tuple[str, ...]:
        if not self.step:
            return ()
        forms = self.forms or (None,) * len(self._arguments)
        named = [leaf for name, form in zip(self._arguments, forms, strict=False) for leaf in leaves(form, name)]
        of_parts = [part for _, parts in named for part in parts]
        pairs = itertools.zip_longest(inputs[: -self.step.cotangents], of_parts)
        return (*(name or "an input" for value, name in pairs if is_differentiable(value)), *self.step.parameters)


class _Assembly:
    """A hook before a model's forward(), which makes the inputs of their parts. A model's copies share it."""

    def __init__(self) -> None:
        self.forms: tuple[Form, ...] | None = None
        self._expected: tuple[Form, ...] | None = None

    def expect(self, forms: tuple[Form, ...]) -> None:
        """Take these from now on. Raises: InvalidProblem where they were others before."""
        if forms != (self._expected or forms):
            raise InvalidProblem("get_inputs() gives inputs of another structure at every call")
        self._expected = forms
        self.forms = forms if any(form is not None for form in forms) else None

    def __call__(self, model: torch.nn.Module, parts: tuple[Any, ...]) -> tuple[Any, ...] | None:
        return None if self.forms is None else tuple(put_together(self.forms, parts))

    def __deepcopy__(self, memo: object) -> _Assembly:
        return self


class TrainingStep(torch.nn.Module):
    """A model whose call is a training_step(); it has the model's state under the same names."""

    def __init__(self, model: torch.nn.Module, step: Step) -> None:
        super().__init__()
        self.model = model
        self.step = step

    def forward(self, *given: Any) -> Any:
        own = dict(self.model.named_parameters())
        return training_step(self.model, given, self.step, [own[name] for name in self.step.parameters])

    def state_dict(self, *arguments: Any, **options: Any) -> Any:
        return self.model.state_dict(*arguments, **options)


class _Backward(NamedTuple):
    """The parameters that get gradients, with their dtypes; shape and dtype of each output that has a gradient; and the
    structure of all outputs."""

    parameters: dict[str, str]
    cotangents: tuple[tuple[tuple[int, ...], torch.dtype], ...]
    structure: str


def keeps_statistics(problem: Problem, case: str) -> bool:
    """Say whether the reference has layers that use kept statistics in eval(), and the batch's in training mode."""
    reference = Reference(problem, case, "cpu")
    try:
        model = reference.construct_on_meta()
    except InvalidProblem:  # some constructors need real tensors
        model = reference.construct(0)
    return bool(keeping_statistics(model))


@contextlib.contextmanager
def blamed_on(reference: Reference, what: str) -> Iterator[None]:
    """Turn an exception of the problem's code into InvalidProblem. Lack of memory stays what it is."""
    try:
        yield
    except (InvalidProblem, torch.OutOfMemoryError, MemoryError):
        raise
    except PROBLEM_ERRORS as error:
        if lacks_memory(error):
            raise torch.OutOfMemoryError(str(error)) from error
        frames = traceback.extract_tb(error.__traceback__)
        where = next((f" at problem.py:{one.lineno}" for one in reversed(frames) if one.filename == reference.path), "")
        said = f"{type(error).__name__}: {without_native_frames(str(error))}"
        raise InvalidProblem(f"{what} in case '{reference.case}'{where}: {said}") from error


def _print_aside(*values: Any, **options: Any) -> None:
    """Print to stderr: stdout belongs to the harness, which may write JSON there."""
    print(*values, **{**options, "file": options.get("file") or sys.stderr})


def _seed_everything(seed: int, device: str) -> None:
    """Seed all generators that a problem may use, so that its inputs can be made again. torch.manual_seed() keeps, for
    each kind of device that isn't there, a trace of where it was called: a millisecond each, and for ever."""
    torch.default_generator.manual_seed(seed)
    if device == "cuda":
        torch.cuda.manual_seed_all(seed)
    random.seed(seed)
    numpy.random.seed(seed % 2**32)


def _as_written(value: Any) -> Any:
    """Turn lists into tuples: YAML has none, but kernel sizes and the like are tuples in Python."""
    return tuple(_as_written(item) for item in value) if isinstance(value, (list, tuple)) else value


_Run = tuple[torch.nn.Module, Sequence[Any], Any, frozenset[int]]
"""A model, its inputs, what it returned, and the inputs that it wrote into."""


def _run(model: torch.nn.Module, inputs: Sequence[Any]) -> _Run:
    before = versions(inputs)
    with torch.no_grad():
        returned = model(*inputs)
    now = enumerate(versions(inputs))
    return model, inputs, returned, frozenset(number for number, version in now if version != before[number])


def _run_on_meta(model: torch.nn.Module, inputs: Sequence[Any]) -> _Run | None:
    """Run a copy on meta tensors; None where meta kernels are missing or the model makes real tensors."""
    try:
        with torch.no_grad(), torch.device("meta"):
            on_meta = copy.deepcopy(model).to("meta")
            return _run(on_meta, [value.to("meta") if isinstance(value, torch.Tensor) else value for value in inputs])
    except PROBLEM_ERRORS:
        return None
