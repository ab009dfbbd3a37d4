"""`python -m harness` is `harness`."""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
import threading


def main() -> None:
    """The command, with a word for Ctrl-C before it has begun."""
    try:
        from harness.cli.app import main as command
        from harness.run.cache import cache_folder, keep_bytecode, keep_inductors_folder

        keep_bytecode(cache_folder())
        keep_inductors_folder(cache_folder())
        command()
    except KeyboardInterrupt:
        print("harness: interrupted", file=sys.stderr)
        sys.exit(130)
    except SystemExit as ending:
        if "torch" in sys.modules and isinstance(ending.code, int):
            _leave(ending.code)
        raise


def _leave(code: int) -> None:
    """Leave without taking torch's modules apart first, which takes half a second and longer."""
    if any(not one.daemon for one in threading.enumerate() if one is not threading.main_thread()):
        return  # they are waited for
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError, OSError, ValueError):  # closed; None where it was from the beginning
            stream.flush()
    os._exit(code)


if __name__ == "__main__":
    main()
