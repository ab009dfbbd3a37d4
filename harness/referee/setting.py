"""The trusted facts about one case: reference, oracle, form of the outputs, and where its seeds come from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from harness.records.check import Check, OutputComparison, Scope, Tolerance
from harness.referee.answers.oracle import Oracle
from harness.referee.answers.reference import InvalidProblem, OutputSpec, Reference
from harness.referee.inputs.seeds import derive
from harness.workspace.problem import Problem


@dataclass(frozen=True)
class Setting:
    """A case made ready for judging. `meta_inputs` is None on a GPU, and where get_inputs() needs real memory.
    `call_bytes`: what an eager call allocates on a GPU at most, outputs among it; 0 where there is none.
    `repeat`: how often it was measured before; each time by fresh workers, on other inputs, with the same weights."""

    problem: Problem
    case: str
    master_seed: int
    reference: Reference
    model: torch.nn.Module
    oracle: Oracle
    spec: OutputSpec
    meta_inputs: list[Any] | None
    repeat: int = 0
    call_bytes: int = 0

    def tolerance_for(self, dtype: torch.dtype) -> Tolerance:
        return self.problem.tolerance_for(str(dtype).removeprefix("torch."))

    @property
    def construction_seed(self) -> int:
        return derive(self.master_seed, self.problem.name, self.case, "construct")

    def seed(self, *purpose: object) -> int:
        again = ("repeat", self.repeat) if self.repeat else ()
        return derive(self.master_seed, self.problem.name, self.case, *purpose, *again)

    def check(
        self, seed: int, scope: Scope, outputs: tuple[OutputComparison, ...], variant: str | None = None
    ) -> Check:
        return Check(self.case, seed, scope, self.oracle.kind, outputs, variant)


def prepare_setting(problem: Problem, case: str, master_seed: int, device: str, repeat: int = 0) -> Setting:
    """Execute the reference for a case. Raises: InvalidProblem."""
    reference = Reference(problem, case, device)
    model = reference.construct(derive(master_seed, problem.name, case, "construct"))
    meta_inputs = None if reference.on_gpu else _meta_inputs(reference)
    inputs = meta_inputs if meta_inputs is not None else reference.make_inputs(0)
    before = _allocated_anew(reference)
    spec = reference.output_spec(model, inputs)
    call_bytes = torch.cuda.max_memory_allocated() - before if reference.on_gpu else 0
    oracle = Oracle(reference, model, problem.independent_batch, device)
    return Setting(problem, case, master_seed, reference, model, oracle, spec, meta_inputs, repeat, call_bytes)


def _allocated_anew(reference: Reference) -> int:
    """What is allocated now, from where the peak begins anew; 0 without a GPU."""
    if not reference.on_gpu:
        return 0
    torch.cuda.reset_peak_memory_stats()
    return int(torch.cuda.memory_allocated())


def _meta_inputs(reference: Reference) -> list[Any] | None:
    try:
        return reference.input_specs()
    except InvalidProblem:
        return None
