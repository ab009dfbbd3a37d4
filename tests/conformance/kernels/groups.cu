// Cooperative groups.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>

#include "case.h"

namespace cg = cooperative_groups;

__global__ void block_group(int* out) {
  cg::thread_block block = cg::this_thread_block();
  __shared__ int kept[64];
  kept[block.thread_rank()] = block.thread_index().x * 2 + block.group_index().x;
  block.sync();
  int other = kept[block.size() - 1 - block.thread_rank()];
  cg::sync(block);
  out[block.group_index().x * block.num_threads() + block.thread_rank()] = other + block.group_dim().y * 1000;
}

CASE(group_of_block) { block_group<<<2, dim3(16, 4)>>>(buffers.at<int>(0)); }

template <typename Tile>
__device__ int tile_sum(Tile tile, int value) {
  for (int offset = tile.size() / 2; offset > 0; offset /= 2) value += tile.shfl_down(value, offset);
  return tile.shfl(value, 0);
}

__device__ int warp_sum(cg::thread_block_tile<32> warp, int value) {
  for (int mask = 16; mask > 0; mask /= 2) value += warp.shfl_xor(value, mask);
  return value;
}

__global__ void tiles(const int* in, int* out) {
  auto block = cg::this_thread_block();
  auto warp = cg::tiled_partition<32>(block);
  auto tile = cg::tiled_partition<8>(warp);
  int i = block.thread_rank(), x = in[i], n = block.size();
  out[i] = warp_sum(warp, x);
  out[n + i] = tile_sum(tile, x);
  out[2 * n + i] = tile.meta_group_rank() * 100 + tile.meta_group_size() * 10 + tile.thread_rank();
  out[3 * n + i] = tile.shfl_xor(x, 3);
  out[4 * n + i] = tile.shfl_up(x, 2);
  out[5 * n + i] = tile.ballot(x % 2);
  out[6 * n + i] = tile.any(x > 95) * 2 + tile.all(x >= 0);
  out[7 * n + i] = tile.match_any(x % 2);
  out[8 * n + i] = warp.meta_group_rank() * 100 + warp.thread_rank();
  tile.sync();
}

CASE(group_tiles) { tiles<<<1, 64>>>(buffers.at<int>(0), buffers.at<int>(1)); }

__global__ void reductions(const int* in, int* out, const float* floats, float* sums) {
  auto tile = cg::tiled_partition<16>(cg::this_thread_block());
  int i = threadIdx.x, x = in[i], n = blockDim.x;
  out[i] = cg::reduce(tile, x, cg::plus<int>());
  out[n + i] = cg::reduce(tile, x, cg::less<int>());
  out[2 * n + i] = cg::reduce(tile, x, cg::greater<int>());
  out[3 * n + i] = cg::reduce(tile, x, cg::bit_xor<int>());
  out[4 * n + i] = cg::inclusive_scan(tile, x);
  out[5 * n + i] = cg::exclusive_scan(tile, x, cg::plus<int>());
  sums[i] = cg::reduce(tile, floats[i], cg::plus<float>());
}

CASE(group_reductions) {
  reductions<<<1, 64>>>(buffers.at<int>(0), buffers.at<int>(2), buffers.at<float>(1), buffers.at<float>(3));
}

__device__ int aggregated_increment(int* counter) {
  cg::coalesced_group active = cg::coalesced_threads();
  int previous = 0;
  if (active.thread_rank() == 0) previous = atomicAdd(counter, int(active.size()));
  previous = active.shfl(previous, 0);
  return previous + active.thread_rank();
}

__global__ void filter(const int* in, int* count, int* kept, int* places) {
  int i = threadIdx.x;
  places[i] = -1;
  if (in[i] > 50) {
    int place = aggregated_increment(count);
    places[i] = place;
    kept[place] = in[i];
  }
}

CASE(coalesced_group) {
  filter<<<1, 32>>>(buffers.at<int>(0), buffers.at<int>(1), buffers.at<int>(2), buffers.at<int>(3));
}

__global__ void partitions(const int* in, int* out) {
  auto warp = cg::tiled_partition<32>(cg::this_thread_block());
  int i = threadIdx.x, x = in[i];
  auto odd = cg::binary_partition(warp, x % 2 == 1);
  out[i] = int(odd.size()) * 100 + int(odd.thread_rank());
  auto same = cg::labeled_partition(warp, x % 3);
  out[32 + i] = int(same.size()) * 100 + int(same.thread_rank());
  out[64 + i] = cg::reduce(same, x, cg::plus<int>());
}

CASE(group_partitions) { partitions<<<1, 32>>>(buffers.at<int>(0), buffers.at<int>(1)); }

__device__ int sum_of_group(cg::thread_group group, int* scratch, int value) {
  int lane = group.thread_rank();
  for (int i = group.size() / 2; i > 0; i /= 2) {
    scratch[lane] = value;
    group.sync();
    if (lane < i) value += scratch[lane + i];
    group.sync();
  }
  return value;
}

__global__ void generic_groups(const int* in, int* out) {
  __shared__ int scratch[64];
  auto block = cg::this_thread_block();
  int x = in[threadIdx.x], total = sum_of_group(block, scratch, x);
  if (threadIdx.x == 0) out[0] = total;
  block.sync();
  cg::thread_group tile = cg::tiled_partition(block, 16);
  total = sum_of_group(tile, scratch + threadIdx.x / 16 * 16, x);
  if (tile.thread_rank() == 0) out[1 + threadIdx.x / 16] = total;
}

CASE(generic_group) { generic_groups<<<1, 64>>>(buffers.at<int>(0), buffers.at<int>(1)); }

__global__ void calls_of_one(const int* in, int* out) {
  auto tile = cg::tiled_partition<16>(cg::this_thread_block());
  int x = in[threadIdx.x];
  cg::invoke_one(tile, [&] { atomicAdd(&out[64], 1); });
  int first = cg::invoke_one_broadcast(tile, [](int group) { return group * 10; }, int(tile.meta_group_rank()));
  out[threadIdx.x] = x + first + int(cg::this_thread().size());
}

CASE(group_calls) { calls_of_one<<<1, 64>>>(buffers.at<int>(0), buffers.at<int>(1)); }

__global__ void grid_ranks(unsigned long long* out) {
  auto grid = cg::this_grid();
  out[grid.thread_rank()] = grid.size() * 1000 + grid.thread_rank();
}

CASE(grid_rank) { grid_ranks<<<dim3(2, 2), 16>>>(buffers.at<unsigned long long>(0)); }

// All of it, a part by elements, and by one tile bytes that no alignment helps.
__global__ void copied(const int* in, int* out) {
  __shared__ alignas(16) int whole[40], part[8];
  __shared__ char bytes[8];
  auto block = cg::this_thread_block();
  cg::memcpy_async(block, whole, in, sizeof whole);
  cg::memcpy_async(block, part, 8, in + 1, 5);
  cg::wait_prior<1>(block);
  out[threadIdx.x] = whole[39 - threadIdx.x];
  cg::wait(block);
  if (threadIdx.x < 5) out[40 + threadIdx.x] = part[4 - threadIdx.x];
  if (threadIdx.x >= 8) return;
  auto tile = cg::tiled_partition<8>(block);
  cg::memcpy_async(tile, bytes, reinterpret_cast<const char*>(in) + 1, 7);
  cg::wait(tile);
  if (threadIdx.x < 7) out[45 + threadIdx.x] = bytes[6 - threadIdx.x];
}
CASE(group_copies) { copied<<<1, 40>>>(buffers.at<int>(0), buffers.at<int>(1)); }
