// Copies a tensor element by element between any two layouts. Made into strided_copy.ptx beside it, which the driver
// compiles when it is first needed: nothing of torch that a solution could replace takes part in storing its output.

struct Walk {
    unsigned long long to, from, count;
    int width, rank;
    unsigned long long size[8];
    long long to_step[8], from_step[8];  // in bytes
};

extern "C" __global__ void harness_strided_copy(const __grid_constant__ Walk walk)
{
    const unsigned long long threads = static_cast<unsigned long long>(gridDim.x) * blockDim.x;
    const unsigned long long first = static_cast<unsigned long long>(blockIdx.x) * blockDim.x + threadIdx.x;
#pragma unroll 1
    for (unsigned long long index = first; index < walk.count; index += threads) {
        unsigned long long rest = index, to = walk.to, from = walk.from;
#pragma unroll 1
        for (int dimension = walk.rank - 1; dimension >= 0; --dimension) {
            const unsigned long long size = walk.size[dimension];
            unsigned long long quotient;  // 64-bit division is slow
            if ((rest | size) >> 32)
                quotient = rest / size;
            else
                quotient = static_cast<unsigned>(rest) / static_cast<unsigned>(size);
            const unsigned long long remainder = rest - quotient * size;
            to += remainder * walk.to_step[dimension];
            from += remainder * walk.from_step[dimension];
            rest = quotient;
        }
        if (walk.width == 4)
            *reinterpret_cast<unsigned*>(to) = *reinterpret_cast<const unsigned*>(from);
        else if (walk.width == 8)
            *reinterpret_cast<unsigned long long*>(to) = *reinterpret_cast<const unsigned long long*>(from);
        else if (walk.width == 2)
            *reinterpret_cast<unsigned short*>(to) = *reinterpret_cast<const unsigned short*>(from);
        else {
#pragma unroll 1
            for (int byte = 0; byte < walk.width; ++byte)
                reinterpret_cast<char*>(to)[byte] = reinterpret_cast<const char*>(from)[byte];
        }
    }
}
