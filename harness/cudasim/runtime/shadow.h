// What the checked build knows about memory: which bytes were written, and who touched them last.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>

namespace sim {

constexpr unsigned granule = 4;  // bytes that share a cell

// One thread's access to some bytes of a granule. `block` is the serial number of a block's run, never 0; `changes` how
// often the thread had changed something atomically since its block's last barrier.
struct Stamp {
  uint32_t block = 0;
  uint32_t site = 0;             // the lower half of the instruction's address
  uint32_t barriers : 20, changes : 8, mask : 4;
  uint32_t thread : 10, is_atomic : 1, by_others_of_warp : 1, by_other_warps : 1, by_other_blocks : 1, syncs : 18;
};

static_assert(sizeof(Stamp) == 16, "a cell is eight times its granule");

struct Cell {
  Stamp write, read;
};

// Inaccessible until touched: shadows of huge allocations cost what kernels touch of them.
template <class T>
class LazyArray {
 public:
  LazyArray() = default;
  ~LazyArray() { release(); }
  LazyArray(const LazyArray&) = delete;
  LazyArray& operator=(const LazyArray&) = delete;
  // Zeroed. Raises std::bad_alloc where there is no address space.
  void resize(size_t count);
  T& operator[](size_t index) { return data_[index]; }
  bool empty() const { return !data_; }

 private:
  void release();
  T* data_ = nullptr;
  size_t nbytes_ = 0;
};

// The bytes of one allocation.
class Shadow {
 public:
  Shadow(size_t nbytes, bool is_written) : nbytes_(nbytes), all_written_(is_written) {}

  // From the host: kept as ranges, which cost nothing for memory of any size.
  void mark_written(size_t begin, size_t end);
  // From a kernel; `mask` has a bit for each byte of the granule.
  void mark_granule(size_t index, unsigned mask) {
    if (all_written_) return;
    if (written_.empty()) written_.resize(nbytes_ / granule + 1);
    written_[index] |= mask;
  }
  // The bytes of `mask` that nobody wrote.
  unsigned unwritten(size_t index, unsigned mask) {
    if (all_written_) return 0;
    if (!written_.empty()) mask &= ~written_[index];
    return mask ? unwritten_by_host(index, mask) : 0;
  }
  // Back to nothing written.
  void forget();
  // How many of the bytes of a range nobody wrote; `first` is the first of them.
  size_t count_unwritten(size_t begin, size_t end, size_t& first);

  Cell& cell(size_t index) {
    if (cells_.empty()) cells_.resize(nbytes_ / granule + 1);
    return cells_[index];
  }

  // Sampled launches leave holes that mean nothing.
  bool is_partial = false;

 private:
  unsigned unwritten_by_host(size_t index, unsigned mask) const;

  size_t nbytes_;
  bool all_written_;
  std::map<size_t, size_t> ranges_;  // end by begin, apart from each other
  LazyArray<uint8_t> written_;
  LazyArray<Cell> cells_;
};

}  // namespace sim
