"""The findings that the simulator can make while a kernel runs, and what each means: simulator_findings.yaml."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import yaml

FindingVerdict = Literal["memory_error", "runtime_error", "nondeterministic", "wrong_values", "unsupported"]


@dataclass(frozen=True)
class FindingKind:
    """One entry of the list. `verdict` is what a fault leads to; a remark (None) leads to none."""

    meaning: str
    causes: str
    next_step: str
    verdict: FindingVerdict | None = None
    build: Literal["both", "checked"] = "both"
    """The simulator's build that sees it; checked: `--sanitize`."""


_LIST = Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8")
FINDING_KINDS: Mapping[str, FindingKind] = {
    kind: FindingKind(**said) for kind, said in yaml.load(_LIST, getattr(yaml, "CSafeLoader", yaml.SafeLoader)).items()
}
