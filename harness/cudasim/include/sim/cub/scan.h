// cub::BlockScan and cub::WarpScan: prefix sums, and other operations'.
#pragma once
#include "sim/cub/operators.h"

#if defined(HARNESS_SIM_DEVICE)
namespace cub {

enum BlockScanAlgorithm { BLOCK_SCAN_RAKING, BLOCK_SCAN_RAKING_MEMOIZE, BLOCK_SCAN_WARP_SCANS };

template <class T, int ThreadsX, BlockScanAlgorithm Algorithm = BLOCK_SCAN_RAKING, int ThreadsY = 1, int ThreadsZ = 1>
class BlockScan {
  typedef details::BlockTeam<ThreadsX * ThreadsY * ThreadsZ> Team;
  typedef details::WarpOfBlock<Team::size> Warp;
  // CUB scans so only whole warps.
  static constexpr bool by_warp = Algorithm == BLOCK_SCAN_WARP_SCANS && Team::size % 32 == 0;

 public:
  typedef details::Storage<T, (by_warp ? Warp::warps : Team::size)> TempStorage;
  BlockScan() : storage_(sim::shared_static<TempStorage>("cub::BlockScan")) {}
  BlockScan(TempStorage& storage) : storage_(storage) {}

  void InclusiveSum(T input, T& output, SIM_CALLER) { InclusiveScan(input, output, Sum(), file, line); }
  void InclusiveSum(T input, T& output, T& total, SIM_CALLER) { InclusiveScan(input, output, Sum(), total, file, line); }
  template <int Items>
  void InclusiveSum(T (&inputs)[Items], T (&outputs)[Items], SIM_CALLER) {
    InclusiveScan(inputs, outputs, Sum(), file, line);
  }
  template <int Items>
  void InclusiveSum(T (&inputs)[Items], T (&outputs)[Items], T& total, SIM_CALLER) {
    InclusiveScan(inputs, outputs, Sum(), total, file, line);
  }
  void ExclusiveSum(T input, T& output, SIM_CALLER) { ExclusiveScan(input, output, T(0), Sum(), file, line); }
  void ExclusiveSum(T input, T& output, T& total, SIM_CALLER) {
    ExclusiveScan(input, output, T(0), Sum(), total, file, line);
  }
  template <int Items>
  void ExclusiveSum(T (&inputs)[Items], T (&outputs)[Items], SIM_CALLER) {
    ExclusiveScan(inputs, outputs, T(0), Sum(), file, line);
  }
  template <int Items>
  void ExclusiveSum(T (&inputs)[Items], T (&outputs)[Items], T& total, SIM_CALLER) {
    ExclusiveScan(inputs, outputs, T(0), Sum(), total, file, line);
  }

  template <class Operator>
  void InclusiveScan(T input, T& output, Operator operation, SIM_CALLER) {
    T total;
    InclusiveScan(input, output, operation, total, file, line);
  }
  template <class Operator>
  void InclusiveScan(T input, T& output, Operator operation, T& total, SIM_CALLER) {
    T before = scan(input, operation, total, file, line);
    output = Team::rank() == 0 ? input : operation(before, input);
  }
  template <int Items, class Operator>
  void InclusiveScan(T (&inputs)[Items], T (&outputs)[Items], Operator operation, SIM_CALLER) {
    T total;
    InclusiveScan(inputs, outputs, operation, total, file, line);
  }
  template <int Items, class Operator>
  void InclusiveScan(T (&inputs)[Items], T (&outputs)[Items], Operator operation, T& total, SIM_CALLER) {
    T before = scan(of_thread(inputs, operation), operation, total, file, line);
    for (int i = 0; i < Items; i++)
      outputs[i] = before = Team::rank() == 0 && i == 0 ? inputs[0] : operation(before, inputs[i]);
  }

  template <class Operator>
  void ExclusiveScan(T input, T& output, T initial, Operator operation, SIM_CALLER) {
    T total;
    ExclusiveScan(input, output, initial, operation, total, file, line);
  }
  // The total leaves the initial value out.
  template <class Operator>
  void ExclusiveScan(T input, T& output, T initial, Operator operation, T& total, SIM_CALLER) {
    T before = scan(input, operation, total, file, line);
    output = Team::rank() == 0 ? initial : operation(initial, before);
  }
  template <int Items, class Operator>
  void ExclusiveScan(T (&inputs)[Items], T (&outputs)[Items], T initial, Operator operation, SIM_CALLER) {
    T total;
    ExclusiveScan(inputs, outputs, initial, operation, total, file, line);
  }
  template <int Items, class Operator>
  void ExclusiveScan(T (&inputs)[Items], T (&outputs)[Items], T initial, Operator operation, T& total, SIM_CALLER) {
    T before = scan(of_thread(inputs, operation), operation, total, file, line);
    T running = Team::rank() == 0 ? initial : operation(initial, before);
    for (int i = 0; i < Items; i++) {
      T input = inputs[i];  // both arrays may be the same
      outputs[i] = running;
      running = operation(running, input);
    }
  }

 private:
  template <int Items, class Operator>
  static T of_thread(T (&inputs)[Items], Operator operation) {
    T sum = inputs[0];
    for (int i = 1; i < Items; i++) sum = operation(sum, inputs[i]);
    return sum;
  }
  // What lower threads have together, undefined for the first one.
  template <class Operator>
  T scan(T input, Operator operation, T& total, const char* file, int line) {
    if constexpr (by_warp) return scan_warps(input, operation, total, file, line);
    T* values = storage_.values();
    values[Team::rank()] = input;
    Team::sync(file, line);
    if (Team::rank() == 0)
      for (int i = 1; i < Team::size; i++) values[i] = operation(values[i - 1], values[i]);
    Team::sync(file, line);
    total = values[Team::size - 1];
    return Team::rank() == 0 ? details::undefined<T>() : values[Team::rank() - 1];
  }
  template <class Operator>
  T scan_warps(const T& input, Operator operation, T& total, const char* file, int line) {
    details::Storage<T, 32> lanes;
    T *values = lanes.values(), *of_warps = storage_.values();
    details::collect<Warp>(input, values, "cub::BlockScan", file, line);
    for (int i = 1; i < 32; i++) values[i] = operation(values[i - 1], values[i]);
    if (sim::lane() == 0) of_warps[Warp::warp()] = values[31];
    Team::sync(file, line);
    T before = details::undefined<T>();
    total = of_warps[0];
    for (int warp = 1; warp < Warp::warps; warp++) {
      if (warp == Warp::warp()) before = total;
      total = operation(total, of_warps[warp]);
    }
    if (sim::lane() == 0) return before;
    return Warp::warp() == 0 ? values[sim::lane() - 1] : operation(before, values[sim::lane() - 1]);
  }
  TempStorage& storage_;
};

template <class T, int Threads = 32>
class WarpScan {
  typedef details::WarpTeam<Threads> Team;

 public:
  typedef NullType TempStorage;
  WarpScan(TempStorage&) {}

  void InclusiveSum(T input, T& output, SIM_CALLER) { InclusiveScan(input, output, Sum(), file, line); }
  void InclusiveSum(T input, T& output, T& total, SIM_CALLER) { InclusiveScan(input, output, Sum(), total, file, line); }
  void ExclusiveSum(T input, T& output, SIM_CALLER) { ExclusiveScan(input, output, T(0), Sum(), file, line); }
  void ExclusiveSum(T input, T& output, T& total, SIM_CALLER) {
    ExclusiveScan(input, output, T(0), Sum(), total, file, line);
  }
  template <class Operator>
  void InclusiveScan(T input, T& output, Operator operation, SIM_CALLER) {
    T total;
    InclusiveScan(input, output, operation, total, file, line);
  }
  template <class Operator>
  void InclusiveScan(T input, T& output, Operator operation, T& total, SIM_CALLER) {
    T before = scan(input, operation, total, file, line);
    output = Team::rank() == 0 ? input : operation(before, input);
  }
  template <class Operator>
  void ExclusiveScan(T input, T& output, T initial, Operator operation, SIM_CALLER) {
    T total;
    ExclusiveScan(input, output, initial, operation, total, file, line);
  }
  template <class Operator>
  void ExclusiveScan(T input, T& output, T initial, Operator operation, T& total, SIM_CALLER) {
    T before = scan(input, operation, total, file, line);
    output = Team::rank() == 0 ? initial : operation(initial, before);
  }
  T Broadcast(T input, unsigned source, SIM_CALLER) {
    T values[Team::size];
    details::collect<Team>(input, values, "cub::WarpScan", file, line);
    return values[source];
  }

 private:
  template <class Operator>
  T scan(const T& input, Operator operation, T& total, const char* file, int line) {
    T values[Team::size];
    details::collect<Team>(input, values, "cub::WarpScan", file, line);
    for (int i = 1; i < Team::size; i++) values[i] = operation(values[i - 1], values[i]);
    total = values[Team::size - 1];
    return Team::rank() == 0 ? details::undefined<T>() : values[Team::rank() - 1];
  }
};

}  // namespace cub
#endif
