"""Inline PTX as C++: each asm statement of instructions that sim/ptx.h has a counterpart for becomes a call of them.

The syntax is that of "Inline PTX Assembly in CUDA", the instructions those of the PTX ISA.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from harness.cudasim.tokens import Token, Unbalanced, closing, next_visible, plain_text

ASM = ("asm", "__asm", "__asm__")
PTX_HEADER = '#include "sim/ptx.h"\n'
PTX_MARK = "::sim::ptx_"
"""The mark of a text that needs the header."""

_TYPES = {
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
_INFIX = {"add": "+", "sub": "-", "mul": "*", "and": "&", "or": "|", "xor": "^"}
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
_ATOMICS = {
    **{name: f"atomic{name.title()}" for name in ("add", "min", "max", "and", "or", "xor")},
    "exch": "atomicExch",
    "cas": "atomicCAS",
}
_NOTHING = {"prefetch", "prefetchu", "griddepcontrol", "fence", "membar", "discard", "applypriority"}
"""Instructions that change no value: hints, and orders of memory, which threads that take turns keep."""
_OF_MEMORY = {"global", "shared", "const", "local", "weak", "volatile", "relaxed", "acquire", "release", "acq_rel"}
_SCOPES = {"cta", "gpu", "sys", "cluster", "nc", "ca", "cg", "cs", "lu", "cv", "wb", "wt"}
_PRODUCTS = {"f16": "Half", "bf16": "BFloat16", "tf32": "Tf32", "s8": "Byte<signed char>", "u8": "Byte<unsigned char>"}
_SHAPES = {"f16": (8, 16), "bf16": (8, 16), "tf32": (4, 8), "s8": (16, 32), "u8": (16, 32)}
"""The depths k of m16n8k…, by the type of what is multiplied."""


_MANY, _LONG = 200, 4000
"""More asm statements than are looked at in a text that nobody compiles, and more tokens than one has."""


class _NotSimulated(Exception):
    """An instruction, or a form of one, that isn't simulated."""


def with_inline_ptx(tokens: list[Token]) -> list[Token]:
    """Replace the asm statements that can be; others stay, to be refused where somebody uses them."""
    tokens = list(tokens)
    i = 0
    while i < len(tokens):
        if tokens[i].kind == "name" and tokens[i].text in ASM:
            try:
                statement = _statement(tokens, i)
                code = statement.code()
            except _NotSimulated:
                pass
            else:
                blanks = "".join(_newlines(token) for token in tokens[i : statement.end])
                tokens[i : statement.end] = [Token("code", code + blanks, tokens[i].line)]
        i += 1
    return tokens


def is_simulated(tokens: list[Token]) -> bool:
    """Say whether all asm statements are; many are not looked at."""
    places = [n for n, token in enumerate(tokens) if token.kind == "name" and token.text in ASM]
    return len(places) <= _MANY and all(unknown_instruction(tokens, n) is None for n in places)


def unknown_instruction(tokens: list[Token], index: int) -> str | None:
    """Name the instruction for which the asm statement at `index` can't be replaced; empty where there is no telling,
    None where it can be."""
    try:
        _statement(tokens, index).code()
    except _NotSimulated as unknown:
        return str(unknown)
    return None


def _newlines(token: Token) -> str:
    if token.kind in ("space", "newline"):
        return token.text if "\n" in token.text else ""
    return "\n" * token.text.count("\n")


@dataclass(frozen=True)
class _Statement:
    """An asm statement: its PTX, and the C++ of its operands, of which the first `outputs` are written to."""

    ptx: str
    operands: tuple[str, ...]
    outputs: int
    end: int

    def code(self) -> str:
        """Write it as C++ on one line. Raises: _NotSimulated."""
        values = [
            f"auto& sim_{n} = ({text});" if n < self.outputs else f"auto sim_{n} = ::sim::ptx_input({text});"
            for n, text in enumerate(self.operands)
        ]
        lines = [_instruction(part.strip()) for part in re.split(r";|([{}])", _with_lists(self.ptx)) if part]
        body = " ".join(filter(None, lines))
        if not set(re.findall(r"sim_r_\w+", body)) <= set(re.findall(r"(sim_r_\w+) = \{\};", body)):
            raise _NotSimulated  # a register of another statement, or none
        return " ".join(["[&] {", *values, body, "}()"])


def _statement(tokens: list[Token], index: int) -> _Statement:
    opening = next_visible(tokens, index)
    while opening is not None and tokens[opening].text in ("volatile", "__volatile__", "__volatile"):
        opening = next_visible(tokens, opening)
    if opening is None or tokens[opening].text != "(":
        raise _NotSimulated
    near = tokens[: opening + _LONG]
    end = _closing(near, opening)
    sections: list[list[Token]] = [[]]
    position = opening + 1
    while position < end:
        if tokens[position].text in (":", "::"):
            sections += [[] for _ in tokens[position].text]
            position += 1
            continue
        last = _closing(near, position) if tokens[position].text in ("(", "[", "{") else position
        sections[-1] += tokens[position : last + 1]
        position = last + 1
    ptx, outputs, inputs = [*sections, [], []][:3]
    written, read = _operands(outputs, r'"[=+]&?[hrlfd]"'), _operands(inputs, r'"[hrlfdn]"')
    return _Statement(_joined([one for one in ptx if one.is_visible]), (*written, *read), len(written), end + 1)


def _closing(tokens: list[Token], index: int) -> int:
    try:
        return closing(tokens, index)
    except Unbalanced:
        raise _NotSimulated from None


def _operands(section: list[Token], constraint: str) -> list[str]:
    found = []
    for n, token in enumerate(section):
        is_operand = token.kind == "string" and (after := next_visible(section, n)) and section[after].text == "("
        if is_operand:
            assert after
            if not re.fullmatch(constraint, token.text):
                raise _NotSimulated
            value = plain_text(section[after + 1 : _closing(section, after)])
            found.append(re.sub(r"\\?\r?\n", " ", value).strip())
    visible = "".join(token.text for token in section if token.is_visible)
    if visible.startswith("[") or (visible and not found):
        raise _NotSimulated  # operands with names of their own
    return found


def _joined(literals: Sequence[Token]) -> str:
    """Join string literals to the text that they stand for."""
    if not all(token.kind == "string" and token.text[-1] == '"' for token in literals):
        raise _NotSimulated
    parts = []
    for token in literals:
        raw = re.fullmatch(r'R"([^(]*)\((.*)\)\1"', token.text, re.DOTALL)
        try:
            parts.append(raw[2] if raw else str(ast.literal_eval(token.text)))
        except (SyntaxError, ValueError):
            raise _NotSimulated from None
    return re.sub(r"//[^\n]*|/\*.*?\*/", " ", "".join(parts), flags=re.DOTALL)


def _with_lists(ptx: str) -> str:
    """Write lists of operands in parentheses: braces are left to blocks of instructions."""
    return re.sub(r"\{([^{};]*)\}(?=\s*[,;]|\s*$)", lambda found: f"({' '.join(found[1].split())})", ptx)


# ---- Instructions


_REGISTERS = re.compile(r"\.reg\s+\.(\w+)\s+(.+)", re.DOTALL)
_GUARDED = re.compile(r"@(!?)\s*(\S+)\s+(.+)", re.DOTALL)


def _instruction(text: str) -> str:
    """Write one instruction, with its guard, as C++. Raises: _NotSimulated."""
    if text in ("", "{", "}"):
        return text
    if declared := _REGISTERS.fullmatch(text):
        names = [name.strip() for name in declared[2].split(",")]
        if declared[1] not in _TYPES or not all(map(str.isidentifier, names)):
            raise _NotSimulated(text)
        return " ".join(f"{_TYPES[declared[1]]} {_register(name)} = {{}};" for name in names)
    if guarded := _GUARDED.fullmatch(text):
        return f"if ({guarded[1]}{_value(guarded[2])}) {{ {_instruction(guarded[3])} }}"
    opcode, *rest = text.split(None, 1)
    name, *modifiers = opcode.replace("::", "_").split(".")
    operands = [part.strip() for part in re.split(r",(?![^(]*\))", "".join(rest))] if rest else []
    write = _WRITERS.get(name, _write_nothing if name in _NOTHING else None)
    try:
        if write is not None:
            return write(name, modifiers, operands)
    except (IndexError, KeyError, StopIteration, ValueError):
        pass
    raise _NotSimulated(opcode)


_Writer = Callable[[str, list[str], list[str]], str]


def _require(is_known: object) -> None:
    if not is_known:
        raise ValueError


def _register(name: str) -> str:
    return f"sim_r_{name}"


def _value(operand: str) -> str:
    """Write an operand as C++. Raises: ValueError."""
    if special := re.fullmatch(r"%%?([a-z][\w.]*)", operand):
        return _SPECIAL[special[1]]
    if number := re.fullmatch(r"%(\d+)", operand):
        return f"sim_{number[1]}"
    if bits := re.fullmatch(r"0[fF]([0-9a-fA-F]{8})", operand):
        return f"__uint_as_float(0x{bits[1]}u)"
    if re.fullmatch(r"-?(0[xX][0-9a-fA-F]+|\d+)U?", operand):
        return f"({operand})"
    _require(operand.isidentifier())
    return _register(operand)


def _as(kind: str, operand: str) -> str:
    return f"::sim::ptx_as<{_TYPES[kind]}>({_value(operand)})"


def _set(operand: str, value: str) -> str:
    return f"::sim::ptx_set({_value(operand)}, {value});"


def _parts(operand: str) -> list[str]:
    """The operands of a list, or the one that stands alone."""
    return [part.strip() for part in operand[1:-1].split(",")] if operand.startswith("(") else [operand]


def _address(operand: str, is_shared: bool) -> str:
    """Write `[register + offset]` as the address of a byte."""
    found = re.fullmatch(r"\[\s*([^\s+\]]+)\s*(?:\+\s*([^\s\]]+)\s*)?\]", operand)
    _require(found)
    assert found
    where = f"{_as('u64', found[1])}" + (f" + {_as('u64', found[2])}" if found[2] else "")
    return f"::sim::ptx_address({where}, {str(is_shared).lower()})"


def _of_memory(modifiers: list[str]) -> tuple[str, int, bool, bool]:
    """Return the type, the number of elements, whether memory is a block's shared one, and whether others may write
    to it meanwhile."""
    *how, kind = modifiers
    counts = [int(one[1:]) for one in how if re.fullmatch(r"v[248]", one)]
    hints = [one for one in how if re.match(r"(L1|L2|level)_", one)]
    known = {*_OF_MEMORY, *_SCOPES, "shared_cta", *hints, *(f"v{count}" for count in counts)}
    _require(known.issuperset(how))
    is_shared = not {"shared", "shared_cta"}.isdisjoint(how)
    return kind, (counts or [1])[0], is_shared, not {"volatile", "relaxed", "acquire", "cv"}.isdisjoint(how)


def _write_nothing(name: str, modifiers: list[str], operands: list[str]) -> str:
    _require(name != "fence" or "proxy" not in modifiers)
    return ";"


def _write_load(name: str, modifiers: list[str], operands: list[str]) -> str:
    kind, count, is_shared, may_change = _of_memory(modifiers)
    into = _parts(operands[0])
    _require(len(into) == count and kind != "pred")
    type_ = _TYPES[kind]
    waits = "sim_before_atomic(); sim_give_turn(); " if may_change else ""
    sets = " ".join(_set(one, f"sim_v.sim_x[{n}]") for n, one in enumerate(into))
    address = _address(operands[1], is_shared)
    return f"{{ {waits}auto sim_v = ::sim::ptx_load<{type_}, {count}>({address}); {sets} }}"


def _write_store(name: str, modifiers: list[str], operands: list[str]) -> str:
    kind, count, is_shared, _ = _of_memory(modifiers)
    values = _parts(operands[1])
    _require(len(values) == count and kind != "pred")
    listed = ", ".join(_as(kind, value) for value in values)
    return f"::sim::ptx_store<{_TYPES[kind]}, {count}>({_address(operands[0], is_shared)}, {{{{{listed}}}}});"


def _write_atomic(name: str, modifiers: list[str], operands: list[str]) -> str:
    operation = next(one for one in modifiers if one in _ATOMICS)
    kind, _, is_shared, _ = _of_memory([one for one in modifiers if one != operation])
    into, rest = (operands[0], operands[1:]) if name == "atom" else ("", operands)
    rest = rest[:-1] if "L2_cache_hint" in modifiers else rest
    _require(len(rest) == (3 if operation == "cas" else 2))
    values = ", ".join(_as(kind, value) for value in rest[1:])
    call = f"{_ATOMICS[operation]}(({_TYPES[kind]}*){_address(rest[0], is_shared)}, {values})"
    return _set(into, call) if into else f"{call};"


def _write_copy(name: str, modifiers: list[str], operands: list[str]) -> str:
    """`cp.async` and what waits for it."""
    _require(modifiers[0] == "async")
    if modifiers[1] == "bulk":  # there are none to wait for
        _require(modifiers[2:] in (["commit_group"], ["wait_group"], ["wait_all"], ["wait_group", "read"]))
        return ";"
    if modifiers[1] in ("commit_group", "wait_all"):
        return f"::sim::ptx_{'commit_copies()' if modifiers[1] == 'commit_group' else 'wait_for_copies(-1)'};"
    if modifiers[1] == "wait_group":
        return f"::sim::ptx_wait_for_copies(int({_value(operands[0])}));"
    _require(modifiers[1] in ("ca", "cg") and modifiers[2] in ("shared", "shared_cta"))
    hints = modifiers[4:] if modifiers[3:4] == ["global"] else modifiers[3:]
    _require(all(hint.startswith("L2_") for hint in hints))
    to, source, size, *rest = operands[: -1 if "L2_cache_hint" in hints else None]
    _require(len(rest) <= 1 and all(re.fullmatch(r"%?\d+", one) for one in rest))  # else a predicate of another meaning
    filled = _as("u32", rest[0]) if rest else _as("u32", size)
    return (
        f"::sim::ptx_copy_async({_address(to, True)}, {_address(source, False)}, {_as('u32', size)}, {filled}, "
        f"{16 if modifiers[1] == 'cg' else 4});"
    )


def _write_matrix(name: str, modifiers: list[str], operands: list[str]) -> str:
    """`ldmatrix` and `stmatrix`."""
    known = {"sync", "aligned", "m8n8", "x1", "x2", "x4", "trans", "shared", "shared_cta", "b16"}
    _require(known.issuperset(modifiers) and "b16" in modifiers)
    is_load = name == "ldmatrix"
    place, listed = operands[::-1] if is_load else operands
    parts = _parts(listed)
    count = next(int(one[1:]) for one in modifiers if one[0] == "x")
    _require(len(parts) == count)
    is_transposed = str("trans" in modifiers).lower()
    address = _address(place, not {"shared", "shared_cta"}.isdisjoint(modifiers))
    if is_load:
        sets = " ".join(_set(one, f"sim_v[{n}]") for n, one in enumerate(parts))
        loaded = f"::sim::ptx_load_matrices<{count}, {is_transposed}>({address}, sim_v)"
        return f"{{ unsigned sim_v[{count}]; {loaded}; {sets} }}"
    values = ", ".join(_as("b32", one) for one in parts)
    stored = f"::sim::ptx_store_matrices<{count}, {is_transposed}>({address}, sim_v)"
    return f"{{ const unsigned sim_v[{count}] = {{{values}}}; {stored}; }}"


def _write_product(name: str, modifiers: list[str], operands: list[str]) -> str:
    """`mma.sync.aligned.m16n8k….row.col`."""
    sync, aligned, shape, row, col, *kinds = modifiers
    _require((sync, aligned, row, col) == ("sync", "aligned", "row", "col"))
    into, a, b, start = map(_parts, operands)
    if shape == "m8n8k4":
        _require(kinds == ["f64"] * 4)
        values = ", ".join(_as("f64", one) for one in (*a, *b, *start))
        sets = " ".join(_set(one, f"sim_d[{n}]") for n, one in enumerate(into))
        return f"{{ double sim_d[2]; ::sim::ptx_multiply_doubles({values}, sim_d); {sets} }}"
    result, left, right, summed = kinds
    depth = {"m16n8k4": 4, "m16n8k8": 8, "m16n8k16": 16, "m16n8k32": 32}[shape]
    whole = "s32" if left in ("s8", "u8") else "f32"
    _require(depth in _SHAPES[left] and result in (whole, "f16") and result == summed)
    _require(result != "f16" or left == "f16")
    _require(right == left or whole == "s32")
    counts = [depth // _SHAPES[left][0] * 2, depth // _SHAPES[left][0], 2 if result == "f16" else 4]
    _require([len(a), len(b), len(start)] == counts and len(into) == counts[2])
    arrays = [
        f"const unsigned sim_{letter}[] = {{{', '.join(_as('b32', one) for one in parts)}}};"
        for letter, parts in zip("abc", (a, b, start), strict=True)
    ]
    sums = {"f32": "float", "s32": "int", "f16": "::sim::ptx_Half"}[result]
    kinds_of = f"::sim::ptx_{_PRODUCTS[left]}, ::sim::ptx_{_PRODUCTS[right]}, {sums}, {depth}"
    sets = " ".join(_set(one, f"sim_d[{n}]") for n, one in enumerate(into))
    call = f"::sim::ptx_multiply<{kinds_of}>(sim_a, sim_b, sim_c, sim_d);"
    return f"{{ {' '.join(arrays)} unsigned sim_d[{counts[2]}]; {call} {sets} }}"


def _write_move(name: str, modifiers: list[str], operands: list[str]) -> str:
    (kind,) = modifiers
    into, source = map(_parts, operands)
    if len(into) == len(source) == 1:
        return _set(into[0], _as(kind, source[0]))
    half = {"b32": ("u16", 16), "b64": ("u32", 32)}[kind]
    if len(source) == 2:
        low, high = (f"{_TYPES[kind]}({_as(half[0], one)})" for one in source)
        return _set(into[0], f"({low} | {high} << {half[1]})")
    _require(len(into) == 2 and len(source) == 1)
    whole = _as(kind, source[0])
    return f"{{ auto sim_v = {whole}; {_set(into[0], 'sim_v')} {_set(into[1], f'(sim_v >> {half[1]})')} }}"


def _write_arithmetic(name: str, modifiers: list[str], operands: list[str]) -> str:
    """Write it on unsigned numbers where that gives the same bits: signed ones may not wrap in C++."""
    *how, kind = modifiers
    is_float = kind in ("f32", "f64")
    _require({"rn", "ftz"}.issuperset(how) if is_float else how == ["lo"] if name in ("mul", "mad") else not how)
    _require(is_float or kind != "pred" or name in ("and", "or", "xor"))
    kind = kind.replace("s", "u")
    one, two, *third = [_as(kind, value) for value in operands[1:]]
    if name == "mad":
        return _set(operands[0], f"{_TYPES[kind]}({one} * {two} + {third[0]})")
    _require(not third)
    return _set(operands[0], f"{_TYPES[kind]}({one} {_INFIX[name]} {two})")


def _write_shift(name: str, modifiers: list[str], operands: list[str]) -> str:
    """A register is shifted by its width at most."""
    (kind,) = modifiers
    into, value, count = operands
    most = {"32": 31, "64": 63}[kind[1:]]
    shifted, by = _as(kind, value), _as("u32", count)
    if kind[0] == "s":
        _require(name == "shr")
        return _set(into, f"({shifted} >> ({by} < {most} ? {by} : {most}))")
    return _set(into, f"({by} > {most} ? 0 : {shifted} {'<<' if name == 'shl' else '>>'} {by})")


def _write_choice(name: str, modifiers: list[str], operands: list[str]) -> str:
    """`min` and `max`."""
    *how, kind = modifiers
    _require(set(how) <= {"ftz", "NaN"} and kind != "pred")
    one, two = (_as(kind, value) for value in operands[1:])
    keeps_nan = str("NaN" in how).lower()
    return _set(operands[0], f"::sim::ptx_{name}imum<{keeps_nan}>({one}, {two})")


def _write_fused(name: str, modifiers: list[str], operands: list[str]) -> str:
    *how, kind = modifiers
    _require("rn" in how and {"rn", "ftz"}.issuperset(how) and kind in ("f32", "f64"))
    one, two, three = (_as(kind, value) for value in operands[1:])
    return _set(operands[0], f"__builtin_fma{'f' if kind == 'f32' else ''}({one}, {two}, {three})")


def _write_function(name: str, modifiers: list[str], operands: list[str]) -> str:
    *how, kind = modifiers
    _require(kind == "f32" and {"approx", "ftz", "rn"}.issuperset(how))
    return _set(operands[0], f"{_FUNCTIONS[name]}({_as('f32', operands[1])})")


def _write_comparison(name: str, modifiers: list[str], operands: list[str]) -> str:
    how, kind = modifiers
    into, *values = operands
    one, two = (_as(kind, value) for value in values)
    is_ordered = how == "ne" and kind in ("f32", "f64")  # false with NaN, as all of these are
    test = f"({one} < {two} || {one} > {two})" if is_ordered else f"{one} {_COMPARED[how]} {two}"
    return f"{_value(into)} = {test};"


def _write_selection(name: str, modifiers: list[str], operands: list[str]) -> str:
    into, one, two, which = operands
    return _set(into, f"({_value(which)} ? {_as(modifiers[-1], one)} : {_as(modifiers[-1], two)})")


def _write_conversion(name: str, modifiers: list[str], operands: list[str]) -> str:
    *how, to, source = modifiers
    into, *values = operands
    if to in ("f16x2", "bf16x2", "f16", "bf16"):
        _require(how == ["rn"] and source == "f32" and len(values) == (2 if to.endswith("x2") else 1))
        kind = _PRODUCTS[to.removesuffix("x2")]
        narrowed = [f"unsigned(::sim::ptx_{kind}::to({_as('f32', one)}))" for one in values]
        return _set(into, f"({' << 16 | '.join(narrowed)})")
    if source in ("f16", "bf16"):
        _require(to == "f32" and not how)
        return _set(into, f"::sim::ptx_{_PRODUCTS[source]}::of({_as('u16', values[0])}, 0)")
    if to == "tf32":
        _require(how == ["rna"])
        return _set(into, f"::sim::ptx_Tf32::to({_as('f32', values[0])})")
    is_whole = not {to, source} & {"f32", "f64", "pred"}
    _require((is_whole and not how) or (how == ["rn"] and to == "f32" and source in ("s32", "u32")))
    return _set(into, f"({_TYPES[to]})({_as(source, values[0])})")


def _write_address(name: str, modifiers: list[str], operands: list[str]) -> str:
    *how, _ = modifiers
    if "shared" not in how:
        _require(set(how) <= {"to", "global"})
        return _set(operands[0], _as("u64", operands[1]))
    where = _as("u64", operands[1])
    into_window = f"__cvta_generic_to_shared((const void*){where})"
    return _set(operands[0], into_window if "to" in how else f"__cvta_shared_to_generic({where})")


def _write_barrier(name: str, modifiers: list[str], operands: list[str]) -> str:
    _require({"sync", "aligned", "cta"}.issuperset(modifiers) and operands == ["0"])
    return "__syncthreads();"


def _write_other(name: str, modifiers: list[str], operands: list[str]) -> str:
    if name == "createpolicy":
        return _set(operands[0], "0ull")
    if name == "lop3":
        a, b, c = (_as("b32", one) for one in operands[1:4])
        return _set(operands[0], f"::sim::ptx_look_up({a}, {b}, {c}, {_value(operands[4])})")
    if name == "prmt":
        _require(modifiers == ["b32"])
        return _set(operands[0], f"::sim::ptx_permute({', '.join(_as('b32', one) for one in operands[1:])})")
    return {"nanosleep": "sim_give_turn();", "trap": "__trap();"}[name]


_WRITERS: dict[str, _Writer] = {
    "ld": _write_load,
    "st": _write_store,
    "atom": _write_atomic,
    "red": _write_atomic,
    "cp": _write_copy,
    **dict.fromkeys(("ldmatrix", "stmatrix"), _write_matrix),
    "mma": _write_product,
    "mov": _write_move,
    **dict.fromkeys((*_INFIX, "mad"), _write_arithmetic),
    **dict.fromkeys(("shl", "shr"), _write_shift),
    **dict.fromkeys(("min", "max"), _write_choice),
    "fma": _write_fused,
    **dict.fromkeys(_FUNCTIONS, _write_function),
    "setp": _write_comparison,
    "selp": _write_selection,
    "cvt": _write_conversion,
    "cvta": _write_address,
    **dict.fromkeys(("bar", "barrier"), _write_barrier),
    **dict.fromkeys(("createpolicy", "lop3", "prmt", "nanosleep", "trap"), _write_other),
}
