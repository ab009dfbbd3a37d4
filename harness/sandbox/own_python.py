"""The start of Python on a module of ours, whatever lies in the folder where the user stands.

`python -m` puts the working folder first on the path: a random.py in it, which a solution may well have beside it,
would be imported into a process that judges. Python 3.10 has no option against that.
"""

from __future__ import annotations

import sys
from pathlib import Path

_START = """\
import sys
sys.path[:] = [folder for folder in sys.path if folder]
if sys.argv[1] not in sys.path:
    sys.path.insert(0, sys.argv[1])
module = sys.argv[2]
del sys.argv[1:3]
import runpy
runpy.run_module(module, run_name="__main__", alter_sys=True)
"""
"""The package's folder comes first where it is on no path yet (a checkout), and keeps its place where it is."""


def own_python(module: str, *arguments: str) -> list[str]:
    """The command of a process that runs `module` of this very package as its main program."""
    return [sys.executable, "-c", _START, str(Path(__file__).parents[2]), module, *arguments]
