"""Asking a worker for its part, with every way of failing turned into its verdict."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from harness.builder.build import compile_failure
from harness.builder.compiler_log import first_line
from harness.devices import FLAGS, UNSUPPORTED_MARK
from harness.model.config import LimitsConfig
from harness.model.environment import BackendName, Flag
from harness.model.evaluation import WeightsSource
from harness.model.languages import OF_GPUS_ALONE, OF_PYTHON, PythonLanguage
from harness.model.plural import several
from harness.model.timing import GpuState
from harness.model.verdict import Verdict
from harness.referee.buffers.buffers import Buffers
from harness.referee.buffers.laid import NOTHING_LAID, KeptRow, Laid
from harness.referee.judgement import fault_among
from harness.referee.setting import Setting
from harness.sandbox.outcome import SolutionFailed, from_exception
from harness.sandbox.process import SolutionRaised, WorkerProcess
from harness.sandbox.wire.messages import (
    Constructed,
    Describe,
    Described,
    FlagChange,
    GiveBack,
    Load,
    Optimization,
    Raised,
    TakeTurn,
    TurnTaken,
)

ALL_BLOCKS = 2**62
"""Asks for a turn in which all blocks run and what they leave is looked for as after a few."""
_WORK_SHARES: dict[int | None, float] = {None: 1 / 8, ALL_BLOCKS: 1 / 4}
"""The share of a turn's time for launches that run whole on the simulator. What takes longer can be sampled instead,
except where all blocks run since a few didn't decide."""

_ABSENT = re.compile(r"(No module named '|import of |^name ')(?P<module>\w+)")
_OF_TORCHS_CUDA = re.compile(
    r"undefined symbol: (?P<name>_ZNK?(2at|3c10|5torch)\w*cuda\w*)|(?P<what>torch.UntypedStorage\(\)): Storage device"
)
"""Words on what torch has for CUDA alone: a linker's, with a mangled name, and those of unpickling."""
_ON_IMPORT = "on import of solution.py"
_OWN_FRAME = re.compile(r'^ *File "(?:[^"\n]*/)?solution\.py", line (?P<line>\d+).*\n(?P<code>.*)', re.MULTILINE)
_TRITONS_REFUSALS = {"CompilationError", "CompileTimeAssertionFailure", "UnsupportedLanguageConstruct", "PTXASError"}
DOESNT_COMPILE = "a Triton kernel doesn't compile"
_PASS_FAILED = "PassManager::run failed"
_REFUSED = re.compile(
    r"^triton\.compiler\.errors\.\w+: at \d+:\d+:\n(?P<code>(?:.*\n)*?) *\^\n(?P<what>.*\S.*)", re.MULTILINE
)
"""Triton's words on what it doesn't compile: the lines up to the place, and the reason."""
_NONE_HAS_NOTHING = "'NoneType' object has no attribute"
"""The error that comes of a module for those who set its name to None where the import fails."""


@dataclass(frozen=True)
class Taken:
    """One turn of one arm: the request, the worker's answer, and how long the referee waited for it by its own clock.

    The rest is what the referee saw besides, None where it didn't look: `fill_ns` is a fill of the device's memory
    right before, `probe_ns` one right after; then come the GPU's state and the memory of the arm's process meanwhile.
    """

    asked: TakeTurn
    answered: TurnTaken
    wall_ns: int
    laid: Laid = NOTHING_LAID
    row: KeptRow | None = None
    fill_ns: int | None = None
    probe_ns: int | None = None
    gpu: GpuState | None = None
    process_bytes: int | None = None


@dataclass(frozen=True)
class Weights:
    """The origin of a module's parameters. `convict`: whether wrong values are its own fault: parameters that are
    varied convict only where it had them all when its constructor ended, and nothing can derive from others. `own` are
    its parameters that got no values of the reference's, and `missing` the reference's whose values it didn't get.
    `replaced`: whether some had other values before they took the reference's."""

    source: WeightsSource
    convict: bool = True
    own: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    replaced: bool = False


def load_arm(
    worker: WorkerProcess,
    path: str,
    class_name: str,
    limits: LimitsConfig,
    flags: dict[str, Flag] = FLAGS,
    compilers: str | None = None,
) -> None:
    """Have the module loaded; `compilers` as Load has it. Raises: SolutionFailed; TextsNotBuilt, as do later turns."""
    with _blamed(worker, _ON_IMPORT, Verdict.LOAD_ERROR):
        worker.ask(Load(path, class_name, flags, compilers), limits.load_s + limits.build_s)


def construct_arm(
    worker: WorkerProcess,
    buffers: Buffers,
    setting: Setting,
    limits: LimitsConfig,
    optimization: Optimization | None = None,
) -> Weights:
    """Have the module made under the setting's seed, with the reference's state, unless it is to keep its own. Raises:
    SolutionFailed."""
    with _blamed(worker, "in ModelNew(*init_inputs)", Verdict.LOAD_ERROR):
        reply = buffers.construct(worker, setting, limits.load_s + limits.build_s, optimization)
    names, loaded, in_place = setting.model.state_dict().keys(), set(reply.loaded), set(reply.in_place)
    convict = setting.varied_for is None or names <= in_place
    own, missing = (tuple(name for name in of if name not in loaded) for of in (reply.state, names))
    return Weights(_weights_source(reply), convict, own, missing, replaced=not loaded <= in_place)


def take_turn(
    worker: WorkerProcess,
    buffers: Buffers,
    request: TakeTurn,
    limits: LimitsConfig,
    wake: Callable[[], None] = lambda: None,
) -> Taken:
    """Take one turn over the inputs as they lie, with the outputs poisoned before.

    `wake` is done last before the clock starts, for a worker that is frozen: if it ran earlier, it would have the
    inputs for as long as poisoning takes.

    Raises: SolutionFailed, also where another number of calls is answered, and on a fault that the simulator saw in a
    turn that went through.
    """
    if share := _WORK_SHARES.get(request.sample_blocks):
        request = replace(request, work_s=share * limits.turn_s)
    if not request.sample_blocks:
        buffers.poison_outputs(request.calls)
    buffers.synchronize()
    worker.has_taken_turns = True
    with _blamed(worker, "in a training step" if buffers.spec.gradients else "in forward()"):
        wake()
        started = time.perf_counter_ns()
        answered = worker.ask(request, limits.turn_s)
        wall_ns = time.perf_counter_ns() - started
    assert isinstance(answered, TurnTaken)
    _require_all_calls(request, answered)
    if fault := fault_among(answered.findings):
        raise fault
    return Taken(request, answered, wall_ns)


def _require_all_calls(asked: TakeTurn, answered: TurnTaken) -> None:
    if len(answered.calls) != len(asked.calls):
        raise SolutionFailed.cheating(
            "private_socket",
            f"a turn of {several(len(asked.calls), 'call')} was answered with {len(answered.calls)}",
            asked=len(asked.calls),
            answered=len(answered.calls),
        )


def give_back(worker: WorkerProcess, limits: LimitsConfig) -> None:
    """Have the worker give back the device's memory that its allocator keeps. Raises: SolutionFailed."""
    with _blamed(worker, "between its turns"):
        worker.ask(GiveBack(), limits.turn_s)


def describe_arm(worker: WorkerProcess, limits: LimitsConfig) -> Described:
    """Ask what the module's code did to torch, by the worker's account. Raises: SolutionFailed."""
    with _blamed(worker, "when asked for torch's flags"):
        reply = worker.ask(Describe(), limits.turn_s)
    assert isinstance(reply, Described)
    return reply


def flag_remarks(who: str, changes: Sequence[FlagChange], known: Sequence[FlagChange] = ()) -> list[str]:
    """One remark on the changes to torch's global flags besides those that are `known`; none where there are no others.
    Only the module's own process says that it made them."""
    new = [change for change in changes if change not in known]
    words = ", ".join(f"{change.name} {_said(change.before)} → {_said(change.after)}" for change in new)
    return [f"by its process's own account {who} changed torch's flags: {words}"] if new else []


def tuning_remarks(described: Described) -> list[str]:
    """One remark on what Triton chose, where it had a choice. Only the module's own process says so."""
    chosen = "; ".join(described.tuned)
    return [f"by its process's own account Triton's autotuner chose {chosen}"] if chosen else []


def _said(flag: Flag | None) -> str:
    if flag is None:
        return "contradictory"
    return flag if isinstance(flag, str) else "on" if flag else "off"


@contextmanager
def _blamed(worker: WorkerProcess, stage: str, otherwise: Verdict = Verdict.RUNTIME_ERROR) -> Iterator[None]:
    """Turn an exception in the worker into the failure behind it. The device's findings say more than the exception
    that came of it, and stand whatever gap that one claims."""
    try:
        yield
    except SolutionRaised as error:
        raised = error.raised
        raise (
            _seen(raised)
            or compile_failure(raised, worker)
            or refused_by_triton(raised)
            or absent_language(raised, worker.backend, is_import=stage == _ON_IMPORT)
            or _beyond_simulator(raised, worker.backend)
            or from_exception(raised, stage, otherwise)
        ) from None


def _beyond_simulator(raised: Raised, backend: BackendName) -> SolutionFailed | None:
    if backend == "sim" and (absent := _OF_TORCHS_CUDA.search(raised.message)):
        reason = f"torch has {absent['name'] or absent['what']} for a GPU only where it is built for CUDA"
        return SolutionFailed(Verdict.UNSUPPORTED, reason, raised.traceback, "run it on a GPU")
    if backend != "sim" or UNSUPPORTED_MARK not in raised.message:
        return None
    return SolutionFailed(Verdict.UNSUPPORTED, raised.message.partition(UNSUPPORTED_MARK)[2].strip(), raised.traceback)


def refused_by_triton(raised: Raised) -> SolutionFailed | None:
    """Return the failure for an exception of Triton's compiler, else None."""
    if raised.type_name not in _TRITONS_REFUSALS and raised.message != _PASS_FAILED:
        return None
    told = _REFUSED.search(raised.traceback)  # the innermost comes first
    what = f"{told['what']}, at: {told['code'].splitlines()[-1].strip()}" if told else first_line(raised.message)
    return SolutionFailed(Verdict.COMPILE_ERROR, f"{DOESNT_COMPILE}: {what}", raised.traceback)


def absent_language(raised: Raised, backend: BackendName, is_import: bool) -> SolutionFailed | None:
    """Return the failure for an exception that comes of the absence of a kernel's language, else None. What a machine
    lacks is no fault of the solution; the simulator has none of those that run on GPUs alone. On a GPU the import must
    fail: what comes later may be made up."""
    if backend == "cuda" and not is_import:
        return None
    language = next((one for one in OF_PYTHON if _lacks(one, raised)), None)
    is_refused = backend == "sim" and language in OF_GPUS_ALONE
    if language is None or (language.is_installed and not is_refused):
        return None
    next_step = f"install {language.name} for the Python that judges: pip install {language.package}"
    if is_refused:
        next_step = f"evaluate on a GPU, with {language.name} installed: nothing runs it elsewhere"
    frame = _own_frame(raised)
    where = f" at line {frame['line']}" if frame else ""
    return SolutionFailed(Verdict.UNSUPPORTED, f"{language.name}{where}", raised.traceback, next_step)


def _lacks(language: PythonLanguage, raised: Raised) -> bool:
    frame = _own_frame(raised)
    if raised.message.startswith(_NONE_HAS_NOTHING):
        return frame is not None and f"{language.module}." in frame["code"]
    missing = _ABSENT.search(raised.message)
    is_missing = raised.type_name in ("ImportError", "ModuleNotFoundError", "NameError")
    return is_missing and missing is not None and missing["module"] == language.module


def _own_frame(raised: Raised) -> re.Match[str] | None:
    return next(reversed(list(_OWN_FRAME.finditer(raised.traceback))), None)


def _seen(raised: Raised) -> SolutionFailed | None:
    fault = fault_among(raised.findings)
    if fault is None:
        return None
    seen = "\n\n".join(filter(None, (fault.failure.details, raised.traceback)))
    return type(fault)(fault.verdict, fault.failure.reason, seen, fault.failure.next_step)


def _weights_source(reply: Constructed) -> WeightsSource:
    if not reply.state:
        return "none"
    if set(reply.loaded) >= set(reply.state):
        return "reference_state"
    return "partly_reference_state" if reply.loaded else "same_seed"
