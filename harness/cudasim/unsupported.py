"""The constructs that the simulator refuses, since nothing on a CPU stands in for them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from harness.cudasim.inline_ptx import ASM, is_simulated, unknown_instruction
from harness.cudasim.tokens import Token, next_visible, previous_visible, tokenize

_CUB = "rarer parts of CUB"
_CUBLAS = "rarer parts of cuBLAS"

_SIMULATED_OF_CUB = re.compile(
    r"Block(Exchange|Load|MergeSort|RadixSort|Reduce|Scan|Store)|Warp(MergeSort|Reduce|Scan)"
    r"|Device(RadixSort|Reduce|Scan)|DoubleBuffer|KeyValuePair|NullType"
    r"|ArgMax|ArgMin|Sum|Max|Min|Equality|Inequality|Block(Load|Store|Reduce|Scan)Algorithm"
    r"|BLOCK_(LOAD|STORE|REDUCE|SCAN)_\w+"
)

_SIMULATED_OF_CUBLAS = r"[SDH]gemm(StridedBatched)?|Gemm(StridedBatched)?Ex|[SD]gemv"
_OF_CUBLAS = (
    r"((I[cdsz]|[SDCZH][cdsz]?)(a(max|min|sum|xpy)|copy|dgmm|dot[cu]?|matinv|nrm2|rotm?g?|scal|swap"
    r"|(gb|ge|hb|he|hp|sb|sp|sy|tb|tp|tr)(am|ls|m[mv]|qrf|r[cku]?|r2k?|rkx|s[mv]|tr[fis]|ttp|ttr))"
    r"(3m|Ex|(Grouped|Strided)?Batched|_v2|_64)*"
    r"|(A(sum|xpy)|Copy|Dot|Gemm|Iam|Nrm2|Rot|Scal|Swap)\w*Ex\w*|[GS]et(Matrix|Vector)\w*)"
)
"""Functions of linear algebra, behind the prefix. Names of a solution's own begin with it as well."""
_DECLARED_OF_CUBLASLT = re.findall(
    r"\b(?:cublasLt|CUBLASLT_)\w+", (Path(__file__).parent / "include/cublasLt.h").read_text("utf-8")
)

_HEADERS = {
    r"crt/mma": ("mma", None),
    r"cub/(?!cub\.|block/block_(exchange|load|merge_sort|radix_sort|reduce|scan|store)\."
    r"|device/device_(radix_sort|reduce|scan)\.|warp/warp_(merge|reduce|scan)|thread/thread_operators|util_type)": (
        _CUB,
        r"cub",
    ),
    r"thrust/": ("Thrust", r"thrust"),
    r"cutlass|cute/": ("CUTLASS", r"cutlass|cute"),
    r"cublasXt\.h": (_CUBLAS, r"(cu|CU)(blas|BLAS)(Xt|XT)\w*"),
    r"cublas\.h": (_CUBLAS, r"cublas(Init|Shutdown|Alloc|Free|GetError)"),
    r"cudnn": ("cuDNN", r"(cu|CU)(dnn|DNN)\w*"),
    r"cufft": ("cuFFT", r"(cu|CU)(fft|FFT)\w*"),
    r"curand": ("cuRAND", r"(cu|CU)(rand|RAND)\w*"),
    r"cusparse": ("cuSPARSE", r"(cu|CU)(sparse|SPARSE)\w*"),
    r"cusolver": ("cuSOLVER", r"(cu|CU)(solver|SOLVER)\w*"),
    r"nvrtc": ("NVRTC", r"(nv|NV)(rtc|RTC)\w*"),
    r"cuda_fp[64]\.": ("e8m0, 6-bit and smaller floats", r"__nv_(fp|cvt_)\w*"),
    r"cuda_awbarrier|cuda/(barrier|pipeline|ptx)": (
        "asynchronous barriers and pipelines",
        r"\w*(pipeline|barrier)\w*|nvcuda|cuda",
    ),
    r"cuda/(std|atomic|functional)": ("libcu++", r"cuda"),
    r"cudaTypedefs": ("the CUDA driver API", r"PFN_\w*|cu[A-Z]\w*"),
    r"ATen/cuda/CUDABlas": (_CUBLAS, r"CUDABlas\w*|blas"),
    r"ATen/cuda/CUDASparse": ("cuSPARSE", r"\w*(cu|CU)(sparse|SPARSE)\w*|\w*CUDASparse\w*|sparse"),
    r"ATen/cuda/CUDAGraph": ("CUDA graphs in C++", r"\w*CUDAGraph\w*|cudaGraph\w*"),
    r"ATen/native": ("ATen's own CUDA kernels", None),
}
"""The library of each header's name, and the names by which a source uses that; None if no name would tell."""

_INLINE_PTX = "inline PTX (asm)"

_NAMES = {
    "|".join(ASM): _INLINE_PTX,
    r"__wmma\w*|__mma\w*": "mma",
    r"(tex[123]D|surf[123]D)\w*": "textures and surfaces",
    r"cuda(Create|Destroy)TextureObject|cudaTextureObject_t": "textures and surfaces",
    rf"cublas(?!({_SIMULATED_OF_CUBLAS})(_v2)?$){_OF_CUBLAS}|cublasXt[A-Z]\w+": _CUBLAS,
    rf"(?!({'|'.join(_DECLARED_OF_CUBLASLT)})$)(cublasLt[A-Z]|CUBLASLT_)\w+": _CUBLAS,
    r"cudnn\w+": "cuDNN",
    r"curand\w*": "cuRAND",
    r"cufft\w+": "cuFFT",
    r"cusparse\w+|getCurrentCUDASparseHandle": "cuSPARSE",
    r"cusolver\w+|getCurrentCUDASolver\w*Handle": "cuSOLVER",
    r"nvrtc\w+": "NVRTC",
    r"CUDA_tensor_apply\d": "ATen's own CUDA kernels",
    r"cudaGraph\w*|CUDAGraph|cudaStreamBeginCapture": "CUDA graphs in C++",
    r"cudaLaunchCooperativeKernelMultiDevice": "barriers of several devices",
    r"__cp_async\w*|__pipeline_arrive_on": "asynchronous barriers and pipelines",
    r"cuTensorMap\w*|CUtensorMap": "TMA",
    r"cuModule\w+|cuCtx\w+|cuLaunch\w+": "the CUDA driver API",
    r"__cluster_dims__|__cluster\w+|cluster_group|this_cluster|__threadfence_cluster": "thread block clusters",
    r"this_multi_grid|multi_grid_group": "barriers of several devices",
    r"cudaFuncGetAttributes": "what only nvcc knows of a kernel (registers, local and shared memory)",
    r"cudaMemPrefetchAsync|cudaMemAdvise\w*": "hints for managed memory",
    r"cudaMemcpy3D\w*|cudaMalloc(3D)?Array|cudaMalloc3D|cudaMemcpy\w*Array\w*": "3-D copies and arrays",
    r"cudaIpc\w+|cudaImport\w+": "memory of other processes",
    r"__nv_fp[64]\w*|__nv_cvt\w*_fp[64]\w*": "e8m0, 6-bit and smaller floats",
    r"__nv_fp8_e8m0|__nv_cvt\w*e8m0\w*": "e8m0, 6-bit and smaller floats",
    r"__v(ia|ib|i)(dd)?(max|min)\w*": "DPX instructions",
    r"setmaxnreg|__grid_sync|cudaCGGetIntrinsicHandle": "intrinsics of cooperative groups",
}

# Their namespaces; a variable may well bear such a name.
_NAMESPACES = {
    "cub": _CUB,
    "thrust": "Thrust",
    "cutlass": "CUTLASS",
    "cute": "CUTLASS",
}

DYNAMIC_PARALLELISM = "dynamic parallelism"
"""Launches in code of the device; no name gives them away."""

_OF_LIBRARIES = {construct for construct, _ in _HEADERS.values()}

CONSTRUCTS = tuple(
    sorted({*_OF_LIBRARIES, *_NAMES.values(), *_NAMESPACES.values(), DYNAMIC_PARALLELISM}, key=str.casefold)
)
"""All constructs, for the documentation."""

_FINE_IN_CPP = (_INLINE_PTX, "ATen's own CUDA kernels")

_HEADER_PATTERN = {re.compile(pattern): construct for pattern, (construct, _) in _HEADERS.items()}
_NAME_PATTERN = {re.compile(pattern): construct for pattern, construct in _NAMES.items()}
_WORD = re.compile(
    r"""//[^\n]* | /\*.*?(?:\*/|\Z) | "(?:\\.|[^"\\\n])*"? | '(?:\\.|[^'\\\n])'
    | \#[ ]{0,8}include[ ]{0,8}[<"](?P<header>[^>"\n]*)
    | (?:\.|->)\w+ | (?P<name>[A-Za-z_]\w*)(?P<colons>::)? | \d\w*""",
    re.VERBOSE | re.DOTALL,
)

UNSUPPORTED_MARK = "harness-sim-unsupported:"
"""Begins a line of the stand-in compilers, and the words of an exception, that name what can't be simulated."""
UNSUPPORTED_EXIT = 3


class Unsupported(Exception):
    """The source uses something that the simulator can't run. That is no verdict on the solution."""

    def __init__(self, construct: str, line: int, file: str | None = None) -> None:
        """Take `file`, the name of the header that it stands in, None for the source itself."""
        super().__init__(f"{construct} at line {line}" + (f" of {file}" if file else ""))
        self.construct = construct
        self.line = line
        self.file = file


def with_refusals(tokens: list[Token], file: str | None) -> list[Token]:
    """Raise Unsupported for the first construct of the tables above that is surely compiled. In macros and behind
    conditionals only the preprocessor knows: there it gets a pragma that is an error where it is reached."""
    found = _constructs(tokens)
    written = list(tokens)
    for index in sorted(set(found) & _uncertain(tokens)):
        refusal = re.sub(r'[\\\s"]+', " ", str(_refusal(tokens, index, found.pop(index), file)))
        error = f'GCC error "{UNSUPPORTED_MARK} {refusal}"'
        is_include = tokens[index].kind == "directive"
        quoted = error.replace('"', '\\"')
        written[index] = replace(tokens[index], text=f"#pragma {error}" if is_include else f'_Pragma("{quoted}")')
    _refuse(tokens, found, file)
    return written


def refuse_unsupported(tokens: list[Token], cpp_file: str) -> None:
    """Raise Unsupported for the first construct in the host's C++. Assembly and torch's own kernels for the CPU are
    nothing special there."""
    found = {index: construct for index, construct in _constructs(tokens).items() if construct not in _FINE_IN_CPP}
    _refuse(tokens, found, cpp_file)


def _constructs(tokens: list[Token]) -> dict[int, str]:
    return {index: construct for index in range(len(tokens)) if (construct := _construct(tokens, index))}


def _refuse(tokens: list[Token], found: dict[int, str], file: str | None) -> None:
    for index in sorted(found, key=lambda one: tokens[one].kind == "directive"):  # where it is used, if it is
        raise _refusal(tokens, index, found[index], file)


def _refusal(tokens: list[Token], index: int, construct: str, file: str | None) -> Unsupported:
    which = unknown_instruction(tokens, index) if tokens[index].text in ASM else ""
    return Unsupported(f"{construct}, {which}" if which else construct, tokens[index].line, file)


def _uncertain(tokens: list[Token]) -> set[int]:
    """Find the tokens in macros and between conditionals."""
    found: set[int] = set()
    depth, is_macro = 0, False
    for index, token in enumerate(tokens):
        conditional = _CONDITIONAL.match(token.text) if token.kind == "directive" else None
        if conditional:
            depth += conditional["word"].startswith("if") - (conditional["word"] == "endif")
        if token.kind in ("directive", "newline"):
            is_macro = token.text.endswith("define")
        if depth > 0 or is_macro:
            found.add(index)
    return found


def library_of(header: str) -> str | None:
    """Return the library that a header belongs to, by its name."""
    return next((library for pattern, library in _HEADER_PATTERN.items() if pattern.search(header)), None)


def _construct_named(name: str) -> str | None:
    return next((construct for pattern, construct in _NAME_PATTERN.items() if pattern.fullmatch(name)), None)


def constructs_in(text: str) -> set[str]:
    """Find what a text of CUDA uses of the tables, in one pass whatever it holds: enough to know whether the simulator
    may have refused it."""
    words = list(_WORD.finditer(text))
    names = {word["name"] for word in words if word["name"]}
    found = {
        _NAMESPACES[word["name"]]
        for before, word, after in zip([None, *words], words, [*words[1:], None], strict=False)
        if word["name"] in _NAMESPACES
        and (word["colons"] or (before and before["name"] == "namespace"))
        and not (word["name"] == "cub" and after and _SIMULATED_OF_CUB.fullmatch(after["name"] or ""))
    }
    found |= {construct for name in names if (construct := _construct_named(name))}
    if not names.isdisjoint(ASM) and is_simulated(tokenize(text)):
        found.discard(_INLINE_PTX)
    for header in {word["header"] for word in words if word["header"]}:
        construct = library_of(header)
        if construct and is_used(header, names):
            found.add(construct)
    return found


def is_used(header: str, names: set[str]) -> bool:
    """Say whether a source with these names uses a library's header, rather than only include it."""
    of_library = [used for pattern, (_, used) in _HEADERS.items() if re.match(pattern, header)]
    return not of_library or any(used is None or any(re.fullmatch(used, name) for name in names) for used in of_library)


def _construct(tokens: list[Token], index: int) -> str | None:
    token = tokens[index]
    if token.kind == "directive" and re.match(r"#\s*include\b", token.text):
        return library_of(token.text)
    if token.kind != "name" or _is_member(tokens, index):
        return None
    if token.text in _NAMESPACES:
        is_refused = _names_namespace(tokens, index) and not _is_simulated_of_cub(tokens, index)
        return _NAMESPACES[token.text] if is_refused else None
    return _construct_named(token.text)


def _is_member(tokens: list[Token], index: int) -> bool:
    before = previous_visible(tokens, index)
    return before is not None and tokens[before].text in (".", "->")


def _names_namespace(tokens: list[Token], index: int) -> bool:
    before, after = previous_visible(tokens, index), next_visible(tokens, index)
    is_used = before is not None and tokens[before].text == "namespace"
    return is_used or (after is not None and tokens[after].text == "::")


def _is_simulated_of_cub(tokens: list[Token], index: int) -> bool:
    colons = next_visible(tokens, index)
    name = None if colons is None else next_visible(tokens, colons)
    return tokens[index].text == "cub" and name is not None and bool(_SIMULATED_OF_CUB.fullmatch(tokens[name].text))


# ---- What nobody compiles or uses: code behind `#if 0`, headers of libraries of which no name is used.


_CONDITIONAL = re.compile(r"#\s*(?P<word>ifdef|ifndef|if|elif|else|endif)\b\s*(?P<condition>.*)", re.DOTALL)
_NEVER = re.compile(r"(0|false)\s*(//.*|/\*.*)?", re.DOTALL)
_INCLUDE = re.compile(r"#\s*include\s*<(?P<header>[^>]+)>")
"""Matches headers of libraries: what stands in quotes may be the solution's own, whatever its name."""


def without_unused(tokens: Sequence[Token]) -> list[Token]:
    """Empty what nobody compiles or uses; lines stay where they are."""
    living = without_dead(tokens)
    names = {token.text for token in living if token.kind == "name"}
    return [_emptied(token) if _is_unused(token, names) else token for token in living]


def without_dead(tokens: Sequence[Token]) -> list[Token]:
    """Empty what no compiler reads; lines stay where they are."""
    living: list[Token] = []
    dead: list[bool] = []
    """True for each open conditional whose present branch is never compiled."""
    for token in tokens:
        conditional = _CONDITIONAL.match(token.text) if token.kind == "directive" else None
        if conditional is None:
            living.append(_emptied(token) if any(dead) else token)
            continue
        word = conditional["word"]
        if word in ("if", "ifdef", "ifndef"):
            dead.append(word == "if" and _NEVER.fullmatch(conditional["condition"]) is not None)
        elif word == "endif":
            del dead[-1:]
        elif dead:
            dead[-1] = word == "elif" and _NEVER.fullmatch(conditional["condition"]) is not None
        living.append(token)
    return living


def _is_unused(token: Token, names: set[str]) -> bool:
    include = _INCLUDE.match(token.text) if token.kind == "directive" else None
    return include is not None and not is_used(include["header"], names)


def _emptied(token: Token) -> Token:
    return replace(token, kind="space", text="\n" * token.text.count("\n"))
