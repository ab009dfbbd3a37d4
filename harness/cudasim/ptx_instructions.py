"""Instructions of PTX as C++, which calls what sim/ptx.h and the rest of the simulator's headers have for them.

The instructions are those of the PTX ISA.
"""

from __future__ import annotations

import re
from collections.abc import Callable

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
_ATOMICS = {
    **{name: f"atomic{name.title()}" for name in ("add", "min", "max", "and", "or", "xor")},
    "exch": "atomicExch",
    "cas": "atomicCAS",
}
_NOTHING = {"prefetch", "prefetchu", "griddepcontrol", "fence", "membar", "discard", "applypriority", "setmaxnreg"}
"""Instructions that change no value: hints, and orders of memory, which threads that take turns keep."""
_OF_MEMORY = {"global", "shared", "const", "local", "weak", "volatile", "relaxed", "acquire", "release", "acq_rel"}
_SCOPES = {"cta", "gpu", "sys", "cluster", "nc", "ca", "cg", "cs", "lu", "cv", "wb", "wt"}
_SHARED = ("shared", "shared_cta", "shared_cluster")
"""A block's own shared memory: without clusters, which are refused by name, a block is a cluster of its own."""
_WHOLE = {"s8": "Byte<signed char>", "u8": "Byte<unsigned char>"}
_FLOAT8 = {"e4m3": "Float8<4>", "e5m2": "Float8<5>"}
_PRODUCTS = {"f16": "Half", "bf16": "BFloat16", "tf32": "Tf32", **_WHOLE, **_FLOAT8}
_SHAPES = {"f16": (8, 16), "bf16": (8, 16), "tf32": (4, 8), **dict.fromkeys((*_WHOLE, *_FLOAT8), (16, 32))}
"""The depths k of m16n8k…, by the type of what is multiplied."""


class NotSimulated(Exception):
    """An instruction, or a form of one, that isn't simulated."""


_REGISTERS = re.compile(r"\.reg\s+\.(\w+)\s+(.+)", re.DOTALL)
_LABEL = re.compile(r"\s*(\$?\w+)\s*:(?!:)")
_GUARDED = re.compile(r"@(!?)\s*(\S+)\s+(.+)", re.DOTALL)


def as_cpp(ptx: str) -> str:
    """Write instructions as C++ on one line. Registers are declared before all, where no branch passes them by. Raises:
    NotSimulated."""
    registers: dict[str, str] = {}
    lines = []
    for part in re.split(r";|([{}])", _with_lists(_with_plain_names(ptx.replace("%=", "")))):
        text = (part or "").strip()
        if declared := _REGISTERS.fullmatch(text):
            for name in (name.strip() for name in declared[2].split(",")):
                if registers.setdefault(name, declared[1]) != declared[1] or not name.isidentifier():
                    raise NotSimulated(text)
        else:
            lines.append(_instruction(text))
    body = " ".join(filter(None, lines))
    if not registers.keys() >= set(re.findall(r"sim_r_(\w+)", body)) or not _TYPES.keys() >= set(registers.values()):
        raise NotSimulated  # a register of another statement, or none
    labels = re.findall(r"(sim_l_\w+):;", body)
    if not set(re.findall(r"goto (\w+);", body)) <= set(labels) or len(labels) > len(set(labels)):
        raise NotSimulated("bra")  # to another statement's, or to that of one block of several
    return " ".join([*(f"{_TYPES[kind]} {_register(name)} = {{}};" for name, kind in registers.items()), body])


def _with_plain_names(ptx: str) -> str:
    """Write registers of the statement's own, of which `%%` begins the names, without that."""
    declared = re.findall(r"\.reg\s+\.\w+\s+([^;]+)", ptx)
    own = set(re.findall(r"%%(\w+)", " ".join(declared)))
    return re.sub(r"%%(\w+)(?!\w|\.\w)", lambda found: found[1] if found[1] in own else found[0], ptx) if own else ptx


def _with_lists(ptx: str) -> str:
    """Write lists of operands in parentheses: braces are left to blocks of instructions."""
    return re.sub(r"\{([^{};]*)\}(?=\s*[,;]|\s*$)", lambda found: f"({' '.join(found[1].split())})", ptx)


def _instruction(text: str) -> str:
    """Write one instruction, with its labels and its guard, as C++. Raises: NotSimulated."""
    if text in ("", "{", "}"):
        return text
    labels, start = [], 0
    while label := _LABEL.match(text, start):
        labels.append(f"{_label(label[1])}:; ")
        start = label.end()
    text = text[start:].strip()
    guarded = _GUARDED.fullmatch(text)
    opcode, *rest = (guarded[3] if guarded else text).split(None, 1) or [""]
    name, *modifiers = opcode.replace("::", "_").split(".")
    write = _WRITERS.get(name, _write_nothing if name in _NOTHING else None)
    try:
        if write is not None:
            code = write(name, modifiers, _operands(rest[0]) if rest else [])
            return "".join(labels) + (f"if ({guarded[1]}{_value(guarded[2])}) {{ {code} }}" if guarded else code)
    except (IndexError, KeyError, StopIteration, ValueError):
        pass
    if not text:
        return "".join(labels)
    raise NotSimulated(opcode)


def _operands(text: str) -> list[str]:
    """Split at the commas outside of lists."""
    found, depth = [list[str]()], 0
    for piece in re.split(r"([(),])", text):
        depth += (piece == "(") - (piece == ")")
        if piece == "," and depth == 0:
            found.append([])
        else:
            found[-1].append(piece)
    return ["".join(one).strip() for one in found]


_Writer = Callable[[str, list[str], list[str]], str]


def _require(is_known: object) -> None:
    if not is_known:
        raise ValueError


def _matched(pattern: str, text: str) -> re.Match[str]:
    if found := re.fullmatch(pattern, text):
        return found
    raise ValueError


def _register(name: str) -> str:
    return f"sim_r_{name}"


def _label(name: str) -> str:
    return f"sim_l_{name.removeprefix('$')}"


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


def _set_all(operands: list[str], array: str) -> str:
    return " ".join(_set(one, f"{array}[{n}]") for n, one in enumerate(operands))


def _parts(operand: str) -> list[str]:
    """The operands of a list, or the one that stands alone."""
    return [part.strip() for part in operand[1:-1].split(",")] if operand.startswith("(") else [operand]


def _address(operand: str, is_shared: bool) -> str:
    """Write `[register + offset]` as the address of a byte."""
    found = _matched(r"\[\s*([^\s+\]]+)\s*(?:\+\s*([^\s\]]+)\s*)?\]", operand)
    where = f"{_as('u64', found[1])}" + (f" + {_as('u64', found[2])}" if found[2] else "")
    return f"::sim::ptx_address({where}, {str(is_shared).lower()})"


def _is_shared(modifiers: list[str]) -> bool:
    return not set(_SHARED).isdisjoint(modifiers)


def _of_memory(modifiers: list[str]) -> tuple[str, int, bool, str]:
    """Return the type, the number of elements, whether memory is a block's shared one, and what the functions' names
    end in where other threads may use it meanwhile."""
    *how, kind = modifiers
    counts = [int(one[1:]) for one in how if re.fullmatch(r"v[248]", one)]
    hints = [one for one in how if re.match(r"(L1|L2|level)_", one)]
    known = {*_OF_MEMORY, *_SCOPES, *_SHARED, *hints, *(f"v{count}" for count in counts)}
    _require(known.issuperset(how))
    is_atomic = not {"relaxed", "acquire", "release"}.isdisjoint(how)
    ending = "_atomic" if is_atomic else "_volatile" if not {"volatile", "cv"}.isdisjoint(how) else ""
    return kind, (counts or [1])[0], _is_shared(how), ending


def _write_nothing(name: str, modifiers: list[str], operands: list[str]) -> str:
    _require(not {"tensormap", "tensormap_generic"}.intersection(modifiers))
    return ";"


def _write_load(name: str, modifiers: list[str], operands: list[str]) -> str:
    kind, count, is_shared, ending = _of_memory(modifiers)
    into = _parts(operands[0])
    _require(len(into) == count and kind != "pred")
    type_ = _TYPES[kind]
    waits = "sim_before_atomic(); sim_give_turn(); " if ending else ""
    loaded = f"::sim::ptx_load{ending}<{type_}, {count}>({_address(operands[1], is_shared)})"
    return f"{{ {waits}auto sim_v = {loaded}; {_set_all(into, 'sim_v.sim_x')} }}"


def _write_store(name: str, modifiers: list[str], operands: list[str]) -> str:
    kind, count, is_shared, ending = _of_memory(modifiers)
    values = _parts(operands[1])
    _require(len(values) == count and kind != "pred")
    listed = ", ".join(_as(kind, value) for value in values)
    address = _address(operands[0], is_shared)
    return f"::sim::ptx_store{ending}<{_TYPES[kind]}, {count}>({address}, {{{{{listed}}}}});"


def _write_atomic(name: str, modifiers: list[str], operands: list[str]) -> str:
    operation = next(one for one in modifiers if one in _ATOMICS)
    kind, count, is_shared, _ = _of_memory([one for one in modifiers if one != operation])
    into, rest = (operands[0], operands[1:]) if name == "atom" else ("", operands)
    rest = rest[:-1] if "L2_cache_hint" in modifiers else rest
    _require(len(rest) == (3 if operation == "cas" else 2))
    place = f"({_TYPES[kind]}*){_address(rest[0], is_shared)}"
    if count > 1:  # one by one, as on a GPU: the whole isn't atomic
        values = _parts(rest[1])
        _require(not into and len(values) == count)
        return " ".join(f"{_ATOMICS[operation]}({place} + {n}, {_as(kind, one)});" for n, one in enumerate(values))
    call = f"{_ATOMICS[operation]}({place}, {', '.join(_as(kind, value) for value in rest[1:])})"
    return _set(into, call) if into else f"{call};"


def _write_copy(name: str, modifiers: list[str], operands: list[str]) -> str:
    """`cp.async` and what waits for it."""
    _require(modifiers[0] == "async")
    if modifiers[1] == "bulk":
        return _write_bulk_copy(modifiers[2:], operands)
    if modifiers[1:3] == ["mbarrier", "arrive"]:  # once this thread's copies have ended
        _require({*_SHARED, "noinc", "b64"}.issuperset(modifiers[3:]))
        barrier = _address(operands[0], _is_shared(modifiers))
        arrives = f" ::sim::ptx_arrive({barrier}, 1, 0);" if "noinc" in modifiers else ""
        return f"::sim::ptx_wait_for_copies(-1);{arrives}"
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


def _write_bulk_copy(modifiers: list[str], operands: list[str]) -> str:
    """`cp.async.bulk`: into shared memory, where a barrier tells of the end, and out of it, at once."""
    if modifiers[0] in ("commit_group", "wait_group", "prefetch"):
        _require(modifiers[0] != "prefetch" or modifiers[1:3] == ["L2", "global"])
        return ";"
    ways = [one for one in modifiers if one != "L2_cache_hint"]
    size = _as("u32", operands[2])
    if ways == ["global", "shared_cta", "bulk_group"]:
        _require(len(operands) == len(modifiers))
        return f"::sim::ptx_store_bulk({_address(operands[0], False)}, {_address(operands[1], True)}, {size});"
    _require(ways[0] in _SHARED and ways[1:] == ["global", "mbarrier_complete_tx_bytes"])
    _require(len(operands) == len(modifiers) + 1)
    to, source, barrier = _address(operands[0], True), _address(operands[1], False), _address(operands[3], True)
    return f"::sim::ptx_load_bulk({to}, {source}, {size}, {barrier});"


def _write_arrival(name: str, modifiers: list[str], operands: list[str]) -> str:
    """`mbarrier`."""
    what, *how = modifiers
    known = {*_SHARED, "b64", "parity", "expect_tx", "release", "acquire", "relaxed", "cta", "cluster"}
    _require(known.issuperset(how))
    into = operands.pop(0) if what in ("arrive", "arrive_drop", "test_wait", "try_wait") else "_"
    barrier = _address(operands.pop(0), _is_shared(how))
    numbers = [_as("u32", one) for one in operands]
    if what in ("test_wait", "try_wait"):
        _require(1 <= len(numbers) <= 2)
        return f"{_value(into)} = ::sim::ptx_wait({barrier}, {numbers[0]});"
    if what in ("init", "inval"):
        return f"::sim::ptx_begin_barrier({barrier}, {numbers[0] if what == 'init' else '0'});"
    _require(what in ("arrive", "arrive_drop", "expect_tx", "complete_tx") and len(numbers) <= 1)
    amount = numbers[0] if numbers else "1"
    count, nbytes = amount, "0"
    if "expect_tx" in modifiers or what == "complete_tx":
        count = "1" if what.startswith("arrive") else "0"
        nbytes = f"{'-' if what == 'complete_tx' else ''}int({amount})"
    arrived = f"::sim::ptx_arrive({barrier}, {count}, {nbytes}, {str(what == 'arrive_drop').lower()})"
    return f"{arrived};" if into == "_" else _set(into, arrived)


def _write_matrix(name: str, modifiers: list[str], operands: list[str]) -> str:
    """`ldmatrix` and `stmatrix`."""
    known = {"sync", "aligned", "m8n8", "x1", "x2", "x4", "trans", *_SHARED, "b16"}
    _require(known.issuperset(modifiers) and "b16" in modifiers)
    is_load = name == "ldmatrix"
    place, listed = operands[::-1] if is_load else operands
    parts = _parts(listed)
    count = next(int(one[1:]) for one in modifiers if one[0] == "x")
    _require(len(parts) == count)
    is_transposed = str("trans" in modifiers).lower()
    address = _address(place, _is_shared(modifiers))
    if is_load:
        loaded = f"::sim::ptx_load_matrices<{count}, {is_transposed}>({address}, sim_v)"
        return f"{{ unsigned sim_v[{count}]; {loaded}; {_set_all(parts, 'sim_v')} }}"
    values = ", ".join(_as("b32", one) for one in parts)
    stored = f"::sim::ptx_store_matrices<{count}, {is_transposed}>({address}, sim_v)"
    return f"{{ const unsigned sim_v[{count}] = {{{values}}}; {stored}; }}"


def _may_meet(left: str, right: str) -> bool:
    """Say whether a product takes these types."""
    return left == right or any({left, right} <= kinds.keys() for kinds in (_WHOLE, _FLOAT8))


def _write_product(name: str, modifiers: list[str], operands: list[str]) -> str:
    """`mma.sync.aligned.m16n8k….row.col`."""
    sync, aligned, shape, row, col, *kinds = modifiers
    _require((sync, aligned, row, col) == ("sync", "aligned", "row", "col"))
    into, a, b, start = map(_parts, operands)
    if shape == "m8n8k4":
        _require(kinds == ["f64"] * 4)
        values = ", ".join(_as("f64", one) for one in (*a, *b, *start))
        return f"{{ double sim_d[2]; ::sim::ptx_multiply_doubles({values}, sim_d); {_set_all(into, 'sim_d')} }}"
    result, left, right, summed = kinds
    depth = {"m16n8k4": 4, "m16n8k8": 8, "m16n8k16": 16, "m16n8k32": 32}[shape]
    whole = "s32" if left in _WHOLE else "f32"
    _require(depth in _SHAPES[left] and result in (whole, "f16") and result == summed)
    _require(result != "f16" or left == "f16")
    _require(_may_meet(left, right))
    counts = [depth // _SHAPES[left][0] * 2, depth // _SHAPES[left][0], 2 if result == "f16" else 4]
    _require([len(a), len(b), len(start)] == counts and len(into) == counts[2])
    arrays = [
        f"const unsigned sim_{letter}[] = {{{', '.join(_as('b32', one) for one in parts)}}};"
        for letter, parts in zip("abc", (a, b, start), strict=True)
    ]
    sums = {"f32": "float", "s32": "int", "f16": "::sim::ptx_Half"}[result]
    kinds_of = f"::sim::ptx_{_PRODUCTS[left]}, ::sim::ptx_{_PRODUCTS[right]}, {sums}, {depth}"
    call = f"::sim::ptx_multiply<{kinds_of}>(sim_a, sim_b, sim_c, sim_d);"
    return f"{{ {' '.join(arrays)} unsigned sim_d[{counts[2]}]; {call} {_set_all(into, 'sim_d')} }}"


def _write_group_product(name: str, modifiers: list[str], operands: list[str]) -> str:
    """`wgmma`: of a warp group, 64 rows by up to 256 columns. The product is there at once; who waits for it waits for
    the warp's other lanes."""
    what, *how = modifiers
    if what in ("fence", "commit_group", "wait_group"):
        return "__syncwarp();" if what == "wait_group" else ";"
    sync, aligned, shape, result, left, right = how
    _require((what, sync, aligned) == ("mma_async", "sync", "aligned"))
    columns, depth = map(int, _matched(r"m64n(\d+)k(\d+)", shape).groups())
    sums, a, (b,), (adds,), *signs = map(_parts, operands)
    _require(depth == _SHAPES[left][1] and result == ("s32" if left in _WHOLE else "f32"))
    # Others negate, or transpose; whole numbers have no such choice.
    _require(not signs if result == "s32" else signs[:2] == [["1"], ["1"]] and all(one == ["0"] for one in signs[2:]))
    _require(_may_meet(left, right) and columns % 8 == 0 and 8 <= columns <= 256)
    _require(len(sums) == columns // 2 and len(a) in (1, 4))
    type_ = _TYPES[result]
    rows = f"{_as('u64', a[0])}" if len(a) == 1 else f"{{{{{', '.join(_as('b32', one) for one in a)}}}}}"
    kinds = f"::sim::ptx_{_PRODUCTS[left]}, ::sim::ptx_{_PRODUCTS[right]}, {columns}"
    return (
        f"{{ {type_} sim_d[] = {{{', '.join(_as(result, one) for one in sums)}}}; "
        f"::sim::ptx_multiply_group<{kinds}>(sim_d, ::sim::ptx_{'Rows' if len(a) == 1 else 'Fragment'}{{{rows}}}, "
        f"{_as('u64', b)}, bool({_value(adds)})); {_set_all(sums, 'sim_d')} }}"
    )


def _write_branch(name: str, modifiers: list[str], operands: list[str]) -> str:
    _require(modifiers in ([], ["uni"]))
    return f"goto {_label(operands[0])};"


def _write_election(name: str, modifiers: list[str], operands: list[str]) -> str:
    _require(modifiers == ["sync"])
    lane, is_it = operands[0].split("|")
    first = f"__builtin_ctz({_as('u32', operands[1])})"
    set_lane = "" if lane.strip() == "_" else _set(lane.strip(), first)
    return f"{set_lane} {_value(is_it.strip())} = ::sim::lane() == {first};"


def _write_move(name: str, modifiers: list[str], operands: list[str]) -> str:
    (kind,) = modifiers
    into, source = map(_parts, operands)
    if len(into) == len(source) == 1:
        return _set(into[0], _as(kind, source[0]))
    half = {"b32": ("u16", 16), "b64": ("u32", 32)}[kind]
    if len(source) == 2:
        low, high = (f"({_TYPES[kind]})({_as(half[0], one)})" for one in source)
        return _set(into[0], f"({low} | {high} << {half[1]})")
    _require(len(into) == 2 and len(source) == 1)
    whole = _as(kind, source[0])
    return f"{{ auto sim_v = {whole}; {_set(into[0], 'sim_v')} {_set(into[1], f'(sim_v >> {half[1]})')} }}"


def _write_arithmetic(name: str, modifiers: list[str], operands: list[str]) -> str:
    """Write it on unsigned numbers where that gives the same bits: signed ones may not wrap in C++."""
    *how, kind = modifiers
    if kind in _HALVES:
        _require({"rn", "ftz"}.issuperset(how))
        return _write_in_halves(kind, {"add": "a + b", "sub": "a - b", "mul": "a * b"}[name], operands)
    if how in (["hi"], ["wide"]):
        return _write_wide(name, how[0], kind, operands)
    is_float = kind in ("f32", "f64")
    _require({"rn", "ftz"}.issuperset(how) if is_float else how == ["lo"] if name in ("mul", "mad") else not how)
    _require(is_float or kind != "pred" or name in ("and", "or", "xor"))
    kind = kind.replace("s", "u")
    one, two, *third = [_as(kind, value) for value in operands[1:]]
    if name == "mad":
        return _set(operands[0], f"({_TYPES[kind]})({one} * {two} + {third[0]})")
    _require(not third)
    return _set(operands[0], f"({_TYPES[kind]})({one} {_INFIX[name]} {two})")


def _write_wide(name: str, how: str, kind: str, operands: list[str]) -> str:
    """A product of twice as many bits, or its upper half; `mad` adds to that."""
    bits = {"16": 16, "32": 32}[kind[1:]]
    one, two, *third = operands[1:]
    product = f"({_TYPES[f'{kind[0]}{2 * bits}']})({_as(kind, one)}) * {_as(kind, two)}"
    of = f"u{bits if how == 'hi' else 2 * bits}"
    result = f"({_TYPES[of]})({product}{f' >> {bits}' if how == 'hi' else ''})"
    _require(len(third) == (name == "mad") and name in ("mul", "mad"))
    return _set(operands[0], f"({_TYPES[of]})({' + '.join([result, *(_as(of, value) for value in third)])})")


def _write_in_halves(kind: str, expression: str, operands: list[str]) -> str:
    """Write arithmetic of one half or of two, in float and rounded once."""
    bits = "b32" if kind.endswith("x2") else "b16"
    values = [_as(bits, value) for value in operands[1:]]
    parameters = ", ".join(f"float {name}" for name in "abc"[: len(values)])
    halves = f"::sim::ptx_{_PRODUCTS[kind.removesuffix('x2')]}, {2 if bits == 'b32' else 1}"
    function = f"[]({parameters}) {{ return {expression}; }}"
    return _set(operands[0], f"::sim::ptx_each<{halves}>({', '.join([function, *values])})")


def _write_unary(name: str, modifiers: list[str], operands: list[str]) -> str:
    (kind,) = [one for one in modifiers if one != "ftz"]
    value = _as(kind, operands[1])
    if name == "not":
        return _set(operands[0], f"{'!' if kind == 'pred' else '~'}{value}")
    if name in ("neg", "abs"):
        _require(kind in ("f32", "f64"))
        return _set(operands[0], f"-{value}" if name == "neg" else f"({_TYPES[kind]})(__builtin_fabs({value}))")
    _require(kind == "b32")
    return _set(operands[0], f"__{name}({value})")


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
    _require("rn" in how and {"rn", "ftz"}.issuperset(how))
    if kind in _HALVES:
        return _write_in_halves(kind, "__builtin_fmaf(a, b, c)", operands)
    _require(kind in ("f32", "f64"))
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
    """`bar` and `barrier`, of all threads or of so many."""
    *how, what = [one for one in modifiers if one not in ("aligned", "cta")]
    _require(not how and what in ("sync", "arrive") and len(operands) in (1, 2) and (what == "sync" or operands[1:]))
    number, count = [*(_as("u32", one) for one in operands), "0"][:2]
    return f"sim_named_barrier({number}, {count}, {str(what == 'sync').lower()}, __FILE__, __LINE__);"


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
    "mbarrier": _write_arrival,
    "mma": _write_product,
    "wgmma": _write_group_product,
    "bra": _write_branch,
    "elect": _write_election,
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
    "cvta": _write_address,
    **dict.fromkeys(("bar", "barrier"), _write_barrier),
    **dict.fromkeys(("createpolicy", "lop3", "prmt", "nanosleep", "trap"), _write_other),
}
