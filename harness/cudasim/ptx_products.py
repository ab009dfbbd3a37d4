"""Products of matrices in PTX as C++: `mma` and `wgmma`."""

from __future__ import annotations

from harness.cudasim import ptx_operands as ptx

_SHAPES = {"f16": (8, 16), "bf16": (8, 16), "tf32": (4, 8), **dict.fromkeys((*ptx.WHOLE, *ptx.FLOAT8), (16, 32))}
"""The depths k of m16n8k…, by the type of what is multiplied."""


def _may_meet(left: str, right: str) -> bool:
    """Say whether a product takes these types."""
    return left == right or any({left, right} <= kinds.keys() for kinds in (ptx.WHOLE, ptx.FLOAT8))


def _write_product(name: str, modifiers: list[str], operands: list[str]) -> str:
    """`mma.sync.aligned.m16n8k….row.col`."""
    sync, aligned, shape, row, col, *kinds = modifiers
    ptx.require((sync, aligned, row, col) == ("sync", "aligned", "row", "col"))
    into, a, b, start = map(ptx.parts, operands)
    if shape == "m8n8k4":
        ptx.require(kinds == ["f64"] * 4)
        values = ", ".join(ptx.read("f64", one) for one in (*a, *b, *start))
        return f"{{ double sim_d[2]; ::sim::ptx_multiply_doubles({values}, sim_d); {ptx.write_all(into, 'sim_d')} }}"
    result, left, right, summed = kinds
    depth = {"m16n8k4": 4, "m16n8k8": 8, "m16n8k16": 16, "m16n8k32": 32}[shape]
    whole = "s32" if left in ptx.WHOLE else "f32"
    ptx.require(depth in _SHAPES[left] and result in (whole, "f16") and result == summed)
    ptx.require(result != "f16" or left == "f16")
    ptx.require(_may_meet(left, right))
    counts = [depth // _SHAPES[left][0] * 2, depth // _SHAPES[left][0], 2 if result == "f16" else 4]
    ptx.require([len(a), len(b), len(start)] == counts and len(into) == counts[2])
    arrays = [
        f"const unsigned sim_{letter}[] = {{{', '.join(ptx.read('b32', one) for one in parts)}}};"
        for letter, parts in zip("abc", (a, b, start), strict=True)
    ]
    sums = {"f32": "float", "s32": "int", "f16": "::sim::ptx_Half"}[result]
    kinds_of = f"::sim::ptx_{ptx.PRODUCTS[left]}, ::sim::ptx_{ptx.PRODUCTS[right]}, {sums}, {depth}"
    call = f"::sim::ptx_multiply<{kinds_of}>(sim_a, sim_b, sim_c, sim_d);"
    return f"{{ {' '.join(arrays)} unsigned sim_d[{counts[2]}]; {call} {ptx.write_all(into, 'sim_d')} }}"


def _write_group_product(name: str, modifiers: list[str], operands: list[str]) -> str:
    """`wgmma`: of a warp group, 64 rows by up to 256 columns. The product is there at once; who waits for it waits for
    the warp's other lanes."""
    what, *how = modifiers
    if what in ("fence", "commit_group", "wait_group"):
        return "__syncwarp();" if what == "wait_group" else ";"
    sync, aligned, shape, result, left, right = how
    ptx.require((what, sync, aligned) == ("mma_async", "sync", "aligned"))
    columns, depth = map(int, ptx.matched(r"m64n(\d+)k(\d+)", shape).groups())
    sums, a, (b,), (adds,), *signs = map(ptx.parts, operands)
    ptx.require(depth == _SHAPES[left][1] and result == ("s32" if left in ptx.WHOLE else "f32"))
    # Others negate, or transpose; whole numbers have no such choice.
    ptx.require(
        not signs if result == "s32" else signs[:2] == [["1"], ["1"]] and all(one == ["0"] for one in signs[2:])
    )
    ptx.require(_may_meet(left, right) and columns % 8 == 0 and 8 <= columns <= 256)
    ptx.require(len(sums) == columns // 2 and len(a) in (1, 4))
    type_ = ptx.TYPES[result]
    rows = f"{ptx.read('u64', a[0])}" if len(a) == 1 else f"{{{{{', '.join(ptx.read('b32', one) for one in a)}}}}}"
    kinds = f"::sim::ptx_{ptx.PRODUCTS[left]}, ::sim::ptx_{ptx.PRODUCTS[right]}, {columns}"
    return (
        f"{{ {type_} sim_d[] = {{{', '.join(ptx.read(result, one) for one in sums)}}}; "
        f"::sim::ptx_multiply_group<{kinds}>(sim_d, ::sim::ptx_{'Rows' if len(a) == 1 else 'Fragment'}{{{rows}}}, "
        f"{ptx.read('u64', b)}, bool({ptx.value(adds)})); {ptx.write_all(sums, 'sim_d')} }}"
    )


WRITERS: dict[str, ptx.Writer] = {"mma": _write_product, "wgmma": _write_group_product}
