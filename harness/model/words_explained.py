"""The words of a timing, explained: what a speed is called, what is measured, and what makes it uncertain."""

from __future__ import annotations

from harness.model.explanation import Explanation

_TURNS = "timing.turns (call_ns)"
_ROWS = "timing.rows"

WORDS: dict[str, Explanation] = {
    "faster": Explanation(
        "the solution takes less time than the baseline, beyond what equal arms differ by",
        "the whole interval of the speed-up lies above 1 + δ. δ is 1 %, or as far from 1 as the interval of the A/A "
        "control reaches, if that is more",
        "a better kernel; or less work than the reference does, which the checks of values look for",
        "nothing is to be done; 'harness show' has the interval, and each further metric",
        "timing; 'harness show --statistics' has the word, the interval and δ",
    ),
    "slower": Explanation(
        "the solution takes more time than the baseline, beyond what equal arms differ by",
        "the whole interval of the speed-up lies below 1 / (1 + δ), with the δ of 'faster'",
        "a kernel that moves more bytes or keeps fewer of them in flight than the reference's",
        "compare its time with the least that its bytes allow; look at occupancy and spills in 'harness show'",
        "timing; 'harness show --statistics' has the word, the interval and δ",
    ),
    "same": Explanation(
        "the solution takes the baseline's time, within what equal arms differ by",
        "the whole interval of the speed-up lies between 1 / (1 + δ) and 1 + δ, with the δ of 'faster'",
        "both are bound by the same thing, mostly memory",
        "nothing is to be done: a smaller difference can't be told from another placement in memory",
        "timing; 'harness show --statistics' has the word, the interval and δ",
    ),
    "inconclusive": Explanation(
        "the measurement can't tell whether the solution is faster, slower or the same",
        "the interval of the speed-up reaches over 1 + δ or 1 / (1 + δ), or there is none: too few blocks, or calls "
        "below the floor",
        "a difference of about δ, or an interval that is wider than the difference",
        "measure longer (timing.blocks, timing.budget_s, a smaller timing.precision in the config), with more "
        "timing.processes, or a larger case",
        "timing; 'harness show --statistics' has the interval and δ",
    ),
    "noisy": Explanation(
        "the measurement is too uncertain to be ranked, or to be accepted as a snapshot",
        "one of these, each told with its numbers: fewer than six blocks; an interval beyond ±5 %; calls shorter than "
        "three empty kernels; an A/A interval (of 99 %) that leaves out 1 or is wider than ±5 %; a speed-up that "
        "drifts by more than 2 %, or times by more than 5 %; blocks at two speeds, with nothing between; a fill of "
        "the referee's own that moved by more than 15 %; fills that differ by more than 2 % before the turns of one "
        "side and of the other, or by 5 % from what they took before the solution was loaded; clocks held back by heat "
        "or hardware in more than a tenth of the turns; another program on the GPU; more than a tenth of a side's "
        "calls that weren't queued before the device began (2 % where calls are short)",
        "another program, a hot GPU, clocks that change, calls of a few microseconds",
        "end other programs, let the GPU cool, measure again, or longer, or a larger case. Nothing is deleted: the "
        "samples are all in the record",
        "timing.turns (gpu, canary_ns, fill_ns, queued), timing.floors; 'harness show' names every reason",
    ),
    "fragile": Explanation(
        "the solution passes, and its values are wrong where inputs are far larger or smaller than they are drawn",
        "every case is also tried with inputs times 2^±20 (or 2^±10), where the reference bears that. Within 16 times "
        "the drawn scale a wrong value is a verdict; beyond, it is one only where the reference's outputs scale with "
        "its inputs, as a sum's do",
        "an exponential that overflows, a difference of large numbers, a sum of squares in half precision",
        "compute softplus, tanh and the like in their stable forms; `correctness: {fragile: fail}` in a config makes "
        "it a failure",
        "fragile: the checks that failed, with their case, seed, variant and first mismatches; remarks",
    ),
    "control": Explanation(
        "the first baseline once more, in a worker of its own: an A/A test",
        "it takes turns like every other arm. The baseline's time over the control's should be 1; how far its "
        "interval reaches from 1 is what this machine makes of equal arms",
        "other addresses, another place of the code, noise",
        "read a speed-up no finer than the control; 'harness show' prints it as 'eager / control (A/A)'",
        "timing.turns (arm: control)",
    ),
    "gpu_cold": Explanation(
        "the device's time for a call whose inputs aren't in the L2 cache; the headline",
        "events around the call, from before its first kernel to after its last, with all launches queued before the "
        "device begins, and after the cache was swept",
        "memory traffic and arithmetic of the kernels, and the gaps between them; not the host",
        "it is the number to quote for a kernel by itself; look at end_to_end for what a caller waits for",
        f"{_TURNS} where timing.metric says so; queued holds a proof for each call",
    ),
    "gpu_warm": Explanation(
        "the device's time for a call, with the L2 cache as a call on other values left it",
        "as gpu_cold, but instead of the sweep a call comes first; then the inputs get their own values, on the device",
        "data that fit into the cache make it faster than gpu_cold; with others it is the same, or a little slower "
        "where the cache still holds outputs that are to be written back",
        "quote it beside gpu_cold, never in its place: in a model, other layers sweep the cache",
        _ROWS,
    ),
    "end_to_end": Explanation(
        "the host's time from the call until the device is idle",
        "the worker's monotonic clock around the call and a synchronisation; the headline for a solution that waits "
        "for the device by itself, since its launches can't be queued beforehand",
        "gpu_cold, plus launches that the device waits for, plus Python",
        "fuse kernels and launch fewer of them, where it is much longer than gpu_cold; as a headline it has no rank "
        "beside gpu_cold: leave out .item() and synchronisations",
        f"{_ROWS}, or {_TURNS} where timing.metric says so",
    ),
    "launch": Explanation(
        "the host's time for a call, until it returned",
        "the worker's monotonic clock around the call, while the device is still busy with something else",
        "Python, the dispatcher, allocations, one launch after the other",
        "where it exceeds gpu_cold the host bounds a loop of such calls; graphs or fewer kernels help",
        "timing.turns (launch_ns)",
    ),
    "graph": Explanation(
        "as gpu_cold, of the call captured as a CUDA graph and replayed",
        "captured and replayed once, with other values in the inputs, then measured like gpu_cold; for all arms or "
        "for none",
        "what remains of gpu_cold when launches cost next to nothing",
        "where only eager gains from it, the solution's lead was one of launches",
        _ROWS,
    ),
    "peak_memory": Explanation(
        "what an arm's calls take of the GPU's memory at most, beyond inputs and parameters",
        "twice: torch's allocator says its peak, which is the worker's claim; and the driver says what the whole "
        "process took, allocations past torch's allocator included",
        "temporaries, workspaces, caches that are kept between calls",
        "allocate outputs and one workspace; free what isn't needed",
        "timing.memory",
    ),
    "floors": Explanation(
        "what the clock shows for nothing, and for an empty kernel",
        "the same events around nothing, and around a kernel that does nothing, measured before the blocks; "
        "for end_to_end the host's clock around such a kernel",
        "the resolution of events and the time that a launch takes on the device",
        "no ratio is claimed where the baseline's or the solution's median is under three empty kernels: take a "
        "larger case",
        "timing.floors",
    ),
}
"""Speeds, noise, the control, then metrics and their floors."""
