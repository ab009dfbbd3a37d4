"""Every verdict, explained to the author of a kernel."""

from __future__ import annotations

from harness.model.evidence import CHECK_NAMES
from harness.model.explanation import Explanation
from harness.model.verdict import Verdict


def _explained(verdict: Verdict, observed: str, causes: str, avoid: str, look: str) -> Explanation:
    return Explanation(verdict.meaning, observed, causes, avoid, look)


VERDICTS: dict[Verdict, Explanation] = {
    verdict: _explained(verdict, *texts)
    for verdict, texts in {
        Verdict.PASSED: (
            "every judged call's outputs lay within the tolerance of the float64 oracle, in every case, for inputs "
            "drawn from a secret seed and for their variants, and no check found a deception",
            "a kernel that computes the reference's function",
            "nothing is to be done; remarks say what is worth knowing beside it",
            "checks, timing, trace, remarks",
        ),
        Verdict.COMPILE_ERROR: (
            "a build worker imported solution.py, and load_inline() or load() in it failed",
            "errors in the CUDA or C++ source, or declarations missing from cpp_sources",
            "mend the errors that are listed; 'harness run --verbose' and 'harness show --log' print all of them",
            "failure.details, builds",
        ),
        Verdict.LOAD_ERROR: (
            "a worker's import of solution.py, or ModelNew(*get_init_inputs()), raised",
            "a missing module, a ModelNew with other arguments than Model's, work at import that needs the network or "
            "files outside the solution's folder",
            "take the constructor's arguments of Model; bring every file along in the solution's folder",
            "failure.details holds the traceback",
        ),
        Verdict.RUNTIME_ERROR: (
            "forward() raised, or the device reported a failed launch after it",
            "a launch beyond the device's limits, a shape that the kernel doesn't take, a call that the confinement "
            "refuses",
            "check every launch with C10_CUDA_KERNEL_LAUNCH_CHECK() or cudaGetLastError()",
            "failure.case, failure.details",
        ),
        Verdict.MEMORY_ERROR: (
            "the device reported an illegal or misaligned address, or the simulator saw the access itself",
            "an index past a border, a 32-bit index beyond 2^31 elements, a tile that reads outside of its image",
            "test sizes that are no multiple of the tile; compute offsets in int64_t; run compute-sanitizer",
            "failure.reason names the access as far as known",
        ),
        Verdict.OUT_OF_MEMORY: (
            "an allocation failed in the worker, or it took more host memory than the config allows",
            "workspaces kept per shape or per call, large temporaries at the full case",
            "allocate less, and keep one workspace; inputs and outputs of the turn are in memory already",
            "failure.case; config.limits.worker_memory_gib",
        ),
        Verdict.TIMEOUT: (
            "the referee's own clock ran out before an answer came, and it ended the worker",
            "an endless loop, a barrier that some threads never reach, a deadlock between streams; on the simulator "
            "also a barrier of the whole grid made by hand, since few blocks run at the same time there",
            "let every thread of a block reach every barrier; limits are in the config (limits.turn_s and its like)",
            "failure.case, config.limits",
        ),
        Verdict.CRASHED: (
            "the worker's process ended, closed its channel, or answered in another form than was asked for",
            "a segmentation fault in C++ code, os._exit(), sys.exit(), writing to a descriptor that isn't one's own",
            "look at the end of the output; run the solution alone under a debugger",
            "failure.reason holds the exit code, failure.details the end of the output",
        ),
        Verdict.WRONG_OUTPUT_TYPE: (
            "the form of what forward() returned was compared with the reference's: type, structure, device, layout",
            "a list for a tuple, a tensor on the CPU, a sparse or lazy tensor, a subclass of torch.Tensor",
            "return plain torch.Tensor objects on the inputs' device, in the structure that Model returns",
            "failure.reason",
        ),
        Verdict.WRONG_SHAPE: (
            "the shape of an output was compared with the reference's",
            "a mistaken formula for the output's size with stride, padding or dilation",
            "compare the formula with the reference's at the case named",
            "failure.case, failure.reason",
        ),
        Verdict.WRONG_DTYPE: (
            "the dtype of an output was compared with the reference's",
            "an output left in the precision that the kernel computes in",
            "cast the output to the dtype that Model returns",
            "failure.reason",
        ),
        Verdict.WRONG_VALUES: (
            "outputs, copied on the measuring stream at the end of the call, were compared with the float64 oracle in "
            "the referee; so was the memory of the inputs before and after, and where the outputs lie",
            "borders and remainders, a maximum that starts at 0, half precision where more is asked, elements left "
            "unwritten, inputs written to, an output that lies in an input's or an earlier output's memory, work that "
            "isn't joined to the current stream",
            "look at the positions listed, and at the variant that is named; write every element, to memory allocated "
            "in the call; leave the inputs alone; launch on the current stream, or make it wait for yours",
            "failure.details lists the first mismatches; checks has each call with its case, variant and seed",
        ),
        Verdict.NONDETERMINISTIC: (
            "a call's values were wrong, and the same inputs given again came out right",
            "a race: a barrier missing, atomics on uninitialised memory, streams that don't wait for each other or "
            "for the current one",
            "run compute-sanitizer --tool racecheck and --tool initcheck; record an event where streams join",
            "failure.reason has the counts, failure.case and seed repeat it",
        ),
        Verdict.CHEATING: (
            "a check saw what no honest solution does, and has the numbers; 'harness explain CHECK' tells about each: "
            + ", ".join(CHECK_NAMES),
            "times that can't be, work outside the measured interval, replaced clocks, forged answers, files changed",
            "do all of a call's work inside the call, on the current stream or joined to it; leave torch, Python and "
            "the worker as they are. A false alarm is our fault: report it with the record",
            "failure.evidence: the check, what was observed, the numbers",
        ),
        Verdict.NO_CUSTOM_KERNEL: (
            "a trace of the device's work, taken in turns that nobody can tell from others, showed that kernels of the "
            "solution's own replace no part of the reference, or take less time than the config asks for; on the "
            "simulator, that values stay right without them",
            "forward() calls torch, cuDNN or cuBLAS, under whichever name; torch.compile; a decoy kernel beside them",
            "do some part of the reference in kernels of your own; casts, fills and views count for nobody",
            "trace.own_share; trace.kernels: each with its origin, launches and time",
        ),
        Verdict.UNSUPPORTED: (
            "the backend said so: what the solution uses isn't simulated, or no case is small enough to be; or values "
            "are wrong with varied parameters, and the solution made parameters of its own",
            "inline PTX (with it TMA, and mma by PTX), libraries such as cuBLAS, Triton, or only the full case, on the "
            "simulator",
            "run it on a GPU with --backend cuda; add a small case to problem.yaml; make the reference's layers",
            "failure.reason",
        ),
        Verdict.INVALID_PROBLEM: (
            "the problem's own code raised, contradicted itself, or returned what no solution can be held to; or a "
            "crude wrong kernel would pass, whatever inputs and parameters are",
            "get_inputs() that needs files, a Model that returns numbers, an independent_batch that isn't true, or "
            "outputs that are always zero",
            "mend the problem; 'harness check-problem' says more",
            "failure.reason, failure.details",
        ),
        Verdict.HARNESS_ERROR: (
            "an exception in the referee, or a machine that can't do its part: no disk, no GPU memory, a wedged GPU",
            "another program on the GPU, a full disk, a bug of ours",
            "run 'harness doctor'; if the machine is sound, report this with the record",
            "failure.details holds the traceback",
        ),
    }.items()
}
