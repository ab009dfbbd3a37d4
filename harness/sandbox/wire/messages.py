"""The requests of the referee and the replies of a worker.

Every request carries a fresh nonce; a reply is accepted only with the nonce of the request it answers.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from harness.sandbox.wire.device import Account, BufferHandle, Conditions, Finding, KernelRun, SeenGpu
from harness.sandbox.wire.extension_text import ExtensionText

Flag = bool | str
"""The setting of a global switch of torch's."""

_MOST_FLAGS = 64
MOST_TUNED, TUNED_CHARS = 8, 300
_FLAG_WORD = re.compile(r"[A-Za-z0-9_]{1,60}")
_MOST_GRAPHS = 2**31


class Request:
    """A question of the referee's."""


class Reply:
    """An answer of a worker's."""


@dataclass(frozen=True)
class TensorRef:
    """A tensor inside an attached buffer, from byte `offset` on. Strides in elements."""

    buffer: int
    dtype: str
    shape: tuple[int, ...]
    stride: tuple[int, ...]
    offset: int = 0


@dataclass(frozen=True)
class Argument:
    """One positional input: a shared tensor, or a plain value (wire.codec)."""

    tensor: TensorRef | None = None
    value: Any = None


@dataclass(frozen=True)
class WarmUp(Request):
    """Pay now what the first use of the device costs. The first request, before any code of a solution: its answer says
    that the worker stands."""


@dataclass(frozen=True)
class TryTrace(Request):
    """Say whether a turn can be traced here. Before any code of a solution: afterwards the answer would be its word."""


@dataclass(frozen=True)
class Load(Request):
    """Import a file and keep its class `class_name`; extensions are built or found in the cache."""

    path: str
    class_name: str
    flags: dict[str, Flag]
    """torch's global switches, set before the file is imported."""
    compilers: str | None = None
    """Part of the keys of texts that the referee has built: a text that it hasn't is reported, not built, unless
    `builds_others`. None means that the worker builds all extensions."""
    seen_gpu: SeenGpu | None = None
    """The facts that the solution is told of a GPU that this worker doesn't hold."""
    builds_others: bool = False
    is_rehearsed: bool = False
    """Triton compiles kernels for the GPU that is seen, and launches none."""


@dataclass(frozen=True)
class TraceTried(Reply):
    can_trace: bool


@dataclass(frozen=True)
class Attach(Request):
    """Open a shared buffer under a number. Its descriptor, if it has one, comes with the frame."""

    buffer: int
    handle: BufferHandle


@dataclass(frozen=True)
class Detach(Request):
    """Forget buffers."""

    buffers: tuple[int, ...]


@dataclass(frozen=True)
class Optimization:
    """The optimization of a model as a whole before its turns, for baselines.

    `compile_mode`: torch.compile()'s. `channels_last`: model and inputs in that layout, converted outside of what is
    timed. `dtype`: of parameters and buffers throughout; inputs are converted to it and outputs back within what is
    timed, as a solution of that precision has to.
    """

    compile_mode: str | None = None
    channels_last: bool = False
    dtype: str | None = None


@dataclass(frozen=True)
class Step:
    """A training step: the last inputs of a call are `cotangents`, the gradients of a loss by the outputs. It returns
    the gradients of the other inputs and of `parameters`, named with their dtypes, too. forward() returns what has this
    `structure`, see unpack()."""

    parameters: dict[str, str]
    cotangents: int
    structure: str


@dataclass(frozen=True)
class Construct(Request):
    """Make the model under a seed, load the state whose names and shapes match, then optimize it if asked.

    `varies`: layers that it makes start with varied parameters, see construction. `batch_statistics`: its
    normalisations take the batch's statistics. `step`: its calls are training steps. `forms`: how its inputs are made
    of those of a call, see input_form; None where they are the same.
    """

    init_inputs: Any
    seed: int
    state: dict[str, TensorRef] = field(default_factory=dict)
    optimization: Optimization | None = None
    varies: bool = False
    batch_statistics: bool = False
    step: Step | None = None
    forms: Any = None


@dataclass(frozen=True)
class Rehearse(Request):
    """Call the model once with tensors without values, of the forms of these, so that Triton compiles what forward()
    launches. The file was loaded to be rehearsed. `forms` is Construct's."""

    inputs: tuple[Argument, ...]
    forms: Any = None


@dataclass(frozen=True)
class Call:
    """One call of a turn: its arguments, and the buffers into which what it returns is copied. No other call of the
    turn shares any of them."""

    inputs: tuple[Argument, ...]
    outputs: tuple[TensorRef, ...]


@dataclass(frozen=True)
class TakeTurn(Request):
    """Call the model once for each of `calls`, in their order.

    `keeps_outputs`: keep the outputs of a call alive until those of the next have been stored, so that a buffer that is
    returned twice is known by its address. `traced`: report every kernel and copy that the device runs meanwhile.
    `sample_blocks`, `sample_seed` and `work_s`, how long launches may take together, are the simulator's. Where all
    blocks run, any seed but 0 has the threads of each begin with the last one.
    """

    calls: tuple[Call, ...]
    conditions: Conditions = field(default_factory=Conditions)
    keeps_outputs: bool = False
    traced: bool = False
    sample_blocks: int | None = None
    sample_seed: int = 0
    work_s: float | None = None


@dataclass(frozen=True)
class GiveBack(Request):
    """Give back to the device what the allocator keeps for later: memory is short, and others need it now."""


@dataclass(frozen=True)
class Describe(Request):
    """Say what has become of torch in this process since before the file was loaded."""


@dataclass(frozen=True)
class NvccCall:
    """A call of nvcc by the build of an extension: its arguments, and the text of the file that it was to compile."""

    arguments: tuple[str, ...]
    source: str
    text: str

    def __post_init__(self) -> None:
        if not self.source or "\0" in "".join((self.source, *self.arguments)):
            raise ValueError("a call of nvcc names its source, and no word of a command has a NUL in it")


@dataclass(frozen=True)
class NvccRun:
    """The result of one call for one architecture. `refuses_command`: nvcc refuses it as the build gave it, whatever is
    in the file."""

    architecture: str
    exit_code: int
    seconds: float
    output: str
    refuses_command: bool = False
    constants: dict[str, int] = field(default_factory=dict)
    """Bytes of constant memory by the symbol of a kernel."""


@dataclass(frozen=True)
class CompileForGpu(Request):
    """Have the nvcc at a path compile `calls`, in a worker that runs nothing of the solution's. `architectures` are for
    calls that name none but the simulator's own."""

    nvcc: str
    calls: tuple[NvccCall, ...]
    architectures: tuple[str, ...]


@dataclass(frozen=True)
class CompiledForGpu(Reply):
    """The runs of nvcc, up to the first that fails."""

    runs: tuple[NvccRun, ...]


@dataclass(frozen=True)
class DescribeCompilers(Request):
    """Say what of this machine decides how a text's build comes out. It is asked of a worker that has run nothing
    yet."""


@dataclass(frozen=True)
class CompilersDescribed(Reply):
    """A digest of what decides how a text's build comes out."""

    digest: str


@dataclass(frozen=True)
class BuildText(Request):
    """Build an extension without importing it, in a worker that runs nothing else."""

    text: ExtensionText
    key: str


@dataclass(frozen=True)
class ExtensionReport:
    """One extension that the worker built or found, or whose `text` it wants to be built. The compiler's output lies
    where layout.own_log() says."""

    name: str
    key: str
    succeeded: bool
    was_cached: bool
    seconds: float
    text: ExtensionText | None = None


@dataclass(frozen=True)
class TextBuilt(Reply):
    """The end of a text's build."""

    extension: ExtensionReport


@dataclass(frozen=True)
class Loaded(Reply):
    extensions: tuple[ExtensionReport, ...]


@dataclass(frozen=True)
class Constructed(Reply):
    """Names of the model's parameters and buffers, which of them took the reference's state, and which of those had it
    before."""

    state: tuple[str, ...]
    loaded: tuple[str, ...]
    extensions: tuple[ExtensionReport, ...] = ()
    in_place: tuple[str, ...] = ()


@dataclass(frozen=True)
class OutputForm:
    """The form of one output. `type_name` is set, and the rest empty, where it is no plain tensor: of torch's own class
    itself (or a Parameter), dense, with values that were computed."""

    type_name: str | None
    dtype: str = ""
    shape: tuple[int, ...] = ()
    device: str = ""


@dataclass(frozen=True)
class CallTaken:
    """The return of one call, and the worker's claims about it.

    `structure` is unpack()'s. `gpu_ns`, `tail_ns`, `launch_ns` and `queued` are those of
    devices.base.Measured. `shares` names all that outputs share their storage with ("input 0", "output 0 of an earlier
    call"); `unasked` is an error of the CUDA runtime's that the call left behind, as a launch does that failed
    unnoticed. `is_given_back`: whether torch's allocator got back as much memory as the outputs had when they were let
    go of, which what lies in an input needn't; None where they were kept.
    """

    structure: str
    outputs: tuple[OutputForm, ...]
    gpu_ns: int | None
    tail_ns: int | None
    shares: tuple[str, ...] = ()
    unasked: str | None = None
    launch_ns: int | None = None
    queued: bool | None = None
    is_given_back: bool | None = None


@dataclass(frozen=True)
class TurnTaken(Reply):
    """A CallTaken for each Call. `kernels` of a traced turn, None where there is no trace; `patched` names guarded
    functions that are no longer the originals; `peak_bytes`: what one of them took at most of torch's allocator;
    `account`: what `findings`, `launches` and traces add up to, with those of earlier replies. All of it is the
    worker's word."""

    calls: tuple[CallTaken, ...]
    findings: tuple[Finding, ...]
    launches: int
    extensions: tuple[ExtensionReport, ...] = ()
    kernels: tuple[KernelRun, ...] | None = None
    patched: tuple[str, ...] = ()
    peak_bytes: int | None = None
    account: Account | None = None


@dataclass(frozen=True)
class FlagChange:
    """A global switch of torch's that isn't what it was. It is None where torch won't say, such as for a precision that
    was set by its old and by its new name."""

    name: str
    before: Flag | None
    after: Flag | None

    def __post_init__(self) -> None:
        if not all(_FLAG_WORD.fullmatch(str(word)) for word in (self.name, self.before, self.after)):
            raise ValueError("a flag of torch's and its values are a word each")


@dataclass(frozen=True)
class Compilation:
    """The work of torch.compile() in a process, by torch's own counters; None of what this torch doesn't count."""

    graphs: int | None
    graph_breaks: int | None
    recompilations: int | None

    def __post_init__(self) -> None:
        counts = (self.graphs, self.graph_breaks, self.recompilations)
        if not all(count is None or 0 <= count < _MOST_GRAPHS for count in counts):
            raise ValueError("graphs, their breaks and recompilations are counted")


@dataclass(frozen=True)
class Described(Reply):
    """The state of torch in the worker. `compilation` is None where torch.compile() wasn't used; `tuned` says what
    Triton's autotuner chose for each kernel. All of it is the worker's word."""

    flags: tuple[FlagChange, ...]
    compilation: Compilation | None
    tuned: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if len(self.flags) > _MOST_FLAGS:
            raise ValueError(f"torch has fewer than {len(self.flags)} flags")
        if len(self.tuned) > MOST_TUNED or any(len(one) > TUNED_CHARS or not one.isprintable() for one in self.tuned):
            raise ValueError(f"a line each of {MOST_TUNED} kernels says what Triton chose")


@dataclass(frozen=True)
class Ready(Reply):
    """The worker stands. `protections` names the means that confine it, see worker.confinement."""

    protections: tuple[str, ...]


@dataclass(frozen=True)
class Done(Reply):
    """A reply with nothing to report."""


@dataclass(frozen=True)
class Raised(Reply):
    """An exception in the solution's code or in the device's answer to it."""

    type_name: str
    message: str
    traceback: str
    extensions: tuple[ExtensionReport, ...] = ()
    findings: tuple[Finding, ...] = ()
    launches: int = 0
    account: Account | None = None


ANSWERS: dict[type, type] = {
    WarmUp: Ready,
    GiveBack: Done,
    TryTrace: TraceTried,
    Load: Loaded,
    Attach: Done,
    Detach: Done,
    Construct: Constructed,
    Rehearse: Done,
    TakeTurn: TurnTaken,
    Describe: Described,
    CompileForGpu: CompiledForGpu,
    DescribeCompilers: CompilersDescribed,
    BuildText: TextBuilt,
}
"""The one kind of reply, besides Raised, that a request can have."""
REQUESTS: dict[str, type] = {cls.__name__: cls for cls in ANSWERS}
REPLIES: dict[str, type] = {cls.__name__: cls for cls in (*ANSWERS.values(), Raised)}
