"""`python -m harness` is `harness`."""

from __future__ import annotations

import sys


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


if __name__ == "__main__":
    main()
