"""The engine of a run: where its jobs are judged. By default this machine, else a Ray cluster."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

from harness.devices import Choice
from harness.errors import UsageError
from harness.model.config import Config
from harness.model.environment import Environment
from harness.run import session as local
from harness.sandbox.fork_server import ForkServers

if TYPE_CHECKING:
    from harness.run.ray_session import RaySession

EngineName = Literal["local", "ray"]
AnySession: TypeAlias = "local.Session | RaySession"


@dataclass(frozen=True)
class Engine:
    """An engine by its name; the rest is for Ray: the cluster's address, and of its GPUs' models the one to take, in
    Ray's word; None takes the one that there is most of."""

    name: EngineName = "local"
    ray_address: str = "auto"
    ray_gpu: str | None = None

    def __post_init__(self) -> None:
        if self.name not in get_args(EngineName):
            raise UsageError(f"no engine {self.name!r}. Valid: {', '.join(get_args(EngineName))}.")


def open_session(
    engine: Engine,
    backend: Choice,
    workspace: Path,
    results: Path,
    config: Config,
    seed: int | None,
    say: Callable[[str], None],
    servers: ForkServers | None = None,
    keeps_source: bool = True,
    jobs: int | None = None,
) -> AnySession:
    """Open a session on the engine; see session.open_session(). Each machine that builds does `jobs` builds at once."""
    if engine.name == "local":
        return local.open_session(
            backend, workspace, results, config, seed, say, servers=servers, keeps_source=keeps_source, jobs=jobs
        )
    from harness.run.ray_session import open_ray_session

    address, model = engine.ray_address, engine.ray_gpu
    return open_ray_session(address, backend, workspace, results, config, seed, say, keeps_source, model, jobs)


def environments_of(engine: Engine, backend: Choice, workspace: Path) -> list[Environment]:
    """Return the environments that a session's records would have. Raises: MachineError; UsageError without Ray."""
    if engine.name == "local":
        return [local.environment_of(backend, workspace)]
    from harness.run.ray_session import ray_environments

    return ray_environments(engine.ray_address, backend, workspace, engine.ray_gpu)
