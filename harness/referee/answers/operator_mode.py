"""A context that sees every operator of torch, without the compiler that torch would import for it."""

from __future__ import annotations

from torch.utils._python_dispatch import TorchDispatchMode


class OperatorMode(TorchDispatchMode):
    """Subclasses define `__torch_dispatch__`, which each operator goes through; composite ones arrive decomposed."""

    count = 0
    """The number of operators that a subclass has changed."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]

    def __init_subclass__(cls) -> None:
        """Do nothing: torch's own keeps its compiler away from the mode, and imports it first, which takes a second."""
