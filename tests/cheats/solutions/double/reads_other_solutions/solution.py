from pathlib import Path

import harness

import torch
import torch.nn as nn


OTHERS = Path(harness.__file__).parents[1] / "tests" / "cheats" / "solutions" / "double"
exec((OTHERS / "default_stream" / "solution.py").read_text())
