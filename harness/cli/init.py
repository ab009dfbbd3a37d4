"""`harness init`: a folder to work in."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Annotated

import typer


def init(
    context: typer.Context,
    folder: Annotated[Path, typer.Argument(help="Where; made if it isn't there.")] = Path("."),
) -> None:
    """Make a workspace: an example problem with a solution, the default config, results/, schemas for editors.

    Files that are already there stay as they are. Example: harness init my-kernels
    """
    from harness.cli.schemas import write_schemas
    from harness.errors import UsageError
    from harness.workspace.scaffold import TEMPLATE

    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is a file; name a folder")
    made = 0
    for source in sorted(path for path in TEMPLATE.rglob("*") if path.is_file() and "__pycache__" not in path.parts):
        target = folder / source.relative_to(TEMPLATE)
        if target.exists():
            typer.echo(f"kept  {target}")
            continue
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)
        except OSError as error:
            raise UsageError(f"can't write {target}: {error.strerror}") from None
        made += 1
        typer.echo(f"made  {target}")
    for target in write_schemas(folder, context.find_root().command):
        made += 1
        typer.echo(f"made  {target}")
    enter = "" if folder == Path(".") else f"cd {folder} && "
    typer.echo(f"next: {enter}harness run --problem relu" if made else "nothing to make")
