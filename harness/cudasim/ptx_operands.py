"""Operands of PTX as C++: registers, operands of the asm statement, special registers and numbers."""

from __future__ import annotations

import re
from collections.abc import Callable

TYPES = {
    **dict.fromkeys(("b8", "u8"), "unsigned char"),
    "s8": "signed char",
    **dict.fromkeys(("b16", "u16"), "unsigned short"),
    "s16": "short",
    **dict.fromkeys(("b32", "u32"), "unsigned"),
    "s32": "int",
    **dict.fromkeys(("b64", "u64"), "unsigned long long"),
    "s64": "long long",
    "f32": "float",
    "f64": "double",
    "pred": "bool",
}
_SPECIAL = {
    "laneid": "::sim::lane()",
    "warpid": "(sim_linear_thread() / 32)",
    **{f"tid.{axis}": f"threadIdx.{axis}" for axis in "xyz"},
    **{f"ntid.{axis}": f"blockDim.{axis}" for axis in "xyz"},
    **{f"ctaid.{axis}": f"blockIdx.{axis}" for axis in "xyz"},
    **{f"nctaid.{axis}": f"gridDim.{axis}" for axis in "xyz"},
    **dict.fromkeys(("clock", "clock64", "globaltimer"), "clock64()"),
    "lanemask_eq": "(1u << ::sim::lane())",
    "lanemask_lt": "((1u << ::sim::lane()) - 1)",
    "lanemask_le": "((2u << ::sim::lane()) - 1)",
    "lanemask_gt": "~((2u << ::sim::lane()) - 1)",
    "lanemask_ge": "~((1u << ::sim::lane()) - 1)",
}
WHOLE = {"s8": "Byte<signed char>", "u8": "Byte<unsigned char>"}
FLOAT8 = {"e4m3": "Float8<4>", "e5m2": "Float8<5>"}
PRODUCTS = {"f16": "Half", "bf16": "BFloat16", "tf32": "Tf32", **WHOLE, **FLOAT8}
"""Numbers that products take, by the names that sim/ptx.h has for them."""

Writer = Callable[[str, list[str], list[str]], str]
"""Writes an instruction of this name, with modifiers and operands. Raises: LookupError, StopIteration, ValueError."""


def require(is_known: object) -> None:
    if not is_known:
        raise ValueError


def matched(pattern: str, text: str) -> re.Match[str]:
    if found := re.fullmatch(pattern, text):
        return found
    raise ValueError


def register(name: str) -> str:
    return f"sim_r_{name}"


def value(operand: str) -> str:
    """Write an operand as C++. Raises: ValueError."""
    if special := re.fullmatch(r"%%?([a-z][\w.]*)", operand):
        return _SPECIAL[special[1]]
    if number := re.fullmatch(r"%(\d+)", operand):
        return f"sim_{number[1]}"
    if bits := re.fullmatch(r"0[fF]([0-9a-fA-F]{8})", operand):
        return f"__uint_as_float(0x{bits[1]}u)"
    if re.fullmatch(r"-?(0[xX][0-9a-fA-F]+|\d+)U?", operand):
        return f"({operand})"
    require(operand.isidentifier())
    return register(operand)


def read(kind: str, operand: str) -> str:
    return f"::sim::ptx_as<{TYPES[kind]}>({value(operand)})"


def write(operand: str, source: str) -> str:
    return f"::sim::ptx_set({value(operand)}, {source});"


def write_all(operands: list[str], array: str) -> str:
    return " ".join(write(one, f"{array}[{n}]") for n, one in enumerate(operands))


def parts(operand: str) -> list[str]:
    """The operands of a list, or the one that stands alone."""
    return [part.strip() for part in operand[1:-1].split(",")] if operand.startswith("(") else [operand]
