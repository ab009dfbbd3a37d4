"""A proof that a run on a Ray cluster loses no job and repeats none, and what scheduling costs.

Machines of the cluster are simulated on this one (ray.cluster_utils), their GPUs are numbers, and the device is a
script that takes 5 ms. Everything else is what a run has: dispatcher, actors, object store, and a synced journal. While
the long run lasts, actors and whole machines are killed at random. Each row goes to results/scale.json as it ends;
a row that is there is kept, so that the rest can come later.

    python benchmarks/scale.py [--rows 1x1 2x1 4x1 8x1 64x1] [--jobs 2000] [--long 100000] [--kills 100]
"""

from __future__ import annotations

import argparse
import contextlib
import datetime
import json
import os
import random
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from harness.model.check import Check  # noqa: E402
from harness.model.config import Config  # noqa: E402
from harness.model.environment import Environment  # noqa: E402
from harness.model.evaluation import Evaluation, Failure, ProblemRef, SolutionRef  # noqa: E402
from harness.model.verdict import Verdict  # noqa: E402
from harness.referee.job import Job  # noqa: E402
from harness.run.dispatch import dispatch  # noqa: E402
from harness.run.executor import Answer, Office, Ticket  # noqa: E402
from harness.run.ray_cluster import RayExecutor, Wish  # noqa: E402
from harness.store.journal import Journal, journal_files  # noqa: E402

RESULTS = ROOT / "results/scale.json"
JOB_S = 0.005
LANE_CPUS = 0.01
BACK_S = 3.0
"""The time after which a machine that was killed comes back."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--rows", nargs="*", default=["1x1", "2x1", "4x1", "8x1", "64x1"], help="machines x GPUs of each"
    )
    parser.add_argument("--jobs", type=int, default=2_000, help="of each row without kills")
    parser.add_argument("--long", type=int, default=100_000, help="jobs of the row with kills; 0 leaves it out")
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--long-row", default="8x1")
    parser.add_argument("--file", type=Path, default=RESULTS)
    options = parser.parse_args()
    wanted = [row_of(shape, options.jobs, 0) for shape in options.rows]
    wanted += [row_of(options.long_row, options.long, options.kills)] if options.long else []
    for row in wanted:
        found = json.loads(options.file.read_text()) if options.file.exists() else []
        if any(Row(one["nodes"], one["jobs"], one["kills_wanted"], one["gpus_each"]) == row for one in found):
            continue
        measured = measure(row)
        print(json.dumps(measured))
        options.file.write_text(json.dumps([*found, measured], indent=1) + "\n")


@dataclass(frozen=True)
class Row:
    nodes: int
    jobs: int
    kills: int
    gpus: int = 1
    """The GPUs of each machine."""

    @property
    def lanes(self) -> int:
        return self.nodes * self.gpus


def row_of(shape: str, jobs: int, kills: int) -> Row:
    """Read '8x1': machines, and the GPUs of each."""
    nodes, gpus = map(int, shape.split("x"))
    return Row(nodes, jobs, kills, gpus)


class ScriptedNode:
    """A machine's lane or builder, like run.node.Node, whose device is a script."""

    def __init__(self, settings: Any) -> None:
        self._environment = settings

    def describe(self) -> Any:
        return SimpleNamespace(name=f"process {os.getpid()}", usage=None, trouble=None, compilers="")

    def build(self, ticket: Ticket, problem_files: Any) -> tuple[Answer, Any]:
        return Answer(built="library"), {"library": b"x" * 1000}

    def judge(self, ticket: Ticket, problem_files: Any, parcel: Any) -> Answer:
        time.sleep(JOB_S)
        return Answer(evaluation=record_of(ticket.job, self._environment, Verdict.PASSED))

    def stop(self) -> None:
        """End nothing: it has no workers."""


def record_of(job: Job, environment: Environment, verdict: Verdict) -> Evaluation:
    now = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="milliseconds")
    return Evaluation(
        id=f"{job.solution_ref.name}-{os.urandom(4).hex()}",
        run=job.run,
        started_at=now,
        duration_s=JOB_S,
        problem=job.problem_ref,
        solution=job.solution_ref,
        cases=job.cases,
        config=job.config,
        environment=environment,
        seed=job.seed,
        verdict=verdict,
        checks=(Check("full", 1, "complete", "float64", ()),),
        failure=None if verdict.passed else Failure("no machine could judge it", "try again"),
    )


@dataclass
class Cluster:
    """Simulated machines."""

    gpus: int
    ray: Any
    cluster: Any
    workers: list[Any] = field(default_factory=list)

    def add(self) -> None:
        self.workers.append(self.cluster.add_node(num_cpus=1, num_gpus=self.gpus, object_store_memory=80 * 2**20))

    def kill(self, chance: random.Random) -> Callable[[], None]:
        """Kill a machine without warning; returns what brings another."""
        self.cluster.remove_node(self.workers.pop(chance.randrange(len(self.workers))), allow_graceful=False)
        return self.add


@contextlib.contextmanager
def cluster_of(row: Row) -> Iterator[Cluster]:
    import ray
    from ray.cluster_utils import Cluster as SimulatedCluster

    head = {"num_cpus": 1, "include_dashboard": False, "object_store_memory": 200 * 2**20}
    set_handler = ray._private.utils.set_sigterm_handler
    ray._private.utils.set_sigterm_handler = lambda handler: None  # machines are added by a thread, which may set none
    simulated = SimulatedCluster(initialize_head=True, head_node_args=head)
    found = Cluster(row.gpus, ray, simulated)
    try:
        for _ in range(row.nodes):
            found.add()
        ray.init(address=simulated.address, log_to_driver=False, logging_level="error")
        yield found
    finally:
        ray.shutdown()
        simulated.shutdown()
        ray._private.utils.set_sigterm_handler = set_handler


class JournalOffice(Office):
    """Keeps the records, and counts how long that takes."""

    def __init__(self, journal: Journal, environment: Environment) -> None:
        self._journal = journal
        self._environment = environment
        self.writing_s = 0.0
        self.lost: Counter[str] = Counter()

    def keep(self, evaluations: Sequence[Evaluation]) -> None:
        began = time.monotonic()
        self._journal.append_all(evaluations)
        self.writing_s += time.monotonic() - began

    def give_up(self, ticket: Ticket, why: str) -> Evaluation:
        return record_of(ticket.job, self._environment, Verdict.HARNESS_ERROR)

    def observe(self, job: Job, what: str) -> None:
        """Print nothing."""

    def say(self, what: str) -> None:
        self.lost[what.split(":")[0]] += 1


def measure(row: Row) -> dict[str, Any]:
    environment = Environment(
        "sim", None, None, None, None, "0", None, None, None, None, "3", "", "", 1, "0", {"scripted": True}
    )
    with tempfile.TemporaryDirectory() as results, cluster_of(row) as cluster:
        if __name__ != "__main__":  # a machine can't import it by this name
            cluster.ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])
        problem = cluster.ray.put({"problem.py": b"class Model: ..."})
        wish = Wish("lane", True, 1, {"num_gpus": 1, "num_cpus": LANE_CPUS})
        executors = [
            RayExecutor(cluster.ray, ScriptedNode, environment, wish, lambda ticket: problem, lambda described: True)
            for _ in range(row.lanes)
        ]
        for executor in executors:
            executor.opened().result()
        office, stop = JournalOffice(Journal(Path(results), "scale"), environment), threading.Event()
        cpu, began, memory, seen = time.process_time(), time.monotonic(), [], Counter[str]()
        with killing(row, cluster, executors) as kills:
            for number, evaluation in enumerate(dispatch(tickets(row.jobs), executors, office, stop)):
                seen[evaluation.solution.name] += 1
                kills.done = number + 1
                if number % max(1, row.jobs // 20) == 0:
                    memory.append(_resident_mib())
                    print(f"{number} of {row.jobs}: {time.monotonic() - began:.0f} s, {kills}", file=sys.stderr)
            seconds, cpu = time.monotonic() - began, time.process_time() - cpu
        names, verdicts, attempts = in_journal(Path(results))
        return {
            "nodes": row.nodes,
            "gpus_each": row.gpus,
            "jobs": row.jobs,
            "kills_wanted": row.kills,
            "actors_killed": kills.actors,
            "machines_killed": kills.machines,
            "lost_jobs": row.jobs - len(names),
            "judged_twice": sum(count > 1 for count in names.values()) + sum(count > 1 for count in seen.values()),
            "given_up": row.jobs - verdicts["passed"],
            "with_a_second_attempt": attempts,
            "seconds": round(seconds, 1),
            "jobs_per_s": round(row.jobs / seconds, 1),
            "driver_cpu_ms_a_job": round(1000 * cpu / row.jobs, 2),
            "journal_ms_a_job": round(1000 * office.writing_s / row.jobs, 2),
            "scheduling_ms_a_job": round(1000 * (seconds / row.jobs - JOB_S / row.lanes), 2),
            "driver_mib": memory,
            "load_before": os.getloadavg()[2],
            "cores": os.cpu_count(),
            "ray": cluster.ray.__version__,
            "date": f"{datetime.datetime.now(datetime.timezone.utc):%Y-%m-%d %H:%M}",
        }


def in_journal(results: Path) -> tuple[Counter[str], Counter[str], int]:
    """Count records by the solution's name and by verdict, and those that tell of an earlier attempt."""
    names, verdicts, attempts = Counter[str](), Counter[str](), 0
    for file in journal_files(results):
        with file.open() as lines:
            for record in map(json.loads, lines):
                names[record["solution"]["name"]] += 1
                verdicts[record["verdict"]] += 1
                attempts += any(remark.startswith("attempt ") for remark in record["remarks"])
    return names, verdicts, attempts


def tickets(count: int) -> Iterator[Ticket]:
    solution, config = SimpleNamespace(name="scripted"), Config()
    problem_ref = ProblemRef("relu", "c004" * 16, "float32")
    about = SolutionRef(
        "", "6a0d" * 16, None, None, Verdict.PASSED, files={"solution.py": "class ModelNew: ...\n" * 50}
    )
    for number in range(count):
        ref = replace(about, name=f"s{number:06}")
        job: Any = Job("scale", solution, solution, ("full",), config, 1, problem_ref, ref)  # type: ignore[arg-type]
        yield Ticket(job, "", {"solution.py": b"class ModelNew: ...\n" * 50})


@dataclass
class Kills:
    done: int = 0
    actors: int = 0
    machines: int = 0


@contextlib.contextmanager
def killing(row: Row, cluster: Cluster, executors: Sequence[RayExecutor]) -> Iterator[Kills]:
    """Kill an actor, or every fourth time a machine, whenever so many jobs are done that the kills are spread evenly
    over the run, in a thread."""
    kills, has_ended, chance = Kills(), threading.Event(), random.Random(7)

    def kill() -> None:
        for number in range(row.kills):
            while kills.done < (number + 0.5) * row.jobs / row.kills:
                if has_ended.wait(0.05):
                    return
            if number % 4 == 3 and row.nodes > 1:
                bring_back = cluster.kill(chance)
                kills.machines += 1
                if has_ended.wait(BACK_S):
                    return
                bring_back()
            else:
                chance.choice(executors).end()
                kills.actors += 1

    thread = threading.Thread(target=kill)
    thread.start()
    try:
        yield kills
    finally:
        has_ended.set()
        thread.join()


def _resident_mib() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") >> 20


if __name__ == "__main__":
    main()
