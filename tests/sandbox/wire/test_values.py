"""Plain values on the wire."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
import torch

from harness.sandbox.wire.codec import NotPlain, decode_value, encode_value


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        0,
        -(2**70),
        0.1,
        "größe",
        [],
        (),
        [1, (2, [3, ()])],
        (1, 2),
        {"kernel_size": (5, 7), "bias": None},
        {"tuple": [1]},
        {"float": "nan", "dict": {"tuple": (1,)}},
        {},
        math.inf,
        [-math.inf],
    ],
)
def test_a_value_comes_back_as_it_was(value: Any) -> None:
    back = decode_value(json.loads(json.dumps(encode_value(value), allow_nan=False)))
    assert back == value
    assert repr(back) == repr(value)  # 1 == True == 1.0


def test_nan_comes_back() -> None:
    assert math.isnan(decode_value(encode_value([math.nan]))[0])


def test_minus_zero_keeps_its_sign() -> None:
    assert math.copysign(1, decode_value(json.loads(json.dumps(encode_value(-0.0))))) == -1


@pytest.mark.parametrize(
    ("value", "type_name"),
    [
        (torch.zeros(1), "torch.Tensor"),
        ([1, (torch.zeros(1),)], "torch.Tensor"),
        ({1: 2}, "builtins.dict"),
        ({1, 2}, "builtins.set"),
        (b"raw", "builtins.bytes"),
        (1j, "builtins.complex"),
    ],
)
def test_what_is_not_plain_is_refused_by_its_type(value: Any, type_name: str) -> None:
    with pytest.raises(NotPlain, match=f"^{type_name}$"):
        encode_value(value)


def test_a_dtype_travels_by_its_name() -> None:
    assert encode_value((torch.float16,)) == {"tuple": [{"dtype": "float16"}]}
    assert decode_value({"tuple": [{"dtype": "float16"}]}) == (torch.float16,)
