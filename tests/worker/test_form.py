"""What counts as an output, and that nothing of the solution's is asked meanwhile: the clock has stopped by then."""

from __future__ import annotations

from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from harness.worker.form import fitting, form_of, is_plain


class Equal(type(torch.Tensor)):  # type: ignore[misc]
    def __eq__(cls, other: object) -> bool:
        return True

    def __hash__(cls) -> int:
        return hash(torch.Tensor)


class SaysThatItIsATensor(torch.Tensor, metaclass=Equal):
    pass


class Noting(TorchFunctionMode):
    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.asked: list[object] = []

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.asked.append(function)
        return function(*args, **(kwargs or {}))


def test_a_class_that_equals_torchs_is_another_one() -> None:
    output = torch.zeros(3).as_subclass(SaysThatItIsATensor)
    assert (SaysThatItIsATensor == torch.Tensor) is True
    assert not is_plain(output)
    assert form_of(output).type_name == "SaysThatItIsATensor"
    assert fitting([output], [torch.zeros(3)]) == []


def test_an_outputs_own_attributes_are_not_asked() -> None:
    output: Any = torch.zeros(3)
    output.is_conj = output.is_neg = lambda: output.fill_(7)
    ((source, _),) = fitting([output], [torch.zeros(3)])
    assert source is output
    assert form_of(output).shape == (3,)
    assert source.tolist() == [0, 0, 0]


def test_a_mode_is_not_asked() -> None:
    output, buffer = torch.zeros(3), torch.zeros(3)
    with Noting() as mode:
        fitting([output], [buffer])
        form_of(output)
        assert is_plain(output)
    assert mode.asked == []


def test_lazily_conjugated_outputs_are_not_plain() -> None:
    output = torch.zeros(3, dtype=torch.complex64).conj()
    assert form_of(output).type_name == "lazily conjugated or negated tensor"
