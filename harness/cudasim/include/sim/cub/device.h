// cub::DeviceReduce, cub::DeviceScan and cub::DeviceRadixSort: each a launch of one thread, which sums in groups, since
// a sum of millions in a row would err more than a GPU's.
#pragma once
#include "sim/cub/operators.h"
#include "sim/cub/radix_key.h"

#if defined(HARNESS_SIM_DEVICE)
namespace cub {

template <class T>
struct DoubleBuffer {
  T* d_buffers[2];
  int selector = 0;
  DoubleBuffer() : d_buffers{nullptr, nullptr} {}
  DoubleBuffer(T* current, T* alternate) : d_buffers{current, alternate} {}
  T* Current() { return d_buffers[selector]; }
  T* Alternate() { return d_buffers[selector ^ 1]; }
};

namespace details {

constexpr int group = 256;

struct Call {
  const char *name, *file;
  int line;
};

template <class Work, class... Arguments>
cudaError_t launch_one(const Call& call, cudaStream_t stream, Work work, Arguments... arguments) {
  sim::Launcher{{1, 1, 0, stream}, call.name, call.file, call.line}.with(arguments...)(std::move(work));
  return cudaPeekAtLastError();
}

// The first of two calls asks how much memory the second needs.
inline bool asks(const void* temporary, size_t& nbytes, size_t needed = 1) {
  if (!temporary) nbytes = needed;
  return !temporary;
}

template <class In>
using Item = std::decay_t<decltype(*std::declval<In>())>;

// Sums of small integers are wider than they.
struct Plus {
  template <class A, class B>
  auto operator()(const A& a, const B& b) const {
    return a + b;
  }
};

template <class In, class Operator>
using Result = std::decay_t<decltype(std::declval<Operator>()(std::declval<Item<In>>(), std::declval<Item<In>>()))>;

template <class T, class In, class Operator>
T reduced(In in, int64_t start, int64_t count, Operator operation) {
  if (count > group) {
    int64_t half = count / 2;
    T first = reduced<T>(in, start, half, operation);
    return operation(first, reduced<T>(in, start + half, count - half, operation));
  }
  T total = in[start];
  for (int64_t i = start + 1; i < start + count; i++) total = operation(total, in[i]);
  return total;
}

// An index beside each value.
template <class In>
struct Indexed {
  In in;
  KeyValuePair<int, Item<In>> operator[](int64_t i) const { return {int(i), in[i]}; }
};

template <class In, class Out, class Operator, class T>
cudaError_t scan(const Call& call, In in, Out out, Operator operation, T initial, bool has_initial, bool is_inclusive,
                 int64_t count, cudaStream_t stream) {
  auto work = [=](In from, Out to) {
    T before = initial;
    bool has_before = has_initial;
    for (int64_t start = 0; start < count; start += group) {
      T inside = from[start];
      if (!is_inclusive) to[start] = before;
      if (is_inclusive) to[start] = has_before ? T(operation(before, inside)) : inside;
      for (int64_t i = start + 1; i < std::min(start + group, count); i++) {
        T upto = operation(inside, T(from[i])), written = is_inclusive ? upto : inside;
        to[i] = has_before ? T(operation(before, written)) : written;
        inside = upto;
      }
      before = has_before ? T(operation(before, inside)) : inside;
      has_before = true;
    }
  };
  return launch_one(call, stream, work, in, out);
}

// By merging ever longer runs, from one of two places to the other so that the last merge ends in `keys_out`.
template <class IsBefore, class Key, class Value>
void merge_sort(const Key* keys, Key* keys_out, Key* keys_spare, const Value* values, Value* values_out,
                Value* values_spare, int64_t count, IsBefore is_before) {
  constexpr bool has_values = !std::is_same_v<Value, NullType>;
  int merges = 0;
  for (int64_t length = 1; length < count; length *= 2) merges++;
  for (int64_t length = 1; merges >= 0; length *= 2, merges--) {
    Key* keys_to = merges % 2 ? keys_spare : keys_out;
    Value* values_to = merges % 2 ? values_spare : values_out;
    int64_t half = length / 2;  // the first time nothing is merged, but taken from where nobody may write
    for (int64_t start = 0; start < count; start += length) {
      int64_t middle = std::min(start + half, count), end = std::min(start + length, count);
      for (int64_t at = start, left = start, right = middle; at < end; at++) {
        bool is_right = left == middle || (right < end && is_before(keys[right], keys[left]));
        int64_t taken = is_right ? right++ : left++;
        keys_to[at] = keys[taken];
        if constexpr (has_values) values_to[at] = values[taken];
      }
    }
    keys = keys_to;
    values = values_to;
  }
}

template <bool IsDescending, class Key, class Value>
cudaError_t radix_sort(const Call& call, void* temporary, size_t& nbytes, const Key* keys, Key* keys_out,
                       const Value* values, Value* values_out, int64_t count, int begin_bit, int end_bit,
                       cudaStream_t stream) {
  size_t of_keys = (count * sizeof(Key) + 255) / 256 * 256;
  if (asks(temporary, nbytes, of_keys + count * sizeof(Value) + 1)) return cudaSuccess;
  auto work = [=](const Key* from, Key* to, const Value* values_from, Value* values_to, void* spare) {
    Value* values_spare = reinterpret_cast<Value*>(static_cast<char*>(spare) + of_keys);
    merge_sort(from, to, static_cast<Key*>(spare), values_from, values_to, values_spare, count,
               RadixOrder<Key, IsDescending>{begin_bit, end_bit});
  };
  return launch_one(call, stream, work, keys, keys_out, values, values_out, temporary);
}

}  // namespace details

#define SIM_CUB_CALL(name) \
  details::Call { name, file, line }

struct DeviceReduce {
  template <class In, class Out, class Operator, class T>
  static cudaError_t Reduce(void* temporary, size_t& nbytes, In in, Out out, int64_t count, Operator operation,
                            T initial, cudaStream_t stream = nullptr, SIM_CALLER) {
    if (details::asks(temporary, nbytes)) return cudaSuccess;
    typedef details::Result<In, Operator> Total;
    auto work = [=](In from, Out to) {
      *to = count ? Total(operation(Total(initial), details::reduced<Total>(from, 0, count, operation))) : initial;
    };
    return details::launch_one(SIM_CUB_CALL("cub::DeviceReduce"), stream, work, in, out);
  }
  template <class In, class Out>
  static cudaError_t Sum(void* temporary, size_t& nbytes, In in, Out out, int64_t count, cudaStream_t stream = nullptr,
                         SIM_CALLER) {
    return Reduce(temporary, nbytes, in, out, count, details::Plus(), details::Item<In>(0), stream, file, line);
  }
  template <class In, class Out>
  static cudaError_t Max(void* temporary, size_t& nbytes, In in, Out out, int64_t count, cudaStream_t stream = nullptr,
                         SIM_CALLER) {
    return extreme(temporary, nbytes, in, out, count, cub::Max(), stream, file, line);
  }
  template <class In, class Out>
  static cudaError_t Min(void* temporary, size_t& nbytes, In in, Out out, int64_t count, cudaStream_t stream = nullptr,
                         SIM_CALLER) {
    return extreme(temporary, nbytes, in, out, count, cub::Min(), stream, file, line);
  }
  template <class In, class Out>
  static cudaError_t ArgMax(void* temporary, size_t& nbytes, In in, Out out, int64_t count,
                            cudaStream_t stream = nullptr, SIM_CALLER) {
    return extreme(temporary, nbytes, details::Indexed<In>{in}, out, count, cub::ArgMax(), stream, file, line);
  }
  template <class In, class Out>
  static cudaError_t ArgMin(void* temporary, size_t& nbytes, In in, Out out, int64_t count,
                            cudaStream_t stream = nullptr, SIM_CALLER) {
    return extreme(temporary, nbytes, details::Indexed<In>{in}, out, count, cub::ArgMin(), stream, file, line);
  }

 private:
  template <class In, class Out, class Operator>
  static cudaError_t extreme(void* temporary, size_t& nbytes, In in, Out out, int64_t count, Operator operation,
                             cudaStream_t stream, const char* file, int line) {
    if (details::asks(temporary, nbytes)) return cudaSuccess;
    if (!count) sim_refuse("an extreme of nothing by CUB");
    auto work = [=](In from, Out to) {
      *to = details::reduced<std::decay_t<decltype(from[0])>>(from, 0, count, operation);
    };
    return details::launch_one(SIM_CUB_CALL("cub::DeviceReduce"), stream, work, in, out);
  }
};

struct DeviceScan {
  template <class In, class Out, class Operator>
  static cudaError_t InclusiveScan(void* temporary, size_t& nbytes, In in, Out out, Operator operation, int64_t count,
                                   cudaStream_t stream = nullptr, SIM_CALLER) {
    if (details::asks(temporary, nbytes)) return cudaSuccess;
    return details::scan(SIM_CUB_CALL("cub::DeviceScan"), in, out, operation, details::Result<In, Operator>(), false,
                         true, count, stream);
  }
  template <class In, class Out, class Operator, class T>
  static cudaError_t ExclusiveScan(void* temporary, size_t& nbytes, In in, Out out, Operator operation, T initial,
                                   int64_t count, cudaStream_t stream = nullptr, SIM_CALLER) {
    if (details::asks(temporary, nbytes)) return cudaSuccess;
    return details::scan(SIM_CUB_CALL("cub::DeviceScan"), in, out, operation,
                         details::Result<In, Operator>(initial), true, false, count, stream);
  }
  template <class In, class Out>
  static cudaError_t InclusiveSum(void* temporary, size_t& nbytes, In in, Out out, int64_t count,
                                  cudaStream_t stream = nullptr, SIM_CALLER) {
    return InclusiveScan(temporary, nbytes, in, out, details::Plus(), count, stream, file, line);
  }
  template <class In, class Out>
  static cudaError_t ExclusiveSum(void* temporary, size_t& nbytes, In in, Out out, int64_t count,
                                  cudaStream_t stream = nullptr, SIM_CALLER) {
    return ExclusiveScan(temporary, nbytes, in, out, details::Plus(), details::Item<In>(0), count, stream, file, line);
  }
};

struct DeviceRadixSort {
#define SIM_CUB_SORTS(Keys, Pairs, is_descending)                                                                   \
  template <class Key>                                                                                              \
  static cudaError_t Keys(void* temporary, size_t& nbytes, const Key* keys, Key* keys_out, int64_t count,           \
                          int begin_bit = 0, int end_bit = sizeof(Key) * 8, cudaStream_t stream = nullptr,          \
                          SIM_CALLER) {                                                                             \
    const NullType* none = nullptr;                                                                                 \
    return details::radix_sort<is_descending>(SIM_CUB_CALL("cub::DeviceRadixSort"), temporary, nbytes, keys,        \
                                              keys_out, none, const_cast<NullType*>(none), count, begin_bit,        \
                                              end_bit, stream);                                                     \
  }                                                                                                                 \
  template <class Key, class Value>                                                                                 \
  static cudaError_t Pairs(void* temporary, size_t& nbytes, const Key* keys, Key* keys_out, const Value* values,    \
                           Value* values_out, int64_t count, int begin_bit = 0, int end_bit = sizeof(Key) * 8,      \
                           cudaStream_t stream = nullptr, SIM_CALLER) {                                             \
    return details::radix_sort<is_descending>(SIM_CUB_CALL("cub::DeviceRadixSort"), temporary, nbytes, keys,        \
                                              keys_out, values, values_out, count, begin_bit, end_bit, stream);     \
  }                                                                                                                 \
  template <class Key>                                                                                              \
  static cudaError_t Keys(void* temporary, size_t& nbytes, DoubleBuffer<Key>& keys, int64_t count,                  \
                          int begin_bit = 0, int end_bit = sizeof(Key) * 8, cudaStream_t stream = nullptr,          \
                          SIM_CALLER) {                                                                             \
    bool is_sort = temporary;                                                                                       \
    cudaError_t error = Keys(temporary, nbytes, static_cast<const Key*>(keys.Current()), keys.Alternate(), count,   \
                             begin_bit, end_bit, stream, file, line);                                               \
    keys.selector ^= is_sort;                                                                                       \
    return error;                                                                                                   \
  }                                                                                                                 \
  template <class Key, class Value>                                                                                 \
  static cudaError_t Pairs(void* temporary, size_t& nbytes, DoubleBuffer<Key>& keys, DoubleBuffer<Value>& values,   \
                           int64_t count, int begin_bit = 0, int end_bit = sizeof(Key) * 8,                         \
                           cudaStream_t stream = nullptr, SIM_CALLER) {                                             \
    bool is_sort = temporary;                                                                                       \
    cudaError_t error = Pairs(temporary, nbytes, static_cast<const Key*>(keys.Current()), keys.Alternate(),         \
                              static_cast<const Value*>(values.Current()), values.Alternate(), count, begin_bit,    \
                              end_bit, stream, file, line);                                                         \
    keys.selector ^= is_sort;                                                                                       \
    values.selector ^= is_sort;                                                                                     \
    return error;                                                                                                   \
  }

  SIM_CUB_SORTS(SortKeys, SortPairs, false)
  SIM_CUB_SORTS(SortKeysDescending, SortPairsDescending, true)
#undef SIM_CUB_SORTS
};

#undef SIM_CUB_CALL

}  // namespace cub
#endif
