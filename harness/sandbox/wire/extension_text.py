"""A call of load_inline() as a text: all that decides how its build comes out, but for the machine.

Only calls whose build reads nothing but this text and the machine's own headers have one. Their flags are of a list: a
flag that isn't on it could name a program to run (-ccbin, -fplugin, -wrapper) or a file to read (@file, -I, -L), and
torch puts flags into a shell's command line as they are.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

_MOST_CHARS = 2**20
"""The most characters of a text: an eighth of what a message may have."""
_NAME = re.compile(r"[A-Za-z_]\w{0,99}", re.ASCII)
_FUNCTION = re.compile(r"[A-Za-z_]\w*(::[A-Za-z_]\w*)*", re.ASCII)

_FOR_ALL = (
    r" *|-O[0-3s]?|-Ofast|-g|-w|-std=(c|gnu)\+\+\d[\da-z]|-D[A-Za-z_]\w*(=[\w.+-]*)?|-U[A-Za-z_]\w*|-W[\w+=-]*"
    r"|-l[\w.+-]+"
)
_CXX = (
    rf"{_FOR_ALL}|-m(arch|tune|cpu)=[\w.+-]+|-m(avx|sse|fma|bmi|popcnt|f16c)[\w.]*|-pthread|-fopenmp|-fPIC|-fpermissive"
    r"|-f(no-)?(fast-math|unroll-loops|strict-aliasing|math-errno|trapping-math|finite-math-only|inline-functions"
    r"|omit-frame-pointer|tree-vectorize|associative-math|signed-zeros)|-ffp-contract=\w+|-fvisibility=\w+"
)
_PTXAS = (
    r"-v|-O[0-4]|-dlcm=\w+|-dscm=\w+|--?warn-[\w-]+|--?allow-expensive-optimizations=\w+|--?verbose|--?opt-level=\d"
)
_ARCHITECTURE = r"(sm|compute|lto)_\d{2,3}[af]?"
_CUDA = (
    rf"{_FOR_ALL}|--?use_fast_math|--?expt-relaxed-constexpr|--?expt-extended-lambda|--?extended-lambda|--std=c\+\+\d\d"
    r"|--?lineinfo|-G|--?restrict|--?(fmad|ftz|prec-div|prec-sqrt)=(true|false)|--?maxrregcount=\d+|--?m64"
    r"|--?(source-in-ptx|extra-device-vectorization|default-stream=[\w-]+|diag-suppress=[\d,]+)|--optimize=[0-3]"
    r"|--offload-arch=gfx[\da-f]+(:[\w+-]+)*"
    rf"|(-arch|--gpu-architecture)=({_ARCHITECTURE}|native)"
    rf"|(-gencode|--generate-code)=arch={_ARCHITECTURE},code=(\[?{_ARCHITECTURE}(,{_ARCHITECTURE})*\]?)"
    rf"|(-Xptxas|--ptxas-options)=({_PTXAS})(,({_PTXAS}))*|(-Xcompiler|--compiler-options)=({_CXX})(,({_CXX}))*"
)
_ALLOWED = {"cflags": _CXX, "cuda_cflags": _CUDA, "ldflags": r" *|-l[\w.+-]+"}
_PATTERNS = {name: re.compile(pattern, re.ASCII) for name, pattern in _ALLOWED.items()}
_TAKES_NEXT = {
    *("-Xptxas", "--ptxas-options", "-Xcompiler", "--compiler-options", "-gencode", "--generate-code", "-arch"),
    *("--gpu-architecture", "-maxrregcount", "--maxrregcount", "-std", "--std", "-diag-suppress", "--diag-suppress"),
}
_INCLUDES = re.compile(r"(?:#|%:)[^\n]*?\b(?:include|include_next|import|embed)\b(?P<what>[^\n]*)")
_OF_THE_MACHINE = re.compile(r'\s*(?:<(?P<angled>[\w./+-]+)>|"(?P<quoted>[\w./+-]+)")')
_READS_FILES = re.compile(
    r"__has_(include|embed)|pch_preprocess|(#|%:)[ \t]*/\*"
    r"|\?\?[=/]"  # trigraphs, which older standards know: a # and a backslash
)
_REACHES_ASSEMBLER = re.compile(r"(?i)asm|__attribute|annotate__|__location__|\bgnu\b|__redirect|##|%:%:")
"""A pattern of what hands a string to the assembler, which has an .incbin, or can make up such a word: `as##m`."""
_SPLICE = re.compile(r"\\[ \t\r\f\v\0]*\n")
"""A pattern of joined lines: g++ joins them across all of these spaces."""

_IGNORED = {"verbose", "build_directory", "keep_intermediates", "use_pch"}
_USUAL = {
    **dict.fromkeys(("sycl_sources", "extra_sycl_cflags", "extra_include_paths", "with_sycl"), None),
    "is_python_module": True,
}


@dataclass(frozen=True)
class ExtensionText:
    """Arguments of load_inline(). `is_full`: with torch's full headers, since an import showed that slim ones don't do.

    Raises: ValueError where what it builds is no matter of this and the machine alone.
    """

    name: str
    cpp_sources: tuple[str, ...]
    cuda_sources: tuple[str, ...] = ()
    functions: dict[str, str] | None = None
    cflags: tuple[str, ...] = ()
    cuda_cflags: tuple[str, ...] = ()
    ldflags: tuple[str, ...] = ()
    with_cuda: bool | None = None
    with_pytorch_error_handling: bool = True
    no_implicit_headers: bool = False
    is_full: bool = False

    def __post_init__(self) -> None:
        functions = self.functions or {}
        if not _NAME.fullmatch(self.name) or not all(_FUNCTION.fullmatch(name) for name in functions):
            raise ValueError("a name that is no identifier could be more than a name in a command")
        if not all(doc.isprintable() and not set(doc) & set('"\\') for doc in functions.values()):
            raise ValueError("torch puts a function's documentation into C++ as it is")
        for kind, pattern in _PATTERNS.items():
            if not all(pattern.fullmatch(flag) for flag in _in_one_word(getattr(self, kind))):
                raise ValueError(f"a flag among {kind} that isn't on the list")
        if not all(_reads_the_machine_alone(source) for source in (*self.cpp_sources, *self.cuda_sources)):
            raise ValueError("its sources include files that may not be the machine's")
        if sum(map(len, (*self.cpp_sources, *self.cuda_sources, *functions.values()))) > _MOST_CHARS:
            raise ValueError(f"more than {_MOST_CHARS} characters")

    @property
    def is_shared(self) -> bool:
        """True where all who send it may have the same library. A string that reaches the assembler can name a file in
        ways without end (escapes, macros, the assembler's own), so anyone who has one gets a library of their own."""
        written = (*self.cpp_sources, *self.cuda_sources, *self.cflags, *self.cuda_cflags)
        return not any(_REACHES_ASSEMBLER.search(_SPLICE.sub("", text)) for text in written)

    def key(self, compilers: str) -> str:
        """Return 32 hexadecimal digits by which its build is known; `compilers` stands for all of the machine that
        decides."""
        text = json.dumps([compilers, asdict(self)], sort_keys=True)
        return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:32]

    def arguments(self) -> dict[str, Any]:
        """Return fresh arguments for load_inline(), which changes the lists that it gets."""
        return {
            "name": self.name,
            "cpp_sources": list(self.cpp_sources),
            "cuda_sources": list(self.cuda_sources) or None,
            "functions": self.functions,
            "extra_cflags": list(self.cflags) or None,
            "extra_cuda_cflags": list(self.cuda_cflags) or None,
            "extra_ldflags": list(self.ldflags) or None,
            "with_cuda": self.with_cuda,
            "with_pytorch_error_handling": self.with_pytorch_error_handling,
            **({"no_implicit_headers": True} if self.no_implicit_headers else {}),
        }


def text_of(arguments: Mapping[str, Any], architectures: str | None = None) -> ExtensionText | None:
    """Make the text of a call's arguments; None where it has none, such as with files, or with flags that aren't on the
    list. `architectures`: a TORCH_CUDA_ARCH_LIST of the solution's own, which counts as torch has it: where no flag
    names an architecture."""
    rest = {name: value for name, value in arguments.items() if name not in _IGNORED}
    if any(name in rest and rest.pop(name) not in (usual, []) for name, usual in _USUAL.items()):
        return None
    functions = rest.pop("functions", None)
    try:
        return ExtensionText(
            name=_text(rest.pop("name")),
            cpp_sources=_texts(rest.pop("cpp_sources")),
            cuda_sources=_texts(rest.pop("cuda_sources", None) or ()),
            functions=None if functions is None else _with_docs(functions),
            cflags=_texts(rest.pop("extra_cflags", None) or ()),
            cuda_cflags=_for(architectures, _texts(rest.pop("extra_cuda_cflags", None) or ())),
            ldflags=_texts(rest.pop("extra_ldflags", None) or ()),
            **{name: _choice(value, name) for name, value in rest.items()},  # type: ignore[arg-type]
        )
    except (KeyError, TypeError, ValueError):
        return None


def _for(architectures: str | None, flags: tuple[str, ...]) -> tuple[str, ...]:
    """The flags with those that torch makes of a list such as '8.0;9.0a'. Raises: ValueError for a list of names."""
    if architectures is None or any("arch" in flag for flag in flags):
        return flags
    numbers = [one.replace(".", "") for one in re.split(r"[ ;]+", architectures.strip())]
    if not all(re.fullmatch(r"\d{2,3}[af]?", number) for number in numbers):
        raise ValueError(f"architectures by other names than numbers: {architectures!r}")
    return (*flags, *(f"-gencode=arch=compute_{number},code=sm_{number}" for number in numbers))


def _reads_the_machine_alone(source: str) -> bool:
    """Say whether every include is spelt plainly and names a header of the machine's."""
    source = _SPLICE.sub("", source)
    if _READS_FILES.search(source):
        return False
    for include in _INCLUDES.finditer(source):
        named = _OF_THE_MACHINE.match(include["what"])
        path = named and (named["angled"] or named["quoted"])
        if not path or path.startswith("/") or ".." in path:
            return False
    return True


def _in_one_word(flags: Sequence[str]) -> Iterator[str]:
    """Yield the flags, those that take the next word for their value joined with it."""
    rest = iter(flags)
    for flag in rest:
        yield f"{flag}={next(rest, '')}" if flag in _TAKES_NEXT else flag


def _with_docs(functions: object) -> dict[str, str]:
    if isinstance(functions, Mapping):
        return {_text(name): _text(doc) for name, doc in functions.items()}
    return {name: name for name in _texts(functions)}


def _texts(value: object) -> tuple[str, ...]:
    if isinstance(value, str):
        return (value,)
    if not isinstance(value, Iterable):
        raise TypeError("neither a text nor several")
    return tuple(_text(one) for one in value)


def _text(value: object) -> str:
    if type(value) is not str:
        raise TypeError("no text")
    return value


def _choice(value: object, name: str) -> bool | None:
    if not (isinstance(value, bool) or (value is None and name == "with_cuda")):
        raise TypeError("no choice")
    return value
