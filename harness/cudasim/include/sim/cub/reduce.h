// cub::BlockReduce and cub::WarpReduce. The result is the first thread's; the others get what is undefined.
#pragma once
#include "sim/cub/operators.h"

#if defined(HARNESS_SIM_DEVICE)
// So that the line of a race's other side is the caller's.
#define SIM_INLINED __attribute__((always_inline))

namespace cub {

enum BlockReduceAlgorithm {
  BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY,
  BLOCK_REDUCE_RAKING,
  BLOCK_REDUCE_WARP_REDUCTIONS,
  BLOCK_REDUCE_WARP_REDUCTIONS_NONDETERMINISTIC
};

template <class T, int ThreadsX, BlockReduceAlgorithm Algorithm = BLOCK_REDUCE_WARP_REDUCTIONS, int ThreadsY = 1,
          int ThreadsZ = 1>
class BlockReduce {
  typedef details::BlockTeam<ThreadsX * ThreadsY * ThreadsZ> Team;
  typedef details::WarpOfBlock<Team::size> Warp;

 public:
  // A value for each warp; raking has one for each thread.
  typedef details::Storage<T, (Algorithm <= BLOCK_REDUCE_RAKING ? Team::size : Warp::warps)> TempStorage;
  BlockReduce() : storage_(sim::shared_static<TempStorage>("cub::BlockReduce")) {}
  BlockReduce(TempStorage& storage) : storage_(storage) {}

  template <class Operator>
  SIM_INLINED T Reduce(T input, Operator operation, int valid, SIM_CALLER) {
    reduce_warp(input, operation, valid, file, line);
    Team::sync(file, line);
    if (Team::rank() != 0) return details::undefined<T>();
    T total = storage_.values()[0];
    for (int warp = 1; warp < Warp::warps && warp * 32 < valid; warp++)
      total = operation(total, storage_.values()[warp]);
    return total;
  }
  template <class Operator>
  SIM_INLINED T Reduce(T input, Operator operation, SIM_CALLER) {
    return Reduce(input, operation, Team::size, file, line);
  }
  template <int Items, class Operator>
  SIM_INLINED T Reduce(T (&inputs)[Items], Operator operation, SIM_CALLER) {
    T total = inputs[0];
    for (int i = 1; i < Items; i++) total = operation(total, inputs[i]);
    return Reduce(total, operation, Team::size, file, line);
  }
  SIM_INLINED T Sum(T input, SIM_CALLER) { return Reduce(input, cub::Sum(), Team::size, file, line); }
  SIM_INLINED T Sum(T input, int valid, SIM_CALLER) { return Reduce(input, cub::Sum(), valid, file, line); }
  template <int Items>
  SIM_INLINED T Sum(T (&inputs)[Items], SIM_CALLER) {
    return Reduce(inputs, cub::Sum(), file, line);
  }

 private:
  template <class Operator>
  void reduce_warp(const T& input, Operator operation, int valid, const char* file, int line) {
    details::Storage<T, 32> lanes;
    T* values = lanes.values();
    details::collect<Warp>(input, values, "cub::BlockReduce", file, line);
    if (sim::lane() != 0) return;
    for (int i = 1; i < Warp::lanes() && Team::rank() + i < valid; i++) values[0] = operation(values[0], values[i]);
    storage_.values()[Warp::warp()] = values[0];
  }
  TempStorage& storage_;
};

#undef SIM_INLINED

template <class T, int Threads = 32>
class WarpReduce {
  typedef details::WarpTeam<Threads> Team;

 public:
  typedef NullType TempStorage;
  WarpReduce(TempStorage&) {}

  template <class Operator>
  T Reduce(T input, Operator operation, int valid, SIM_CALLER) {
    T values[Team::size];
    details::collect<Team>(input, values, "cub::WarpReduce", file, line);
    if (Team::rank() != 0) return details::undefined<T>();
    for (int i = 1; i < valid && i < Team::size; i++) input = operation(input, values[i]);
    return input;
  }
  template <class Operator>
  T Reduce(T input, Operator operation, SIM_CALLER) {
    return Reduce(input, operation, Team::size, file, line);
  }
  T Sum(T input, SIM_CALLER) { return Reduce(input, cub::Sum(), Team::size, file, line); }
  T Sum(T input, int valid, SIM_CALLER) { return Reduce(input, cub::Sum(), valid, file, line); }
};

}  // namespace cub
#endif
