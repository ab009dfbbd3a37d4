// cub::BlockReduce and cub::WarpReduce. The result is the first thread's; the others get what is undefined.
#pragma once
#include "sim/cub/operators.h"

#if defined(HARNESS_SIM_DEVICE)
namespace cub {

enum BlockReduceAlgorithm {
  BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY,
  BLOCK_REDUCE_RAKING,
  BLOCK_REDUCE_WARP_REDUCTIONS,
  BLOCK_REDUCE_WARP_REDUCTIONS_NONDETERMINISTIC
};

template <class T, int ThreadsX, BlockReduceAlgorithm = BLOCK_REDUCE_WARP_REDUCTIONS, int ThreadsY = 1, int ThreadsZ = 1>
class BlockReduce {
  typedef details::BlockTeam<ThreadsX * ThreadsY * ThreadsZ> Team;

 public:
  typedef details::Storage<T, Team::size> TempStorage;
  BlockReduce() : storage_(sim::shared_static<TempStorage>("cub::BlockReduce")) {}
  BlockReduce(TempStorage& storage) : storage_(storage) {}

  template <class Operator>
  T Reduce(T input, Operator operation, int valid, SIM_CALLER) {
    T* values = storage_.values();
    if (Team::rank() < valid) values[Team::rank()] = input;
    Team::sync(file, line);
    if (Team::rank() != 0) return details::undefined<T>();
    for (int i = 1; i < valid && i < Team::size; i++) input = operation(input, values[i]);
    return input;
  }
  template <class Operator>
  T Reduce(T input, Operator operation, SIM_CALLER) {
    return Reduce(input, operation, Team::size, file, line);
  }
  template <int Items, class Operator>
  T Reduce(T (&inputs)[Items], Operator operation, SIM_CALLER) {
    T total = inputs[0];
    for (int i = 1; i < Items; i++) total = operation(total, inputs[i]);
    return Reduce(total, operation, Team::size, file, line);
  }
  T Sum(T input, SIM_CALLER) { return Reduce(input, cub::Sum(), Team::size, file, line); }
  T Sum(T input, int valid, SIM_CALLER) { return Reduce(input, cub::Sum(), valid, file, line); }
  template <int Items>
  T Sum(T (&inputs)[Items], SIM_CALLER) {
    return Reduce(inputs, cub::Sum(), file, line);
  }

 private:
  TempStorage& storage_;
};

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
