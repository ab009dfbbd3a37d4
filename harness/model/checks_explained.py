"""Every check that can end in `cheating`, explained to authors and to sceptics."""

from __future__ import annotations

from harness.model.evidence import CheckName
from harness.model.explanation import Explanation

_EVIDENCE = "failure.evidence"

CHECKS: dict[CheckName, Explanation] = {
    "private_socket": Explanation(
        "somebody else than the worker's own loop wrote on the channel to the referee, or answered what wasn't asked",
        "each request carries a fresh nonce; the answer must be one frame of the announced length and kind that "
        "carries the same. The referee reads it; the worker's word isn't asked",
        "code that looks for the worker's descriptors and writes an answer of its own",
        "write results into the tensors that forward() returns, and text to stdout or stderr, which is kept and never "
        "read as an answer",
        f"{_EVIDENCE}, failure.details (the end of the output)",
    ),
    "claimed_times": Explanation(
        "the times that the worker claims for its calls can't be true",
        "each must be above zero, there must be one per call, and together they can't exceed the referee's own wall "
        "clock of the turn",
        "replaced timers or events, or an answer made up",
        "leave torch.cuda.Event, elapsed_time() and the clocks alone; a solution needn't time itself",
        f"{_EVIDENCE} (claimed_ns, wall_ns); timing.turns holds the others",
    ),
    "wall_clock": Explanation(
        "a call costs more of the referee's wall clock than is claimed, by more than the reference's calls do",
        "turns have different lengths, so the referee's own clock shows what one more call costs. Less the claimed "
        "time this is the worker's own part (cache flush, copies), which is the same for all arms; the solution's is "
        "held against the baseline's, and so is what a call costs in the longest turns",
        "work on another stream or thread, work put off until after the interval, clocks that run slow",
        "finish in the call what belongs to it, and make the current stream wait for every other stream that you use; "
        "no sleeping and no compiling in forward()",
        f"{_EVIDENCE}; timing.turns has wall_ns and call_ns of every turn",
    ),
    "tail": Explanation(
        "the device was still busy after a call's interval had ended and its output had been copied",
        "after the copy of the outputs the worker's meter, which holds functions of the driver itself, waits for the "
        "whole device and takes the time; the median over all calls is held against the baseline's",
        "kernels on a side stream that nothing joins to the current one, a background thread that launches",
        "record an event on the side stream and let the current stream wait for it before forward() returns",
        f"{_EVIDENCE}; tail_ns of the turns in timing.turns",
    ),
    "trace": Explanation(
        "a trace of the device shows work outside of what is timed, lacks what the harness launched itself, or was "
        "left out; or the simulator has seen what the referee wasn't told",
        "in secretly chosen turns CUPTI, the driver's own recorder, notes every kernel, copy and fill with its times; "
        "the meter marks where each call begins and ends; its marks must all be there, and a call can't last much "
        "longer between them than is claimed. A trace that is missing counts where the baseline's process, or the "
        "worker before it loaded the solution, could be traced. The simulator keeps totals of launches, findings and "
        "traces, and what is told must add up to them",
        "work between calls or after them, or a recorder that was switched off or fed; a report of the simulator's "
        "that the solution took for itself",
        "launch inside forward() alone; use no profiler in a solution",
        f"{_EVIDENCE}, trace.kernels",
    ),
    "phases": Explanation(
        "a traced call keeps the device busy for longer than timed calls are claimed to take",
        "the device's busy time inside traced calls is held against the median of the claimed times; and calls of one "
        "turn must be about as even as the baseline's are",
        "code that behaves while it is watched, or that counts calls and does less later",
        "do the same work in every call, whatever its number",
        f"{_EVIDENCE}, trace.kernels, timing.turns",
    ),
    "idle_gpu": Explanation(
        "the GPU was busy after the solution's turns, when nothing had been asked of it",
        "right after turns the referee times a fill of its own, which takes many times as long while another process "
        "keeps the GPU; the median after the solution's turns is held against that after the baseline's",
        "a thread or process that goes on launching between turns, kernels that never end",
        "end threads, processes and kernels with the call that began them. Other programs on the GPU look alike: let "
        "it be the harness's alone",
        f"{_EVIDENCE} (canary_ns)",
    ),
    "roofline": Explanation(
        "the solution is faster than the device's memory allows",
        "the inputs and outputs that a call must move, over the median time, are held against the rate that the "
        "referee has measured on this very device. Where there is an honest explanation (data that fits the cache, "
        "inputs that the output doesn't depend on, a baseline that is as fast) it is a remark with the arithmetic, and "
        "so are more operations than the device can do: algebra may need fewer than torch counts",
        "results that aren't computed in the call: cached, precomputed, or computed outside the interval",
        "compute the outputs from the inputs in each call",
        f"{_EVIDENCE}, work, timing, remarks",
    ),
    "patched_functions": Explanation(
        "functions that measure or judge, or their fixed data, were no longer the originals after a turn",
        "what no solution has a reason to replace (clocks, events, synchronisation, comparison, the worker's own code "
        "and constants, the first bytes of the driver's functions) is noted before the solution is loaded and compared "
        "after turns, and so are modes of torch and tools of sys.monitoring that are left on. That nothing was found "
        "is never taken as proof",
        "monkeypatching of torch.cuda.Event, time, torch.allclose and their like, or patching of native code",
        "wrap functions of your own modules, never those of torch.cuda, time or the worker",
        f"{_EVIDENCE} names what was replaced",
    ),
    "harness_files": Explanation(
        "a worker's user has written files of the harness or of the problem",
        "they are hashed before any solution runs and after each evaluation; a file that has changed is asked for its "
        "owner",
        "code that writes into the problem's folder or the installed package. Editing a problem in the middle of a run "
        "is no deception: it spoils that result, which says so",
        "write to the current directory or to tempfile's, which are the worker's own and vanish with it",
        f"{_EVIDENCE} names the file; protections says what stood in the way",
    ),
}
