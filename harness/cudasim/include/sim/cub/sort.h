// cub::BlockRadixSort, cub::BlockMergeSort and cub::WarpMergeSort. All are stable: one thread sorts what the team has
// brought into shared memory, between barriers of the team.
#pragma once
#include "sim/cub/exchange.h"
#include "sim/cub/radix_key.h"
#include "sim/cub/scan.h"

#if defined(HARNESS_SIM_DEVICE)
namespace cub {

namespace details {

// Keys, then values: one after the other in the same memory.
template <class Team, int Items, class Key, class Value>
class Sorter {
 public:
  static constexpr int count = Team::size * Items;
  static constexpr size_t value_nbytes = std::is_same_v<Value, NullType> ? 0 : sizeof(Value);
  typedef Storage<std::conditional_t<(value_nbytes > sizeof(Key)), Value, Key>, count> TempStorage;

  Sorter(TempStorage& storage, const char* file, int line) : storage_(storage), file_(file), line_(line) {}

  // The first `valid` of the team's keys; those behind become `filler` if there is one.
  template <class IsBefore>
  void sort_keys(Key (&keys)[Items], IsBefore is_before, int valid = count, const Key* filler = nullptr) {
    Key* shared = reinterpret_cast<Key*>(storage_.bytes);
    put(keys, shared);
    if (Team::rank() == 0) {
      Storage<Key, count> unsorted;
      std::copy(shared, shared + count, unsorted.values());
      sort_order([&](int a, int b) { return is_before(unsorted.values()[a], unsorted.values()[b]); }, valid);
      for (int i = 0; i < count; i++) shared[i] = i >= valid && filler ? *filler : unsorted.values()[order_[i]];
    }
    Team::sync(file_, line_);
  }
  // In the order of the keys.
  void sort_values(Value (&values)[Items]) {
    Value* shared = reinterpret_cast<Value*>(storage_.bytes);
    Team::sync(file_, line_);
    put(values, shared);
    if (Team::rank() == 0) {
      Storage<Value, count> unsorted;
      std::copy(shared, shared + count, unsorted.values());
      for (int i = 0; i < count; i++) shared[i] = unsorted.values()[order_[i]];
    }
    Team::sync(file_, line_);
  }
  // What the team has sorted: to each thread its neighbouring items, or every `Team::size`-th.
  template <class T>
  void take(T (&items)[Items], bool is_striped = false) {
    const T* shared = reinterpret_cast<const T*>(storage_.bytes);
    for (int i = 0; i < Items; i++)
      items[i] = shared[is_striped ? i * Team::size + Team::rank() : Team::rank() * Items + i];
  }

 private:
  template <class T>
  void put(T (&items)[Items], T* shared) {
    for (int i = 0; i < Items; i++) shared[Team::rank() * Items + i] = items[i];
    Team::sync(file_, line_);
  }

  // By merging ever longer runs, on the stack: the memory of std::stable_sort is none that a kernel may write.
  template <class IsBefore>
  void sort_order(IsBefore is_before, int valid) {
    int scratch[count], *from = order_, *to = scratch;
    for (int i = 0; i < count; i++) order_[i] = scratch[i] = i;
    for (int length = 1; length < valid; length *= 2) {
      for (int start = 0; start < valid; start += 2 * length) {
        int middle = std::min(start + length, valid), end = std::min(start + 2 * length, valid);
        std::merge(from + start, from + middle, from + middle, from + end, to + start, is_before);
      }
      std::swap(from, to);
    }
    if (from != order_) std::copy(from, from + valid, order_);
  }

  TempStorage& storage_;
  const char* file_;
  int line_;
  int order_[count];  // of the thread that sorts
};

// Sorts by a comparison: cub::BlockMergeSort and cub::WarpMergeSort.
template <class Team, int Items, class Key, class Value>
class MergeSort {
  typedef Sorter<Team, Items, Key, Value> TeamSorter;

 public:
  typedef typename TeamSorter::TempStorage TempStorage;
  MergeSort(TempStorage& storage) : storage_(storage) {}

  template <class IsBefore>
  void Sort(Key (&keys)[Items], IsBefore is_before, SIM_CALLER) {
    TeamSorter sorter(storage_, file, line);
    sorter.sort_keys(keys, is_before);
    sorter.take(keys);
  }
  template <class IsBefore>
  void Sort(Key (&keys)[Items], IsBefore is_before, int valid, Key filler, SIM_CALLER) {
    TeamSorter sorter(storage_, file, line);
    sorter.sort_keys(keys, is_before, std::min(valid, TeamSorter::count), &filler);
    sorter.take(keys);
  }
  template <class IsBefore>
  void Sort(Key (&keys)[Items], Value (&values)[Items], IsBefore is_before, SIM_CALLER) {
    TeamSorter sorter(storage_, file, line);
    sorter.sort_keys(keys, is_before);
    finish(sorter, keys, values);
  }
  template <class IsBefore>
  void Sort(Key (&keys)[Items], Value (&values)[Items], IsBefore is_before, int valid, Key filler, SIM_CALLER) {
    TeamSorter sorter(storage_, file, line);
    sorter.sort_keys(keys, is_before, std::min(valid, TeamSorter::count), &filler);
    finish(sorter, keys, values);
  }
  template <class IsBefore>
  void StableSort(Key (&keys)[Items], IsBefore is_before, SIM_CALLER) {
    Sort(keys, is_before, file, line);
  }
  template <class IsBefore>
  void StableSort(Key (&keys)[Items], Value (&values)[Items], IsBefore is_before, SIM_CALLER) {
    Sort(keys, values, is_before, file, line);
  }

 private:
  static void finish(TeamSorter& sorter, Key (&keys)[Items], Value (&values)[Items]) {
    sorter.take(keys);
    sorter.sort_values(values);
    sorter.take(values);
  }
  TempStorage& storage_;
};

}  // namespace details

template <class Key, int ThreadsX, int Items, class Value = NullType, int ThreadsY = 1, int ThreadsZ = 1>
class BlockMergeSort : public details::MergeSort<details::BlockTeam<ThreadsX * ThreadsY * ThreadsZ>, Items, Key, Value> {
  typedef details::MergeSort<details::BlockTeam<ThreadsX * ThreadsY * ThreadsZ>, Items, Key, Value> Base;

 public:
  typedef typename Base::TempStorage TempStorage;
  BlockMergeSort() : Base(sim::shared_static<TempStorage>("cub::BlockMergeSort")) {}
  BlockMergeSort(TempStorage& storage) : Base(storage) {}
};

template <class Key, int Items, int Threads = 32, class Value = NullType>
class WarpMergeSort : public details::MergeSort<details::WarpTeam<Threads>, Items, Key, Value> {
  typedef details::MergeSort<details::WarpTeam<Threads>, Items, Key, Value> Base;

 public:
  typedef typename Base::TempStorage TempStorage;
  WarpMergeSort(TempStorage& storage) : Base(storage) {}
};

// The parameters behind `Value` choose how a GPU sorts.
template <class Key, int ThreadsX, int Items, class Value = NullType, int RadixBits = 4, bool = true,
          BlockScanAlgorithm = BLOCK_SCAN_WARP_SCANS, cudaSharedMemConfig = cudaSharedMemBankSizeFourByte, int ThreadsY = 1,
          int ThreadsZ = 1>
class BlockRadixSort {
  typedef details::BlockTeam<ThreadsX * ThreadsY * ThreadsZ> Team;
  typedef details::Sorter<Team, Items, Key, Value> TeamSorter;
  static constexpr int all_bits = sizeof(Key) * 8;

 public:
  typedef typename TeamSorter::TempStorage TempStorage;
  BlockRadixSort() : storage_(sim::shared_static<TempStorage>("cub::BlockRadixSort")) {}
  BlockRadixSort(TempStorage& storage) : storage_(storage) {}

#define SIM_RADIX_SORT(name, is_descending, is_striped)                                                         \
  void name(Key (&keys)[Items], int begin_bit = 0, int end_bit = all_bits, SIM_CALLER) {                        \
    TeamSorter sorter(storage_, file, line);                                                                    \
    sorter.sort_keys(keys, details::RadixOrder<Key, is_descending>{begin_bit, end_bit});                        \
    sorter.take(keys, is_striped);                                                                              \
  }                                                                                                             \
  void name(Key (&keys)[Items], Value (&values)[Items], int begin_bit = 0, int end_bit = all_bits, SIM_CALLER) { \
    TeamSorter sorter(storage_, file, line);                                                                    \
    sorter.sort_keys(keys, details::RadixOrder<Key, is_descending>{begin_bit, end_bit});                        \
    sorter.take(keys, is_striped);                                                                              \
    sorter.sort_values(values);                                                                                 \
    sorter.take(values, is_striped);                                                                            \
  }
  SIM_RADIX_SORT(Sort, false, false)
  SIM_RADIX_SORT(SortDescending, true, false)
  SIM_RADIX_SORT(SortBlockedToStriped, false, true)
  SIM_RADIX_SORT(SortDescendingBlockedToStriped, true, true)
#undef SIM_RADIX_SORT

 private:
  TempStorage& storage_;
};

}  // namespace cub
#endif
