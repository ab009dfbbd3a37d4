"""Find a kernel's origin by its symbol: the solution, the framework, or a mere move of data."""

from __future__ import annotations

import functools
import mmap
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import torch

from harness.builder.compiler_log import demangled
from harness.model.build import ExtensionBuild
from harness.model.trace import KernelOrigin, Trace, TracedKernel
from harness.sandbox.wire.device import KernelRun

_MOST_KERNELS = 100
"""The most kernels that a record holds."""
_MOST_NAMES = 10_000
_NAME_CHARS = 300

_VENDOR = re.compile(
    r"\bcudnn::|\bcublas(Lt)?::|\bcublas[A-Z]\w*(Params|Tensor)|__5x_cu(dnn|blas)|\bnvjet_|\bpytorch_flash::"
    r"|sm\d\d_xmma_\w+_(execute_|tilesize\d)|\bcutlass_\d{2,3}_(tensorop|simt|wmma)_|\bcutlass3x_sm\d+_\w*(tensorop|simt)_"
    r"|^(volta|turing|ampere|maxwell)_\w*(gemm|fprop|dgrad|wgrad|scudnn)\w*_\d+x\d+|\bncclDevKernel"
    r"|^(openai_)?[hs]gemm_\d+x\d+x\d+_[NT]{2}_vec$"
)
"""Kernels of libraries that come with the framework, under names that no solution's kernel has by chance (those of
cuBLAS 12.9 read out of the library)."""
_FRAMEWORK = re.compile(
    r"^(at|at_cuda_detail|c10|torch|PyTorchMemEffAttention)::|^aten::"
    r"|^triton_($|(poi|red|per|tem|for|spl|unk)_(_|fused_))"
    r"|^kernel_cutlass_\w*torch_(native|vendor|inductor)"
    r"|^_ZN(K?)(2at|3c10|5torch|5cudnn|6cublas)"  # where c++filt is missing
)
"""Names of the framework's own kernels, those of torch.compile among them (unique_kernel_names and descriptive_names
switched off, too), and those that torch has written in CuTe's language: their names hold the module's, without its dots
(not looked up: as other projects' traces show them). A solution's may have them only by instantiating the same
templates."""
_LOOSE = re.compile(
    r"cudnn|cublas|cusparse|cufft|xmma|fmha_cutlass|^ncclKernel"
    r"|^(implicit_convolve|explicit_convolve|precomputed_convolve|convolve_common|winograd|generateWinograd|flash_fwd_)"
    r"|^(fft[12]d_|regular_fft|vector_fft|splitKreduce_kernel|gemv2[NT]|gemvNSP|gemmk1_kernel|gemmSN)"
    r"|^sm\d\d_\w*(gemm|conv|fprop)"
)
"""Names that kernels of its libraries have, but that a solution may also give a kernel after its algorithm. They count
for C++ functions alone: Triton's and many of NVRTC's are plain names. Templates of CUTLASS, CUB and Thrust, which
solutions compile as well, are told by the search for the symbol alone."""
_TEMPLATES = re.compile(r"^(cub|thrust|cutlass)::|^_ZN(3cub|6thrust|7cutlass)")
_MOVES = re.compile(
    r"direct_copy_kernel|copy_device_to_device|(b?float\w*|float8\w*)_copy_kernel|FillFunctor|CatArrayBatchedCopy"
    r"|nchwToNhwc|nhwcToNchw|nchwAddPadding|fp8_copy|conj_kernel|roll_cuda_kernel"
    r"|^aten::(_?to(_copy)?|copy_?|clone|contiguous|empty\w*|zeros\w*|ones\w*|full\w*|zero_|fill_?|view\w*|reshape\w*"
    r"|_reshape\w*|expand\w*|permute|transpose\w*|t|as_strided\w*|select\w*|slice\w*|detach\w*|alias\w*|resize_\w*|cat"
    r"|stack|pad|constant_pad_nd|unsqueeze\w*|squeeze\w*|flatten|lift\w*|set_\w*|item|_local_scalar_dense)$"
)


def own_kernels(builds: Iterable[ExtensionBuild]) -> frozenset[str]:
    """The kernels that the compiler made of the solution's own sources."""
    return frozenset(kernel.kernel for build in builds for kernel in build.kernels)


@dataclass(frozen=True)
class Origins:
    """The facts that decide origins.

    `own` comes from own_kernels(); `reference` has the symbols that the baseline's traced turn ran. `in_framework` says
    whether a symbol lies in the framework's own libraries, `by_torch` whether torch compiles a kernel of that plain
    name while it runs, and the solution's text has none.
    """

    own: Collection[str] = frozenset()
    reference: Collection[str] = frozenset()
    in_framework: Callable[[str], bool] = lambda symbol: False
    by_torch: Callable[[str], bool] = lambda name: False

    def of(self, row: KernelRun, readable: str) -> KernelOrigin:
        """The origin of a row; `readable` is its demangled name.

        What the solution compiled is its own, except under names that only a framework has: a solution could compile an
        empty kernel named like the one of cuDNN that it calls. In doubt the framework's libraries are searched for the
        symbol. An unknown kernel was compiled at run time: by the solution (NVRTC, Triton), unless torch compiles one
        of that name.
        """
        if row.kind != "kernel":
            return "move"
        if not self._is_frameworks(row.name, readable):
            return "own"
        return "move" if _moves(readable) and readable not in self.own else "framework"

    def _is_frameworks(self, symbol: str, readable: str) -> bool:
        if symbol in self.reference or _VENDOR.search(readable):
            return True
        function = _function(readable)
        is_named_so = _FRAMEWORK.search(function) is not None
        is_alike = function != readable and any(names.search(function) for names in (_LOOSE, _MOVES))
        if readable in self.own:
            return (is_named_so or is_alike or _TEMPLATES.search(function) is not None) and self._lies_there(symbol)
        return is_named_so or is_alike or self._lies_there(symbol) or self.by_torch(readable)

    def _lies_there(self, symbol: str) -> bool:
        """Search for mangled names only: a plain name such as 'add_kernel' may occur anywhere in a gigabyte."""
        return symbol.startswith("_Z") and self.in_framework(symbol)


def _moves(readable: str) -> bool:
    """Say whether a kernel only moves data. Kernels of torch.compile don't, though their names mention casts and
    copies."""
    return not readable.startswith("triton_") and _MOVES.search(readable) is not None


def maker_of(readable: str) -> Literal["compiled", "library", "torch"]:
    """The maker of a framework's kernel: torch.compile or TorchScript, a library such as cuDNN, or torch itself."""
    function = _function(readable)
    if re.match(r"triton_|fused_", function):
        return "compiled"
    return "library" if _VENDOR.search(readable) or _LOOSE.search(function) else "torch"


def is_fill(readable: str) -> bool:
    """Say whether a kernel or a move only writes a constant."""
    return re.search(r"^fill of |FillFunctor", readable) is not None


def _function(readable: str) -> str:
    """The function's name without return type and arguments: at::Half among these says nothing about the origin."""
    name = readable.removeprefix("void ").replace("(anonymous namespace)", "{}")
    return re.split("[<(]", name, maxsplit=1)[0]


def summarize(case: str, calls: int, rows: Sequence[KernelRun], origins: Origins) -> Trace:
    """Sum up each kernel's launches, longest first. Libraries are searched only for kernels that a record holds."""
    unsearched = replace(origins, in_framework=lambda symbol: False)
    row_of = {row.name: row for row in rows}
    launches, spent, elements = Counter[str](), Counter[str](), Counter[str]()
    for row in rows:
        launches[row.name] += 1
        spent[row.name] += max(0, row.end_ns - row.start_ns)
        elements[row.name] += max(0, row.elements)
    ranked = sorted(launches, key=lambda name: (-spent[name], -elements[name], -launches[name]))[:_MOST_NAMES]
    return Trace(
        case,
        calls,
        tuple(
            TracedKernel(
                readable[:_NAME_CHARS],
                (origins if number < _MOST_KERNELS else unsearched).of(row_of[name], readable),
                launches[name],
                spent[name],
                elements[name],
            )
            for number, (name, readable) in enumerate(zip(ranked, demangled(ranked), strict=True))
        ),
    )


def shortened(trace: Trace) -> Trace:
    """Keep the kernels that took longest, as many as a record holds."""
    return replace(trace, kernels=trace.kernels[:_MOST_KERNELS])


@functools.cache
def in_framework_libraries(symbol: str) -> bool:
    """Say whether a GPU library of torch, or one that comes with it, has a kernel of this name.

    Reading torch's takes 0.3 s the first time and 0.02 s later (435 MB, torch 2.11), cuBLAS's 0.5 and 0.3 s (850 MB,
    12.9). All are several gigabytes, so they are searched only for names that are known nowhere else.
    """
    return any(holds(path, symbol) for path in framework_libraries(Path(torch.__file__).parent))


def framework_libraries(torch_folder: Path) -> Iterator[Path]:
    """The framework's GPU libraries, torch's first. CUDA's wheels lie beside torch, in nvidia/<library>/lib."""
    yield from sorted((torch_folder / "lib").glob("libtorch_cuda*.so"))
    for path in sorted((torch_folder.parent / "nvidia").glob("*/lib/lib*.so*")):
        if re.match(r"lib(cublas|cudnn|cufft|curand|cusolver|cusparse|nccl)", path.name):
            yield path


def holds(library: Path, symbol: str) -> bool:
    """Say whether a library contains the symbol as a whole string: it names kernels that it registers at run time."""
    needle = b"\0" + symbol.encode() + b"\0"
    try:
        with library.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            return content.find(needle) >= 0
    except (OSError, ValueError):  # unreadable or empty: it brought no kernel along
        return False
