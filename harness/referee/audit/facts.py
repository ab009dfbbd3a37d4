"""What the audit knows of a case besides the turns."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from harness.model.ceilings import Ceilings
from harness.model.evaluation import Work
from harness.model.trace import Trace
from harness.referee.answers.reference import OutputSpec
from harness.referee.audit.around_calls import Output
from harness.referee.audit.kernels import InFramework, in_framework_libraries, own_kernels
from harness.referee.audit.operators import operators_of_reference
from harness.referee.audit.roofline import inputs_that_matter
from harness.referee.audit.run_time import Written, is_compiled_by_torch
from harness.referee.ceilings.ceilings import known_ceilings
from harness.referee.setting import Setting


@dataclass(frozen=True)
class Facts:
    """`on_gpu`: not on the simulator, which always traces and never times. `can_trace`: the solution's worker could be
    traced before the solution was loaded; where that wasn't tried a baseline shows it. `own`: kernels that the compiler
    made of the solution's sources. `outputs`: of one call, in order.
    `inputs_that_matter`: see roofline.Moved."""

    on_gpu: bool = True
    can_trace: bool = False
    own: frozenset[str] = frozenset()
    outputs: tuple[Output, ...] = ()
    work: Work | None = None
    ceilings: Ceilings | None = None
    in_framework: InFramework = lambda symbol: False
    is_compiled_by_torch: Callable[[str], bool] = lambda name: False
    """Whether torch compiles a kernel of that plain name while it runs."""
    is_left_to_torch: Callable[[str], bool] = lambda name: False
    """The same, where the solution's text has no function of that name."""
    inputs_that_matter: Callable[[], float] = lambda: 0.0
    reference: Trace | None = None
    """What the reference consists of, where no baseline is traced."""

    least_share: float = 0.0
    """Of the device's time that the config wants in own kernels."""

    @property
    def output_bytes(self) -> int:
        """Of one call, all outputs."""
        return sum(output.nbytes for output in self.outputs)


def gather_facts(
    setting: Setting,
    written: Written,
    work: Work | None,
    cache: Path,
    driver: str | None,
    can_trace: bool = False,
    least_share: float = 0.0,
) -> Facts:
    """`driver` is None without a GPU. The device's ceilings were measured before anybody else was on it."""
    on_gpu = setting.reference.on_gpu
    return Facts(
        on_gpu=on_gpu,
        can_trace=can_trace,
        own=own_kernels(written.builds),
        outputs=outputs_of(setting.spec),
        work=work,
        ceilings=known_ceilings(cache, driver) if on_gpu and driver else None,
        in_framework=in_framework_libraries if on_gpu else lambda symbol: False,
        is_compiled_by_torch=is_compiled_by_torch if on_gpu else lambda name: False,
        is_left_to_torch=written.leaves_to_torch if on_gpu else lambda name: False,
        inputs_that_matter=functools.partial(inputs_that_matter, setting),
        reference=operators_of_reference(setting),
        least_share=least_share,
    )


def outputs_of(spec: OutputSpec) -> tuple[Output, ...]:
    shapes = zip(spec.shapes, spec.dtypes, strict=True)
    return tuple(Output(math.prod(shape), dtype.itemsize) for shape, dtype in shapes)
