"""`harness.worker.confinement FD CELL WING`: confine this process as a worker of that wing, and print what came of it,
for `harness doctor`."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict

from harness.sandbox.wire.cell import Cell
from harness.worker.confinement import confine
from harness.worker.confinement.bubblewrap import Bubble, enter

if __name__ == "__main__":
    descriptor, cell, wing = sys.argv[1:]
    bubble = enter(wing)
    parent = bubble.monitor if isinstance(bubble, Bubble) else None
    print(json.dumps(asdict(confine(Cell.from_argument(cell), int(descriptor), parent, bubble))))
