// What a worker's device runs around a timed call. Made into around_a_call.ptx beside it, as strided_copy.cu is.

__device__ unsigned long long now_ns()
{
    unsigned long long time;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time));
    return time;
}

// Reads `count` times 16 bytes, over and over until `ns` have passed, and once at least. What lay in the L2 cache has
// left it by then, and nothing that was only read needs to be written back. All blocks are resident at once.
extern "C" __global__ void harness_evict(
    const uint4* memory, unsigned long long count, unsigned long long ns, unsigned* sink)
{
    const unsigned long long threads = static_cast<unsigned long long>(gridDim.x) * blockDim.x;
    const unsigned long long first = static_cast<unsigned long long>(blockIdx.x) * blockDim.x + threadIdx.x;
    const unsigned long long end = now_ns() + ns;
    unsigned seen = 0;
    do {
#pragma unroll 4
        for (unsigned long long index = first; index < count; index += threads) {
            uint4 value;
            asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                         : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
                         : "l"(memory + index));
            seen |= value.x | value.y | value.z | value.w;
        }
    } while (now_ns() < end);
    if (seen == 1) *sink = seen;  // never: the memory holds zeros
}

// Holds the stream up, so that what the host asks for meanwhile is queued when it goes on.
extern "C" __global__ void harness_delay(unsigned long long ns)
{
    const unsigned long long end = now_ns() + ns;
    while (now_ns() < end) __nanosleep(200);
}

extern "C" __global__ void harness_nothing() {}
