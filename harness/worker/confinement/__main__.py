"""`harness.worker.confinement FD CELL`: confine this process and print what came of it, for `harness doctor`."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict

from harness.protocol.cell import Cell
from harness.worker.confinement import confine

if __name__ == "__main__":
    print(json.dumps(asdict(confine(Cell.from_argument(sys.argv[2]), int(sys.argv[1])))))
