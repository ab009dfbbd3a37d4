// Cooperative groups. A cluster can't meet here, and is refused where it is used.
#pragma once
#include <cuda_runtime.h>

#include <functional>

#if defined(HARNESS_SIM_DEVICE)
namespace cooperative_groups {

namespace details {

static inline unsigned warp_rank() { return sim::lane(); }

// The lane of the rank-th member.
static inline unsigned lane_of(unsigned mask, unsigned rank) { return __fns(mask, 0, int(rank) + 1); }

// `lanes` as bits by rank within `mask`.
static inline unsigned by_rank(unsigned mask, unsigned lanes) {
  unsigned packed = 0, rank = 0;
  for (unsigned left = mask; left; left &= left - 1, rank++) packed |= (lanes >> __builtin_ctz(left) & 1) << rank;
  return packed;
}

// A shuffle of up to 32 bytes; a lane outside the warp means: keep your own.
template <class T>
static inline T exchange(unsigned mask, const T& value, unsigned lane, const char* what, const char* file, int line) {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= 32, "groups shuffle at most 32 bytes");
  T out;
  auto* from = reinterpret_cast<const char*>(&value);
  auto* to = reinterpret_cast<char*>(&out);
  for (size_t at = 0; at < sizeof(T); at += 16) {
    unsigned size = sizeof(T) - at < 16 ? unsigned(sizeof(T) - at) : 16;
    sim_warp_exchange(mask, from + at, to + at, lane < 32 ? int(lane) : -1, size, what, file, line);
  }
  return out;
}

}  // namespace details

// What every group can do. Null lanes mean the whole block.
class thread_group {
 public:
  void sync(SIM_CALLER) const {
    if (mask_)
      __syncwarp(mask_, file, line);
    else
      sim_syncthreads(file, line);
  }
  unsigned long long size() const { return mask_ ? __popc(mask_) : blockDim.x * blockDim.y * blockDim.z; }
  unsigned long long num_threads() const { return size(); }
  unsigned long long thread_rank() const {
    return mask_ ? __popc(mask_ & ((1u << details::warp_rank()) - 1)) : sim_linear_thread();
  }

 protected:
  explicit thread_group(unsigned mask) : mask_(mask) {}
  unsigned mask_;
  friend thread_group tiled_partition(const thread_group& parent, unsigned size);
};

class thread_block : public thread_group {
 public:
  static unsigned thread_rank() { return sim_linear_thread(); }
  static unsigned size() { return blockDim.x * blockDim.y * blockDim.z; }
  static unsigned num_threads() { return size(); }
  static dim3 group_index() { return blockIdx; }
  static dim3 thread_index() { return threadIdx; }
  static dim3 group_dim() { return blockDim; }
  static dim3 dim_threads() { return blockDim; }

 private:
  thread_block() : thread_group(0) {}
  friend thread_block this_thread_block();
};

inline thread_block this_thread_block() { return thread_block(); }

// Ranks and sizes need no meeting; a barrier of the grid needs a cooperative launch.
class grid_group {
 public:
  static unsigned long long thread_rank() { return block_rank() * thread_block::size() + sim_linear_thread(); }
  static unsigned long long size() { return num_blocks() * thread_block::size(); }
  static unsigned long long num_threads() { return size(); }
  static unsigned long long block_rank() {
    return (blockIdx.z * (unsigned long long)gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  }
  static unsigned long long num_blocks() { return (unsigned long long)gridDim.x * gridDim.y * gridDim.z; }
  static dim3 group_dim() { return gridDim; }
  static dim3 dim_blocks() { return gridDim; }
  static dim3 block_index() { return blockIdx; }
  static bool is_valid() { return sim_is_cooperative(); }
  void sync(SIM_CALLER) const { sim_grid_sync(file, line); }
};

inline grid_group this_grid() { return grid_group(); }

namespace details {

struct members {
  unsigned mask;
};

// Some lanes of one warp, known to each other by rank.
class lanes : public thread_group {
 public:
  template <class T>
  T shfl(const T& value, unsigned rank, SIM_CALLER) const {
    return exchange(mask_, value, lane_of(mask_, rank), "shfl", file, line);
  }
  template <class T>
  T shfl_up(const T& value, unsigned delta, SIM_CALLER) const {
    unsigned rank = unsigned(thread_rank());
    return exchange(mask_, value, delta > rank ? 32 : lane_of(mask_, rank - delta), "shfl_up", file, line);
  }
  template <class T>
  T shfl_down(const T& value, unsigned delta, SIM_CALLER) const {
    unsigned rank = unsigned(thread_rank());
    return exchange(mask_, value, lane_of(mask_, rank + delta), "shfl_down", file, line);
  }
  int any(int predicate, SIM_CALLER) const { return vote(predicate, "any", file, line) != 0; }
  int all(int predicate, SIM_CALLER) const { return vote(!predicate, "all", file, line) == 0; }
  unsigned ballot(int predicate, SIM_CALLER) const {
    return by_rank(mask_, vote(predicate, "ballot", file, line));
  }
  template <class T>
  unsigned match_any(T value, SIM_CALLER) const {
    return by_rank(mask_, sim_warp_match(mask_, &value, sizeof value, file, line));
  }
  template <class T>
  unsigned match_all(T value, int& is_same, SIM_CALLER) const {
    unsigned same = sim_warp_match(mask_, &value, sizeof value, file, line);
    is_same = same == mask_;
    return is_same ? by_rank(mask_, same) : 0;
  }
  unsigned lanes_mask() const { return mask_; }

 protected:
  explicit lanes(unsigned mask) : thread_group(mask) {}

 private:
  unsigned vote(int predicate, const char* what, const char* file, int line) const {
    return sim_warp_ballot(mask_, predicate, what, file, line);
  }
};

}  // namespace details

class coalesced_group : public details::lanes {
 public:
  unsigned long long meta_group_size() const { return meta_size_; }
  unsigned long long meta_group_rank() const { return meta_rank_; }

  // For the functions below: some lanes, which of how many groups they are.
  coalesced_group(details::members members, unsigned meta_size, unsigned meta_rank)
      : lanes(members.mask), meta_size_(meta_size), meta_rank_(meta_rank) {}

 private:
  unsigned meta_size_, meta_rank_;
};

inline coalesced_group coalesced_threads(SIM_CALLER) { return {{sim_active_mask(file, line)}, 1, 0}; }

template <unsigned Size, class Parent = void>
class thread_block_tile : public details::lanes {
  static_assert(Size <= 32 && (Size & (Size - 1)) == 0, "tiles of more than a warp can't be simulated");

 public:
  template <class OtherParent>
  thread_block_tile(const thread_block_tile<Size, OtherParent>& other)
      : lanes(other.lanes_mask()), meta_size_(other.meta_group_size()), meta_rank_(other.meta_group_rank()) {}
  static unsigned thread_rank() { return details::warp_rank() & (Size - 1); }
  static constexpr unsigned size() { return Size; }
  static constexpr unsigned num_threads() { return Size; }
  unsigned meta_group_size() const { return meta_size_; }
  unsigned meta_group_rank() const { return meta_rank_; }
  template <class T>
  T shfl(const T& value, int rank, SIM_CALLER) const {
    return lanes::shfl(value, unsigned(rank) & (Size - 1), file, line);
  }
  template <class T>
  T shfl_xor(const T& value, unsigned rank_mask, SIM_CALLER) const {
    unsigned rank = thread_rank() ^ rank_mask;
    return details::exchange(mask_, value, rank < Size ? details::lane_of(mask_, rank) : 32, "shfl_xor", file, line);
  }

 private:
  thread_block_tile(unsigned meta_size, unsigned meta_rank)
      : lanes((Size == 32 ? ~0u : (1u << Size % 32) - 1) << (details::warp_rank() & ~(Size - 1))),
        meta_size_(meta_size), meta_rank_(meta_rank) {}
  unsigned meta_size_, meta_rank_;
  template <unsigned N>
  friend thread_block_tile<N, thread_block> tiled_partition(const thread_block& parent);
  template <unsigned N, unsigned P, class G>
  friend thread_block_tile<N, thread_block_tile<P, G>> tiled_partition(const thread_block_tile<P, G>& parent);
};

template <unsigned Size>
thread_block_tile<Size, thread_block> tiled_partition(const thread_block& parent) {
  return {(parent.size() + Size - 1) / Size, parent.thread_rank() / Size};
}
template <unsigned Size, unsigned ParentSize, class GrandParent>
thread_block_tile<Size, thread_block_tile<ParentSize, GrandParent>> tiled_partition(
    const thread_block_tile<ParentSize, GrandParent>& parent) {
  static_assert(Size <= ParentSize, "a tile is no larger than what it is cut from");
  return {ParentSize / Size, parent.thread_rank() / Size};
}
inline thread_block_tile<1> this_thread() { return tiled_partition<1>(this_thread_block()); }
inline thread_group tiled_partition(const thread_group& parent, unsigned size) {
  unsigned first = details::warp_rank() & ~(size - 1);
  return thread_group((size >= 32 ? ~0u : (1u << size) - 1) << first);
}
inline coalesced_group tiled_partition(const coalesced_group& parent, unsigned size) {
  unsigned rank = unsigned(parent.thread_rank()), first = rank / size * size, mask = 0;
  for (unsigned i = first; i < first + size && i < parent.size(); i++) mask |= 1u << details::lane_of(parent.lanes_mask(), i);
  return {{mask}, (unsigned(parent.size()) + size - 1) / size, rank / size};
}

template <class Group, class Label>
coalesced_group labeled_partition(const Group& group, Label label, SIM_CALLER) {
  Label labels[32];
  unsigned members = sim::collect(group.lanes_mask(), label, labels, "labeled_partition", file, line);
  unsigned own = 0, firsts = 0, own_first = 0;
  for (unsigned left = members; left; left &= left - 1) {
    unsigned lane = __builtin_ctz(left), first = lane;
    for (unsigned other = members; other; other &= other - 1)
      if (labels[__builtin_ctz(other)] == labels[lane]) {
        first = __builtin_ctz(other);
        break;
      }
    if (first == lane) firsts |= 1u << lane;
    if (labels[lane] != label) continue;
    own |= 1u << lane;
    own_first = first;
  }
  return {{own}, unsigned(__popc(firsts)), unsigned(__popc(firsts & ((1u << own_first) - 1)))};
}
template <class Group>
coalesced_group binary_partition(const Group& group, bool predicate, SIM_CALLER) {
  return labeled_partition(group, int(predicate), file, line);
}

// One thread of the group calls; which one, CUDA leaves open.
template <class Group, class Function, class... Arguments>
void invoke_one(const Group& group, Function&& function, Arguments&&... arguments) {
  if (group.thread_rank() == 0) std::forward<Function>(function)(std::forward<Arguments>(arguments)...);
}
template <class Group, class Function, class... Arguments>
auto invoke_one_broadcast(const Group& group, Function&& function, Arguments&&... arguments) {
  std::decay_t<decltype(std::forward<Function>(function)(std::forward<Arguments>(arguments)...))> result{};
  if (group.thread_rank() == 0) result = std::forward<Function>(function)(std::forward<Arguments>(arguments)...);
  return group.shfl(result, 0);
}

template <class Group>
void sync(const Group& group, SIM_CALLER) {
  group.sync(file, line);
}
template <class Group>
auto thread_rank(const Group& group) {
  return group.thread_rank();
}
template <class Group>
auto group_size(const Group& group) {
  return group.size();
}

}  // namespace cooperative_groups
#endif
