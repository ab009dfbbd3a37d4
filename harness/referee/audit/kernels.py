"""Whose a kernel is, by its symbol: compiled by the solution, part of the framework, or a mere move of data."""

from __future__ import annotations

import functools
import mmap
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from harness.backends.base import KernelRun
from harness.records.build import ExtensionBuild
from harness.records.trace import KernelOrigin, Trace, TracedKernel
from harness.records.verdict import Verdict
from harness.referee.compiler_log import demangled
from harness.referee.outcome import SolutionFailed

_DECOY = 0.01
"""Own kernels that take less than this share of the compute time did no work worth the name."""
_MOST_KERNELS = 100
_NAME_CHARS = 300

_VENDOR = re.compile(
    r"\bcudnn::|\bcublas(Lt)?::|__5x_cu(dnn|blas)|\bnvjet_|sm\d\d_xmma_\w+_execute_|\bcutlass_\d\d_(tensorop|simt|wmma)_"
    r"|^(volta|turing|ampere|maxwell)_\w*(gemm|fprop|dgrad|wgrad|scudnn)\w*_\d+x\d+|\bpytorch_flash::|\bncclDevKernel"
)
"""Kernels of libraries that come with the framework, under names that no solution's kernel has by chance."""
_FRAMEWORK = re.compile(
    r"^(at|at_cuda_detail|c10|torch|cub|thrust|cutlass|PyTorchMemEffAttention)::|^aten::|fmha_cutlass"
    r"|^triton_((poi|red|per|tem|for|spl|unk)_fused|mm|bmm|convolution)|cudnn|cublas|cusparse|cufft|xmma|^ncclKernel"
    r"|^(implicit_convolve|explicit_convolve|precomputed_convolve|convolve_common|winograd|generateWinograd|flash_fwd_)"
    r"|^(fft[12]d_|regular_fft|vector_fft|splitKreduce_kernel|gemv2[NT]|gemvNSP|gemmk1_kernel|gemmSN)"
    r"|^sm\d\d_\w*(gemm|conv|fprop)"
    r"|^_ZN(K?)(2at|3c10|5torch|3cub|6thrust|7cutlass|5cudnn|6cublas)"  # where c++filt is missing
)
"""Names that the framework's kernels have, those of torch.compile among them, and that a solution's own may have too:
it can instantiate the same templates, or call its kernel after the algorithm."""
_MOVES = re.compile(
    r"direct_copy_kernel|copy_device_to_device|(b?float\w*|float8\w*)_copy_kernel|FillFunctor|CatArrayBatchedCopy"
    r"|nchwToNhwc|nhwcToNchw|nchwAddPadding|fp8_copy|conj_kernel|roll_cuda_kernel"
    r"|^aten::(_?to(_copy)?|copy_?|clone|contiguous|empty\w*|zeros\w*|ones\w*|full\w*|zero_|fill_?|view\w*|reshape\w*"
    r"|_reshape\w*|expand\w*|permute|transpose\w*|t|as_strided\w*|select\w*|slice\w*|detach\w*|alias\w*|resize_\w*|cat"
    r"|stack|pad|constant_pad_nd|unsqueeze\w*|squeeze\w*|flatten|lift\w*|set_\w*|item|_local_scalar_dense)$"
)

InFramework = Callable[[str], bool]
"""Whether a kernel's symbol lies in the framework's own libraries."""


def own_kernels(builds: Iterable[ExtensionBuild]) -> frozenset[str]:
    """The kernels that the compiler made of the solution's own sources."""
    return frozenset(kernel.kernel for build in builds for kernel in build.kernels)


@dataclass(frozen=True)
class Origins:
    """`own` as own_kernels() gives it; `reference` are the symbols that the baseline's traced turn ran."""

    own: Collection[str] = frozenset()
    reference: Collection[str] = frozenset()
    in_framework: InFramework = lambda symbol: False

    def of(self, row: KernelRun, readable: str) -> KernelOrigin:
        """`readable` is the row's name without mangling.

        What the solution compiled is its own, but for names that only a framework has: a solution could compile an
        empty kernel named like the one of cuDNN that it calls. In doubt the framework's libraries are searched for the
        very symbol. A kernel that nobody knows was compiled at run time, by the solution (NVRTC, Triton).
        """
        if row.kind != "kernel":
            return "move"
        is_own = readable in self.own
        if not is_own and _MOVES.search(readable):
            return "move"
        if row.name in self.reference or _VENDOR.search(readable):
            return "framework"
        could_be = _FRAMEWORK.search(_function(readable)) is not None
        is_there = row.name.startswith("_Z") and (could_be or not is_own) and self.in_framework(row.name)
        return "framework" if is_there or (could_be and not is_own) else "own"


def _function(readable: str) -> str:
    """The function's own name, without what it returns and takes: at::Half among a kernel's arguments says nothing."""
    name = readable.removeprefix("void ").replace("(anonymous namespace)", "{}")
    return re.split("[<(]", name, maxsplit=1)[0]


def summarize(case: str, calls: int, rows: Sequence[KernelRun], origins: Origins) -> Trace:
    """All launches of a kernel together; the longest first, and of very many kernels the rest left out."""
    names = list(dict.fromkeys(row.name for row in rows))
    readable = dict(zip(names, demangled(names), strict=True))
    origin_of = {row.name: origins.of(row, readable[row.name]) for row in rows}
    launches, spent = Counter[str](), Counter[str]()
    for row in rows:
        launches[row.name] += 1
        spent[row.name] += max(0, row.end_ns - row.start_ns)
    ranked = sorted(launches, key=lambda name: (-spent[name], -launches[name]))[:_MOST_KERNELS]
    return Trace(
        case,
        calls,
        tuple(
            TracedKernel(readable[name][:_NAME_CHARS], origin_of[name], launches[name], spent[name]) for name in ranked
        ),
    )


def require_custom(trace: Trace, reference: Trace | None) -> tuple[str, ...]:
    """Remarks. Raises: SolutionFailed where the framework's kernels did the work, or none at all."""
    own = [kernel for kernel in trace.kernels if kernel.origin == "own"]
    framework = [kernel for kernel in trace.kernels if kernel.origin == "framework"]
    listed = ", ".join(kernel.name[:80] for kernel in framework[:3])
    if not own and framework:
        raise _no_custom_kernel(f"no kernel of the solution's ran, only the framework's: {listed}")
    if not own:
        raise _no_custom_kernel("no kernel of the solution's ran; the device only moved data, if anything")
    own_ns, framework_ns = (sum(kernel.ns for kernel in kernels) for kernels in (own, framework))
    total_ns = own_ns + framework_ns
    share = own_ns / total_ns if total_ns else None
    if share is not None and share < _DECOY:
        raise _no_custom_kernel(
            f"the solution's own kernels took {share:.2%} of the computing time, the framework's the rest: {listed}"
        )
    if reference is not None and own_ns <= framework_ns and _does_all_of(trace, framework, reference):
        longer = ", and for longer than the solution's own kernels ran" if total_ns else ""
        raise _no_custom_kernel(f"the framework did all that the reference consists of itself{longer}: {listed}")
    if share is not None and share < 0.5:
        return (f"{trace.case}: the framework's kernels took {1 - share:.0%} of the computing time: {listed}",)
    return ()


def _does_all_of(trace: Trace, framework: Sequence[TracedKernel], reference: Trace) -> bool:
    """Per call, by name and count."""
    ran = {kernel.name: kernel.launches / trace.calls for kernel in framework}
    wanted = {kernel.name: kernel.launches / reference.calls for kernel in reference.kernels if kernel.origin != "move"}
    return bool(wanted) and all(ran.get(name, 0) >= launches for name, launches in wanted.items())


def _no_custom_kernel(reason: str) -> SolutionFailed:
    return SolutionFailed(Verdict.NO_CUSTOM_KERNEL, reason)


@functools.cache
def in_torch_libraries(symbol: str) -> bool:
    """Whether torch's GPU libraries name a kernel so. Reading them takes 0.3 s the first time, 0.02 s after that (435
    MB, torch 2.11)."""
    needle = b"\0" + symbol.encode() + b"\0"
    for path in sorted((Path(torch.__file__).parent / "lib").glob("libtorch_cuda*.so")):
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            if content.find(needle) >= 0:
                return True
    return False
