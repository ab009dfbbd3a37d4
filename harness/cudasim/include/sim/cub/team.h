// The threads that work together in a collective of CUB: a block, or a warp's lanes of which there is a power of two.
#pragma once
#include <cuda_fp16.h>
#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstring>
#include <type_traits>

#if defined(HARNESS_SIM_DEVICE)
namespace cub {

struct NullType {};

namespace details {

template <int Threads>
struct BlockTeam {
  static constexpr int size = Threads;
  static int rank() { return int(sim_linear_thread()); }
  static void sync(const char* file, int line) { sim_syncthreads(file, line); }
};

template <int Threads>
struct WarpTeam {
  static_assert(Threads >= 1 && Threads <= 32 && (Threads & (Threads - 1)) == 0,
                "logical warps whose size is no power of two can't be simulated");
  static constexpr int size = Threads;
  static int rank() { return sim::lane() & (Threads - 1); }
  static unsigned mask() { return (Threads == 32 ? ~0u : (1u << Threads % 32) - 1) << (sim::lane() & ~(Threads - 1)); }
  static void sync(const char* file, int line) { __syncwarp(mask(), file, line); }
};

// A warp of a block; the last one may lack lanes.
template <int Threads>
struct WarpOfBlock {
  static constexpr int size = 32, warps = (Threads + 31) / 32;
  static int warp() { return int(sim_linear_thread()) / 32; }
  static int lanes() { return warp() == warps - 1 ? Threads - 32 * (warps - 1) : 32; }
  static unsigned mask() { return ~0u >> (32 - lanes()); }
};

// Memory of the team for `Count` values, of which nothing is constructed: users put it into unions.
template <class T, int Count>
struct Storage {
  alignas(alignof(T) > 16 ? alignof(T) : 16) unsigned char bytes[sizeof(T) * Count];
  T* values() { return reinterpret_cast<T*>(bytes); }
};

// What CUB leaves undefined: NaN, so that whoever reads it sees.
template <class T>
T undefined() {
  static_assert(std::is_trivially_copyable_v<T>, "collectives on types with a copy constructor can't be simulated");
  alignas(T) unsigned char bytes[sizeof(T)];
  memset(bytes, 0xFF, sizeof bytes);
  T value;
  memcpy(&value, bytes, sizeof value);
  return value;
}

// What the lanes of a warp's team hold, by rank; in pieces, since lanes hand each other at most 16 bytes.
template <class Team, class T>
void collect(const T& value, T* values, const char* what, const char* file, int line) {
  struct Piece {
    unsigned char bytes[16];
  } piece, pieces[32];
  int first = sim::lane() & ~(Team::size - 1);
  for (size_t at = 0; at < sizeof(T); at += sizeof piece) {
    size_t size = std::min(sizeof(T) - at, sizeof piece);
    memcpy(piece.bytes, reinterpret_cast<const unsigned char*>(&value) + at, size);
    sim::collect(Team::mask(), piece, pieces, what, file, line);
    for (int i = 0; i < Team::size; i++)
      memcpy(reinterpret_cast<unsigned char*>(&values[i]) + at, pieces[first + i].bytes, size);
  }
}

}  // namespace details
}  // namespace cub
#endif
