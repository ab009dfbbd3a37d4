"""A solution's fault, as an exception inside the referee and as a verdict outside, with the next step for its author.

Known causes come first, then the verdict's own advice.
"""

from __future__ import annotations

import dataclasses
import difflib
import operator
import re

from harness.errors import MachineError
from harness.model.check import CheckName, Evidence
from harness.model.evaluation import Failure
from harness.model.verdict import Verdict
from harness.sandbox.wire.messages import Raised

_REASON_CHARS = 1_000
_DETAILS_CHARS = 20_000
"""A record keeps no more of what a worker may send at any length."""


class SolutionFailed(Exception):
    """An exception that ends an evaluation with a verdict."""

    def __init__(self, verdict: Verdict, reason: str, details: str | None = None, next_step: str | None = None) -> None:
        super().__init__(reason)
        self.verdict = verdict
        advice = next_step or advice_for(verdict, f"{reason}\n{details or ''}")
        self.failure = Failure(reason[:_REASON_CHARS], advice, details=details[:_DETAILS_CHARS] if details else None)

    @classmethod
    def cheating(cls, check: CheckName, observed: str, details: str | None = None, **numbers: float) -> SolutionFailed:
        """Make the verdict with its evidence: `numbers` have their units in their names."""
        failed = cls(Verdict.CHEATING, observed, details)
        evidence = Evidence(check, failed.failure.reason, numbers)
        failed.failure = dataclasses.replace(failed.failure, evidence=(evidence,))
        return failed


class WorkerKilled(MachineError):
    """An end by a signal that others may have sent. `failed` is the verdict where that happens again; None where the
    machine is seen to be at fault."""

    def __init__(self, what: str, failed: SolutionFailed | None) -> None:
        super().__init__(what)
        self.failed = failed


class TooMuchWork(SolutionFailed):
    """Work that is more than the simulator can do in the time of a turn: neither right nor wrong."""


_DEVICE_FAULTS = (
    (r"illegal memory access|misaligned address|invalid address space|stack overflow", Verdict.MEMORY_ERROR),
    (r"out of memory", Verdict.OUT_OF_MEMORY),
)
_OUT_OF_MEMORY_TYPES = {"OutOfMemoryError", "MemoryError"}


def from_exception(raised: Raised, stage: str, otherwise: Verdict) -> SolutionFailed:
    """The verdict on an exception that the solution raised while it did `stage`."""
    verdict = otherwise
    if raised.type_name in _OUT_OF_MEMORY_TYPES:
        verdict = Verdict.OUT_OF_MEMORY
    else:
        for pattern, fault in _DEVICE_FAULTS:
            if re.search(pattern, raised.message, re.IGNORECASE):
                verdict = fault
                break
    first_line = next((line for line in raised.message.splitlines() if line.strip()), "(no message)")
    return SolutionFailed(verdict, f"{raised.type_name} {stage}: {first_line}", raised.traceback)


_KNOWN_CAUSES = (
    (
        r"(?s)load_inline\(\) missing .*cpp_sources",
        "pass C++ declarations of the host functions as cpp_sources and name these functions in 'functions'; "
        "a __global__ kernel can't be bound, it needs a host function that launches it",
    ),
    (
        r"main\.cpp.*cuda_runtime\.h: No such file|main\.cpp.*__global__|main\.cpp.*threadIdx",
        "CUDA code was passed as cpp_sources, which the C++ compiler gets: pass it as cuda_sources and leave the "
        "declarations of the bound functions in cpp_sources",
    ),
    (
        r"(?s)DeprecatedTypeProperties|AT_DISPATCH\w*.*\.type\(\)",
        "AT_DISPATCH_… takes a ScalarType: write x.scalar_type() instead of x.type()",
    ),
    (
        r"main\.cpp.*was not declared in this scope",
        "declare every bound function in cpp_sources, with the signature that cuda_sources defines",
    ),
    (
        r"calling a __host__ function",
        "mark the function __device__, or __host__ __device__ if the host calls it too; a constexpr one needs neither",
    ),
    (
        r"(?i)extended.lambda|lambda without __device__",
        "write [=] __device__ (…) and build with extra_cuda_cflags=['--extended-lambda'], or pass a functor whose "
        "operator() is __device__",
    ),
    (r'identifier "?\w+"? is undefined|was not declared in this scope', "declare the name, or pass it to the function"),
    (
        r"(?s)dynamic shared memory .* above the limit|invalid argument[^\n]*shared",
        "above 48 KiB a kernel must opt in: cudaFuncSetAttribute(kernel, "
        "cudaFuncAttributeMaxDynamicSharedMemorySize, bytes); and check cudaGetLastError() after the launch",
    ),
    (
        r"illegal.(memory|address)|illegal-address",
        "check index arithmetic: at large shapes a 32-bit index overflows at 2^31 elements, so compute offsets in "
        "int64_t; 'compute-sanitizer python …' names the access",
    ),
    (
        r"(?s)PermissionError.*(Errno 1\b|Operation not permitted)",
        "workers may not do that: 'harness doctor' lists what confines them, SECURITY.md what they are kept from",
    ),
    (
        r"(?s)(PermissionError|Read-only file system).*(Errno 13|Errno 30)",
        "a worker may add files beside solution.py, in the current directory and by tempfile, and nowhere else",
    ),
    (
        r"(?s)FileNotFoundError.*Errno 2|\[Errno 2\] No such file",
        "the current directory is a scratch folder: name files of the solution by Path(__file__).parent / …",
    ),
    (
        r"getpwuid\(\): uid not found",
        "a worker's user has no entry in the user database: take getpass.getuser(), or do without",
    ),
    (
        r"outside the tolerance; first at \[[0-9, ]{0,80}\]: got -?nan, want (?!-?nan)",
        "NaN also stands where nothing was written, since outputs are filled with it before each call: look for "
        "elements that no thread writes, then for 0/0, inf - inf and reads of memory that nothing wrote",
    ),
    (
        r"\((?:9\d\.\d\d|100\.00)%\) (?:is|are) outside the tolerance(?![^\n]*(?:got -?nan|explain))",
        "nearly every value is off: look for a term or an input that is left out, another layout, another order",
    ),
    (
        r"\A[^\n]*(?:Cannot call @triton\.jit'd|'(?:Autotuner|Heuristics)' object is not callable)",
        "launch the kernel on a grid: kernel[(programs,)](…)",
    ),
    (
        r"\A(?:Attribute|Index|Key|Name|Type|Value)Error in forward\(\): (?!ModelNew)",
        "mend the exception: the traceback names the line",
    ),
    (
        r"operands rounded to \w+ explain it",
        "multiply in the reference's precision (strict float32: no tensor cores, input_precision='ieee' in tl.dot); "
        "'precision' in problem.yaml allows a cheaper one",
    ),
    (
        r"sums in \w+ explain it",
        "keep sums in the reference's precision, and round to the output's once, at the end",
    ),
    (
        r"tanh in place of erf in a GELU explains it",
        "use erff() or tl.erf(), or declare nn.GELU(approximate='tanh') in the reference",
    ),
    (
        r"expected a \";\"|expected ['‘].{1,20}['’] before",
        "a statement before the line named may lack its semicolon or bracket",
    ),
    (
        r"module 'triton\.language(\.math)?' has no attribute '(tanh|pow|tan|sinh|cosh|atan|isnan|round)'",
        "tl has no such function: write 'from triton.language.extra import libdevice', and call it as libdevice.…()",
    ),
    (
        r"must be of type tl\.constexpr|arange's range must be a power of 2",
        "declare sizes of blocks as tl.constexpr and pass triton.next_power_of_2(n); mask what lies beyond n",
    ),
    (
        r"OutOfResources .*shared memory",
        "a program needs more shared memory than an SM has: make blocks smaller, or num_stages fewer",
    ),
    (
        r"Triton Error \[CUDA\]: invalid argument",
        "a grid's second and third dimension end at 65,535: fold what exceeds that into the first",
    ),
    (
        r"ModuleNotFoundError.*No module named",
        "install the package for the Python that judges (pip install …), or do without it",
    ),
    (
        r"line 1\n\s+```",
        "leave out the Markdown fences (```): the text of solution.py is Python alone",
    ),
    (
        r"line 1(?:, in <module>)?\n\s+\S+\.py\n",
        "a text is a solution's source: give a file as a Path, pathlib.Path('….py')",
    ),
    (
        r"defines no class 'ModelNew'",
        "name the module's class ModelNew",
    ),
    (
        r"ModelNew\.forward\(\) (missing|takes) ",
        "give forward() the reference's parameters: it gets what get_inputs() returns",
    ),
    (
        r"ModelNew\.__init__\(\) (missing|takes) ",
        "give __init__() the reference's parameters: it gets what get_init_inputs() returns",
    ),
)

_NO_MODULE = re.compile(r"ModuleNotFoundError.*No module named '(\w+)'")
_USUAL_MODULES = ("numpy", "torch", "triton")

_BY_VERDICT = {
    Verdict.COMPILE_ERROR: "mend the first of the compiler's errors above; the others may follow from it",
    Verdict.LOAD_ERROR: "mend the exception: importing solution.py and ModelNew(*init_inputs) must work",
    Verdict.RUNTIME_ERROR: "mend the exception; where a launch failed, check cudaGetLastError() right after it",
    Verdict.MEMORY_ERROR: "check every index against its bounds; run compute-sanitizer",
    Verdict.OUT_OF_MEMORY: "allocate less, or reuse a workspace between calls",
    Verdict.TIMEOUT: "look for an endless loop, a barrier that some threads never reach or, on the simulator, a block "
    "that waits for a later one; limits (build_s, load_s, turn_s) are in the config",
    Verdict.CRASHED: "look at the end of its output ('harness show last' has it): the process ended without an answer",
    Verdict.WRONG_OUTPUT_TYPE: "return what the reference's forward() returns",
    Verdict.WRONG_SHAPE: "check the formula of the output's size against the reference's",
    Verdict.WRONG_DTYPE: "return the dtype that the reference returns",
    Verdict.WRONG_VALUES: "compare at the positions listed; at borders look for halo and remainder handling",
    Verdict.NONDETERMINISTIC: "look for races: a missing barrier, or a read of memory that nothing wrote",
    Verdict.CHEATING: "'harness explain CHECK' tells what was observed and how an honest solution avoids it; a false "
    "alarm is our bug: report it with the record",
    Verdict.NO_CUSTOM_KERNEL: "move the computation into a kernel of your own; 'harness show' lists whose kernels ran",
    Verdict.UNSUPPORTED: "run it on a GPU (--backend cuda); the simulator can't judge it",
    Verdict.INVALID_PROBLEM: "mend the problem's files: no solution can be judged before",
    Verdict.HARNESS_ERROR: "evaluate it again; if it stays so and 'harness doctor' finds the machine sound, "
    "report this with the record",
}


# Where the gap is the simulator's, or the mistake another's, a compiler's message is no advice to the author.
_CAUSES_WITHOUT_BLAME = {
    Verdict.UNSUPPORTED: (
        (
            r"\A[^\n]*: No such file or directory",
            "mend the name, or put the header beside solution.py; a library's needs a machine that has the library",
        ),
    ),
    Verdict.INVALID_PROBLEM: (),
    Verdict.HARNESS_ERROR: (
        (
            r"No space left on device|Disk quota exceeded|File too large",
            "free space, or set TMPDIR, where workers have their folders, and HARNESS_CACHE, where builds are kept",
        ),
    ),
}


def advice_for(verdict: Verdict, text: str) -> str:
    """One sentence, from the failure's text where its cause is known: the first that it tells of, since a compiler's
    later errors may follow from it."""
    known = _CAUSES_WITHOUT_BLAME.get(verdict, _KNOWN_CAUSES)
    absent = _NO_MODULE.search(text)
    near = difflib.get_close_matches(absent[1], _USUAL_MODULES, n=1, cutoff=0.75) if absent else []
    if absent and near and not absent[1].startswith(near[0]):  # torchao, numpyro
        return f"mend the name '{absent[1]}': did you mean '{near[0]}'?"
    found = [(match.start(), advice) for pattern, advice in known if (match := re.search(pattern, text))]
    if found:
        return min(found, key=operator.itemgetter(0))[1]
    return _BY_VERDICT.get(verdict, "see the record")
