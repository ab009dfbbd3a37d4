"""Mutants that take a run of the reference: with other weights, rounded operands, or an input ignored."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from functools import partial
from typing import Any

import torch

from harness.referee.answers.oracle import Oracle, copied
from harness.referee.answers.roundings import ROUNDINGS, answer_with_rounded
from harness.referee.answers.rows import is_floating
from harness.referee.ceilings.work import operations_of_run
from harness.referee.mutants.mutants import Answers, Mutant, Specimen


def recomputed(specimen: Specimen) -> tuple[Mutant, ...]:
    """The mutants that fit the problem's precision, parameters and number of inputs."""
    cheaper = _CHEAPER.get(specimen.setting.precision, ())
    if not operations_of_run(specimen.setting.model, copied(specimen.inputs)).total:
        cheaper = tuple(name for name in cheaper if name != "tf32")  # tensor cores do products alone
    rounded = tuple(_rounded(name) for name in cheaper)
    start, ignored = 0, []
    for name, parts in specimen.setting.reference.leaves(len(specimen.inputs)):
        own = slice(start, start := start + len(parts))
        if any(isinstance(value, torch.Tensor) for value in specimen.inputs[own]):
            ignored.append(_ignored(name, own))
    ignored = ignored if len(ignored) > 1 else []
    return (*rounded, *ignored, OTHER_WEIGHTS, LEFT_OUT)


def is_inexact_in(name: str, specimen: Specimen) -> bool:
    """Say whether rounding changes an input or a weight at all."""
    values = [*specimen.inputs, *specimen.setting.model.parameters()]
    return any(bool((ROUNDINGS[name](v) != v).any()) for v in values if is_floating(v))


_CHEAPER = {
    "float64": ("float32", "float16", "bfloat16"),
    "float32": ("tf32", "float16", "bfloat16"),
    "tf32": ("float16", "bfloat16"),
}
"""The cheaper precisions that might be passed off as each one; below float16 there is none."""


def _rounded(name: str) -> Mutant:
    return Mutant(
        name,
        f"computes with inputs and weights in {name}",
        partial(_with_rounded_operands, name),
        f"the tolerance forgives {name}: lower it, or declare 'precision: {name}' if that is meant",
        name,
        f"the right answer is the same in {name}, though inputs are not",
    )


def _with_rounded_operands(name: str, specimen: Specimen) -> Answers | None:
    """None without operands."""
    if not any(is_floating(value) for value in (*specimen.inputs, *specimen.setting.model.parameters())):
        return None
    answers = answer_with_rounded(ROUNDINGS[name], specimen.setting.reference, specimen.setting.model, specimen.inputs)
    return [answer.to(want.dtype) for answer, want in zip(answers, specimen.want, strict=True)]


def _ignored(name: str, parts: slice) -> Mutant:
    return Mutant(
        f"{name.replace('input ', 'input_')}_ignored",
        f"uses an earlier value of {name}",
        partial(_with_other_input, parts),
        f"the outputs don't depend on {name} beyond the tolerance: draw it with more spread",
        "",
        f"the reference doesn't use {name}, or each draw gives the same",
    )


def _with_other_input(parts: slice, specimen: Specimen) -> Answers | None:
    inputs = list(specimen.inputs)
    inputs[parts] = specimen.other_inputs[parts]
    return _answers(specimen, specimen.setting.model, inputs)


def _with_other_weights(specimen: Specimen) -> Answers | None:
    """Use the reference's weights under another seed; None where every seed gives the same."""
    setting = specimen.setting
    model = setting.reference.construct(setting.seed("construct", "other"), setting.varied_for is not None)
    pairs = zip(model.state_dict().values(), setting.model.state_dict().values(), strict=True)
    if all(torch.equal(one, two) for one, two in pairs):
        return None
    return _answers(specimen, model, specimen.inputs)


def _with_scales_left_out(specimen: Specimen) -> Answers | None:
    """Set one-dimensional parameters to what changes nothing: scales (such as 'weight') to one, offsets to zero."""
    model = copy.deepcopy(specimen.setting.model)
    small = [(name, p) for name, p in model.named_parameters() if p.dim() <= 1 and p.is_floating_point()]
    if not small:
        return None
    with torch.no_grad():
        for name, parameter in small:
            parameter.fill_(1.0 if name.rpartition(".")[2] in ("weight", "scale", "gamma") else 0.0)
    return _answers(specimen, model, specimen.inputs)


_UNUSED_BY_A_GRADIENT = ("step", "a gradient needn't depend on the weights")

OTHER_WEIGHTS = Mutant(
    "other_weights",
    "computes with weights of its own",
    _with_other_weights,
    "the outputs don't depend on the weights beyond the tolerance: draw larger ones, or lower it",
    *_UNUSED_BY_A_GRADIENT,
)

LEFT_OUT = Mutant(
    "scales_left_out",
    "leaves out scales and offsets (biases, the weights of a normalisation)",
    _with_scales_left_out,
    "the parameters change nothing as they are initialised: draw them at random in Model.__init__()",
    *_UNUSED_BY_A_GRADIENT,
)


def _answers(specimen: Specimen, model: torch.nn.Module, inputs: Sequence[Any]) -> Answers:
    setting = specimen.setting
    oracle = Oracle(setting.reference, model, False)
    answers = oracle.answer(inputs)
    return [answer.to(want.dtype) for answer, want in zip(answers, specimen.want, strict=True)]
