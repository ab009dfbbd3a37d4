// CUB inside a block, and on the whole device.
#include <cub/block/block_exchange.cuh>
#include <cub/block/block_load.cuh>
#include <cub/block/block_merge_sort.cuh>
#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/block/block_store.cuh>
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_scan.cuh>
#include <cub/warp/warp_merge_sort.cuh>
#include <cub/warp/warp_reduce.cuh>
#include <cub/warp/warp_scan.cuh>
#include <cuda_fp16.h>

#include "case.h"

struct Larger {
  template <class T>
  __device__ T operator()(const T& a, const T& b) const {
    return a < b ? b : a;
  }
};

struct Together {
  template <class T>
  __device__ T operator()(const T& a, const T& b) const {
    return a + b;
  }
};

struct ComesFirst {
  template <class T>
  __device__ bool operator()(const T& a, const T& b) const {
    return b < a;
  }
};

__global__ void block_sums(const int* in, int* out, int valid) {
  typedef cub::BlockReduce<int, 96> Reduce;
  __shared__ typename Reduce::TempStorage storage;
  int pair[2] = {in[2 * threadIdx.x], in[2 * threadIdx.x + 1]};
  int sum = Reduce(storage).Sum(pair[0]);
  if (threadIdx.x == 0) out[0] = sum;
  __syncthreads();
  sum = Reduce(storage).Sum(pair);
  if (threadIdx.x == 0) out[1] = sum;
  __syncthreads();
  sum = Reduce(storage).Reduce(pair[0], Larger());
  if (threadIdx.x == 0) out[2] = sum;
  __syncthreads();
  sum = Reduce(storage).Reduce(pair[0], Larger(), valid);
  if (threadIdx.x == 0) out[3] = sum;
}

CASE(cub_block_reduce) { block_sums<<<1, 96>>>(buffers.at<int>(0), buffers.at<int>(1), 50); }

__global__ void block_argmax(const float* in, float* out, int* index, int n) {
  typedef cub::KeyValuePair<int, float> Pair;
  typedef cub::BlockReduce<Pair, 128, cub::BLOCK_REDUCE_RAKING> Reduce;
  __shared__ typename Reduce::TempStorage storage;
  Pair best(-1, -1e30f);
  for (int i = threadIdx.x; i < n; i += 128) best = cub::ArgMax()(best, Pair(i, in[i]));
  best = Reduce(storage).Reduce(best, cub::ArgMax());
  if (threadIdx.x == 0) {
    *out = best.value;
    *index = best.key;
  }
}

CASE(cub_argmax) {
  block_argmax<<<1, 128>>>(buffers.at<float>(0), buffers.at<float>(1), buffers.at<int>(2), buffers.size(0));
}

// So large that a value for each thread wouldn't fit into shared memory.
struct Hundreds {
  int counts[128];
};

struct AddHundreds {
  __device__ Hundreds operator()(const Hundreds& a, const Hundreds& b) const {
    Hundreds sum;
    for (int i = 0; i < 128; i++) sum.counts[i] = a.counts[i] + b.counts[i];
    return sum;
  }
};

__global__ void block_sum_of_large(const int* in, int* out, int valid) {
  typedef cub::BlockReduce<Hundreds, 112> Reduce;
  __shared__ typename Reduce::TempStorage storage;
  Hundreds mine;
  for (int i = 0; i < 128; i++) mine.counts[i] = in[threadIdx.x] * (i + 1);
  Hundreds sum = Reduce(storage).Reduce(mine, AddHundreds());
  if (threadIdx.x == 0)
    for (int i = 0; i < 128; i++) out[i] = sum.counts[i];
  __syncthreads();
  sum = Reduce(storage).Reduce(mine, AddHundreds(), valid);
  if (threadIdx.x == 0) out[128] = sum.counts[0];
}

CASE(cub_block_reduce_of_large) { block_sum_of_large<<<1, 112>>>(buffers.at<int>(0), buffers.at<int>(1), 70); }

__global__ void warp_sums(const int* in, int* out) {
  typedef cub::WarpReduce<int> Whole;
  typedef cub::WarpReduce<int, 8> Eighths;
  typedef cub::WarpScan<int> Scan;
  __shared__ typename Whole::TempStorage of_whole[2];
  __shared__ typename Eighths::TempStorage of_eighths[8];
  __shared__ typename Scan::TempStorage of_scan[2];
  int i = threadIdx.x, x = in[i], total;
  int whole = Whole(of_whole[i / 32]).Sum(x), eighth = Eighths(of_eighths[i / 8]).Reduce(x, Larger());
  if (i % 32 == 0) out[i / 32] = whole;
  if (i % 8 == 0) out[2 + i / 8] = eighth;
  Scan(of_scan[i / 32]).InclusiveSum(x, out[10 + i]);
  __syncwarp();
  Scan(of_scan[i / 32]).ExclusiveSum(x, out[74 + i], total);
  if (i % 32 == 3) out[138 + i / 32] = total;
}

CASE(cub_warp_reduce_and_scan) { warp_sums<<<1, 64>>>(buffers.at<int>(0), buffers.at<int>(1)); }

template <cub::BlockScanAlgorithm Algorithm>
__global__ void block_scans(const int* in, int* out) {
  typedef cub::BlockScan<int, 64, Algorithm> Scan;
  __shared__ typename Scan::TempStorage storage;
  int i = threadIdx.x, pair[2] = {in[2 * i], in[2 * i + 1]}, scanned[2], one, total;
  Scan(storage).ExclusiveSum(pair[0], one, total);
  out[i] = one;
  out[64 + i] = total;
  __syncthreads();
  Scan(storage).InclusiveSum(pair, scanned);
  out[128 + 2 * i] = scanned[0];
  out[128 + 2 * i + 1] = scanned[1];
  __syncthreads();
  Scan(storage).ExclusiveScan(pair, scanned, 40, Larger());
  out[256 + 2 * i] = scanned[0];
  out[256 + 2 * i + 1] = scanned[1];
  __syncthreads();
  Scan(storage).InclusiveScan(pair[1], one, Larger());
  out[384 + i] = one;
}

CASE(cub_block_scan) {
  block_scans<cub::BLOCK_SCAN_RAKING><<<1, 64>>>(buffers.at<int>(0), buffers.at<int>(1));
}
CASE(cub_block_scan_by_warps) {
  block_scans<cub::BLOCK_SCAN_WARP_SCANS><<<1, 64>>>(buffers.at<int>(0), buffers.at<int>(1));
}

template <class Key, bool IsDescending>
__global__ void sorted_keys(const Key* in, Key* out) {
  typedef cub::BlockRadixSort<Key, 64, 3> Sort;
  __shared__ typename Sort::TempStorage storage;
  Key keys[3];
  for (int i = 0; i < 3; i++) keys[i] = in[threadIdx.x * 3 + i];
  if (IsDescending) Sort(storage).SortDescending(keys);
  else Sort(storage).Sort(keys);
  for (int i = 0; i < 3; i++) out[threadIdx.x * 3 + i] = keys[i];
}

CASE(cub_radix_sort_int) { sorted_keys<int, false><<<1, 64>>>(buffers.at<int>(0), buffers.at<int>(1)); }
CASE(cub_radix_sort_float) { sorted_keys<float, true><<<1, 64>>>(buffers.at<float>(0), buffers.at<float>(1)); }
CASE(cub_radix_sort_half) { sorted_keys<__half, false><<<1, 64>>>(buffers.at<__half>(0), buffers.at<__half>(1)); }

template <bool IsStriped>
__global__ void sorted_pairs(const float* in, float* out, int* index, int begin, int end) {
  typedef cub::BlockRadixSort<float, 32, 4, int> Sort;
  __shared__ typename Sort::TempStorage storage;
  float keys[4];
  int values[4];
  for (int i = 0; i < 4; i++) keys[i] = in[values[i] = threadIdx.x * 4 + i];
  if (IsStriped) Sort(storage).SortDescendingBlockedToStriped(keys, values, begin, end);
  else Sort(storage).SortDescending(keys, values, begin, end);
  for (int i = 0; i < 4; i++) {
    int place = IsStriped ? i * 32 + threadIdx.x : threadIdx.x * 4 + i;
    out[place] = keys[i];
    index[place] = values[i];
  }
}

CASE(cub_radix_sort_pairs) {
  sorted_pairs<false><<<1, 32>>>(buffers.at<float>(0), buffers.at<float>(1), buffers.at<int>(2), 0, 32);
}
CASE(cub_radix_sort_striped) {
  sorted_pairs<true><<<1, 32>>>(buffers.at<float>(0), buffers.at<float>(1), buffers.at<int>(2), 0, 32);
}
// By sign, exponent and seven bits of the fraction: equal keys stay in their order.
CASE(cub_radix_sort_of_bits) {
  sorted_pairs<false><<<1, 32>>>(buffers.at<float>(0), buffers.at<float>(1), buffers.at<int>(2), 16, 32);
}

__global__ void merged(const float* in, float* out, int* index, int valid) {
  typedef cub::BlockMergeSort<float, 64, 2, int> BlockSort;
  typedef cub::WarpMergeSort<float, 2, 16, int> WarpSort;
  __shared__ typename BlockSort::TempStorage of_block;
  __shared__ typename WarpSort::TempStorage of_warps[4];
  float keys[2];
  int values[2];
  for (int i = 0; i < 2; i++) keys[i] = in[values[i] = threadIdx.x * 2 + i];
  WarpSort(of_warps[threadIdx.x / 16]).Sort(keys, values, ComesFirst());
  for (int i = 0; i < 2; i++) {
    out[threadIdx.x * 2 + i] = keys[i];
    index[threadIdx.x * 2 + i] = values[i];
  }
  BlockSort(of_block).Sort(keys, values, ComesFirst(), valid, -1e30f);
  for (int i = 0; i < 2; i++) {
    bool is_valid = threadIdx.x * 2 + i < valid;
    out[128 + threadIdx.x * 2 + i] = is_valid ? keys[i] : 0;
    index[128 + threadIdx.x * 2 + i] = is_valid ? values[i] : 0;
  }
}

CASE(cub_merge_sort) {
  merged<<<1, 64>>>(buffers.at<float>(0), buffers.at<float>(1), buffers.at<int>(2), 100);
}

template <cub::BlockLoadAlgorithm L, cub::BlockStoreAlgorithm S>
__global__ void loaded_and_stored(const int* in, int* out, int n) {
  typedef cub::BlockLoad<int, 64, 4, L> Load;
  typedef cub::BlockStore<int, 64, 4, S> Store;
  typedef cub::BlockExchange<int, 64, 4> Exchange;
  __shared__ union {
    typename Load::TempStorage load;
    typename Store::TempStorage store;
    typename Exchange::TempStorage exchange;
  } storage;
  int items[4];
  Load(storage.load).Load(in, items, n, -1);
  __syncthreads();
  for (int i = 0; i < 4; i++) items[i] = items[i] * 2 + i;
  Exchange(storage.exchange).BlockedToStriped(items);
  __syncthreads();
  for (int i = 0; i < 4; i++) items[i] += 10 * i;
  Exchange(storage.exchange).StripedToBlocked(items);
  __syncthreads();
  Store(storage.store).Store(out, items);
}

CASE(cub_load_and_store) {
  loaded_and_stored<cub::BLOCK_LOAD_DIRECT, cub::BLOCK_STORE_DIRECT>
      <<<1, 64>>>(buffers.at<int>(0), buffers.at<int>(1), 200);
}
CASE(cub_load_and_store_transposed) {
  loaded_and_stored<cub::BLOCK_LOAD_TRANSPOSE, cub::BLOCK_STORE_WARP_TRANSPOSE>
      <<<1, 64>>>(buffers.at<int>(0), buffers.at<int>(1), 200);
  loaded_and_stored<cub::BLOCK_LOAD_WARP_TRANSPOSE, cub::BLOCK_STORE_TRANSPOSE>
      <<<1, 64>>>(buffers.at<int>(0), buffers.at<int>(1), 200);
}

// Calls twice, as CUB wants it: the first time to learn how much memory the second needs.
template <class Work>
void with_memory(Work work) {
  size_t nbytes = 0;
  work(nullptr, nbytes);
  void* memory = nullptr;
  cudaMalloc(&memory, nbytes);
  work(memory, nbytes);
  cudaFree(memory);
}

CASE(cub_device_reduce_and_scan) {
  const int* in = buffers.at<int>(0);
  int *found = buffers.at<int>(1), *scans = buffers.at<int>(2), n = buffers.size(0);
  typedef cub::KeyValuePair<int, int> Pair;
  with_memory([&](void* memory, size_t& nbytes) { cub::DeviceReduce::Sum(memory, nbytes, in, found, n); });
  with_memory([&](void* memory, size_t& nbytes) { cub::DeviceReduce::Max(memory, nbytes, in, found + 1, n); });
  with_memory([&](void* memory, size_t& nbytes) { cub::DeviceReduce::Min(memory, nbytes, in, found + 2, n); });
  with_memory([&](void* memory, size_t& nbytes) {
    cub::DeviceReduce::ArgMax(memory, nbytes, in, reinterpret_cast<Pair*>(found + 3), n);
  });
  with_memory([&](void* memory, size_t& nbytes) {
    cub::DeviceReduce::ArgMin(memory, nbytes, in, reinterpret_cast<Pair*>(found + 5), n);
  });
  with_memory([&](void* memory, size_t& nbytes) {
    cub::DeviceReduce::Reduce(memory, nbytes, in, found + 7, 300, Together(), 7);
  });
  with_memory([&](void* memory, size_t& nbytes) { cub::DeviceScan::InclusiveSum(memory, nbytes, in, scans, n); });
  with_memory([&](void* memory, size_t& nbytes) { cub::DeviceScan::ExclusiveSum(memory, nbytes, in, scans + n, n); });
  with_memory([&](void* memory, size_t& nbytes) {
    cub::DeviceScan::InclusiveScan(memory, nbytes, in, scans + 2 * n, Larger(), n);
  });
  with_memory([&](void* memory, size_t& nbytes) {
    cub::DeviceScan::ExclusiveScan(memory, nbytes, in, scans + 3 * n, Larger(), -200, n);
  });
}

CASE(cub_device_sum_of_floats) {
  with_memory([&](void* memory, size_t& nbytes) {
    cub::DeviceReduce::Sum(memory, nbytes, buffers.at<float>(0), buffers.at<float>(1), buffers.size(0));
  });
}

__global__ void count_up(int* out, int n) {
  if (threadIdx.x < n) out[threadIdx.x] = threadIdx.x;
}

CASE(cub_device_radix_sort) {
  float *in = buffers.at<float>(0), *out = buffers.at<float>(1);
  int *index = buffers.at<int>(2), *numbers = nullptr, n = buffers.size(0);
  cudaMalloc(&numbers, n * sizeof(int));
  count_up<<<1, 1024>>>(numbers, n);
  with_memory([&](void* memory, size_t& nbytes) { cub::DeviceRadixSort::SortKeys(memory, nbytes, in, out, n); });
  with_memory([&](void* memory, size_t& nbytes) {
    cub::DeviceRadixSort::SortPairsDescending(memory, nbytes, in, out + n, numbers, index, n);
  });
  // What comes back lies in either buffer.
  float* copies = nullptr;
  cudaMalloc(&copies, 37 * sizeof(float));
  cudaMemcpy(copies, in, 37 * sizeof(float), cudaMemcpyDeviceToDevice);
  cub::DoubleBuffer<float> keys(copies, out + 2 * n);
  cub::DoubleBuffer<int> values(numbers, index + n);
  with_memory([&](void* memory, size_t& nbytes) { cub::DeviceRadixSort::SortPairs(memory, nbytes, keys, values, 37); });
  cudaMemcpy(out + 2 * n, keys.Current(), 37 * sizeof(float), cudaMemcpyDeviceToDevice);
  cudaMemcpy(index + n, values.Current(), 37 * sizeof(int), cudaMemcpyDeviceToDevice);
  cudaFree(copies);
  cudaFree(numbers);
}
