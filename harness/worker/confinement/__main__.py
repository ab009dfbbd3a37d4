"""`harness.worker.confinement FD SANDBOX SERVER`: confine this process as a worker, and print what came of it, for
`harness doctor`. SERVER is the sandbox of the fork server that it would have."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict

from harness.sandbox.wire.sandbox import Sandbox
from harness.worker.confinement import confine
from harness.worker.confinement.bubblewrap import Bubblewrap, enter

if __name__ == "__main__":
    descriptor, sandbox, server = sys.argv[1:]
    bubblewrap = enter(server)
    parent = bubblewrap.monitor if isinstance(bubblewrap, Bubblewrap) else None
    print(json.dumps(asdict(confine(Sandbox.from_argument(sandbox), int(descriptor), parent, bubblewrap))))
