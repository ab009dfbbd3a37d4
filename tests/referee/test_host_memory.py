"""Memory of the host: large pages and kept temporaries wherever the referee is, unless the user says otherwise."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import threading

import pytest
import torch

from harness.model.check import Tolerance
from harness.referee.tolerance import distance

CODE = """
import os
import harness.referee.evaluation
print(os.environ["THP_MEM_ALLOC_ENABLE"])
"""


@pytest.mark.parametrize(("users", "told"), [({}, "1"), ({"THP_MEM_ALLOC_ENABLE": "0"}, "0")])
def test_large_pages_are_asked_for_unless_the_user_says_otherwise(users: dict[str, str], told: str) -> None:
    own = {name: value for name, value in os.environ.items() if name != "THP_MEM_ALLOC_ENABLE"}
    done = subprocess.run([sys.executable, "-c", CODE], env={**own, **users}, capture_output=True, text=True)
    assert done.stdout.split() == [told]


def test_a_comparison_in_pieces_takes_the_same_memory_again_in_any_thread() -> None:
    got = torch.rand(64, 2**16)
    want, faults = got.double(), []

    def compare() -> None:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        distance(got, want, Tolerance(1.0, 1.0, 1.0))
        faults.append(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)

    for _ in range(8):
        thread = threading.Thread(target=compare)
        thread.start()
        thread.join()
    # Eight temporaries as large as all pieces where freed memory isn't kept; less than one where the heap still grows.
    assert min(faults[1:]) < 64 * 2**16 * 8 // resource.getpagesize()
