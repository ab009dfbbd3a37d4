"""harness: is this GPU kernel right, and how fast is it really?

Everything public is named here and explained in docs/api.md. A name is imported when it is first used, so that
`import harness` is instant and needs no torch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.face import lazy

__version__ = "0.3.0"

if TYPE_CHECKING:
    from harness.api.evaluating import compare as compare
    from harness.api.evaluating import evaluate as evaluate
    from harness.api.evaluating import iter_evaluations as iter_evaluations
    from harness.api.evaluator import Evaluator as Evaluator
    from harness.api.loading import load_problem as load_problem
    from harness.api.loading import load_solution as load_solution
    from harness.errors import HarnessError as HarnessError
    from harness.errors import InvalidFile as InvalidFile
    from harness.errors import JournalError as JournalError
    from harness.errors import MachineError as MachineError
    from harness.errors import UsageError as UsageError
    from harness.model.build import ExtensionBuild as ExtensionBuild
    from harness.model.build import KernelResources as KernelResources
    from harness.model.check import Check as Check
    from harness.model.check import OutputComparison as OutputComparison
    from harness.model.check import Tolerance as Tolerance
    from harness.model.config import Config as Config
    from harness.model.config import CorrectnessConfig as CorrectnessConfig
    from harness.model.config import LimitsConfig as LimitsConfig
    from harness.model.config import TimingConfig as TimingConfig
    from harness.model.environment import Environment as Environment
    from harness.model.evaluation import Evaluation as Evaluation
    from harness.model.evaluation import Failure as Failure
    from harness.model.ranking import Summary as Summary
    from harness.model.ranking import fast_p as fast_p
    from harness.model.ranking import rank as rank
    from harness.model.ranking import summarise as summarise
    from harness.model.statistics import Interval as Interval
    from harness.model.statistics import geometric_mean as geometric_mean
    from harness.model.timing import Timing as Timing
    from harness.model.verdict import Verdict as Verdict
    from harness.serve.client import AsyncClient as AsyncClient
    from harness.serve.client import Client as Client
    from harness.serve.client import connect as connect
    from harness.store.journal import read_journals as read_journals
    from harness.workspace.problem import Case as Case
    from harness.workspace.problem import Problem as Problem
    from harness.workspace.solution import Solution as Solution
    from harness.workspace.workspace import Workspace as Workspace
    from harness.workspace.workspace import find_workspace as find_workspace
else:
    __getattr__, __dir__ = lazy(__name__, __file__)
    __all__ = [*__dir__(), "__version__"]
