"""harness: is this GPU kernel right, and how fast is it really?

Everything public is named here and explained in docs/api.md. A name is imported when it is first used, so that
`import harness` is instant and needs no torch.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from harness.api.evaluating import compare, evaluate, iter_evaluations
    from harness.api.evaluator import Evaluator
    from harness.api.loading import load_problem, load_solution
    from harness.errors import HarnessError, InvalidFile, JournalError, MachineError, UsageError
    from harness.model.build import ExtensionBuild, KernelResources
    from harness.model.check import Check, OutputComparison, Tolerance
    from harness.model.config import Config, CorrectnessConfig, LimitsConfig, TimingConfig
    from harness.model.environment import Environment
    from harness.model.evaluation import Evaluation, Failure
    from harness.model.ranking import Summary, fast_p, rank, summarise
    from harness.model.statistics import Interval, geometric_mean
    from harness.model.timing import Timing
    from harness.model.verdict import Verdict
    from harness.serve.client import AsyncClient, Client, connect
    from harness.store.journal import read_journals
    from harness.workspace.problem import Case, Problem
    from harness.workspace.solution import Solution
    from harness.workspace.workspace import Workspace, find_workspace

__version__ = "0.3.0"

_HOMES = {
    "harness.api.evaluating": ("evaluate", "compare", "iter_evaluations"),
    "harness.api.evaluator": ("Evaluator",),
    "harness.api.loading": ("load_problem", "load_solution"),
    "harness.workspace.workspace": ("find_workspace", "Workspace"),
    "harness.workspace.problem": ("Problem", "Case"),
    "harness.workspace.solution": ("Solution",),
    "harness.model.config": ("Config", "CorrectnessConfig", "TimingConfig", "LimitsConfig"),
    "harness.model.evaluation": ("Evaluation", "Failure"),
    "harness.model.verdict": ("Verdict",),
    "harness.model.check": ("Check", "OutputComparison", "Tolerance"),
    "harness.model.timing": ("Timing",),
    "harness.model.statistics": ("Interval", "geometric_mean"),
    "harness.model.build": ("ExtensionBuild", "KernelResources"),
    "harness.model.environment": ("Environment",),
    "harness.serve.client": ("connect", "Client", "AsyncClient"),
    "harness.store.journal": ("read_journals",),
    "harness.model.ranking": ("rank", "fast_p", "summarise", "Summary"),
    "harness.errors": ("HarnessError", "UsageError", "InvalidFile", "MachineError", "JournalError"),
}

__all__ = [
    "AsyncClient",
    "Case",
    "Check",
    "Client",
    "Config",
    "CorrectnessConfig",
    "Environment",
    "Evaluation",
    "Evaluator",
    "ExtensionBuild",
    "Failure",
    "HarnessError",
    "Interval",
    "InvalidFile",
    "JournalError",
    "KernelResources",
    "LimitsConfig",
    "MachineError",
    "OutputComparison",
    "Problem",
    "Solution",
    "Summary",
    "Timing",
    "TimingConfig",
    "Tolerance",
    "UsageError",
    "Verdict",
    "Workspace",
    "__version__",
    "compare",
    "connect",
    "evaluate",
    "fast_p",
    "find_workspace",
    "geometric_mean",
    "iter_evaluations",
    "load_problem",
    "load_solution",
    "rank",
    "read_journals",
    "summarise",
]


if not TYPE_CHECKING:  # a type checker that saw it would let every name pass

    def __getattr__(name: str) -> Any:
        for home, names in _HOMES.items():
            if name in names:
                return getattr(importlib.import_module(home), name)
        raise AttributeError(f"module 'harness' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
