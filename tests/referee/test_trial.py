"""One loaded solution, from case to case: what is kept of each, and in which order it all ends."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import nn

from harness.devices.sim.host import SimHost
from harness.errors import MachineError
from harness.model.config import Config
from harness.model.trace import KernelOrigin, Trace, TracedKernel
from harness.model.verdict import Verdict
from harness.referee import sampling as sampling_module
from harness.referee import simulated_trial
from harness.referee import trial as trial_module
from harness.referee.answers.invalid_problem import InvalidProblem
from harness.referee.audit.custom import TracedCase
from harness.referee.audit.run_time import Written
from harness.referee.buffers import buffers as buffers_module
from harness.referee.buffers.turns import ALL_BLOCKS
from harness.referee.found import Found
from harness.referee.simulated_trial import SimulatedTrial
from harness.referee.trial import Trial
from harness.sandbox.outcome import SolutionFailed
from harness.sandbox.wire.device import Account, Finding, KernelRun
from harness.sandbox.wire.messages import Compilation, Describe, Described, FlagChange, TakeTurn
from harness.worker import arm as arm_module
from tests.files import laid
from tests.problem_text import problem_text
from tests.referee import in_process
from tests.referee.in_process import InProcessDevice, InProcessWorker, computing, in_process_host, job_of
from tests.referee.test_correctness import DOUBLE, Honest
from tests.referee.timing.test_timed_case import CONFIG, Listener
from tests.wording import tells

TRACE = Trace("full", 1, ())
CASES = "independent_batch: true\ncases: {small: {constants: {rows: 2}}, odd: {constants: {rows: 3}}}\n"


class ScriptedAuditor(Listener):
    """Finds what it is told to find, at the end."""

    ends: tuple[float | None, ...] = ()
    accuses: tuple[str, ...] = ()
    """Of which cases it says that the framework did the work."""
    ran: tuple[TracedKernel, ...] = ()
    found: Trace | None = None

    def __init__(self, case: str, baseline: str, facts: Any) -> None:
        super().__init__()
        self.case = case

    def finish(self, median_ns: float | None) -> Any:
        return self.judge(median_ns)

    def judge(self, median_ns: float | None = None) -> Any:
        type(self).ends += (median_ns,)
        self.found = replace(TRACE, case=self.case, kernels=self.ran)
        accused = SolutionFailed(Verdict.NO_CUSTOM_KERNEL, "only the framework's kernels ran")
        return TracedCase(self.case, self.found, accused if self.case in self.accuses else None, ("audited",))


class ProbeKernel:
    def run_ns(self) -> int:
        return 99

    def quickest_ns(self) -> int:
        return 99

    def __enter__(self) -> ProbeKernel:
        return self

    def __exit__(self, *_: object) -> None: ...


@pytest.fixture
def auditor(monkeypatch: pytest.MonkeyPatch) -> type[ScriptedAuditor]:
    class Auditor(ScriptedAuditor):
        pass

    monkeypatch.setattr(trial_module, "Auditor", Auditor)
    monkeypatch.setattr(trial_module, "ProbeKernel", ProbeKernel)
    return Auditor


def baseline() -> Any:
    return InProcessWorker(times=(2_000,))


def trial_of(
    tmp_path: Path,
    load: Callable[[], Any],
    config: Config = CONFIG,
    cases: tuple[str, ...] = ("full",),
    *,
    kind: type[Trial] = Trial,
    start: Callable[[], Any] = baseline,
    source: str = DOUBLE.replace("5000", "50"),
    yaml: str = "",
    precision: Any = None,
    lessons: dict[Any, Any] | None = None,
) -> tuple[Trial, Found]:
    """The trial of what `load` gives; other workers come of `start`."""
    laid(tmp_path, {"pool/problem.py": source, "pool/problem.yaml": yaml})
    lessons = {} if lessons is None else lessons
    workers: Any = SimpleNamespace(
        host=in_process_host(), cache=tmp_path, lessons=lessons, start=start, lend=lambda of: start()
    )
    found = Found()
    job = job_of(tmp_path / "pool", cases, config, precision)
    return kind(job, workers, load, found, lambda what: None, Written(), None), found


def take_times(trial: Trial) -> None:
    with ExitStack() as stack:
        trial.time({"eager": baseline()}, stack)


def tried(tmp_path: Path, model: type[nn.Module], config: Config, cases: tuple[str, ...]) -> tuple[Trial, Found, Any]:
    worker: Any = InProcessWorker(model, times=(1_000,))
    kind = SimulatedTrial if in_process_host().name == "sim" else Trial
    return *trial_of(tmp_path, lambda: worker, config, cases, kind=kind, yaml=CASES), worker


@pytest.mark.parametrize(
    ("cases", "kept"), [(("small", "full", "odd"), "full"), (("small", "odd"), "odd"), (("odd", "small"), "small")]
)
def test_every_case_is_traced_and_the_trace_of_the_one_that_stands_for_the_solution_is_kept(
    tmp_path: Path, auditor: type[ScriptedAuditor], cases: tuple[str, ...], kept: str
) -> None:
    trial, found, worker = tried(tmp_path, Honest, CONFIG, cases)
    trial.check()
    assert {check.case for check in found.checks} == set(cases)
    assert found.checks[-1].case == ("full" if "full" in cases else cases[-1])
    assert found.trace == replace(TRACE, case=kept)
    assert (auditor.ends, found.remarks) == ((None,) * len(cases), ["audited"] * len(cases))
    assert sum(turn.traced for turn in worker.turns) == len(cases)


def test_with_a_gpu_that_times_nothing_one_case_is_traced(
    tmp_path: Path, auditor: type[ScriptedAuditor], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SimHost, "name", "cuda")
    config = replace(CONFIG, timing=replace(CONFIG.timing, enabled=False))
    trial, found, worker = tried(tmp_path, Honest, config, ("small", "full", "odd"))
    trial.check()
    assert (found.trace, auditor.ends) == (replace(TRACE, case="full"), (None,))
    assert sum(turn.traced for turn in worker.turns) == 1


@pytest.mark.parametrize(
    ("cases", "accused", "convicted"),
    [
        (("full",), ("full",), "full"),
        (("small", "odd", "full"), ("small", "full"), "full"),  # what a GPU would time
        (("small", "odd"), ("small", "odd"), "odd"),
    ],
)
def test_a_trace_is_kept_where_it_convicts(
    tmp_path: Path, auditor: type[ScriptedAuditor], cases: tuple[str, ...], accused: tuple[str, ...], convicted: str
) -> None:
    auditor.accuses = accused
    trial, found, _ = tried(tmp_path, Honest, CONFIG, cases)
    with pytest.raises(SolutionFailed, match="framework's") as caught:
        trial.check()
    assert (found.trace, caught.value.failure.case) == (replace(TRACE, case=convicted), convicted)


@pytest.mark.parametrize("cases", [("small", "odd"), ("small", "odd", "full")])
def test_a_case_that_is_left_to_the_framework_is_remarked_on(
    tmp_path: Path, auditor: type[ScriptedAuditor], cases: tuple[str, ...]
) -> None:
    """Sizes for which one has written no kernel."""
    auditor.accuses = ("odd",)
    trial, found, _ = tried(tmp_path, Honest, CONFIG, cases)
    trial.check()
    assert tells(found.remarks[-1], "odd: not the solution's own", "framework's")


@pytest.mark.parametrize(
    ("origins", "is_right", "accused"),
    [(("own", "framework"), True, True), (("own", "framework"), False, False), (("own",), True, False)],
)
def test_own_kernels_on_which_nothing_depends_are_decoys(
    tmp_path: Path,
    auditor: type[ScriptedAuditor],
    monkeypatch: pytest.MonkeyPatch,
    origins: tuple[KernelOrigin, ...],
    is_right: bool,
    accused: bool,
) -> None:
    kernels = tuple(TracedKernel(origin, origin, 1, 0) for origin in origins)
    monkeypatch.setattr(auditor, "ran", kernels)
    monkeypatch.setattr(simulated_trial, "is_right_without_launches", lambda *_: is_right)
    trial, found, _ = tried(tmp_path, Honest, CONFIG, ("small", "odd"))
    trial.check()
    if not accused:
        trial.require_effect()
        return
    with pytest.raises(SolutionFailed, match="without") as caught:
        trial.require_effect()
    assert (caught.value.verdict, caught.value.failure.case) == (Verdict.NO_CUSTOM_KERNEL, "odd")
    assert found.trace == Trace("odd", 1, kernels)


def test_nobody_is_asked_for_anything_once_it_has_ended(tmp_path: Path, auditor: type[ScriptedAuditor]) -> None:
    """InProcessWorker refuses it: workers that are started late must outlive the buffers that they have open."""
    config = replace(CONFIG, timing=replace(CONFIG.timing, baselines=("eager", "cudnn-benchmark")))
    trial, found, _ = tried(tmp_path, Honest, config, ("full",))
    references: Any = {"eager": baseline()}
    with ExitStack() as stack:
        trial.time(references, stack)
        assert not any(worker.is_closed for worker in references.values())
    assert set(references) == {"eager", "cudnn-benchmark", "control"}
    assert references["cudnn-benchmark"].is_closed
    assert found.timing is not None
    assert found.timing.baselines == ("eager", "cudnn-benchmark")
    assert auditor.ends == (1_000.0,)
    assert set(found.stages_s) == {"timing", "correctness"}
    assert {check.scope for check in found.checks} == {"complete", "timed_turn"}


def test_fresh_processes_are_measured_one_after_another(tmp_path: Path, auditor: type[ScriptedAuditor]) -> None:
    config = replace(CONFIG, timing=replace(CONFIG.timing, processes=3, metrics=()))
    loaded: list[InProcessWorker] = []
    references: list[InProcessWorker] = []

    def load() -> Any:
        earlier = (*loaded, *references[:-2])  # the baseline and its control start meanwhile
        assert all(worker.is_closed for worker in earlier), "two measurements at once"
        loaded.append(InProcessWorker(Honest, times=(1_000,)))
        return loaded[-1]

    def start() -> InProcessWorker:
        references.append(baseline())
        return references[-1]

    trial, found = trial_of(tmp_path, load, config, start=start)
    take_times(trial)
    assert len(loaded) == 3
    assert found.timing is not None
    assert found.timing.fresh_at == (8, 16)
    assert found.timing.baselines == ("eager",)
    assert found.timing.has_control
    assert auditor.ends == (1_000.0,) * 3
    own = [check.seed for check in found.checks if check.variant is None and check.scope == "complete"]
    assert len(own) == len(set(own)), "inputs that an earlier process has seen"


def tried_in_processes(tmp_path: Path, config: Config, waits: Sequence[bool]) -> tuple[Found, list[InProcessWorker]]:
    """`waits`: of each process's solution, whether it waits for the device, so that its launches can't be queued."""
    loaded: list[InProcessWorker] = []

    def load() -> Any:
        worker = InProcessWorker(Honest, times=(1_000,))
        worker._arm.device.queued = not waits[len(loaded)]  # type: ignore[attr-defined]
        loaded.append(worker)
        return worker

    trial, found = trial_of(tmp_path, load, config)
    take_times(trial)
    return found, loaded


@pytest.mark.parametrize(
    ("declared", "baselines"),
    [
        (None, ("eager",)),
        ("float32", ("eager",)),
        ("tf32", ("eager",)),
        ("float16", ("eager", "eager-float16")),
    ],
)
def test_the_reference_in_a_declared_precision_is_measured_where_it_is_another_than_eagers(
    tmp_path: Path, auditor: type[ScriptedAuditor], declared: str | None, baselines: tuple[str, ...]
) -> None:
    """A problem without products: tf32 changes nothing of it."""
    trial, found = trial_of(tmp_path, lambda: InProcessWorker(Honest, times=(1_000,)), precision=declared)
    take_times(trial)
    assert found.timing is not None
    assert found.timing.baselines == baselines


def processes(count: int, **changes: Any) -> Config:
    return replace(CONFIG, timing=replace(CONFIG.timing, processes=count, **changes))


def metrics_of(worker: InProcessWorker) -> list[str]:
    """Those of its turns on a device that is held, each once, in their order; late inputs always have the same."""
    held = [turn.conditions for turn in worker.turns if turn.conditions.hold_ns and not turn.conditions.late_inputs]
    return list(dict.fromkeys(one.metric for one in held))


def test_the_metric_of_the_first_process_is_that_of_all(tmp_path: Path, auditor: type[ScriptedAuditor]) -> None:
    found, loaded = tried_in_processes(tmp_path, processes(3, metrics=()), (True, False, False))
    assert found.timing is not None
    assert (found.timing.metric, found.timing.fresh_at) == ("end_to_end", (8, 16))
    assert [metrics_of(worker) for worker in loaded] == [["gpu_cold", "end_to_end"], ["end_to_end"], ["end_to_end"]]
    assert [remark for remark in found.remarks if "anew" in remark] == []


def test_a_later_process_that_waits_has_all_measured_anew(tmp_path: Path, auditor: type[ScriptedAuditor]) -> None:
    """Joined as they came, blocks of 2.0 as gpu_cold and of any ratio end to end were one 'gpu_cold' speed-up."""
    found, loaded = tried_in_processes(tmp_path, processes(3, metrics=()), (False, True, False, False))
    assert found.timing is not None
    assert (found.timing.metric, found.timing.fresh_at) == ("end_to_end", (8, 16))
    assert [metrics_of(worker)[-1] for worker in loaded] == ["gpu_cold", "end_to_end", "end_to_end", "end_to_end"]
    (remark,) = [remark for remark in found.remarks if "anew" in remark]
    assert tells(remark, "1 process", "gpu_cold isn't used")
    assert sum("end to end, from" in remark for remark in set(found.remarks)) == 1


def test_further_metrics_and_memory_are_those_of_all_processes(tmp_path: Path, auditor: type[ScriptedAuditor]) -> None:
    found, _ = tried_in_processes(tmp_path, processes(2, metrics=("gpu_warm", "end_to_end")), (False, False))
    assert found.timing is not None
    assert [(row.metric, row.fresh_at, len(row.turns)) for row in found.timing.rows] == [
        ("gpu_warm", (6,), 48),
        ("end_to_end", (6,), 48),
    ]
    assert {(peak.arm, peak.torch_bytes) for peak in found.timing.memory} == {
        ("eager", 77), ("control", 77), ("solution", 77)
    }  # fmt: skip


class Telling(InProcessWorker):
    """Answers Describe with one account after another, and at last with nothing."""

    def __init__(self, *accounts: Described, **facts: Any) -> None:
        super().__init__(**facts)
        self.accounts = list(accounts)

    def _answer(self, request: Any, descriptors: Sequence[int]) -> Any:
        if isinstance(request, Describe) and self.accounts:
            return self.accounts.pop(0)
        return super()._answer(request, descriptors)


EARLY, LATE = FlagChange("cudnn_benchmark", False, True), FlagChange("flash_sdp", True, False)


def test_every_process_tells_of_flags_and_the_first_of_compiling(
    tmp_path: Path, auditor: type[ScriptedAuditor], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arm_module, "optimize", lambda model, optimization, forms: model)
    timing = replace(CONFIG.timing, processes=2, metrics=(), baselines=("eager", "compile"), control=False)
    solutions = [
        Telling(Described((EARLY,), None), Described((EARLY,), None), model=Honest, times=(1_000,)),
        Telling(Described((), None), Described((LATE,), None), model=Honest, times=(1_000,)),
    ]
    graphs = iter((1, 2))
    started: list[InProcessWorker] = []

    def start() -> InProcessWorker:
        has_compiler = len(started) in (0, 2)  # compile, then eager and compile of the second process
        account = [Described((), Compilation(next(graphs), 0, 0))] if has_compiler else []
        started.append(Telling(*account, times=(2_000,)))
        return started[-1]

    loaded = iter(solutions)
    trial, found = trial_of(tmp_path, lambda: next(loaded), replace(CONFIG, timing=timing), start=start)
    take_times(trial)
    told = [remark.partition("account ")[2] for remark in found.remarks if "flags" in remark]
    on_import, later = told
    assert tells(on_import, "on import", "cudnn_benchmark off → on")
    assert tells(later, "after its import", "flash_sdp on → off")
    assert [(one.baseline, one.graphs) for one in found.compiled] == [("compile", 1)]
    assert len(started) == 3
    assert all(worker.accounts == [] for worker in (*solutions, *started))  # type: ignore[attr-defined]


def test_what_is_wrong_is_not_timed(tmp_path: Path, auditor: type[ScriptedAuditor]) -> None:
    class Wrong(Honest):
        def forward(self, x: Any) -> Any:
            return x * 3

    trial, found, _ = tried(tmp_path, Wrong, CONFIG, ("full",))
    with pytest.raises(SolutionFailed, match="outside the tolerance"):
        take_times(trial)
    assert (found.timing, auditor.ends) == (None, ())
    assert not found.checks[0].passed


def test_the_device_is_asked_for_a_sign_of_life_before_workers_start_anew(
    tmp_path: Path, auditor: type[ScriptedAuditor], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A GPU that hangs after the second process's workers were ended is the machine's, and nobody meets it any more."""
    asked: list[int] = []

    def require_alive(self: SimHost) -> None:
        asked.append(1)
        if len(asked) == 2:
            raise MachineError("the GPU is stuck")

    monkeypatch.setattr(SimHost, "require_alive", require_alive)
    with pytest.raises(MachineError, match="stuck"):
        tried_in_processes(tmp_path, processes(3, metrics=()), (False, False, False))
    assert len(auditor.ends) == 2


def test_where_memory_is_too_short_it_is_not_known_how_quick_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    class Starved(ProbeKernel):
        def quickest_ns(self) -> int:
            raise torch.OutOfMemoryError("CUDA out of memory")

    facts: dict[str, str] = {}
    monkeypatch.setattr(trial_module, "ProbeKernel", Starved)
    assert trial_module._still_fill_ns(facts) is None
    monkeypatch.setattr(trial_module, "ProbeKernel", ProbeKernel)
    assert trial_module._still_fill_ns(facts) == 99
    monkeypatch.setattr(trial_module, "ProbeKernel", Starved)
    assert trial_module._still_fill_ns(facts) == 99  # asked once in a run


class Linear(nn.Module):
    """Its values are right where its parameters are the reference's."""

    def __init__(self, **named: nn.Parameter) -> None:
        super().__init__()
        for name, parameter in (named or {"weight": torch.rand(2, 4), "bias": torch.rand(2)}).items():
            self.register_parameter(name, nn.Parameter(parameter))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        weight, bias = self.parameters()
        return nn.functional.linear(x, weight, bias)


class ForgedNames(Linear):
    def __init__(self) -> None:
        super().__init__(**{"\x1b[31m": torch.rand(2, 4), "w" * 61: torch.rand(2)})  # type: ignore[arg-type]


@pytest.mark.usefixtures("auditor")
@pytest.mark.parametrize(("model", "is_named"), [(Linear, True), (ForgedNames, False)])
def test_parameters_that_have_no_values_of_the_references_are_named_where_values_are_wrong(
    tmp_path: Path, model: type[nn.Module], is_named: bool
) -> None:
    source = problem_text("self.linear(x)", "torch.rand(3, 4)", "self.linear = nn.Linear(4, 2)")
    trial, _ = tried_at_a_large_shape_alone(tmp_path, model, source=source)
    with pytest.raises(SolutionFailed) as caught:
        trial.check()
    assert caught.value.verdict is Verdict.WRONG_VALUES
    assert tells(caught.value.failure.next_step, "weight", "bias", "linear.weight", "linear.bias") == is_named


LARGE = 1024


@pytest.fixture
def small_simulator(monkeypatch: pytest.MonkeyPatch) -> None:
    """It samples what takes 8 MiB, a quarter of the usual."""
    monkeypatch.setattr(sampling_module, "COMPLETE_BYTES", 8 * 2**20)


MadeForItsShape = computing(lambda x: x * (2 if len(x) == LARGE else 3))
WrongAtItsShape = computing(lambda x: x * (3 if len(x) == LARGE else 2))


def tried_at_a_large_shape_alone(
    tmp_path: Path,
    model: type[nn.Module],
    rows: int = LARGE,
    worker: type[InProcessWorker] = InProcessWorker,
    yaml: str = "",
    cases: tuple[str, ...] = ("full",),
    source: str = DOUBLE,
) -> tuple[Trial, Found]:
    source = source.replace("rows = 6", f"rows = {rows}")
    return trial_of(tmp_path, lambda: worker(model), cases=cases, kind=SimulatedTrial, source=source, yaml=yaml)


@pytest.mark.usefixtures("auditor", "small_simulator")
def test_a_shape_too_large_to_simulate_is_judged_in_a_shrunk_case(tmp_path: Path) -> None:
    trial, found = tried_at_a_large_shape_alone(tmp_path, Honest)
    trial.check()
    assert {(check.case, check.passed) for check in found.checks} == {("shrunk", True)}
    assert any(tells(remark, "shrunk:", "rows = 128", "columns = 616") for remark in found.remarks)


@pytest.mark.usefixtures("auditor", "small_simulator")
@pytest.mark.parametrize(("factor", "is_right"), [(2, True), (3, False)])
def test_a_shape_that_cannot_be_made_small_is_judged_in_the_smallest_case_that_runs_whole(
    tmp_path: Path, factor: int, is_right: bool
) -> None:
    """A batch of images, whose sides no constant names."""
    source = problem_text("x * 2", "torch.rand(rows, 200_000)", constants="rows = 16")
    trial, found = tried_at_a_large_shape_alone(tmp_path, computing(lambda x: x * factor), source=source)
    with nullcontext() if is_right else pytest.raises(SolutionFailed) as caught:
        trial.check()
    assert {check.case for check in (*found.checks, *found.fragile)} == {"shrunk"}
    assert any(tells(remark, "shrunk:", "rows = 4") for remark in found.remarks)
    assert is_right or (caught and caught.value.verdict is Verdict.UNSUPPORTED)


@pytest.mark.usefixtures("small_simulator")
@pytest.mark.parametrize(
    ("accused", "verdict"),
    [(("shrunk",), Verdict.UNSUPPORTED), (("full", "shrunk"), Verdict.NO_CUSTOM_KERNEL)],
)
def test_who_has_kernels_for_the_full_shape_alone_is_not_accused_of_having_none(
    tmp_path: Path, auditor: type[ScriptedAuditor], accused: tuple[str, ...], verdict: Verdict
) -> None:
    auditor.accuses = accused
    trial, _ = tried_at_a_large_shape_alone(tmp_path, Honest)
    with pytest.raises(SolutionFailed) as caught:
        trial.check()
    assert caught.value.verdict is verdict


class LeavesPartUnwritten(nn.Module):
    """What nobody wrote is NaN where all blocks run, and a sample of them doesn't tell."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * 2 if len(x) == LARGE else (x * 2).index_fill(1, torch.tensor([5]), torch.nan)


@pytest.mark.usefixtures("auditor", "small_simulator")
@pytest.mark.parametrize(
    ("model", "launches", "verdict", "full", "fragile"),
    [
        (MadeForItsShape, 1, None, [True], [False]),
        (MadeForItsShape, 0, Verdict.UNSUPPORTED, [], [False]),
        (LeavesPartUnwritten, 1, Verdict.UNSUPPORTED, [True], [False]),
        (WrongAtItsShape, 1, Verdict.WRONG_VALUES, [False], []),
    ],
    ids=["right at the full shape", "not compared there", "a few blocks acquit nobody", "wrong at the full shape"],
)
def test_beside_a_shrunk_case_the_full_shape_decides(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    model: type[nn.Module],
    launches: int,
    verdict: Verdict | None,
    full: list[bool],
    fragile: list[bool],
) -> None:
    """A failure in the shrunk case alone blames nobody, and makes fragile; nor does the shrunk case acquit."""
    monkeypatch.setattr(InProcessDevice, "take_findings", lambda self: ((), launches))
    trial, found = tried_at_a_large_shape_alone(tmp_path, model)
    if verdict is None:
        trial.check()
        trial.look_back()
    else:
        with pytest.raises(SolutionFailed) as caught:
            trial.check()
        assert caught.value.verdict is verdict
        assert ("full shape" in caught.value.failure.reason) is (verdict is Verdict.UNSUPPORTED)
    assert [(check.case, check.passed) for check in found.checks] == [("full", passed) for passed in full]
    assert [(check.case, check.passed) for check in found.fragile] == [("shrunk", passed) for passed in fragile]


@pytest.mark.usefixtures("auditor", "small_simulator")
@pytest.mark.parametrize(("text", "is_judged"), [("WIDTH = 5000", True), ("WIDTH = 500", False)])
def test_a_kernel_that_fails_at_other_sizes_than_it_names_is_judged_in_a_case_that_keeps_those(
    tmp_path: Path, text: str, is_judged: bool
) -> None:
    trial, found = tried_at_a_large_shape_alone(tmp_path, computing(lambda x: x.view(-1, 5000) * 2))
    trial.job = replace(trial.job, solution_ref=replace(trial.job.solution_ref, files={"solution.py": text}))
    with nullcontext() if is_judged else pytest.raises(SolutionFailed, match="full shape"):
        trial.check()
    assert [(check.case, check.passed) for check in found.checks] == [("shrunk", True)] * len(found.checks)
    assert bool(found.checks) is is_judged
    assert ("shrunk: shrunk by the referee to rows = 128" in found.remarks) is is_judged


@pytest.mark.usefixtures("auditor", "small_simulator")
@pytest.mark.parametrize(
    ("model", "words"), [(WrongAtItsShape, ["right", "sizes"]), (computing(lambda x: x * 3), ["values", "outside"])]
)
def test_wrong_values_at_the_full_shape_are_told_beside_the_shrunk_case(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: type[nn.Module], words: list[str]
) -> None:
    monkeypatch.setattr(InProcessDevice, "take_findings", lambda self: ((), 1))
    trial, found = tried_at_a_large_shape_alone(tmp_path, model)
    with pytest.raises(SolutionFailed) as caught:
        trial.check()
    assert caught.value.verdict is Verdict.WRONG_VALUES
    assert caught.value.failure.case == "full"
    assert "shrunk case" in caught.value.failure.next_step
    assert tells(caught.value.failure.next_step, *words)
    assert [(check.case, check.passed) for check in found.checks] == [("full", False)]


@pytest.mark.usefixtures("auditor", "small_simulator")
def test_cheating_in_the_shrunk_case_counts_whatever_the_full_shape_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It lies in no size: a function that was replaced, for instance."""

    def check_shrunk(trial: SimulatedTrial) -> list[TracedCase]:
        raise SolutionFailed(Verdict.CHEATING, "torch.allclose was replaced")

    monkeypatch.setattr(SimulatedTrial, "_check_shrunk", check_shrunk)
    monkeypatch.setattr(InProcessDevice, "take_findings", lambda self: ((), 1))
    trial, _found = tried_at_a_large_shape_alone(tmp_path, WrongAtItsShape)
    with pytest.raises(SolutionFailed) as caught:
        trial.check()
    assert caught.value.verdict is Verdict.CHEATING


def softmax_within(columns: int, mean: float = 0.0) -> type[nn.Module]:
    """A kernel that is right for as many columns, and takes no more into account; with the mean of all as well."""

    def compute(x: torch.Tensor) -> torch.Tensor:
        within = x if len(x) < LARGE else x.clone().index_fill(1, torch.arange(columns, 1040), 0)
        return torch.softmax(within, 1) + mean * x.mean()

    return computing(compute)


SOFTMAX = "torch.softmax(x, 1)"
TRIANGLES = "torch.rand(rows, 26, 40).triu().reshape(rows, 1040)"
MadeForItsSoftmax = computing(lambda x: torch.softmax(x, 1) * (1 if len(x) == LARGE else 2))
Above = computing(lambda x: x + (x * torch.ones(26, 40).triu().reshape(1, 1040)).sum(1, keepdim=True))


@pytest.mark.usefixtures("auditor", "small_simulator")
@pytest.mark.parametrize(
    ("reference", "inputs", "model", "full", "verdict"),
    [
        (SOFTMAX, "torch.rand(rows, 1040)", softmax_within(1040), [True], None),
        (SOFTMAX, "torch.rand(rows, 1040)", softmax_within(900), [False], Verdict.UNSUPPORTED),
        (SOFTMAX, "torch.rand(rows, 1040)", MadeForItsSoftmax, [True], Verdict.UNSUPPORTED),
        (SOFTMAX, "torch.rand(rows, 1040)", computing(lambda x: torch.softmax(x, 0)), [False], Verdict.WRONG_VALUES),
        (f"{SOFTMAX} + x.mean()", "torch.rand(rows, 1040)", softmax_within(1040, mean=1), [], None),
        ("x + x.sum(1, keepdim=True)", TRIANGLES, Above, [], None),
        ("torch.relu(x - 8)", "torch.rand(rows, 1040)", computing(lambda x: torch.relu(x - 8)), [], None),
    ],
    ids=[
        "right",
        "right in the shrunk case alone",
        "right at the full shape alone",
        "wrong",
        "dependent rows",
        "structured inputs",
        "zeros",
    ],
)
def test_independent_rows_are_compared_where_the_whole_takes_the_oracle_too_long(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    reference: str,
    inputs: str,
    model: type[nn.Module],
    full: list[bool],
    verdict: Verdict | None,
) -> None:
    """Inputs at the full shape are stretched from small ones, so that a difference there alone convicts nobody."""
    monkeypatch.setattr(InProcessDevice, "take_findings", lambda self: ((), 1))
    monkeypatch.setattr(InProcessDevice, "account", lambda self: Account(1, {}, 0), raising=False)
    for module in (sampling_module, simulated_trial):
        monkeypatch.setattr(module, "is_oracle_cheap", lambda setting: False)
    monkeypatch.setattr(trial_module, "telling", lambda setting: setting)
    source = problem_text(reference, inputs, constants="rows = 6")
    trial, found = tried_at_a_large_shape_alone(tmp_path, model, source=source)
    with pytest.raises(SolutionFailed) if verdict else nullcontext() as caught:
        trial.check()
    assert caught is None or caught.value.verdict is verdict
    assert [check.passed for check in found.checks if check.case == "full"] == full


@pytest.mark.usefixtures("auditor", "small_simulator")
def test_a_mismatch_at_the_full_shape_that_cannot_be_judged_is_not_acquitted_by_the_shrunk_case(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All blocks take the simulator too long: the sampled ones neither convict nor are forgotten. A launch that was
    given up fails whatever the worker does next, which convicts nobody either."""
    take = sampling_module.take_turn

    def fail(*given: Any) -> None:
        raise SolutionFailed(Verdict.RUNTIME_ERROR, "CUDA error: the launch timed out and was terminated")

    def take_turn(worker: Any, buffers: Any, request: TakeTurn, limits: Any) -> Any:
        if request.sample_blocks == ALL_BLOCKS:
            monkeypatch.setattr(buffers_module, "_detach", fail)
            raise SolutionFailed(Verdict.TIMEOUT, "no answer within 60 s")
        return take(worker, buffers, request, limits)

    monkeypatch.setattr(sampling_module, "take_turn", take_turn)
    monkeypatch.setattr(InProcessDevice, "take_findings", lambda self: ((), 1))
    trial, found = tried_at_a_large_shape_alone(tmp_path, WrongAtItsShape)
    with pytest.raises(SolutionFailed, match="60 s") as caught:
        trial.check()
    assert caught.value.verdict is Verdict.UNSUPPORTED
    assert [(check.case, check.passed) for check in found.checks] == [("full", False)]


@pytest.mark.usefixtures("auditor", "small_simulator")
def test_a_launch_that_was_given_up_fails_nothing_in_the_shrunk_case(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A few blocks wrote zeros alone, as under a ReLU, and all of them take the simulator too long."""

    class GivesUp(InProcessWorker):
        has_given_up = False

        def ask(self, request: Any, timeout_s: float, descriptors: Sequence[int] = ()) -> Any:
            self.has_given_up |= isinstance(request, TakeTurn) and request.sample_blocks == ALL_BLOCKS
            if self.has_given_up:
                raise SolutionFailed(Verdict.TIMEOUT, "the launch timed out and was terminated")
            return super().ask(request, timeout_s, descriptors)

    monkeypatch.setattr(sampling_module, "_is_written", lambda buffers: False)
    monkeypatch.setattr(InProcessDevice, "take_findings", lambda self: ((), 1))
    trial, found = tried_at_a_large_shape_alone(tmp_path, Honest, worker=GivesUp)
    trial.check()
    assert {(check.case, check.passed) for check in found.checks} == {("shrunk", True)}


@pytest.mark.usefixtures("auditor", "small_simulator")
def test_what_a_solution_keeps_of_a_few_blocks_is_forgotten_before_all_of_them_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last block to end adds up what all have left: by a count that is kept, and that a few blocks leave behind."""
    take, runs_all = sampling_module.take_turn, []

    def take_turn(worker: Any, buffers: Any, request: TakeTurn, limits: Any) -> Any:
        runs_all.append(request.sample_blocks == ALL_BLOCKS)
        return take(worker, buffers, request, limits)

    class Counting(Honest):
        counted = 0

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            is_partly = len(x) == LARGE and not runs_all[-1]
            self.counted += is_partly
            return super().forward(x) + self.counted

    monkeypatch.setattr(sampling_module, "take_turn", take_turn)
    monkeypatch.setattr(InProcessDevice, "take_findings", lambda self: ((), 1))
    trial, found = tried_at_a_large_shape_alone(tmp_path, Counting)
    trial.check()
    assert runs_all == [False, True]
    assert {(check.case, check.passed) for check in found.checks} == {("full", True), ("shrunk", True)}


@pytest.mark.usefixtures("auditor", "small_simulator")
@pytest.mark.parametrize("launches", [0, 1])
def test_a_shrunk_case_that_tells_nothing_is_no_fault_of_the_problem(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, launches: int
) -> None:
    def telling(setting: Any) -> Any:
        raise InvalidProblem("zeros would pass")

    monkeypatch.setattr(trial_module, "telling", telling)
    monkeypatch.setattr(InProcessDevice, "take_findings", lambda self: ((), launches))
    trial, found = tried_at_a_large_shape_alone(tmp_path, Honest)
    if launches:  # the full shape's values are compared
        trial.check()
        assert [(check.case, check.passed) for check in found.checks] == [("full", True)]
        return
    with pytest.raises(SolutionFailed, match="tells nothing: zeros") as caught:
        trial.check()
    assert caught.value.verdict is Verdict.UNSUPPORTED


@pytest.mark.usefixtures("auditor")
@pytest.mark.parametrize(
    ("in_reverse", "verdict"), [(2, Verdict.NONDETERMINISTIC), (3, Verdict.WRONG_VALUES)], ids=["a race", "none"]
)
def test_values_that_hang_on_the_order_of_threads_are_a_race(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, in_reverse: int, verdict: Verdict
) -> None:
    seeds = []
    monkeypatch.setattr(InProcessDevice, "limit_launches", lambda self, count=None, seed=0, _=None: seeds.append(seed))

    class Racing(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x * (in_reverse if seeds[-1] else 3)

    trial, _ = trial_of(tmp_path, lambda: InProcessWorker(Racing), kind=SimulatedTrial)
    with pytest.raises(SolutionFailed) as caught:
        trial.check()
    assert caught.value.verdict is verdict
    assert ("race" in str(caught.value)) is (in_reverse == 2)


@pytest.mark.usefixtures("auditor", "small_simulator")
def test_zeros_are_no_evidence_at_the_full_shape_either(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As where a minimum is followed by a clamp at the same value."""
    monkeypatch.setattr(InProcessDevice, "take_findings", lambda self: ((), 1))
    zeros = computing(lambda x: torch.zeros_like(x))
    source = DOUBLE.replace("x * 2", "x.clamp(max=0).clamp(min=0)")
    trial, _ = tried_at_a_large_shape_alone(tmp_path, zeros, source=source)
    with pytest.raises(SolutionFailed, match="writes zeros would pass") as caught:
        trial.check()
    assert caught.value.verdict is Verdict.UNSUPPORTED


class SlowDevice(InProcessDevice):
    """Says of a turn that is run whole that it would take too long, where the input has more rows than `most`."""

    most = 40
    samples: int | None = None
    rows = 0

    def limit_launches(self, count: int | None = None, seed: int = 0, seconds: float | None = None) -> None:
        self.samples = count

    def measure(self, call: Any, fitting: Any, inputs: Any = ()) -> Any:
        self.rows = len(inputs[0])
        return super().measure(call, fitting, inputs)

    def take_findings(self) -> Any:
        too_long = self.samples is None and self.rows > self.most
        return ((Finding("too-much-work", "2 of 9 blocks took 1.0 s"),) if too_long else ()), 1


@pytest.fixture
def slow_device(monkeypatch: pytest.MonkeyPatch, auditor: type[ScriptedAuditor]) -> type[SlowDevice]:
    monkeypatch.setattr(in_process, "InProcessDevice", SlowDevice)
    return SlowDevice


@pytest.mark.usefixtures("slow_device")
def test_a_case_that_would_take_too_long_is_sampled_with_a_shrunk_one_beside_it(tmp_path: Path) -> None:
    """The first shrunk case, of 64 rows, would take too long as well."""
    trial, found = tried_at_a_large_shape_alone(tmp_path, Honest, rows=512)
    trial.check()
    checks = [(check.case, check.scope) for check in found.checks]
    assert checks[0] == ("full", "sampled_blocks")
    assert set(checks[1:]) == {("shrunk", "complete")}
    (sampled,) = [remark for remark in found.remarks if "sampled" in remark]
    assert tells(sampled, "full: sampled", "too-much-work", "2 of 9", "1.0 s")
    once, twice = [remark for remark in found.remarks if "by the referee" in remark]
    assert tells(once, "shrunk:", "rows = 64", "columns = 616")
    assert tells(twice, "shrunk:", "rows = 32", "columns = 296")


@pytest.mark.parametrize("can_compare", [True, False])
def test_an_author_s_case_that_would_take_too_long_is_sampled(
    tmp_path: Path, slow_device: type[SlowDevice], monkeypatch: pytest.MonkeyPatch, can_compare: bool
) -> None:
    """It is the author's to say what must be right, so other cases don't stand for it."""
    monkeypatch.setattr(SlowDevice, "most", 2)
    if not can_compare:
        rows = (KernelRun("aten::mm", 0, 0, 0, "kernel"),)
        monkeypatch.setattr(SlowDevice, "take_trace", lambda self: rows)
    trial, found = tried_at_a_large_shape_alone(tmp_path, Honest, rows=6, yaml=CASES, cases=("small", "odd"))
    if can_compare:
        trial.check()
        assert ("odd", "sampled_blocks") in {(check.case, check.scope) for check in found.checks}
        return
    with pytest.raises(SolutionFailed, match=r"^odd: .* simulator") as caught:
        trial.check()
    assert caught.value.verdict is Verdict.UNSUPPORTED


@pytest.mark.usefixtures("auditor", "small_simulator")
@pytest.mark.parametrize(
    ("late_rows", "verdict"), [(LARGE, Verdict.UNSUPPORTED), (2, Verdict.TIMEOUT)], ids=["full shape alone", "always"]
)
def test_a_full_shape_that_never_ends_is_a_timeout_where_a_shrunk_one_never_ends_either(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, late_rows: int, verdict: Verdict
) -> None:
    """A shrunk case that passes doesn't acquit, and one block of a large case may honestly take for ever."""

    class Endless(InProcessWorker):
        def ask(self, request: Any, timeout_s: float, descriptors: Sequence[int] = ()) -> Any:
            if isinstance(request, TakeTurn):
                tensor = request.calls[0].inputs[0].tensor
                if tensor is not None and tensor.shape[0] >= late_rows:
                    raise SolutionFailed(Verdict.TIMEOUT, "no answer within 60 s")
            return super().ask(request, timeout_s, descriptors)

    trial, _ = tried_at_a_large_shape_alone(tmp_path, Honest, worker=Endless)
    with pytest.raises(SolutionFailed, match="60 s") as caught:
        trial.check()
    assert caught.value.verdict is verdict


@pytest.mark.usefixtures("auditor", "small_simulator")
def test_the_full_shape_knows_the_shrunk_case_of_which_its_inputs_may_be_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: dict[str, list[str]] = {}

    check = Trial._check_case

    def check_case(trial: Trial, setting: Any, is_traced: bool) -> Any:
        given[setting.case] = list(setting.problem.cases)
        return check(trial, setting, is_traced)

    monkeypatch.setattr(Trial, "_check_case", check_case)
    trial, _ = tried_at_a_large_shape_alone(tmp_path, Honest)
    trial.check()
    assert given == {"full": ["full", "shrunk"], "shrunk": ["full", "shrunk"]}


def test_who_keeps_an_output_only_while_it_is_timed_is_marked(
    tmp_path: Path, auditor: type[ScriptedAuditor], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Keeping(nn.Module):
        is_timed = False
        kept: torch.Tensor | None = None

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            if self.kept is None or not Keeping.is_timed:
                self.kept = torch.empty_like(x)
            return self.kept.copy_(x + x)

    measure = trial_module.TimedCase.measure

    def timed(self: Any, *given: Any) -> Any:
        Keeping.is_timed = True
        return measure(self, *given)

    monkeypatch.setattr(trial_module.TimedCase, "measure", timed)
    trial, found = trial_of(tmp_path, lambda: InProcessWorker(Keeping, times=(1_000,)))
    trial.check()
    take_times(trial)
    assert found.keeps_output
