"""Imports point one way: who may know whom, read off the source."""

from __future__ import annotations

import ast
import functools
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

import harness
from harness import cudasim, devices, gate, reports, tools

ROOT = Path(harness.__file__).parent

# harness itself (its version) may be imported anywhere.
ALLOWED = {
    "suggest": set(),
    "complaints": {"suggest"},
    "errors": set(),
    "plain_file": set(),
    "room": set(),
    "python_text": set(),
    "face": set(),
    "__main__": {"cli", "run"},  # run: where compiled modules are kept, before torch is imported
    "model": set(),
    "store": {"model", "complaints", "errors", "plain_file", "suggest"},
    "workspace": {"model", "complaints", "errors", "plain_file", "suggest", "python_text"},
    "cudasim": {"face", "python_text"},
    "wire": {"model"},  # arms alone, see below: the names of metrics
    "devices": {"face", "wire", "model", "cudasim", "errors", "room"},
    "sandbox": {"wire", "model", "errors"},
    "worker": {"wire", "devices"},
    "builder": {"sandbox", "wire", "devices", "workspace", "model", "errors", "plain_file"},
    "referee": {"builder", "sandbox", "wire", "devices", "workspace", "model", "errors", "room"},
    "run": {
        *{"referee", "builder", "sandbox", "wire", "devices"},
        *{"workspace", "store", "model", "errors", "plain_file"},
    },
    # workspace: the policy is a file of the user's, the tasks to judge are the workspace's.
    "gate": {"face", "workspace", "store", "model", "complaints", "errors", "plain_file", "suggest"},
    # A process under a tool holds an arm as a worker does, built and laid out as the referee has it.
    "tools": {
        "face",
        *{"run", "referee", "builder", "sandbox", "wire", "worker", "devices"},
        *{"workspace", "model", "errors", "plain_file"},
    },
    "reports": {"face", "store", "model", "errors", "suggest"},
    # What a session takes and gives, and what a caller may name instead.
    "api": {"run", "workspace", "store", "model", "errors"},
    "serve": {"face", "api", "workspace", "store", "model", "errors"},
    # An agent's tools look at kernels like the command line; adapters use what a caller of the package has.
    "integrations": {
        *{"face", "api", "tools", "reports", "devices", "workspace", "store", "model", "errors"},
    },
    "cli": {
        "integrations",
        "serve",
        "gate",
        "tools",
        "run",
        "referee",
        "reports",
        "workspace",
        "store",
        "model",
        "errors",
        "suggest",
    },
}

# Below a room, only these modules of another may be imported.
ALLOWED_MODULES = {
    ("wire", "model"): {"harness.model.arms"},
    ("devices", "model"): {f"harness.model.{name}" for name in ("arms", "environment", "languages", "timing")},
    # The faces of the rooms.
    ("cli", "reports"): {"harness.reports"},
    ("devices", "cudasim"): {"harness.cudasim"},
    **{(room, "devices"): {"harness.devices", "harness.devices.base"} for room in ALLOWED},
    ("cli", "tools"): {"harness.tools"},
    ("cli", "gate"): {"harness.gate"},
    ("cli", "serve"): {"harness.serve"},
    ("cli", "integrations"): {"harness.integrations"},
    ("integrations", "tools"): {"harness.tools"},
    ("integrations", "reports"): {"harness.reports"},
    # progress names the Job it observes.
    ("cli", "referee"): {"harness.referee.job"},
}


def modules() -> dict[str, Path]:
    """Module names of the package with their files; the template is the user's, not ours."""
    template = ROOT / "workspace" / "template"
    files = [path for path in ROOT.rglob("*.py") if template not in path.parents]
    return {_module_name(path): path for path in files}


def _module_name(path: Path) -> str:
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _imports(nodes: Iterator[ast.AST], known: set[str]) -> set[str]:
    found = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            assert node.module is not None
            submodules = {f"{node.module}.{alias.name}" for alias in node.names} & known
            found |= submodules or {node.module}
    return found


def _run(nodes: list[ast.stmt], is_lazy_too: bool = True) -> Iterator[ast.AST]:
    """All statements but those for type checkers, of functions only where that `is_lazy_too`: others run when a module
    is imported."""
    for node in nodes:
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            continue
        yield node
        if is_lazy_too or not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            for block in ("body", "orelse", "finalbody", "handlers"):
                yield from _run(getattr(node, block, []), is_lazy_too)


def _room(module: str) -> str:
    """The folder that a module stands in; what is said between the two sides is a room of its own."""
    if module.startswith("harness.sandbox.wire"):
        return "wire"
    return module.split(".")[1] if module != "harness" else "harness"


MODULES = modules()


@functools.cache
def tree(module: str) -> ast.Module:
    return ast.parse(MODULES[module].read_text())


@functools.cache
def nodes(module: str) -> tuple[ast.AST, ...]:
    return tuple(ast.walk(tree(module)))


@pytest.mark.parametrize("module", [name for name in MODULES if name != "harness"])
def test_imports_point_one_way(module: str) -> None:
    imported = _imports(iter(nodes(module)), set(MODULES))
    ours = {name for name in imported if name.split(".")[0] == "harness" and name != "harness"}
    foreign = {name for name in ours if _room(name) != _room(module)}
    assert {name for name in foreign if _room(name) not in ALLOWED[_room(module)]} == set()
    for name in foreign:
        assert name in ALLOWED_MODULES.get((_room(module), _room(name)), {name})


@pytest.mark.parametrize("room", sorted(ALLOWED))
def test_every_allowed_arrow_is_in_use(room: str) -> None:
    """An exception that nobody needs any more goes."""
    used = set()
    for module in MODULES:
        if module != "harness" and _room(module) == room:
            names = _imports(iter(nodes(module)), set(MODULES))
            used |= {_room(name) for name in names if name.startswith("harness.")} - {room}
    assert used == ALLOWED[room]


FACES = cudasim, devices, gate, reports, tools


@pytest.mark.parametrize("face", FACES, ids=lambda face: face.__name__)
def test_a_face_names_what_is_there_and_in_use(face: ModuleType) -> None:
    """What it offers to type checkers is what it imports, and no other room forgot to drop a name."""
    typed = {alias.name for node in nodes(face.__name__) if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert typed - {"annotations", "TYPE_CHECKING", "lazy"} == set(dir(face))
    assert all(getattr(face, name) is not None for name in dir(face))
    hidden = {name for name in dir(face) if f"{face.__name__}.{name}" in MODULES}
    assert hidden == set(), "a module that is imported takes the place of what is named like it"
    used = set()
    for module in (module for module in MODULES if _room(module) != _room(face.__name__)):
        called = _names_of(face.__name__, module)
        for node in nodes(module):
            if isinstance(node, ast.ImportFrom) and node.module == face.__name__:
                used |= {alias.name for alias in node.names}
            elif isinstance(node, ast.Attribute) and ast.unparse(node.value) in called:
                used.add(node.attr)
    assert used == set(dir(face))


def _names_of(face: str, module: str) -> set[str]:
    """Return what a module calls a face: `reports`, where it says `from harness import reports`."""
    package, _, name = face.rpartition(".")
    imports = (node for node in nodes(module) if isinstance(node, ast.ImportFrom) and node.module == package)
    return {face} | {name for node in imports for alias in node.names if alias.name == name}


def test_every_room_has_its_rule() -> None:
    assert {_room(module) for module in MODULES} - {"harness"} == set(ALLOWED)


def test_the_package_itself_imports_none_of_its_rooms() -> None:
    """Its public names are imported when they are used."""
    at_import = _run(tree("harness").body, is_lazy_too=False)
    assert _imports(at_import, set(MODULES)) == {"__future__", "harness.face", "typing"}


def _reached(roots: set[str], is_lazy_too: bool) -> set[str]:
    """Modules, ours and others', that those import at their top, or anywhere."""
    reached: set[str] = set()
    waiting = set(roots)
    while waiting:
        module = waiting.pop()
        reached.add(module)
        if module in MODULES:
            imported = _imports(_run(tree(module).body, is_lazy_too), set(MODULES))
            parents = {".".join(name.split(".")[:i]) for name in imported for i in range(1, name.count(".") + 1)}
            waiting |= (imported | parents) - reached
    return reached


def test_no_imports_go_round() -> None:
    """Neither when a module is imported nor when something in it is used. A package stands for its own file alone."""
    known = set(MODULES)
    waiting = {module: _imports(_run(tree(module).body), known) & known - {module, "harness"} for module in MODULES}
    while free := {module for module, imported in waiting.items() if not imported & set(waiting)}:
        waiting = {module: imported for module, imported in waiting.items() if module not in free}
    assert waiting == {}


def test_no_class_name_means_two_things() -> None:
    homes = defaultdict[str, list[str]](list)
    for module in MODULES:
        for node in nodes(module):
            if isinstance(node, ast.ClassDef):
                homes[node.name.lstrip("_")].append(module)
    assert {name: modules for name, modules in homes.items() if len(modules) > 1} == {}


def test_help_needs_neither_torch_nor_pydantic() -> None:
    reached = _reached({"harness.cli.app"}, is_lazy_too=False)
    assert "harness.model.verdict" in reached  # the walk walks
    assert {name.split(".")[0] for name in reached} & {"torch", "numpy", "pydantic", "pydantic_core"} == set()


def test_no_worker_needs_pydantic() -> None:
    """It takes a fifth of a second to import, in each."""
    inside = {"harness.devices.cuda.device", "harness.devices.sim.device"}
    reached = _reached({name for name in MODULES if _room(name) == "worker"} | inside, is_lazy_too=True)
    assert {"torch", "harness.sandbox.wire.messages"} <= reached  # the walk walks
    assert {name.split(".")[0] for name in reached} & {"pydantic", "pydantic_core"} == set()


def test_what_starts_a_worker_or_help_has_imported_no_pydantic() -> None:
    """As Python sees it, whatever the source says."""
    modules = "harness.cli.app", "harness.worker.__main__", "harness.worker.fork_server", "harness.worker.serve"
    code = f"import sys, {', '.join(modules)}; sys.exit('pydantic' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=120).returncode == 0
