"""Torch is asked for large pages wherever the referee is, before its first tensor."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

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
