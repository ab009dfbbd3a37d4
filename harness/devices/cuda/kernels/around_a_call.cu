// What a worker's device runs before a timed call. Made into around_a_call.ptx beside it, as strided_copy.cu is. For
// AMD's GPUs hiprtc compiles both.

#ifdef __HIP__
__device__ unsigned long long now_ns() { return wall_clock64() * 10; }  // it counts at 100 MHz
__device__ uint4 wide_load(const uint4* memory) { return *memory; }
__device__ void wait_half_a_microsecond() { __builtin_amdgcn_s_sleep(16); }  // 1,024 clocks
#else
__device__ unsigned long long now_ns()
{
    unsigned long long time;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time));
    return time;
}

__device__ uint4 wide_load(const uint4* memory)
{
    uint4 value;
    asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
                 : "l"(memory));
    return value;
}

__device__ void wait_half_a_microsecond() { __nanosleep(500); }
#endif

// Reads `count` times 16 bytes.
__device__ unsigned read_all(const uint4* memory, unsigned long long count)
{
    const unsigned long long threads = static_cast<unsigned long long>(gridDim.x) * blockDim.x;
    const unsigned long long first = static_cast<unsigned long long>(blockIdx.x) * blockDim.x + threadIdx.x;
    unsigned seen = 0;
#pragma unroll 4
    for (unsigned long long index = first; index < count; index += threads) {
        const uint4 value = wide_load(memory + index);
        seen |= value.x | value.y | value.z | value.w;
    }
    return seen;
}

// Says in the host's memory `here` that launch number `number` has the device for itself, as soon as all its blocks are
// there; clears the L2 cache: what lay in it has left it then, and nothing that was only read needs to be written back;
// and waits until `ns` have passed since its last block started. Its blocks fill all multiprocessors to the last thread
// and end together, so that no kernel of any stream can start meanwhile. `arrived` counts blocks, over all launches;
// `until` is when to end. (What a kernel gone astray has written there holds it up by no more than 0.1 ms.)
extern "C" __global__ void __launch_bounds__(256, 8)
    harness_lead_in(const uint4* memory, unsigned long long count, unsigned long long ns, unsigned* sink,
                    unsigned* arrived, unsigned long long* until, volatile unsigned* here, unsigned number)
{
    const unsigned long long own_end = now_ns() + ns;
    if (threadIdx.x == 0) {
        atomicMax(until, own_end);
        __threadfence();
        if (atomicAdd(arrived, 1u) == gridDim.x * number - 1) *here = number;
    }
    if (read_all(memory, count) == 1) *sink = 1;  // never: the memory holds zeros
    __syncthreads();
    if (threadIdx.x == 0) {
        const volatile unsigned long long* const common_end = until;
        for (unsigned long long now = now_ns(); now < min(*common_end, own_end + 100000); now = now_ns())
            if (now + 2000 < own_end) wait_half_a_microsecond();
    }
    __syncthreads();
}

// Clears the L2 cache, and holds nothing.
extern "C" __global__ void __launch_bounds__(256, 8)
    harness_evict(const uint4* memory, unsigned long long count, unsigned* sink)
{
    if (read_all(memory, count) == 1) *sink = 1;  // never, as above
}

extern "C" __global__ void harness_nothing() {}
