"""New problems and solutions that compute the right thing as they are: something to change step by step."""

from __future__ import annotations

import ast
import re
import shutil
from collections.abc import Mapping
from pathlib import Path

import yaml

from harness.errors import UsageError, refused
from harness.python_text import parse
from harness.workspace.constants import module_constants
from harness.workspace.problem import Problem, load_bare_problem
from harness.workspace.workspace import Workspace

TEMPLATE = Path(__file__).parent / "template"
"""The workspace that `harness init` makes."""

_START = Path(__file__).parent / "start"
"""The texts that a new problem and a new solution begin with."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")


def new_problem(workspace: Workspace, name: str, source: Path | None = None) -> list[Path]:
    """Make problems/<name>/ from a KernelBench file, or with an example; returns the files.

    Raises:
        UsageError: the name can't be a folder's, or is taken. InvalidFile: `source` is no problem.
    """
    folder = _new_folder(workspace.root / "problems", name, "problem")
    if source is None:
        example = (TEMPLATE / "problems" / "relu" / "problem.py").read_text(encoding="utf-8")
        operations = yaml.safe_load(_text("operations.yaml"))
        example = example.replace("torch.relu(x)", operations.get(name.lower(), "torch.relu(x)"))
        about = _text("problem.yaml").format(title=name, constants="rows: 7, columns: 333")
        about = about.replace("# cases:", "cases:").replace("#   ", "  ")
    else:
        with refused(UsageError, f"can't read {source}"):
            given = source.read_bytes()  # of a pipe, too
        example = load_bare_problem(given, source).source
        constants = ", ".join(f"{name}: 8" for name in list(module_constants(example))[:2])
        about = _text("problem.yaml").format(title=name, constants=constants or "batch_size: 8")
    return write_folder(folder, {"problem.py": example, "problem.yaml": _editor_line(2, "problem") + about})


def new_solution(workspace: Workspace, problem: Problem, name: str, other: str | None = None) -> list[Path]:
    """Make solutions/<problem>/<name>/: a copy of another solution, or the reference with a kernel beside it.

    Raises:
        UsageError: the name can't be a folder's, or is taken; there is no solution `other`.
    """
    folder = _new_folder(workspace.root / "solutions" / problem.name, name, "solution")
    if other is not None:
        (original,) = workspace.solutions(problem.name, [other])
        shutil.copytree(original.folder, folder, ignore=shutil.ignore_patterns("__pycache__"))
        return sorted(path for path in folder.rglob("*") if path.is_file())
    extension = re.sub(r"\W", "_", f"{problem.name}_{name}")
    return write_folder(
        folder,
        {
            "solution.py": _passing_solution(problem).replace("{name}", extension),
            "solution.yaml": _editor_line(3, "solution") + _text("solution.yaml"),
        },
    )


def write_folder(folder: Path, texts: Mapping[str, str]) -> list[Path]:
    """Make a folder of these files; returns their paths. Raises: UsageError."""
    with refused(UsageError, f"can't write {folder}"):
        folder.mkdir(parents=True)
        for name, text in texts.items():
            (folder / name).write_text(text, encoding="utf-8", newline="")
    return [folder / name for name in texts]


def _text(name: str) -> str:
    return (_START / name).read_text(encoding="utf-8")


def _passing_solution(problem: Problem) -> str:
    """The reference's code without the functions that make inputs, and a subclass whose output a kernel copies."""
    tree = parse(problem.source)
    lines = problem.source.splitlines()
    for node in tree.body:
        is_input = isinstance(node, ast.FunctionDef) and node.name in ("get_inputs", "get_init_inputs")
        is_docstring = node is tree.body[0] and ast.get_docstring(tree) is not None
        if is_input or is_docstring:
            assert node.end_lineno is not None
            lines[node.lineno - 1 : node.end_lineno] = [""] * (node.end_lineno - node.lineno + 1)
    reference = re.sub(r"\n{4,}", "\n\n\n", "\n".join(lines)).strip()
    opening = (
        f'"""A start for {problem.name}, right as it is: the reference in torch, and a kernel that nobody calls\n'
        'yet. The work is still torch\'s, so the verdict is no_custom_kernel: move the work into the kernel."""\n\n'
    )
    return f"{opening}{reference}\n\n\n{_text('solution.py.txt')}"


def _new_folder(parent: Path, name: str, kind: str) -> Path:
    if not _NAME.fullmatch(name):
        raise UsageError(f"'{name}' can't name a {kind}: letters, digits, '_', '-' and '.', a letter or digit first")
    folder = parent / name
    if folder.exists():
        raise UsageError(f"{folder} is there already; choose another name, or remove it first")
    return folder


def _editor_line(depth: int, name: str) -> str:
    """Say where an editor finds the schema, seen from a file `depth` folders below the workspace."""
    return f"# yaml-language-server: $schema={'../' * depth}.harness/schemas/{name}.schema.json\n"
