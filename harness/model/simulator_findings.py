"""The closed list of findings that the simulator can make while a kernel runs, and what each means."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

FindingVerdict = Literal["memory_error", "runtime_error", "nondeterministic", "wrong_values", "unsupported"]


@dataclass(frozen=True)
class FindingKind:
    """One line of the list. `verdict` is what a fault leads to; a remark (None) leads to none."""

    meaning: str
    verdict: FindingVerdict | None
    causes: str
    next_step: str
    build: Literal["both", "checked"] = "both"
    """The simulator's build that sees it; checked: `--sanitize`."""


FINDING_KINDS: Mapping[str, FindingKind] = {
    "illegal-address": FindingKind(
        "an access outside every device allocation",
        "memory_error",
        "a last block or a halo without a bound check, an index that overflowed, rows and columns exchanged",
        "compare the index with the tensor's size: blocks at the border, and 64-bit indices for large tensors",
    ),
    "host-pointer": FindingKind(
        "a kernel was given memory that only the host can read",
        "memory_error",
        "a CPU tensor's data_ptr(), or the address of a variable of the host",
        "move the tensor to the GPU, or copy the value into the kernel's arguments",
    ),
    "freed-pointer": FindingKind(
        "a kernel was given device memory that was freed",
        "memory_error",
        "data_ptr() of a temporary, or cudaFree() before the last launch",
        "keep the tensor until after the launch: data_ptr() of a temporary, as of x.contiguous(), ends with it",
    ),
    "shared-out-of-bounds": FindingKind(
        "an access outside the block's shared memory",
        "memory_error",
        "a halo that the array has no room for, a launch with fewer dynamic bytes than the kernel uses",
        "compare the index with the array's size, and the launch's dynamic bytes with what the kernel lays over them",
    ),
    "misaligned-address": FindingKind(
        "a vector access not aligned to its size",
        "memory_error",
        "float4 over a row whose length, or over a pointer whose offset, is no multiple of 4",
        "use the vector type only where offset and row length are multiples of it, scalars elsewhere",
    ),
    "stack-overflow": FindingKind(
        "more local memory than a thread has",
        "memory_error",
        "large local arrays, or recursion",
        "shrink local arrays, or end the recursion earlier",
    ),
    "array-index-out-of-bounds": FindingKind(
        "an index outside the declared array",
        "memory_error",
        "<= for <, or an array declared for other sizes than it is used with",
        "compare the index with the declared size",
        build="checked",
    ),
    "uninitialised-shared-read": FindingKind(
        "shared memory was read that no thread of the block had written",
        "memory_error",
        "a halo or the remainder of a tile that nobody loads, a counter that nobody sets to 0, a missing barrier",
        "fill every element that is read, halo and remainder too, and put __syncthreads() between",
        build="checked",
    ),
    "uninitialised-global-read": FindingKind(
        "memory from torch.empty or cudaMalloc was read before anything was written there",
        "memory_error",
        "+= or atomicAdd into torch.empty, a workspace that was only partly filled",
        "start from torch.zeros, or write before you read",
        build="checked",
    ),
    "input-write": FindingKind(
        "a kernel wrote into an input of the call",
        "wrong_values",
        "working in place on what forward() was given",
        "write to a tensor that forward() has allocated",
        build="checked",
    ),
    "const-write": FindingKind(
        "a kernel wrote through a pointer that it was given as const",
        "memory_error",
        "a cast that takes const away",
        "pass data_ptr() of a tensor that may change, and take the const away",
        build="checked",
    ),
    "unwritten-output": FindingKind(
        "elements of an output were never written",
        "wrong_values",
        "a grid that is too small, a condition that leaves the border out, a kernel that was never launched",
        "write every element: look at the grid's size and at conditions before the store",
        build="checked",
    ),
    "index-overflow": FindingKind(
        "a 32-bit number that an index is made from overflowed",
        "memory_error",
        "int for products of sizes: 2^31 elements are 8 GiB of float32",
        "compute indices and sizes in int64_t: cast before the product, not after it",
        build="checked",
    ),
    "signed-overflow": FindingKind(
        "a signed number overflowed, which C++ leaves undefined",
        None,
        "a hash or a random generator in int",
        "use unsigned numbers where they are to wrap",
        build="checked",
    ),
    "array-row-overrun": FindingKind(
        "an index ran over a row of a shared array into the next one",
        None,
        "a tile filled as if it had one dimension",
        "index each dimension, or a pointer to the first element",
        build="checked",
    ),
    "shared-race": FindingKind(
        "threads of a block used the same shared memory, one of them writing, with no barrier between",
        "nondeterministic",
        "a missing barrier after a tile is filled or before it is filled again, lanes of a warp without __syncwarp()",
        "put __syncthreads() (within a warp __syncwarp()) between the two lines, or use atomics",
        build="checked",
    ),
    "global-race": FindingKind(
        "threads used the same global memory, one of them writing, with nothing to order them",
        "nondeterministic",
        "blocks that share an output element, or read what another block writes in the same launch",
        "give each element one thread that writes it, use atomics, or split the kernel in two",
        build="checked",
    ),
    "same-value-write": FindingKind(
        "two threads wrote the same value to the same place",
        None,
        "a flag that every thread sets",
        "nothing, if that is meant; else let one write",
        build="checked",
    ),
    "launch-error": FindingKind(
        "a launch failed and nobody looked",
        "runtime_error",
        "over 1024 threads, over 48 KiB of shared memory without opting in, a grid of size 0 or beyond 65535 in y or z",
        "look at grid, block and shared memory; C10_CUDA_KERNEL_LAUNCH_CHECK() after the launch raises at once",
    ),
    "barrier-deadlock": FindingKind(
        "threads of a block wait for each other for ever",
        "runtime_error",
        "a barrier or a shuffle inside of a condition that only some threads meet",
        "let all threads of the block, or of the mask, reach the same barrier",
    ),
    "device-assert": FindingKind(
        "an assertion in a kernel failed",
        "runtime_error",
        "assert() or __trap() in a kernel",
        "look at the condition's values",
    ),
    "integer-divide-by-zero": FindingKind(
        "an integer was divided by zero",
        "runtime_error",
        "a size of 0",
        "look at what the divisor is made from",
    ),
    "warp-inactive-lane": FindingKind(
        "a shuffle reads a lane that takes no part",
        "runtime_error",
        "a full mask where only some lanes get to the shuffle, or a block that is no multiple of 32",
        "name only lanes that call the shuffle, and read only lanes of the mask",
    ),
    "warp-mask": FindingKind(
        "a lane is not in the mask that it passes",
        "runtime_error",
        "a mask written for other lanes",
        "build the mask from the lanes that get there",
    ),
    "barrier-after-exit": FindingKind(
        "threads exited before a barrier of their block, which CUDA has all of them reach or none, and hardware bears",
        None,
        "an early return for threads beyond the border; a loop with a barrier that some threads leave sooner",
        "let all threads reach the barrier, and guard loads and stores instead",
    ),
    "barrier-divergence": FindingKind(
        "threads of a block met at different barriers",
        "runtime_error",
        "__syncthreads() in both branches of a condition",
        "take the barrier out of the branches",
    ),
    "beyond-simulator": FindingKind(
        "what can't be simulated was refused, and the solution goes on without it",
        None,
        "a CUDA graph, or an operator of torch, tried within try and except",
        "on a GPU other code runs here: judge it on one",
    ),
    "stream-order": FindingKind(
        "work on a stream of its own, whose order isn't simulated",
        None,
        "torch.cuda.stream(), getStreamFromPool() or cudaStreamNonBlocking",
        "let it wait for torch's current stream first, and that one for it at last (wait_stream): only a GPU tells",
    ),
    "too-much-work": FindingKind(
        "a launch was given up, since by the time of its first blocks all of them would take too long",
        "unsupported",
        "a case that is made for a GPU: the referee then samples its blocks, or makes it smaller, where it can",
        "add a smaller case to problem.yaml, raise limits.turn_s, or run it on a GPU",
    ),
}
