"""Kernels in Triton where there is no GPU, up to the verdict: each solution doubles a vector of odd length."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from harness.devices.sim.triton import TritonKernels
from harness.devices.sim.triton_compiler import TritonCompiler
from harness.devices.sim.triton_launch import TritonLaunch
from harness.model.evaluation import Evaluation
from harness.model.verdict import Verdict
from tests.evaluations import QUICK, evaluate_all
from tests.workspace.made import made_workspace

PROBLEM = """\
import torch
from torch import nn
class Model(nn.Module):
    def forward(self, x):
        return x * 2
def get_inputs():
    return [torch.rand(1003)]
def get_init_inputs():
    return []
"""
SOLUTION = """\
import torch
import triton
import triton.language as tl
from torch import nn
from triton.language.extra import libdevice

@triton.jit
def twice(value):
    return 2 * value

DECORATOR
@triton.jit
def double(x, y, n, BLOCK: tl.constexpr, factor=2.0):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    KERNEL

class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.zeros_like(x)
        CALL
        return y
"""
KERNEL = "tl.store(y + at, twice(tl.load(x + at, mask=at < n)), mask=at < n)"
CALL = "double[(triton.cdiv(x.numel(), 256),)](x, y, x.numel(), BLOCK=256)"
TUNED = "@triton.autotune(configs=[triton.Config({'BLOCK': 64}), triton.Config({'BLOCK': 128})], key=['n'])"
TUNED_ANEW = TUNED.replace("key=['n']", "key=['n'], reset_to_zero=['y']")
ADDS = "tl.atomic_add(y + at, twice(tl.load(x + at, mask=at < n)), mask=at < n)"
BY_META = "double[lambda meta: (triton.cdiv(x.numel(), meta['BLOCK']),)](x, y, x.numel())"
IN_A_GRAPH = f"""graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            {CALL}
        0"""
SIGN = """value = tl.load(x + at, mask=at < n)
    tl.store(y + at, 2 * libdevice.copysign(libdevice.abs(value), value), mask=at < n)"""
WHOLE = """value = tl.load(x + at, mask=at < n)
    two = libdevice.llrint(value * 0 + 2.5)  # to the nearest even number
    odd = libdevice.isnan(value) | libdevice.isinf(value) | (libdevice.finitef(value) == 0)
    zero = libdevice.erf((value * 0).to(tl.float64)) + libdevice.signbit(value * value) + odd.to(tl.int32)
    tl.store(y + at, two * value + zero, mask=(at < n) & (two == 2))"""
POINTERS = """first = tl.load(x).to(tl.pointer_type(tl.float32))
    tl.store(y + at, 2 * tl.load(first + at, mask=at < n), mask=at < n)"""
POINTERS_CALL = CALL.replace("(x, y", "(torch.tensor([x.data_ptr()], device=x.device), y")
SCALAR_MASK = """is_first = tl.load(x) == tl.load(x)
    value = tl.load(x + at % n, mask=is_first, other=0.0)
    tl.store(y + at, 2 * value, mask=(at < n) & is_first)"""
ASM = """asm: tl.constexpr = 'mov.b32 $0, $1;'
    value = tl.inline_asm_elementwise(asm, '=r, r', [tl.load(x + at, mask=at < n)], tl.int32, True, 1)
    tl.store(y + at, value, mask=at < n)"""
BFLOAT16 = """one = tl.full((BLOCK,), 1.0, tl.bfloat16)
    above = (one.to(tl.float32) + 0.005859375).to(tl.bfloat16)  # three quarters of the way to the next number
    two = tl.where(above > one, (one + one) / one - (-one) * 3 - 3, 7 * one)
    minus_one = tl.sum(one, 0) - BLOCK + tl.max(-one, 0) + tl.cumsum(one, 0) - tl.arange(1, BLOCK + 1)
    quarters = tl.full((16, 16), 0.25, tl.bfloat16)
    product = tl.max(tl.max(tl.dot(quarters, quarters), 0), 0)
    zero = tl.arange(0, BLOCK).to(tl.bfloat16).to(tl.int32) - tl.arange(0, BLOCK)
    factor = two + minus_one + tl.fma(one, one, one) - product + zero
    tl.store(y + at, factor.to(tl.float32) * tl.load(x + at, mask=at < n), mask=at < n)"""
FLOAT8 = """two = tl.full((BLOCK,), 1.96875, tl.float32).to(tl.float8e4nv).to(tl.float32)
    one = tl.full((BLOCK,), 1.0625, tl.bfloat16).to(tl.float8e4nv).to(tl.bfloat16)  # as far from 1.125
    most = tl.full((BLOCK,), 60000.0, tl.float16).to(tl.float8e4nv).to(tl.float16)
    more = tl.full((BLOCK,), 1e6, tl.float32).to(tl.float8e5).to(tl.float32)
    factor = two * one + (most - 448) + (more - 57344)
    tl.store(y + at, factor.to(tl.float32) * tl.load(x + at, mask=at < n), mask=at < n)"""
PLUS = """@triton.jit
def plus(a, b):
    return (a.to(tl.float32) + b.to(tl.float32)).to(tl.bfloat16)

"""
BFLOAT16_SUMS = """one = tl.full((BLOCK,), 1.0, tl.bfloat16)
    first, place = tl.max(one, 0, return_indices=True)
    factor = tl.sum(one, 0) / tl.reduce(one, 0, plus) + first.to(tl.float32) + place
    is_at = (one > 0).to(tl.float32) * (tl.associative_scan(one, 0, plus) > 0)
    tl.store(y + at, factor * is_at * tl.load(x + at, mask=at < n), mask=at < n)
    tl.store((y + n).to(tl.pointer_type(tl.bfloat16)), first, mask=n < 0)"""
DESCRIPTORS = "from triton.tools.tensor_descriptor import TensorDescriptor"
BY_DESCRIPTORS = """first = tl.program_id(0) * BLOCK
    y.store([first], twice(x.load([first])))"""
OF_DESCRIPTORS = CALL.replace("(x, y", "(*(TensorDescriptor.from_tensor(one, [256]) for one in (x, y))")
TF32 = """near = tl.full((16, 16), 1.000732421875, tl.float32)  # cut to tf32 that is 1
    of_tf32 = tl.max(tl.max(tl.dot(near, near), 0), 0)
    of_float32 = tl.max(tl.max(tl.dot(near, near, input_precision='ieee'), 0), 0)
    of_three = tl.max(tl.max(tl.dot(near, near, input_precision='tf32x3'), 0), 0)
    factor = tl.where((of_tf32 == 16) & (of_float32 > 16.007) & (of_three > 16.007), 2.0, 3.0)
    tl.store(y + at, factor * tl.load(x + at, mask=at < n), mask=at < n)"""
ACTIVE = "triton.runtime.driver.active"
ASKS = f"""DEVICE = {ACTIVE}.get_active_torch_device()
FACTS = {ACTIVE}.utils.get_device_properties(DEVICE.index)
assert {ACTIVE}.get_current_target().backend == "cuda" and {ACTIVE}.get_current_device() == 0
assert (FACTS["multiprocessor_count"], FACTS["warpSize"]) == (132, 32)
"""
WARMED_UP = "warm = double.warmup(x, y, x.numel(), BLOCK=256, grid=(1,)); "
ON_ONE_PATH = """if n > 0:
        value = twice(tl.load(x + at, mask=at < n))
    tl.store(y + at, value, mask=at < n)"""
BREAKS_OFF = "for _ in range(2):\n        break\n    " + KERNEL
LOOPS = """value = tl.zeros((BLOCK,), tl.float32)
    for step in range(0, n, n):
        value += twice(tl.load(x + at + step.to(tl.int64), mask=at < n))
    for step in tl.range(1, 2):
        value *= step.to(tl.float32)
    tl.store(y + at, value, mask=at < n)"""
BY_WORDS = """is_even = at % 2 == 0
    value = twice(tl.load(x + at, mask=at < n))
    tl.store(y + at, value, mask=at < n and is_even)
    tl.store(y + at, value, mask=not (is_even or at >= n))"""
ASKS_BOTH = f"""if n < 0 and tl.load(x + n) > 0:
        tl.store(y, 0.0)
    {KERNEL}"""
WAITS = f"""if tl.program_id(0) == 0:
        while tl.atomic_cas(factor, 1, 1) != 1:
            pass
    else:
        tl.atomic_xchg(factor, 1)
    {KERNEL}"""
WAITS_CALL = CALL.replace("BLOCK=", "factor=torch.zeros(1, dtype=torch.int32, device=x.device), BLOCK=")
QUOTED = f"""@triton.jit
def quoted(x, y, n, BLOCK: "tl.constexpr", FACTOR: triton.language.constexpr = 2):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    {KERNEL}

"""
BUFFER = """class Buffer:
    def __init__(self, tensor):
        self.tensor, self.dtype = tensor, tensor.dtype

    def data_ptr(self):
        return self.tensor.data_ptr()

"""
PLAIN = "def double_all(value):\n    return 2 * value\n\n"

COUNTS = """count = tl.atomic_add(factor, 1)  # whoever comes last begins anew
    value = twice(tl.load(x + at, mask=at < n))
    tl.store(y + at, tl.where(count < tl.num_programs(0), value, 0), mask=at < n)
    if count == tl.num_programs(0) - 1:
        tl.store(factor, 0)"""

SOLUTIONS: dict[str, tuple[Any, ...]] = {
    "right": (Verdict.PASSED, KERNEL, CALL),
    "by_a_number": (
        Verdict.PASSED,
        KERNEL.replace("twice(", "factor.to(tl.float32) * ("),
        CALL.replace("BLOCK=", "factor=2.0, BLOCK="),
    ),
    "tuned": (Verdict.PASSED, KERNEL, BY_META, TUNED),
    "added": (Verdict.PASSED, ADDS, CALL),
    "tuned_and_added": (Verdict.NONDETERMINISTIC, ADDS, BY_META, TUNED),
    "tuned_anew_and_added": (Verdict.PASSED, ADDS, BY_META, TUNED_ANEW),
    "tuned_too_far": (
        Verdict.MEMORY_ERROR,
        KERNEL.replace("at < n", "at < n + BLOCK // 128 * 64"),
        BY_META,
        TUNED,
    ),
    "tuned_by_assertions": (Verdict.PASSED, "tl.static_assert(BLOCK > 100)\n    " + KERNEL, BY_META, TUNED),
    "tuned_by_later_assertions": (Verdict.PASSED, "tl.static_assert(BLOCK < 100)\n    " + KERNEL, BY_META, TUNED),
    "tuned_and_counted": (
        Verdict.PASSED,
        COUNTS,
        BY_META.replace("numel())", "numel(), factor=torch.zeros(1, dtype=torch.int32, device=x.device))"),
        TUNED,
    ),
    "tuned_and_given": (Verdict.RUNTIME_ERROR, KERNEL, BY_META.replace("numel())", "numel(), BLOCK=64)"), TUNED),
    "with_an_unknown_option": (Verdict.RUNTIME_ERROR, KERNEL, CALL.replace("BLOCK=", "num_wraps=4, BLOCK=")),
    "with_three_warps": (Verdict.RUNTIME_ERROR, KERNEL, CALL.replace("BLOCK=", "num_warps=3, BLOCK=")),
    "with_four_warps": (Verdict.PASSED, KERNEL, CALL.replace("BLOCK=", "num_warps=4, BLOCK=")),
    "with_a_function": (
        Verdict.PASSED,
        KERNEL.replace("twice(", "factor("),
        CALL.replace("BLOCK=", "factor=twice, BLOCK="),
    ),
    "with_a_list": (Verdict.RUNTIME_ERROR, KERNEL, CALL.replace("x.numel(), BLOCK", "[x.numel()], BLOCK")),
    "wrong": (Verdict.WRONG_VALUES, KERNEL.replace("twice(", "3 * ("), CALL),
    "no_mask": (Verdict.MEMORY_ERROR, "tl.store(y + at, twice(tl.load(x + at)), mask=at < n)", CALL),
    "stores_too_far": (Verdict.MEMORY_ERROR, "tl.store(y + at, twice(tl.load(x + at, mask=at < n)))", CALL),
    "too_small_a_grid": (Verdict.WRONG_VALUES, KERNEL, CALL.replace("triton.cdiv(x.numel(), 256)", "3")),
    "of_the_cpu": (Verdict.RUNTIME_ERROR, KERNEL, CALL.replace("(x, y", "(x.cpu(), y")),
    "by_torch": (Verdict.NO_CUSTOM_KERNEL, KERNEL, "y = x + x"),
    "decoy": (Verdict.NO_CUSTOM_KERNEL, KERNEL, CALL + "; y = x + x"),
    "by_libdevice": (Verdict.PASSED, SIGN, CALL),
    "whole_by_libdevice": (Verdict.PASSED, WHOLE, CALL),
    "odd_libdevice": (Verdict.UNSUPPORTED, KERNEL.replace("twice(", "2 * libdevice.normcdf("), CALL),
    "by_pointers": (Verdict.PASSED, POINTERS, POINTERS_CALL),
    "asserts": (Verdict.RUNTIME_ERROR, "assert n < 5\n    " + KERNEL, CALL),
    "asks_for_triton": (
        Verdict.PASSED,
        KERNEL,
        "from torch.utils._triton import has_triton; assert has_triton(); " + CALL,
    ),
    "assembly": (Verdict.UNSUPPORTED, ASM, CALL),
    "undefined": (Verdict.COMPILE_ERROR, KERNEL.replace("twice(", "thrice("), CALL),
    "masked_by_a_number": (Verdict.PASSED, SCALAR_MASK, CALL),
    "misspelt": (Verdict.COMPILE_ERROR, KERNEL.replace("twice(", "tl.expp("), CALL),
    "reduces_two": (
        Verdict.COMPILE_ERROR,
        KERNEL.replace("at < n)), mask", "at < n), 0.0), mask").replace("twice(", "tl.max("),
        CALL,
    ),
    "launches_another": (Verdict.COMPILE_ERROR, "twice[(1,)](n)\n    " + KERNEL, CALL),
    "of_torch_s_type": (
        Verdict.COMPILE_ERROR,
        KERNEL.replace("twice(", "tl.zeros((BLOCK,), torch.float32) + twice("),
        CALL,
    ),
    "odd_range": (Verdict.COMPILE_ERROR, KERNEL, CALL.replace("BLOCK=256", "BLOCK=100")),
    "sized_at_run_time": (Verdict.COMPILE_ERROR, KERNEL.replace("(y + at", "(y + tl.arange(0, n) * 0 + at", 1), CALL),
    "mixed_shapes": (Verdict.COMPILE_ERROR, KERNEL.replace("twice(", "tl.arange(0, 32) + twice("), CALL),
    "by_imported_name": (
        Verdict.UNSUPPORTED,  # the interpreter finds tl.arange alone
        KERNEL.replace("(y + at", "(y + arange(0, BLOCK) * 0 + at", 1),
        CALL,
        "from triton.language import arange",
    ),
    "on_a_list": (
        Verdict.PASSED,
        KERNEL,
        CALL.replace("[(triton.cdiv(x.numel(), 256),)]", "[[triton.cdiv(x.numel(), 256)]]"),
    ),
    "on_a_number_of_torch_s": (
        Verdict.PASSED,
        KERNEL,
        CALL.replace("triton.cdiv(x.numel(), 256)", "torch.tensor(4)"),
    ),
    "on_its_arguments": (Verdict.PASSED, KERNEL, BY_META.replace("x.numel(), meta", "meta['x'].numel(), meta"), TUNED),
    "on_a_function": (
        Verdict.RUNTIME_ERROR,
        KERNEL,
        CALL.replace("(triton.cdiv(x.numel(), 256),)", "(lambda meta: 4),"),
    ),
    "on_a_fraction": (Verdict.RUNTIME_ERROR, KERNEL, CALL.replace("triton.cdiv(x.numel(), 256)", "x.numel() / 256")),
    "on_an_unknown_size": (Verdict.RUNTIME_ERROR, KERNEL, BY_META.replace("['BLOCK']", "['SIZE']"), TUNED),
    "on_an_undefined_number": (Verdict.RUNTIME_ERROR, KERNEL, BY_META.replace("x.numel(), meta", "many, meta"), TUNED),
    "four_dimensions": (
        Verdict.COMPILE_ERROR,
        KERNEL.replace("(y + at", "(y + tl.program_id(3) + at", 1),
        CALL.replace("256),)", "256), 1, 1, 1)"),
    ),
    "a_pointer_for_a_number": (Verdict.COMPILE_ERROR, KERNEL.replace("twice(", "x + twice("), CALL),
    "a_function_with_too_few": (Verdict.COMPILE_ERROR, KERNEL.replace("twice(", "tl.maximum("), CALL),
    "without_a_size": (Verdict.RUNTIME_ERROR, KERNEL, CALL.replace(", BLOCK=256", "")),
    "with_one_too_many": (Verdict.RUNTIME_ERROR, KERNEL, CALL.replace(", BLOCK=256", ", 3, 4, BLOCK=256")),
    "no_sequence": (Verdict.RUNTIME_ERROR, KERNEL, CALL.replace("(triton.cdiv(x.numel(), 256),)", "4")),
    "no_grid": (Verdict.RUNTIME_ERROR, KERNEL, "double(x, y, x.numel(), BLOCK=256)"),
    "tuned_without_a_grid": (Verdict.RUNTIME_ERROR, KERNEL, "double(x, y, x.numel())", TUNED),
    "too_large_a_grid": (Verdict.RUNTIME_ERROR, KERNEL, CALL.replace("256),)", "256), 1, 65_536)")),
    "in_bfloat16": (Verdict.PASSED, BFLOAT16, CALL),
    "sums_in_bfloat16": (Verdict.PASSED, BFLOAT16_SUMS, CALL, PLUS),
    "in_float8": (Verdict.PASSED, FLOAT8, CALL),
    "by_descriptors": (Verdict.PASSED, BY_DESCRIPTORS, OF_DESCRIPTORS, DESCRIPTORS),
    "in_tf32": (Verdict.PASSED, TF32, CALL),
    "asks_the_driver": (Verdict.PASSED, KERNEL, f"assert {ACTIVE}.get_device_interface() is torch.cuda; {CALL}", ASKS),
    "asks_for_the_clock": (Verdict.UNSUPPORTED, KERNEL, CALL, ASKS + "FACTS['sm_clock_rate']"),
    "asks_for_binaries": (Verdict.UNSUPPORTED, KERNEL, CALL, f"{ACTIVE}.utils.load_binary('double')"),
    "warmed_up": (Verdict.PASSED, KERNEL, WARMED_UP + CALL),
    "asks_for_registers": (Verdict.UNSUPPORTED, KERNEL, WARMED_UP + "warm._init_handles(); " + CALL),
    "launches_what_is_compiled": (Verdict.UNSUPPORTED, KERNEL, WARMED_UP + "warm[(1, 1, 1)](x, y)"),
    "asks_a_launch": (Verdict.UNSUPPORTED, KERNEL, f"made = {CALL}; made.n_regs"),
    "in_a_graph": (Verdict.PASSED, KERNEL, f"{IN_A_GRAPH}; graph.replay()"),
    "in_a_graph_that_is_not_replayed": (Verdict.WRONG_VALUES, KERNEL, IN_A_GRAPH),
    "measures": (Verdict.UNSUPPORTED, KERNEL, f"triton.testing.do_bench(lambda: {CALL})"),
    "defined_on_one_path": (Verdict.COMPILE_ERROR, ON_ONE_PATH, CALL),
    "breaks_off": (Verdict.COMPILE_ERROR, BREAKS_OFF, CALL),
    "by_a_variable": (Verdict.COMPILE_ERROR, KERNEL.replace("twice(", "FACTOR * ("), CALL, "FACTOR = 2"),
    "by_a_constant": (
        Verdict.PASSED,
        KERNEL.replace("twice(", "(").replace(", mask=at < n)", ", mask=at < n) * FACTOR", 1),
        CALL,
        "FACTOR = tl.constexpr(2)",
    ),
    "by_plain_python": (Verdict.COMPILE_ERROR, KERNEL.replace("twice(", "double_all("), CALL, PLAIN),
    "defined_at_run_time": (
        Verdict.PASSED,
        KERNEL.replace("twice(", "later("),
        "globals()['later'] = twice; " + CALL,
    ),
    "breaks_off_beside_a_gpu": (Verdict.COMPILE_ERROR, BREAKS_OFF, CALL, "NAME = torch.cuda.get_device_name()"),
    "compiled_nowhere": (
        Verdict.PASSED,
        BREAKS_OFF,
        CALL,
        "import os\nassert os.environ['TRITON_INTERPRET'] == '1'",
    ),
    "of_quoted_constants": (Verdict.PASSED, KERNEL, CALL.replace("double[", "quoted["), QUOTED),
    "refused_with_a_type": (
        Verdict.COMPILE_ERROR,
        KERNEL,
        CALL.replace("double[", "quoted[").replace("BLOCK=", "FACTOR=tl.float32, BLOCK="),
        QUOTED.replace("    at = ", "    for _ in range(2):\n        break\n    at = ", 1),
    ),
    "refused_with_torch_s_type": (
        Verdict.COMPILE_ERROR,
        KERNEL,
        CALL.replace("double[", "quoted[").replace("BLOCK=", "FACTOR=torch.float32, BLOCK="),
        QUOTED.replace("    at = ", "    for _ in range(2):\n        break\n    at = ", 1),
    ),
    "masked_by_words": (Verdict.PASSED, BY_WORDS, CALL),
    "counts_in_loops": (Verdict.PASSED, LOOPS, CALL),
    "asks_both": (Verdict.MEMORY_ERROR, ASKS_BOTH, CALL),
    "by_own_buffers": (Verdict.PASSED, KERNEL, CALL.replace("(x, y", "(Buffer(x), Buffer(y)"), BUFFER),
    "refused_with_own_buffers": (Verdict.COMPILE_ERROR, BREAKS_OFF, CALL.replace("(x, y", "(Buffer(x), y"), BUFFER),
    "waits_for_another_program": (Verdict.UNSUPPORTED, WAITS, WAITS_CALL),
    "takes_a_lock": (Verdict.PASSED, WAITS.replace("1, 1) != 1", "0, 1) != 0"), WAITS_CALL),
    "as_inductor_allocates": (
        Verdict.PASSED,
        KERNEL,
        "y = torch._C._dynamo.guards._empty_strided_cuda((1003,), (1,), torch.float32); " + CALL,
    ),
    "refused_where_there_is_a_gap": (Verdict.COMPILE_ERROR, BREAKS_OFF.replace(KERNEL, ASM), CALL),
    "adds_bfloat16": (
        Verdict.UNSUPPORTED,
        "tl.atomic_add(y.to(tl.pointer_type(tl.bfloat16)) + at, tl.full((BLOCK,), 1.0, tl.bfloat16))",
        CALL,
    ),
}
"""By name: the verdict, the kernel's last line, the call, and what stands above the kernel, if anything."""


def workspace(root: Path, solutions: Iterable[str]) -> Path:
    texts = {}
    for name in solutions:
        _, kernel, call, *above = SOLUTIONS[name]
        texts[name] = SOLUTION.replace("KERNEL", kernel).replace("CALL", call).replace("DECORATOR", "".join(above))
    return made_workspace(root, "double", PROBLEM, texts).root


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Evaluation]:
    if importlib.util.find_spec("triton") is None:
        pytest.skip("no Triton")
    root = workspace(tmp_path_factory.mktemp("workspace"), SOLUTIONS)
    return evaluate_all(root, "double", root / "results", "sim", config=QUICK)


@pytest.mark.sim
@pytest.mark.parametrize("name", SOLUTIONS)
def test_a_kernel_of_triton_s_is_judged_without_a_gpu(judged: dict[str, Evaluation], name: str) -> None:
    assert judged[name].verdict is SOLUTIONS[name][0], judged[name].failure


@pytest.mark.sim
@pytest.mark.heavy
def test_the_checked_build_takes_what_these_kernels_wrote_for_written(tmp_path: Path) -> None:
    if importlib.util.find_spec("triton") is None:
        pytest.skip("no Triton")
    root = workspace(tmp_path, ["right", "added", "too_small_a_grid"])
    (root / "configs").mkdir()
    (root / "configs/checked.yaml").write_text("correctness: {sanitize: true, seeds: 1}\n")
    found = evaluate_all(root, "double", root / "results", "sim", config="checked")
    assert {name: one.verdict for name, one in found.items()} == {
        "right": Verdict.PASSED,
        "added": Verdict.PASSED,
        "too_small_a_grid": Verdict.WRONG_VALUES,
    }


@pytest.mark.sim
@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("undefined", "solution.py:15: name 'thrice' is not defined, at: tl.store("),
        ("misspelt", "solution.py:15: module 'triton.language' has no attribute 'expp', at: tl.store("),
        ("reduces_two", "solution.py:15: create_reduce(): incompatible function arguments, at: tl.store("),
        ("launches_another", "solution.py:15: a kernel launches another one, at: twice[(1,)](n)"),
        ("of_torch_s_type", "solution.py:15: 'torch.dtype' object has no attribute 'is_int', at: tl.store("),
        ("odd_range", "solution.py:14: arange's range must be a power of 2, at: at = tl.program_id(0)"),
    ],
)
def test_what_triton_s_compiler_would_refuse_is_told_with_its_line(
    judged: dict[str, Evaluation], name: str, words: str
) -> None:
    failure = judged[name].failure
    assert failure is not None
    assert failure.reason.startswith(f"a Triton kernel doesn't compile: {words}")


@pytest.mark.sim
@pytest.mark.parametrize("name", ["no_grid", "tuned_without_a_grid"])
def test_a_call_without_a_grid_is_told_to_have_one(judged: dict[str, Evaluation], name: str) -> None:
    failure = judged[name].failure
    assert failure is not None
    assert "nterpreter" not in f"{failure.reason}{failure.details}"
    assert "grid" in failure.next_step


@pytest.mark.sim
@pytest.mark.parametrize(("name", "words"), [("no_mask", "load of 4 bytes"), ("stores_too_far", "store of 4 bytes")])
def test_an_access_outside_of_the_tensors_is_told_with_its_line(
    judged: dict[str, Evaluation], name: str, words: str
) -> None:
    failure = judged[name].failure
    assert failure is not None
    said = f"{failure.reason}\n{failure.details}"
    assert words in said
    assert "line 15" in said
    assert "behind the end of" in said


@pytest.mark.sim
def test_functions_of_libdevice_are_no_operators_of_torch(judged: dict[str, Evaluation]) -> None:
    trace = judged["by_libdevice"].trace
    assert trace is not None
    names = {kernel.name for kernel in trace.kernels}
    assert "double" in names
    assert not names & {"aten::abs", "aten::copysign"}


@pytest.mark.sim
def test_a_kernel_is_compiled_whose_file_has_triton_from_another_of_its_files(tmp_path: Path) -> None:
    """The compiler begins while that one is being imported."""
    if importlib.util.find_spec("triton") is None:
        pytest.skip("no Triton")
    root = workspace(tmp_path, ["breaks_off"])
    solution = root / "solutions/double/breaks_off/solution.py"
    imports, rest = solution.read_text().split("\n\n", 1)
    solution.with_name("parts.py").write_text(imports)
    solution.write_text(f"from parts import libdevice, nn, tl, torch, triton\n\n{rest}")
    (found,) = evaluate_all(root, "double", root / "results", "sim", config=QUICK).values()
    assert found.verdict is Verdict.COMPILE_ERROR, found.failure


def test_a_compiler_that_is_late_is_ended_and_knows_nothing(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "endless.py")
    compiler = TritonCompiler()
    launch: tuple[str, str, int, list[Any], dict[str, Any]] = (str(tmp_path / "endless.py"), "double", 1, [], {})
    assert compiler.why_refused(launch, timeout_s=0) is None
    with pytest.raises(ChildProcessError):  # it is reaped
        os.waitpid(compiler._pid, os.WNOHANG)
    assert compiler.why_refused(launch, timeout_s=30) is None


def test_the_interpreter_enters_a_function_s_language_once_a_launch() -> None:
    kernels, entered = TritonKernels(lambda *_: None, lambda: 0, lambda launch: False), list[str]()
    enter = kernels._once_a_launch(entered.append)
    for _ in range(2):
        kernels._launch = TritonLaunch("double", {}, sampled=None, work_s=None)
        enter("twice")
        enter("twice")
    assert entered == ["twice", "twice"]
