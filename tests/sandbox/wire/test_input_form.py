"""Inputs that are made of several tensors, taken apart and put together."""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import pytest
import torch

from harness.sandbox.wire.codec import decode_value, encode_value
from harness.sandbox.wire.input_form import (
    Form,
    NoForm,
    irregular_kinds,
    leaves,
    put_together,
    take_apart,
    takes_parts,
)

DENSE = torch.tensor([[0.0, 1.0, 2.0, 0.0], [3.0, 0.0, 0.0, 0.0]])
SPARSE: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "sparse_csr": lambda dense: dense.to_sparse_csr(),
    "sparse_csc": lambda dense: dense.to_sparse_csc(),
    "sparse_bsr": lambda dense: dense.to_sparse_bsr((1, 2)),
    "sparse_bsc": lambda dense: dense.to_sparse_bsc((2, 2)),
    "sparse_coo": lambda dense: dense.to_sparse_coo(),
}

pytestmark = [
    pytest.mark.filterwarnings("ignore:Sparse CSR tensor support is in beta"),
    pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors is in prototype"),
]


def ragged() -> torch.Tensor:
    return torch.nested.nested_tensor([torch.ones(2, 3), torch.zeros(1, 3)], layout=torch.jagged)


def apart(value: Any) -> tuple[Form, list[Any]]:
    """The form as the other side of the wire has it, and the parts."""
    parts: list[Any] = []
    form = take_apart(value, parts)
    return decode_value(encode_value(form)), parts


@pytest.mark.parametrize("value", [DENSE, 2.5, "same", [1, 2], {"dims": (0, 1)}, None])
def test_a_dense_tensor_and_a_plain_value_are_a_part(value: Any) -> None:
    form, parts = apart(value)
    assert form is None
    assert parts[0] is value
    assert [*leaves(form, "x")] == [("x", ["x"])]


def test_lists_tuples_and_dicts_come_back_as_they_were() -> None:
    a, b, c = torch.ones(1), torch.ones(2), torch.ones(3)
    form, parts = apart([{"k": a, "rate": 0.5}, (b, [c, None])])
    assert [name for name, _ in leaves(form, "x")] == [
        "x[0]['k']",
        "x[0]['rate']",
        "x[1][0]",
        "x[1][1][0]",
        "x[1][1][1]",
    ]
    (whole,) = put_together([form], parts)
    assert isinstance(whole[1], tuple)
    assert whole[0]["rate"] == 0.5
    assert [one.data_ptr() for one in (whole[0]["k"], whole[1][0], whole[1][1][0])] == [
        one.data_ptr() for one in (a, b, c)
    ]
    assert irregular_kinds([form]) == set()


@pytest.mark.parametrize("layout", SPARSE)
def test_a_sparse_tensor_is_its_indices_and_values(layout: str) -> None:
    form, parts = apart([SPARSE[layout](DENSE)])
    assert irregular_kinds([form]) == {layout}
    assert sum(len(names) for _, names in leaves(form, "x")) == len(parts)
    whole = put_together([form], parts)[0][0]
    assert whole.layout is getattr(torch, layout)
    assert torch.equal(whole.to_dense(), DENSE)
    values = whole._values() if layout == "sparse_coo" else whole.values()
    assert values.data_ptr() == parts[-1].data_ptr()


@pytest.mark.parametrize("layout", SPARSE)
def test_indices_that_have_not_arrived_yet_are_not_read(layout: str) -> None:
    form, parts = apart(SPARSE[layout](DENSE))
    late = [torch.full_like(part, -1) for part in parts]
    (whole,) = put_together([form], late)
    assert whole.shape == (2, 4)


def test_an_uncoalesced_tensor_stays_so() -> None:
    twice = torch.sparse_coo_tensor(
        torch.tensor([[0, 0], [1, 1]]), torch.tensor([1.0, 2.0]), (2, 2), check_invariants=True
    )
    form, parts = apart(twice)
    (whole,) = put_together([form], parts)
    assert (whole._nnz(), whole.is_coalesced()) == (2, False)


def test_a_jagged_tensor_pads_as_it_did() -> None:
    """Torch pads to the longest sequence where that is known, else to all values."""
    form, parts = apart(ragged())
    assert irregular_kinds([form]) == {"jagged"}
    assert next(leaves(form, "x"))[1][:2] == ["x.values()", "x.offsets()"]
    (whole,) = put_together([form], parts)
    assert [one.shape for one in whole.unbind()] == [(2, 3), (1, 3)]
    assert torch.nested.to_padded_tensor(whole, 0.0).shape == (2, 2, 3)
    assert whole.values().data_ptr() == parts[0].data_ptr()


def test_jagged_tensors_with_the_same_offsets_still_go_together() -> None:
    one = ragged()
    parts: list[Any] = []
    forms = [
        take_apart(value, parts) for value in (one, torch.nested.nested_tensor_from_jagged(one.values(), one.offsets()))
    ]  # type: ignore[attr-defined]
    first, second = put_together(
        decode_value(encode_value(forms)), [part.clone() if isinstance(part, torch.Tensor) else part for part in parts]
    )
    assert torch.equal((first + second).values(), 2 * one.values())


def test_the_order_of_a_dict_belongs_to_its_form() -> None:
    a, b = torch.ones(1), torch.ones(2)
    assert apart({"a": a, "b": b})[0] != apart({"b": b, "a": a})[0]


def test_a_model_is_called_with_the_inputs_of_its_parts() -> None:
    form, parts = apart({"a": torch.ones(2), "b": torch.ones(2)})
    call = takes_parts(lambda both, more: both["a"] + both["b"] + more, (form, None))
    assert call(*parts, 1.0).tolist() == [3.0, 3.0]


def test_a_warning_of_torchs_is_no_error_of_a_solutions() -> None:
    form, parts = apart(SPARSE["sparse_csr"](DENSE))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        takes_parts(lambda whole: whole, (form,))(*parts)


def test_what_has_no_form_is_named() -> None:
    with pytest.raises(NoForm, match="jagged"):
        take_apart(torch.nested.nested_tensor([torch.ones(1, 2), torch.ones(2, 2)]), [])
    with pytest.raises(NoForm, match="ragged dimension"):
        take_apart(ragged().transpose(1, 2), [])
    with pytest.raises(NoForm, match="OrderedDict"):
        take_apart(OrderedDict(a=torch.ones(1)), [])
    with pytest.raises(NoForm, match="key 7"):
        take_apart({7: torch.ones(1)}, [])
