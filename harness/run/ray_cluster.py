"""The executors of a Ray cluster: an actor for every GPU, one that builds for every machine without a GPU.

Ray starts the processes, carries arguments and results, and says which of them died. Sources and builds go through its
object store: a problem's files once, a build from the builder's machine to the lane's without passing here.
"""

from __future__ import annotations

import contextlib
import signal
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from typing import Any, TypeVar  # Any: Ray's handles have no types

from harness.errors import MachineError, UsageError
from harness.run.cores import Cores, core_groups, cpu_quota, divide_cores
from harness.run.executor import Answer, Ticket, UnfitExecutor
from harness.run.node import ExecutorFacts, Node, NodeSettings

T = TypeVar("T")

_CPUS_OF_LANE = 4
"""The hyper-threads of the two cores that a GPU has for itself (see cores.py)."""
_CPUS_FOR_BUILDS = 4
_BUILD_IS_GONE = Answer(trouble="what was built is gone with its machine", spares_executor=True)
_MODEL = "accelerator_type:"
"""The beginning of the name under which Ray counts the GPUs of a model."""


@dataclass(frozen=True)
class ClusterMachine:
    """A machine of the cluster, as Ray counts it."""

    id: str
    cpus: int
    gpus: int
    model: str | None


@dataclass(frozen=True)
class Wish:
    """The needs of an executor, in Ray's words."""

    name: str
    is_lane: bool
    slots: int
    options: Mapping[str, Any]
    near: str | None = None
    """The machine that it is for; another one will do when that is gone."""


@contextlib.contextmanager
def connected(address: str) -> Iterator[Any]:
    """Connect this process to a cluster, unless it is already; yields the module `ray`.

    Raises: UsageError without Ray, or without a cluster there.
    """
    ray = _ray()
    if ray.is_initialized():
        yield ray
        return
    handler = signal.getsignal(signal.SIGTERM)
    try:
        ray.init(address=address, log_to_driver=False, logging_level="error")
    except (ConnectionError, RuntimeError, ValueError) as error:
        raise UsageError(f"no Ray cluster at '{address}' ({error}): 'ray start --head' begins one") from error
    finally:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, handler)  # Ray has set one of its own
    try:
        yield ray
    finally:
        ray.shutdown()


def _ray() -> Any:
    try:
        import ray
        import ray.util.scheduling_strategies
    except ImportError:
        raise UsageError("the engine 'ray' needs Ray: pip install 'kernel-harness[ray]'") from None
    return ray


def machines(ray: Any) -> list[ClusterMachine]:
    """List the machines that are alive."""
    found = []
    for node in ray.nodes():
        if node["Alive"]:
            counts = node["Resources"]
            models = [name.removeprefix(_MODEL) for name in counts if name.startswith(_MODEL)]
            model = models[0] if models else None
            found.append(ClusterMachine(node["NodeID"], int(counts.get("CPU", 0)), int(counts.get("GPU", 0)), model))
    return found


def wishes(backend: str, found: Sequence[ClusterMachine], model: str | None, builds: int | None) -> list[Wish]:
    """Say which executors a run wants: of several models of GPUs the one that is named, or that there is most of.

    `builds` go on at once on a machine that builds; by default half as many as it has cores. Builders take machines
    without a GPU; where there is none, and for the simulator, those that have cores to spare.

    Raises: MachineError where there is no such GPU.
    """
    if backend == "sim":
        spread = {"num_cpus": 1, "scheduling_strategy": "SPREAD"}
        lanes = [Wish(f"lane {number}", True, 1, spread) for number in range(len(found))]
        return lanes + [_builder(machine, 1, builds) for machine in found if machine.cpus > 1]
    suited = with_gpus(found, model)
    chosen = suited[0].model
    options = {"num_gpus": 1, "num_cpus": 0, **({"accelerator_type": chosen} if chosen else {})}
    lanes = [Wish(f"GPU {number}", True, 1, options) for number in range(sum(one.gpus for one in suited))]
    without_gpu = [one for one in found if not one.gpus and one.cpus]
    spare = without_gpu or [one for one in found if one.cpus >= _CPUS_FOR_BUILDS + _CPUS_OF_LANE * one.gpus]
    return lanes + [_builder(machine, _CPUS_OF_LANE * machine.gpus, builds) for machine in spare]


def with_gpus(found: Sequence[ClusterMachine], model: str | None) -> list[ClusterMachine]:
    """Return the machines with GPUs of this model, or of the one that there is most of: results of one run are
    compared. Raises: MachineError where there is none."""
    counts = Counter[str | None]()
    for machine in found:
        counts[machine.model] += machine.gpus
    chosen = model or max(counts, key=lambda name: counts[name], default=None)
    if not counts[chosen]:
        raise MachineError(f"the cluster has no GPU{f' {model}' if model else ''}; it has: {_listed(counts)}")
    return [machine for machine in found if machine.gpus and machine.model == chosen]


def _builder(machine: ClusterMachine, taken: int, builds: int | None) -> Wish:
    cpus = max(1, machine.cpus - taken)
    return Wish("builder", False, builds or max(2, cpus // 2), {"num_cpus": cpus, "num_gpus": 0}, machine.id)


def _listed(counts: Mapping[str | None, int]) -> str:
    return ", ".join(f"{count} {name or 'GPUs'}" for name, count in counts.items() if count) or "none"


class RayNode(Node):
    """An executor that knows its share of a machine from Ray."""

    def name(self) -> str:
        gpu = self._gpu()
        return super().name() if gpu is None else f"GPU {gpu} of {super().name()}"

    def cores(self) -> Cores | None:
        ray = _ray()
        here = ray.get_runtime_context().get_node_id()
        gpus = next((machine.gpus for machine in machines(ray) if machine.id == here), 0)
        if not gpus:
            return None
        divided, gpu = divide_cores(gpus, core_groups(), cpu_quota()), self._gpu()
        if divided.lanes is None or gpu is None:
            return divided
        return replace(divided, lanes=(divided.lanes[gpu % len(divided.lanes)],))  # Ray may see some GPUs alone

    def _gpu(self) -> int | None:
        """Return the number of its GPU on the machine; None for a part of one, which has a name."""
        given = _ray().get_runtime_context().get_accelerator_ids().get("GPU") or [""]
        return int(given[0]) if given[0].isdecimal() else None


@dataclass(eq=False)
class RayExecutor:
    """Implements executor.Executor with an actor of the class `kind`: RayNode, or one like it."""

    ray: Any
    kind: type
    settings: NodeSettings
    wish: Wish
    share: Callable[[Ticket], Any]
    """Puts a problem's files where all can read them."""
    fits: Callable[[ExecutorFacts], bool]
    """Says whether an executor has the compilers of the others."""

    def __post_init__(self) -> None:
        self.name, self.is_lane, self.slots = self.wish.name, self.wish.is_lane, self.wish.slots
        self._facts: ExecutorFacts | None = None
        options = dict(self.wish.options)
        if self.wish.near is not None:
            by_machine = self.ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy
            options["scheduling_strategy"] = by_machine(self.wish.near, soft=True)
        self._make = self.ray.remote(self.kind).options(max_concurrency=self.slots + 1, **options).remote
        self._start()

    @property
    def builds(self) -> bool:
        return self._facts is not None and not self.fits(self._facts)

    def opened(self) -> Future[ExecutorFacts]:
        return self._opened

    def begin(self, ticket: Ticket) -> Future[Answer]:
        sent = replace(ticket, problem_files={}, lost=())
        try:
            if not self.is_lane:
                build = self._actor.build.options(num_returns=2)
                answer, parcel = build.remote(sent, self.share(ticket))
                return self._future(answer, lambda answer: _with_parcel(answer, parcel))
            built, parcel = ticket.built or (None, {})
            answer = self._actor.judge.remote(replace(sent, built=built), self.share(ticket), parcel)
            return self._future(answer, if_lost=_BUILD_IS_GONE)
        except self.ray.exceptions.RayError as error:  # it is known to be dead
            failed: Future[Answer] = Future()
            failed.set_exception(error)
            return failed

    def reopen(self) -> None:
        self.end()
        self._start()

    def stop(self) -> Any:
        """Have the actor end what it does; returns what to wait for."""
        return self._actor.stop.remote()

    def end(self) -> None:
        """End the actor at once, and with it its workers."""
        with contextlib.suppress(self.ray.exceptions.RayError, ValueError):
            self.ray.kill(self._actor)

    def _start(self) -> None:
        self._actor = self._make(self.settings)
        self._opened = self._future(self._actor.describe.remote(), self._described)

    def _described(self, described: ExecutorFacts) -> ExecutorFacts:
        """Raises: UsageError, MachineError, UnfitExecutor."""
        self.name = described.name if self.is_lane else f"builder on {described.name}"
        if described.usage is not None:
            raise UsageError(described.usage)
        if described.trouble is not None:
            raise MachineError(described.trouble)
        self._facts = described
        if self.builds and not self.is_lane:
            raise UnfitExecutor("its compilers, torch or Python are others than on the machines with lanes")
        return described

    def _future(
        self, reference: Any, make: Callable[[Any], T] = lambda result: result, if_lost: T | None = None
    ) -> Future[T]:
        """Return what `make` makes of a result once it is there, or the error that a machine's end leaves behind;
        `if_lost` where that took an argument along."""
        made: Future[T] = Future()

        def done(result: Future[Any], reference: Any = reference) -> None:  # it is kept until then
            try:
                made.set_result(make(result.result()))
            except BaseException as error:  # the border of Ray's thread
                cause = getattr(error, "cause", None)
                cause = cause if isinstance(cause, Exception) else error
                if if_lost is not None and isinstance(cause, self.ray.exceptions.ObjectLostError):
                    made.set_result(if_lost)
                else:
                    made.set_exception(cause)

        reference.future().add_done_callback(done)
        return made


def _with_parcel(answer: Answer, parcel: Any) -> Answer:
    return answer if answer.built is None else replace(answer, built=(answer.built, parcel))
