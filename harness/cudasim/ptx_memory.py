"""Instructions of PTX on memory as C++: loads, stores, atomics, copies, and the barriers that tell of their end."""

from __future__ import annotations

import re

from harness.cudasim import ptx_operands as ptx

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


def _address(operand: str, is_shared: bool) -> str:
    """Write `[register + offset]` as the address of a byte."""
    found = ptx.matched(r"\[\s*([^\s+\]]+)\s*(?:\+\s*([^\s\]]+)\s*)?\]", operand)
    where = f"{ptx.read('u64', found[1])}" + (f" + {ptx.read('u64', found[2])}" if found[2] else "")
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
    ptx.require(known.issuperset(how))
    is_atomic = not {"relaxed", "acquire", "release"}.isdisjoint(how)
    ending = "_atomic" if is_atomic else "_volatile" if not {"volatile", "cv"}.isdisjoint(how) else ""
    return kind, (counts or [1])[0], _is_shared(how), ending


def _write_nothing(name: str, modifiers: list[str], operands: list[str]) -> str:
    ptx.require(not {"tensormap", "tensormap_generic"}.intersection(modifiers))
    return ";"


def _write_load(name: str, modifiers: list[str], operands: list[str]) -> str:
    kind, count, is_shared, ending = _of_memory(modifiers)
    into = ptx.parts(operands[0])
    ptx.require(len(into) == count and kind != "pred")
    type_ = ptx.TYPES[kind]
    waits = "sim_before_atomic(); sim_give_turn(); " if ending else ""
    loaded = f"::sim::ptx_load{ending}<{type_}, {count}>({_address(operands[1], is_shared)})"
    return f"{{ {waits}auto sim_v = {loaded}; {ptx.write_all(into, 'sim_v.sim_x')} }}"


def _write_store(name: str, modifiers: list[str], operands: list[str]) -> str:
    kind, count, is_shared, ending = _of_memory(modifiers)
    values = ptx.parts(operands[1])
    ptx.require(len(values) == count and kind != "pred")
    listed = ", ".join(ptx.read(kind, value) for value in values)
    address = _address(operands[0], is_shared)
    return f"::sim::ptx_store{ending}<{ptx.TYPES[kind]}, {count}>({address}, {{{{{listed}}}}});"


def _write_atomic(name: str, modifiers: list[str], operands: list[str]) -> str:
    operation = next(one for one in modifiers if one in _ATOMICS)
    kind, count, is_shared, _ = _of_memory([one for one in modifiers if one != operation])
    into, rest = (operands[0], operands[1:]) if name == "atom" else ("", operands)
    rest = rest[:-1] if "L2_cache_hint" in modifiers else rest
    ptx.require(len(rest) == (3 if operation == "cas" else 2))
    place = f"({ptx.TYPES[kind]}*){_address(rest[0], is_shared)}"
    if count > 1:  # one by one, as on a GPU: the whole isn't atomic
        values = ptx.parts(rest[1])
        ptx.require(not into and len(values) == count)
        return " ".join(f"{_ATOMICS[operation]}({place} + {n}, {ptx.read(kind, one)});" for n, one in enumerate(values))
    call = f"{_ATOMICS[operation]}({place}, {', '.join(ptx.read(kind, value) for value in rest[1:])})"
    return ptx.write(into, call) if into else f"{call};"


def _write_copy(name: str, modifiers: list[str], operands: list[str]) -> str:
    """`cp.async` and what waits for it."""
    ptx.require(modifiers[0] == "async")
    if modifiers[1] == "bulk":
        return _write_bulk_copy(modifiers[2:], operands)
    if modifiers[1:3] == ["mbarrier", "arrive"]:  # once this thread's copies have ended
        ptx.require({*_SHARED, "noinc", "b64"}.issuperset(modifiers[3:]))
        barrier = _address(operands[0], _is_shared(modifiers))
        arrives = f" ::sim::ptx_arrive({barrier}, 1, 0);" if "noinc" in modifiers else ""
        return f"::sim::ptx_wait_for_copies(-1);{arrives}"
    if modifiers[1] in ("commit_group", "wait_all"):
        return f"::sim::ptx_{'commit_copies()' if modifiers[1] == 'commit_group' else 'wait_for_copies(-1)'};"
    if modifiers[1] == "wait_group":
        return f"::sim::ptx_wait_for_copies(int({ptx.value(operands[0])}));"
    ptx.require(modifiers[1] in ("ca", "cg") and modifiers[2] in ("shared", "shared_cta"))
    hints = modifiers[4:] if modifiers[3:4] == ["global"] else modifiers[3:]
    ptx.require(all(hint.startswith("L2_") for hint in hints))
    to, source, size, *rest = operands[: -1 if "L2_cache_hint" in hints else None]
    ptx.require(
        len(rest) <= 1 and all(re.fullmatch(r"%?\d+", one) for one in rest)
    )  # else a predicate of another meaning
    filled = ptx.read("u32", rest[0]) if rest else ptx.read("u32", size)
    return (
        f"::sim::ptx_copy_async({_address(to, True)}, {_address(source, False)}, {ptx.read('u32', size)}, {filled}, "
        f"{16 if modifiers[1] == 'cg' else 4});"
    )


def _write_bulk_copy(modifiers: list[str], operands: list[str]) -> str:
    """`cp.async.bulk`: into shared memory, where a barrier tells of the end, and out of it, at once."""
    if modifiers[0] in ("commit_group", "wait_group", "prefetch"):
        ptx.require(modifiers[0] != "prefetch" or modifiers[1:3] == ["L2", "global"])
        return ";"
    ways = [one for one in modifiers if one != "L2_cache_hint"]
    size = ptx.read("u32", operands[2])
    if ways == ["global", "shared_cta", "bulk_group"]:
        ptx.require(len(operands) == len(modifiers))
        return f"::sim::ptx_store_bulk({_address(operands[0], False)}, {_address(operands[1], True)}, {size});"
    ptx.require(ways[0] in _SHARED and ways[1:] == ["global", "mbarrier_complete_tx_bytes"])
    ptx.require(len(operands) == len(modifiers) + 1)
    to, source, barrier = _address(operands[0], True), _address(operands[1], False), _address(operands[3], True)
    return f"::sim::ptx_load_bulk({to}, {source}, {size}, {barrier});"


def _write_arrival(name: str, modifiers: list[str], operands: list[str]) -> str:
    """`mbarrier`."""
    what, *how = modifiers
    known = {*_SHARED, "b64", "parity", "expect_tx", "release", "acquire", "relaxed", "cta", "cluster"}
    ptx.require(known.issuperset(how))
    into = operands.pop(0) if what in ("arrive", "arrive_drop", "test_wait", "try_wait") else "_"
    barrier = _address(operands.pop(0), _is_shared(how))
    numbers = [ptx.read("u32", one) for one in operands]
    if what in ("test_wait", "try_wait"):
        ptx.require(1 <= len(numbers) <= 2)
        return f"{ptx.value(into)} = ::sim::ptx_wait({barrier}, {numbers[0]});"
    if what in ("init", "inval"):
        return f"::sim::ptx_begin_barrier({barrier}, {numbers[0] if what == 'init' else '0'});"
    ptx.require(what in ("arrive", "arrive_drop", "expect_tx", "complete_tx") and len(numbers) <= 1)
    amount = numbers[0] if numbers else "1"
    count, nbytes = amount, "0"
    if "expect_tx" in modifiers or what == "complete_tx":
        count = "1" if what.startswith("arrive") else "0"
        nbytes = f"{'-' if what == 'complete_tx' else ''}int({amount})"
    arrived = f"::sim::ptx_arrive({barrier}, {count}, {nbytes}, {str(what == 'arrive_drop').lower()})"
    return f"{arrived};" if into == "_" else ptx.write(into, arrived)


def _write_matrix(name: str, modifiers: list[str], operands: list[str]) -> str:
    """`ldmatrix` and `stmatrix`."""
    known = {"sync", "aligned", "m8n8", "x1", "x2", "x4", "trans", *_SHARED, "b16"}
    ptx.require(known.issuperset(modifiers) and "b16" in modifiers)
    is_load = name == "ldmatrix"
    place, listed = operands[::-1] if is_load else operands
    parts = ptx.parts(listed)
    count = next(int(one[1:]) for one in modifiers if one[0] == "x")
    ptx.require(len(parts) == count)
    is_transposed = str("trans" in modifiers).lower()
    address = _address(place, _is_shared(modifiers))
    if is_load:
        loaded = f"::sim::ptx_load_matrices<{count}, {is_transposed}>({address}, sim_v)"
        return f"{{ unsigned sim_v[{count}]; {loaded}; {ptx.write_all(parts, 'sim_v')} }}"
    values = ", ".join(ptx.read("b32", one) for one in parts)
    stored = f"::sim::ptx_store_matrices<{count}, {is_transposed}>({address}, sim_v)"
    return f"{{ const unsigned sim_v[{count}] = {{{values}}}; {stored}; }}"


def _write_address(name: str, modifiers: list[str], operands: list[str]) -> str:
    *how, _ = modifiers
    if "shared" not in how:
        ptx.require(set(how) <= {"to", "global"})
        return ptx.write(operands[0], ptx.read("u64", operands[1]))
    where = ptx.read("u64", operands[1])
    into_window = f"__cvta_generic_to_shared((const void*){where})"
    return ptx.write(operands[0], into_window if "to" in how else f"__cvta_shared_to_generic({where})")


WRITERS: dict[str, ptx.Writer] = {
    "ld": _write_load,
    "st": _write_store,
    "atom": _write_atomic,
    "red": _write_atomic,
    "cp": _write_copy,
    **dict.fromkeys(("ldmatrix", "stmatrix"), _write_matrix),
    "mbarrier": _write_arrival,
    "cvta": _write_address,
    **dict.fromkeys(_NOTHING, _write_nothing),
}
