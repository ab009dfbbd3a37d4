// The scheduler: one fiber runs thread after thread, and another starts only when one must wait.
#define HARNESS_SIM_DEVICE 1
#include "worker.h"

#include <sys/mman.h>

#include <algorithm>
#include <new>

#include "checker.h"
#include "faults.h"
#include "memory.h"

__thread __attribute__((tls_model("initial-exec"))) uint3 threadIdx;
__thread __attribute__((tls_model("initial-exec"))) uint3 blockIdx;
__thread __attribute__((tls_model("initial-exec"))) sim_extent blockDim;
__thread __attribute__((tls_model("initial-exec"))) sim_extent gridDim;

namespace sim {

__thread __attribute__((tls_model("initial-exec"))) Worker* worker = nullptr;

namespace {

constexpr unsigned atomics_per_turn = 512;

// The index of the thread after that with this one: three divisions less than from its number.
uint3 following(uint3 index, const dim3& block) {
  if (++index.x < block.x) return index;
  index.x = 0;
  if (++index.y < block.y) return index;
  return {0, 0, index.z + 1};
}

uint3 index_of(unsigned thread, const dim3& block) {
  return {thread % block.x, thread / block.x % block.y, thread / block.x / block.y};
}

}  // namespace

Worker::Worker(bool guards_stacks) : guards_stacks_(guards_stacks) {
  void* arena = mmap(nullptr, shared_capacity + 2 * shared_guard, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (arena == MAP_FAILED) throw std::bad_alloc();
  shared_ = static_cast<char*>(arena) + shared_guard;
  mprotect(shared_, shared_capacity, PROT_READ | PROT_WRITE);
}

Worker::~Worker() { munmap(shared_ - shared_guard, shared_capacity + 2 * shared_guard); }

void Worker::run(Launch& to_run) {
  SignalStack signal_stack;
  worker = this;
  prepare(to_run);
  while (!to_run.is_aborted) {
    uint64_t i = to_run.next_block++;
    if (i >= to_run.blocks_to_run()) break;
    begin_block(to_run.block_number(i));
    go_on();
    count_block(to_run);
  }
  end();
}

void Worker::begin(Launch& to_run, uint64_t number) {
  worker = this;
  prepare(to_run);
  begin_block(number);
}

void Worker::end() {
  if (launch->is_aborted) reset_fibers();
  launch = nullptr;
  worker = nullptr;
}

void Worker::prepare(Launch& to_run) {
  launch = &to_run;
  blockDim = {to_run.block.x, to_run.block.y, to_run.block.z};
  gridDim = {to_run.grid.x, to_run.grid.y, to_run.grid.z};
  // Next to each other, since nothing else here is thread-local but a pointer.
  auto [first, last] = std::minmax({reinterpret_cast<uintptr_t>(&threadIdx), reinterpret_cast<uintptr_t>(&blockIdx),
                                    reinterpret_cast<uintptr_t>(&blockDim), reinterpret_cast<uintptr_t>(&gridDim)});
  index_begin_ = first;
  index_nbytes_ = last + sizeof threadIdx - first;
  threads_total_ = to_run.threads();
  threads_.resize(threads_total_);
  warps_.resize((threads_total_ + warp_size - 1) / warp_size);
  variables_.clear();
  shared_gaps_ = 0;
  // 128 bytes: wide enough for any vector type that a kernel may lay over it.
  char* end = shared_ + shared_capacity;
  dynamic_shared_ = end - round_up(to_run.dynamic_shared, 128);
  lowest_shared_ = dynamic_shared_;
  if (to_run.dynamic_shared) variables_.push_back({nullptr, dynamic_shared_, to_run.dynamic_shared, nullptr});
}

void Worker::begin_block(uint64_t number) {
  const dim3& grid = launch->grid;
  block_index_ = {unsigned(number % grid.x), unsigned(number / grid.x % grid.y), unsigned(number / grid.x / grid.y)};
  blockIdx = block_index_;
  reset_block();
}

Pause Worker::go_on() {
  worker = this;
  blockIdx = block_index_;
  current = next_fiber();
  sim_switch_stack(&host_stack_, current->stack_pointer);
  current = nullptr;
  if (is_abandoned_) {
    reset_fibers();
    return Pause::aborted;
  }
  if (exited_ == threads_total_) return Pause::done;
  if (ready_head_ < ready_.size()) return Pause::gave_turn;
  if (at_grid_ && at_grid_ + exited_ == threads_total_) return Pause::at_grid_barrier;
  report_deadlock();
  raise_sticky(cudaErrorLaunchTimeout);
  launch->is_aborted = true;
  reset_fibers();
  return Pause::aborted;
}

void Worker::reset_block() {
  next_thread_ = exited_ = waiting_ = at_grid_ = converging_ = 0;
  next_index_ = {0, 0, 0};
  ready_.clear();
  ready_head_ = 0;
  early_exit_reported_ = is_abandoned_ = lines_differ_ = false;
  vote_ = Vote{};
  barriers_met_ = 0;
  copies_.clear();
  mbarriers_.clear();
  std::fill(std::begin(named_), std::end(named_), 0);
  woken_in_vain_ = made_ready_ - 1;
  poison_shared();
  if (checker) checker->begin_block(*this);
  for (auto& thread : threads_) thread.state = ThreadState::fresh;
  for (size_t i = 0; i < warps_.size(); i++) {
    unsigned left = threads_total_ - i * warp_size;
    warps_[i].present = left >= warp_size ? ~0u : (1u << left) - 1;
    warps_[i].exited = warps_[i].syncs = 0;
    warps_[i].pending.clear();
  }
}

void Worker::fiber_main() {
  for (;;) {
    Worker* self = worker;
    Fiber* fiber = self->current;
    self->run_fresh_threads(fiber);
    Fiber* next = self->next_fiber();
    self->idle_.push_back(fiber);
    self->switch_to(next, fiber);
  }
}

void Worker::run_fresh_threads(Fiber* self) {
  while (next_thread_ < threads_total_) {
    unsigned thread = in_order(next_thread_++, threads_total_);
    self->thread = thread;
    self->index = threadIdx = launch->is_reversed ? index_of(thread, launch->block) : next_index_;
    next_index_ = following(next_index_, launch->block);
    threads_[thread].fiber = self;
    threads_[thread].state = ThreadState::running;
    launch->body(launch->argument);
    exit_thread(thread);
  }
}

void Worker::exit_thread(unsigned thread) {
  if (checker) checker->settle();
  threads_[thread].state = ThreadState::exited;
  exited_++;
  Warp& left = warps_[thread / warp_size];
  left.exited |= 1u << thread % warp_size;
  if (!left.pending.empty()) count_as_arrived(left, thread);
  if (waiting_ && waiting_ + exited_ == threads_total_) release_barrier();
}

// The hardware counts an exited lane as arrived.
void Worker::count_as_arrived(Warp& left, unsigned thread) {
  auto pending = left.pending;
  for (Collective* met : pending)
    if (left.is_complete(*met)) complete(left, met, thread / warp_size * warp_size);
}

// Null when no thread can go on: the block is done, or deadlocked.
Fiber* Worker::next_fiber() {
  if (next_thread_ < threads_total_) return take_idle();
  if (ready_head_ == ready_.size() && !release_converged() && !release_in_vain()) return nullptr;
  Fiber* fiber = ready_[ready_head_++];
  if (ready_head_ + 1 < ready_.size()) ready_[ready_head_ + 1]->prefetch();
  if (ready_head_ == ready_.size()) {
    ready_.clear();
    ready_head_ = 0;
  }
  return fiber;
}

Fiber* Worker::take_idle() {
  if (idle_.empty()) {
    fibers_.push_back(std::make_unique<Fiber>(guards_stacks_));
    fibers_.back()->reset(&Worker::fiber_main);
    return fibers_.back().get();
  }
  Fiber* fiber = idle_.back();
  idle_.pop_back();
  if (!idle_.empty()) idle_.back()->prefetch();
  return fiber;
}

void Worker::switch_to(Fiber* next, Fiber* self) {
  current = next;
  sim_switch_stack(&self->stack_pointer, next ? next->stack_pointer : host_stack_);
}

void Worker::suspend(bool leaves_block) {
  Fiber* self = current;
  Fiber* next = leaves_block ? nullptr : next_fiber();
  if (next != self) switch_to(next, self);
  current = self;
  threadIdx = self->index;
  threads_[self->thread].state = ThreadState::running;
}

void Worker::make_ready(unsigned thread) {
  threads_[thread].state = ThreadState::ready;
  made_ready_++;
  ready_.push_back(threads_[thread].fiber);
}

// Atomics yield now and then, or a thread that spins on one would wait for ever: to the block's other threads, and to
// other blocks where they are there.
void Worker::yield() {
  if (++atomics_ >= atomics_per_turn) yield_now();
}

void Worker::yield_now() {
  atomics_ = 0;
  if (checker) checker->settle_write();
  make_ready(current->thread);
  suspend(launch->is_cooperative);
}

void Worker::abandon_block() {
  is_abandoned_ = true;
  launch->is_aborted = true;
  void* never_resumed;
  current = nullptr;
  sim_switch_stack(&never_resumed, host_stack_);
  __builtin_unreachable();
}

void Worker::reset_fibers() {
  idle_.clear();
  free_collectives_.clear();
  for (auto& met : collectives_) free_collectives_.push_back(met.get());
  for (auto& fiber : fibers_) {
    fiber->reset(&Worker::fiber_main);
    idle_.push_back(fiber.get());
  }
}

}  // namespace sim
