"""`python -m harness` is `harness`."""

from harness.cli.app import main

if __name__ == "__main__":
    main()
