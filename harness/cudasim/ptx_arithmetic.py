"""Arithmetic of PTX as C++, with its moves, comparisons and conversions."""

from __future__ import annotations

from harness.cudasim import ptx_operands as ptx

_INFIX = {"add": "+", "sub": "-", "mul": "*", "and": "&", "or": "|", "xor": "^"}
_HALVES = ("f16", "bf16", "f16x2", "bf16x2")
_COMPARED = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_FUNCTIONS = {
    "ex2": "exp2f",
    "lg2": "log2f",
    "rcp": "1.0f / ",
    "sqrt": "sqrtf",
    "rsqrt": "1.0f / sqrtf",
    "sin": "sinf",
    "cos": "cosf",
    "tanh": "::sim::ptx_tanh_approx",
}


def _write_move(name: str, modifiers: list[str], operands: list[str]) -> str:
    (kind,) = modifiers
    into, source = map(ptx.parts, operands)
    if len(into) == len(source) == 1:
        return ptx.write(into[0], ptx.read(kind, source[0]))
    half = {"b32": ("u16", 16), "b64": ("u32", 32)}[kind]
    if len(source) == 2:
        low, high = (f"({ptx.TYPES[kind]})({ptx.read(half[0], one)})" for one in source)
        return ptx.write(into[0], f"({low} | {high} << {half[1]})")
    ptx.require(len(into) == 2 and len(source) == 1)
    whole = ptx.read(kind, source[0])
    return f"{{ auto sim_v = {whole}; {ptx.write(into[0], 'sim_v')} {ptx.write(into[1], f'(sim_v >> {half[1]})')} }}"


def _write_arithmetic(name: str, modifiers: list[str], operands: list[str]) -> str:
    """Write it on unsigned numbers where that gives the same bits: signed ones may not wrap in C++."""
    *how, kind = modifiers
    if kind in _HALVES:
        ptx.require({"rn", "ftz"}.issuperset(how))
        return _write_in_halves(kind, {"add": "a + b", "sub": "a - b", "mul": "a * b"}[name], operands)
    if how in (["hi"], ["wide"]):
        return _write_wide(name, how[0], kind, operands)
    is_float = kind in ("f32", "f64")
    ptx.require({"rn", "ftz"}.issuperset(how) if is_float else how == ["lo"] if name in ("mul", "mad") else not how)
    ptx.require(is_float or kind != "pred" or name in ("and", "or", "xor"))
    kind = kind.replace("s", "u")
    one, two, *third = [ptx.read(kind, value) for value in operands[1:]]
    if name == "mad":
        return ptx.write(operands[0], f"({ptx.TYPES[kind]})({one} * {two} + {third[0]})")
    ptx.require(not third)
    return ptx.write(operands[0], f"({ptx.TYPES[kind]})({one} {_INFIX[name]} {two})")


def _write_wide(name: str, how: str, kind: str, operands: list[str]) -> str:
    """A product of twice as many bits, or its upper half; `mad` adds to that."""
    bits = {"16": 16, "32": 32}[kind[1:]]
    one, two, *third = operands[1:]
    product = f"({ptx.TYPES[f'{kind[0]}{2 * bits}']})({ptx.read(kind, one)}) * {ptx.read(kind, two)}"
    of = f"u{bits if how == 'hi' else 2 * bits}"
    result = f"({ptx.TYPES[of]})({product}{f' >> {bits}' if how == 'hi' else ''})"
    ptx.require(len(third) == (name == "mad") and name in ("mul", "mad"))
    return ptx.write(
        operands[0], f"({ptx.TYPES[of]})({' + '.join([result, *(ptx.read(of, value) for value in third)])})"
    )


def _write_in_halves(kind: str, expression: str, operands: list[str]) -> str:
    """Write arithmetic of one half or of two, in float and rounded once."""
    bits = "b32" if kind.endswith("x2") else "b16"
    values = [ptx.read(bits, value) for value in operands[1:]]
    parameters = ", ".join(f"float {name}" for name in "abc"[: len(values)])
    halves = f"::sim::ptx_{ptx.PRODUCTS[kind.removesuffix('x2')]}, {2 if bits == 'b32' else 1}"
    function = f"[]({parameters}) {{ return {expression}; }}"
    return ptx.write(operands[0], f"::sim::ptx_each<{halves}>({', '.join([function, *values])})")


def _write_unary(name: str, modifiers: list[str], operands: list[str]) -> str:
    (kind,) = [one for one in modifiers if one != "ftz"]
    value = ptx.read(kind, operands[1])
    if name == "not":
        return ptx.write(operands[0], f"{'!' if kind == 'pred' else '~'}{value}")
    if name in ("neg", "abs"):
        ptx.require(kind in ("f32", "f64"))
        return ptx.write(operands[0], f"-{value}" if name == "neg" else f"({ptx.TYPES[kind]})(__builtin_fabs({value}))")
    ptx.require(kind == "b32")
    return ptx.write(operands[0], f"__{name}({value})")


def _write_shift(name: str, modifiers: list[str], operands: list[str]) -> str:
    """A register is shifted by its width at most."""
    (kind,) = modifiers
    into, value, count = operands
    most = {"32": 31, "64": 63}[kind[1:]]
    shifted, by = ptx.read(kind, value), ptx.read("u32", count)
    if kind[0] == "s":
        ptx.require(name == "shr")
        return ptx.write(into, f"({shifted} >> ({by} < {most} ? {by} : {most}))")
    return ptx.write(into, f"({by} > {most} ? 0 : {shifted} {'<<' if name == 'shl' else '>>'} {by})")


def _write_choice(name: str, modifiers: list[str], operands: list[str]) -> str:
    """`min` and `max`."""
    *how, kind = modifiers
    ptx.require(set(how) <= {"ftz", "NaN"} and kind != "pred")
    one, two = (ptx.read(kind, value) for value in operands[1:])
    keeps_nan = str("NaN" in how).lower()
    return ptx.write(operands[0], f"::sim::ptx_{name}imum<{keeps_nan}>({one}, {two})")


def _write_fused(name: str, modifiers: list[str], operands: list[str]) -> str:
    *how, kind = modifiers
    ptx.require("rn" in how and {"rn", "ftz"}.issuperset(how))
    if kind in _HALVES:
        return _write_in_halves(kind, "__builtin_fmaf(a, b, c)", operands)
    ptx.require(kind in ("f32", "f64"))
    one, two, three = (ptx.read(kind, value) for value in operands[1:])
    return ptx.write(operands[0], f"__builtin_fma{'f' if kind == 'f32' else ''}({one}, {two}, {three})")


def _write_function(name: str, modifiers: list[str], operands: list[str]) -> str:
    *how, kind = modifiers
    ptx.require(kind == "f32" and {"approx", "ftz", "rn"}.issuperset(how))
    return ptx.write(operands[0], f"{_FUNCTIONS[name]}({ptx.read('f32', operands[1])})")


def _write_comparison(name: str, modifiers: list[str], operands: list[str]) -> str:
    how, kind = modifiers
    into, *values = operands
    one, two = (ptx.read(kind, value) for value in values)
    is_ordered = how == "ne" and kind in ("f32", "f64")  # false with NaN, as all of these are
    test = f"({one} < {two} || {one} > {two})" if is_ordered else f"{one} {_COMPARED[how]} {two}"
    return f"{ptx.value(into)} = {test};"


def _write_selection(name: str, modifiers: list[str], operands: list[str]) -> str:
    into, one, two, which = operands
    return ptx.write(into, f"({ptx.value(which)} ? {ptx.read(modifiers[-1], one)} : {ptx.read(modifiers[-1], two)})")


def _write_conversion(name: str, modifiers: list[str], operands: list[str]) -> str:
    *how, to, source = modifiers
    into, *values = operands
    if to in ("f16x2", "bf16x2", "f16", "bf16"):
        ptx.require(how == ["rn"] and source == "f32" and len(values) == (2 if to.endswith("x2") else 1))
        kind = ptx.PRODUCTS[to.removesuffix("x2")]
        narrowed = [f"unsigned(::sim::ptx_{kind}::to({ptx.read('f32', one)}))" for one in values]
        return ptx.write(into, f"({' << 16 | '.join(narrowed)})")
    if source in ("f16", "bf16"):
        ptx.require(to == "f32" and not how)
        return ptx.write(into, f"::sim::ptx_{ptx.PRODUCTS[source]}::of({ptx.read('u16', values[0])}, 0)")
    if to == "tf32":
        ptx.require(how == ["rna"])
        return ptx.write(into, f"::sim::ptx_Tf32::to({ptx.read('f32', values[0])})")
    is_whole = not {to, source} & {"f32", "f64", "pred"}
    ptx.require((is_whole and not how) or (how == ["rn"] and to == "f32" and source in ("s32", "u32")))
    return ptx.write(into, f"({ptx.TYPES[to]})({ptx.read(source, values[0])})")


def _write_other(name: str, modifiers: list[str], operands: list[str]) -> str:
    if name == "createpolicy":
        return ptx.write(operands[0], "0ull")
    if name == "lop3":
        a, b, c = (ptx.read("b32", one) for one in operands[1:4])
        return ptx.write(operands[0], f"::sim::ptx_look_up({a}, {b}, {c}, {ptx.value(operands[4])})")
    if name == "prmt":
        ptx.require(modifiers == ["b32"])
        return ptx.write(operands[0], f"::sim::ptx_permute({', '.join(ptx.read('b32', one) for one in operands[1:])})")
    return {"nanosleep": "sim_give_turn();", "trap": "__trap();"}[name]


WRITERS: dict[str, ptx.Writer] = {
    "mov": _write_move,
    **dict.fromkeys((*_INFIX, "mad"), _write_arithmetic),
    **dict.fromkeys(("not", "neg", "abs", "popc", "clz", "brev"), _write_unary),
    **dict.fromkeys(("shl", "shr"), _write_shift),
    **dict.fromkeys(("min", "max"), _write_choice),
    "fma": _write_fused,
    **dict.fromkeys(_FUNCTIONS, _write_function),
    "setp": _write_comparison,
    "selp": _write_selection,
    "cvt": _write_conversion,
    **dict.fromkeys(("createpolicy", "lop3", "prmt", "nanosleep", "trap"), _write_other),
}
