"""Instructions of PTX as C++, which calls what sim/ptx.h and the rest of the simulator's headers have for them.

The instructions are those of the PTX ISA.
"""

from __future__ import annotations

import re

from harness.cudasim import ptx_arithmetic, ptx_memory, ptx_products
from harness.cudasim import ptx_operands as ptx


class NotSimulated(Exception):
    """An instruction, or a form of one, that isn't simulated."""


_REGISTERS = re.compile(r"\.reg\s+\.(\w+)\s+(.+)", re.DOTALL)
_LABEL = re.compile(r"\s*(\$?\w+)\s*:(?!:)")
_GUARDED = re.compile(r"@(!?)\s*(\S+)\s+(.+)", re.DOTALL)


def as_cpp(written: str) -> str:
    """Write instructions as C++ on one line. Registers are declared before all, where no branch passes them by. Raises:
    NotSimulated."""
    registers: dict[str, str] = {}
    lines = []
    for part in re.split(r";|([{}])", _with_lists(_with_plain_names(written.replace("%=", "")))):
        text = (part or "").strip()
        if declared := _REGISTERS.fullmatch(text):
            for name in (name.strip() for name in declared[2].split(",")):
                if registers.setdefault(name, declared[1]) != declared[1] or not name.isidentifier():
                    raise NotSimulated(text)
        else:
            lines.append(_instruction(text))
    body = " ".join(filter(None, lines))
    if not registers.keys() >= set(re.findall(r"sim_r_(\w+)", body)) or not ptx.TYPES.keys() >= set(registers.values()):
        raise NotSimulated  # a register of another statement, or none
    labels = re.findall(r"(sim_l_\w+):;", body)
    if not set(re.findall(r"goto (\w+);", body)) <= set(labels) or len(labels) > len(set(labels)):
        raise NotSimulated("bra")  # to another statement's, or to that of one block of several
    return " ".join([*(f"{ptx.TYPES[kind]} {ptx.register(name)} = {{}};" for name, kind in registers.items()), body])


def _with_plain_names(written: str) -> str:
    """Write registers of the statement's own, of which `%%` begins the names, without that."""
    declared = re.findall(r"\.reg\s+\.\w+\s+([^;]+)", written)
    own = set(re.findall(r"%%(\w+)", " ".join(declared)))
    return re.sub(r"%%(\w+)(?!\w|\.\w)", lambda found: found[1] if found[1] in own else found[0], written)


def _with_lists(written: str) -> str:
    """Write lists of operands in parentheses: braces are left to blocks of instructions."""
    return re.sub(r"\{([^{};]*)\}(?=\s*[,;]|\s*$)", lambda found: f"({' '.join(found[1].split())})", written)


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
    write = _WRITERS.get(name)
    try:
        if write is not None:
            code = write(name, modifiers, _operands(rest[0]) if rest else [])
            return "".join(labels) + (f"if ({guarded[1]}{ptx.value(guarded[2])}) {{ {code} }}" if guarded else code)
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


def _label(name: str) -> str:
    return f"sim_l_{name.removeprefix('$')}"


def _write_branch(name: str, modifiers: list[str], operands: list[str]) -> str:
    ptx.require(modifiers in ([], ["uni"]))
    return f"goto {_label(operands[0])};"


def _write_election(name: str, modifiers: list[str], operands: list[str]) -> str:
    ptx.require(modifiers == ["sync"])
    lane, is_it = operands[0].split("|")
    first = f"__builtin_ctz({ptx.read('u32', operands[1])})"
    set_lane = "" if lane.strip() == "_" else ptx.write(lane.strip(), first)
    return f"{set_lane} {ptx.value(is_it.strip())} = ::sim::lane() == {first};"


def _write_barrier(name: str, modifiers: list[str], operands: list[str]) -> str:
    """`bar` and `barrier`, of all threads or of so many."""
    *how, what = [one for one in modifiers if one not in ("aligned", "cta")]
    ptx.require(not how and what in ("sync", "arrive") and len(operands) in (1, 2) and (what == "sync" or operands[1:]))
    number, count = [*(ptx.read("u32", one) for one in operands), "0"][:2]
    return f"sim_named_barrier({number}, {count}, {str(what == 'sync').lower()}, __FILE__, __LINE__);"


_WRITERS: dict[str, ptx.Writer] = {
    **ptx_memory.WRITERS,
    **ptx_products.WRITERS,
    **ptx_arithmetic.WRITERS,
    "bra": _write_branch,
    "elect": _write_election,
    **dict.fromkeys(("bar", "barrier"), _write_barrier),
}
