// cub::BlockLoad, cub::BlockStore and cub::BlockExchange. Blocked: a thread's items are neighbours; striped: they lie a
// block's size apart.
#pragma once
#include "sim/cub/team.h"

#if defined(HARNESS_SIM_DEVICE)
namespace cub {

enum BlockLoadAlgorithm {
  BLOCK_LOAD_DIRECT,
  BLOCK_LOAD_STRIPED,
  BLOCK_LOAD_VECTORIZE,
  BLOCK_LOAD_TRANSPOSE,
  BLOCK_LOAD_WARP_TRANSPOSE,
  BLOCK_LOAD_WARP_TRANSPOSE_TIMESLICED
};
enum BlockStoreAlgorithm {
  BLOCK_STORE_DIRECT,
  BLOCK_STORE_STRIPED,
  BLOCK_STORE_VECTORIZE,
  BLOCK_STORE_TRANSPOSE,
  BLOCK_STORE_WARP_TRANSPOSE,
  BLOCK_STORE_WARP_TRANSPOSE_TIMESLICED
};

template <class T, int ThreadsX, int Items, bool = false, int ThreadsY = 1, int ThreadsZ = 1>
class BlockExchange {
  typedef details::BlockTeam<ThreadsX * ThreadsY * ThreadsZ> Team;

 public:
  typedef details::Storage<T, Team::size * Items> TempStorage;
  BlockExchange() : storage_(sim::shared_static<TempStorage>("cub::BlockExchange")) {}
  BlockExchange(TempStorage& storage) : storage_(storage) {}

  template <class Output>
  void StripedToBlocked(const T (&inputs)[Items], Output (&outputs)[Items], SIM_CALLER) {
    exchange(inputs, outputs, striped, blocked, file, line);
  }
  template <class Output>
  void BlockedToStriped(const T (&inputs)[Items], Output (&outputs)[Items], SIM_CALLER) {
    exchange(inputs, outputs, blocked, striped, file, line);
  }
  void StripedToBlocked(T (&items)[Items], SIM_CALLER) { exchange(items, items, striped, blocked, file, line); }
  void BlockedToStriped(T (&items)[Items], SIM_CALLER) { exchange(items, items, blocked, striped, file, line); }

 private:
  static int blocked(int item) { return Team::rank() * Items + item; }
  static int striped(int item) { return item * Team::size + Team::rank(); }

  template <class Output>
  void exchange(const T (&inputs)[Items], Output (&outputs)[Items], int (*from)(int), int (*to)(int), const char* file,
                int line) {
    T* values = storage_.values();
    for (int i = 0; i < Items; i++) values[from(i)] = inputs[i];
    Team::sync(file, line);
    for (int i = 0; i < Items; i++) outputs[i] = values[to(i)];
  }
  TempStorage& storage_;
};

namespace details {

// Where a thread's items lie in memory, and between which of them a transposing algorithm moves them by shared memory.
template <class T, class Team, int Items>
class Transposer {
 public:
  typedef Storage<T, Team::size * Items> TempStorage;
  static int blocked(int item) { return Team::rank() * Items + item; }
  static int striped(int item) { return item * Team::size + Team::rank(); }
  // The items of each warp are neighbours, and striped among its lanes.
  static int warp_striped(int item) {
    int warp = Team::rank() / 32, lanes = std::min(32, Team::size - warp * 32);
    return warp * 32 * Items + item * lanes + Team::rank() % 32;
  }
  static void meet(bool by_warp, const char* file, int line) {
    int lanes = std::min(32, Team::size - Team::rank() / 32 * 32);
    if (by_warp) __syncwarp(lanes == 32 ? ~0u : (1u << lanes % 32) - 1, file, line);
    else Team::sync(file, line);
  }
};

}  // namespace details

template <class T, int ThreadsX, int Items, BlockLoadAlgorithm Algorithm = BLOCK_LOAD_DIRECT, int ThreadsY = 1,
          int ThreadsZ = 1>
class BlockLoad {
  typedef details::BlockTeam<ThreadsX * ThreadsY * ThreadsZ> Team;
  typedef details::Transposer<T, Team, Items> Places;
  static constexpr bool by_warp = Algorithm >= BLOCK_LOAD_WARP_TRANSPOSE;
  static constexpr bool is_direct = Algorithm < BLOCK_LOAD_TRANSPOSE;

 public:
  typedef std::conditional_t<is_direct, NullType, typename Places::TempStorage> TempStorage;
  BlockLoad() : storage_(sim::shared_static<TempStorage>("cub::BlockLoad")) {}
  BlockLoad(TempStorage& storage) : storage_(storage) {}

  template <class Input>
  void Load(Input from, T (&items)[Items], SIM_CALLER) {
    load(from, items, Team::size * Items, file, line);
  }
  // Items behind the valid ones stay as they are, or become `filler`.
  template <class Input>
  void Load(Input from, T (&items)[Items], int valid, SIM_CALLER) {
    load(from, items, valid, file, line);
  }
  template <class Input, class Filler>
  void Load(Input from, T (&items)[Items], int valid, Filler filler, SIM_CALLER) {
    for (auto& item : items) item = filler;
    load(from, items, valid, file, line);
  }

 private:
  template <class Input>
  void load(Input from, T (&items)[Items], int valid, const char* file, int line) {
    if constexpr (is_direct) {
      for (int i = 0; i < Items; i++) {
        int place = Algorithm == BLOCK_LOAD_STRIPED ? Places::striped(i) : Places::blocked(i);
        if (place < valid) items[i] = from[place];
      }
    } else {
      T* values = storage_.values();
      for (int i = 0; i < Items; i++) {
        int place = by_warp ? Places::warp_striped(i) : Places::striped(i);
        if (place < valid) values[place] = from[place];
      }
      Places::meet(by_warp, file, line);
      for (int i = 0; i < Items; i++)
        if (Places::blocked(i) < valid) items[i] = values[Places::blocked(i)];
    }
  }
  TempStorage& storage_;
};

template <class T, int ThreadsX, int Items, BlockStoreAlgorithm Algorithm = BLOCK_STORE_DIRECT, int ThreadsY = 1,
          int ThreadsZ = 1>
class BlockStore {
  typedef details::BlockTeam<ThreadsX * ThreadsY * ThreadsZ> Team;
  typedef details::Transposer<T, Team, Items> Places;
  static constexpr bool by_warp = Algorithm >= BLOCK_STORE_WARP_TRANSPOSE;
  static constexpr bool is_direct = Algorithm < BLOCK_STORE_TRANSPOSE;

 public:
  typedef std::conditional_t<is_direct, NullType, typename Places::TempStorage> TempStorage;
  BlockStore() : storage_(sim::shared_static<TempStorage>("cub::BlockStore")) {}
  BlockStore(TempStorage& storage) : storage_(storage) {}

  template <class Output>
  void Store(Output to, T (&items)[Items], SIM_CALLER) {
    Store(to, items, Team::size * Items, file, line);
  }
  template <class Output>
  void Store(Output to, T (&items)[Items], int valid, SIM_CALLER) {
    if constexpr (is_direct) {
      for (int i = 0; i < Items; i++) {
        int place = Algorithm == BLOCK_STORE_STRIPED ? Places::striped(i) : Places::blocked(i);
        if (place < valid) to[place] = items[i];
      }
    } else {
      T* values = storage_.values();
      for (int i = 0; i < Items; i++) values[Places::blocked(i)] = items[i];
      Places::meet(by_warp, file, line);
      for (int i = 0; i < Items; i++) {
        int place = by_warp ? Places::warp_striped(i) : Places::striped(i);
        if (place < valid) to[place] = values[place];
      }
    }
  }

 private:
  TempStorage& storage_;
};

}  // namespace cub
#endif
