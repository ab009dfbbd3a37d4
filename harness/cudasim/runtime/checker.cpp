#define HARNESS_SIM_DEVICE 1
#include "checker.h"

#include <link.h>
#include <pthread.h>

#include <algorithm>
#include <cstring>

namespace sim {
namespace {

std::string bytes_text(size_t count) { return std::to_string(count) + (count == 1 ? " byte" : " bytes"); }

std::string action_of(const Access& access) {
  const char* action = access.is_atomic ? (access.writes ? "atomic change" : "atomic read")
                       : access.writes  ? "write"
                                        : "read";
  return std::string(action) + " of " + bytes_text(access.nbytes);
}

// The bits of the bytes that lie in granule `index`.
unsigned mask_of(size_t index, size_t begin, size_t end) {
  if (index * granule >= begin && (index + 1) * granule <= end) return 0xF;
  unsigned mask = 0;
  for (unsigned byte = 0; byte < granule; byte++) {
    size_t at = index * granule + byte;
    if (begin <= at && at < end) mask |= 1u << byte;
  }
  return mask;
}

std::pair<uintptr_t, uintptr_t> stack_of_this_thread() {
  static thread_local std::pair<uintptr_t, uintptr_t> range = [] {
    pthread_attr_t attributes;
    void* start = nullptr;
    size_t nbytes = 0;
    if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
      pthread_attr_getstack(&attributes, &start, &nbytes);
      pthread_attr_destroy(&attributes);
    }
    auto low = reinterpret_cast<uintptr_t>(start);
    return std::make_pair(low, low + nbytes);
  }();
  return range;
}

int add_module(dl_phdr_info* module, size_t, void* ranges) {
  for (int i = 0; i < module->dlpi_phnum; i++) {
    if (module->dlpi_phdr[i].p_type != PT_LOAD) continue;
    uintptr_t start = module->dlpi_addr + module->dlpi_phdr[i].p_vaddr;
    static_cast<std::vector<std::pair<uintptr_t, uintptr_t>>*>(ranges)->push_back(
        {start, start + module->dlpi_phdr[i].p_memsz});
  }
  return 0;
}

}  // namespace

// ---- Launches and blocks.

void Checker::begin_launch(const Launch& launch, const std::vector<KernelArgument>& arguments) {
  launch_ = &launch;
  arguments_ = arguments;
  allocations_ = allocations();
  latest_ = 0;
  is_constant_.clear();
  for (auto& allocation : allocations_) is_constant_.push_back(was_given_as_constant(allocation));
  modules_.clear();
  auto [low, high] = stack_of_this_thread();
  stack_begin_ = low;
  stack_nbytes_ = high - low;
  first_block_ = next_block_;
  global_races_.begin_at(first_block_);
  blocks_.begin_launch();
  doubts_.clear();
  overwrite_.is_pending = false;
}

void Checker::begin_block(Worker& worker) {
  worker_ = &worker;
  block_ = next_block_++;
  shared_races_.begin_at(block_);
  blocks_.begin_block(block_);
  threads_.begin_block(launch_->threads());
  shared_shadow_.forget();
  begun_.clear();
  doubts_.clear();
  overwrite_.is_pending = false;
}

// What any block did before is done before what any does now, as if another launch began. `block_ - first_block_` stays
// the block's place in the grid.
void Checker::pass_grid_barrier() {
  first_block_ = next_block_ - (block_ - first_block_);
  block_ = next_block_++;
  global_races_.begin_at(first_block_);
  shared_races_.begin_at(block_);
  blocks_.begin_block(block_);
  threads_.begin_interval();
}

// ---- One access.

void Checker::access(const Access& access) {
  settle_write();
  Place place;
  if (!find(access.address, access.nbytes, place)) {
    if (!is_in_module(access.address, access.nbytes)) refuse(access);
    // A __device__ variable has no shadow, but a counter or a flag may well be one.
    Actor self = actor(access, place);
    if (self.is_atomic) synchronize(access, place, self);
    return;
  }
  if (access.writes && (place.is_input || place.is_constant)) check_permission(access, place);
  if (access.writes && !launch_->blocks.empty()) place.shadow->is_partial = true;
  Actor self = actor(access, place);
  if (self.is_atomic) synchronize(access, place, self);
  size_t begin = access.address - place.start, end = begin + access.nbytes;
  Conflict worst;
  for (size_t index = begin / granule; index <= (end - 1) / granule; index++) {
    unsigned mask = mask_of(index, begin, end);
    check_contents(access, place, index, mask);
    // Nobody may write an input, so nothing races with its readers.
    if (!place.is_input) check_order(access, place, index, mask, self, worst);
  }
  if (worst.kind != Conflict::none) take_conflict(access, place, worst);
}

bool Checker::find(uintptr_t address, size_t nbytes, Place& place) {
  return worker_->guards_shared(reinterpret_cast<void*>(address)) ? find_shared(address, nbytes, place)
                                                                  : find_global(address, nbytes, place);
}

bool Checker::find_shared(uintptr_t address, size_t nbytes, Place& place) {
  const SharedVariable* variable = worker_->shared_variable_at(address);
  if (!variable) return false;
  auto start = reinterpret_cast<uintptr_t>(variable->address);
  if (address + nbytes > start + variable->nbytes) return false;
  place.shadow = &shared_shadow_;
  place.races = &shared_races_;
  place.start = worker_->shared_start();
  place.nbytes = shared_capacity;
  place.variable = variable;
  return true;
}

bool Checker::find_global(uintptr_t address, size_t nbytes, Place& place) {
  auto holds = [&](const Allocation& one) {
    auto start = reinterpret_cast<uintptr_t>(one.data);
    return address >= start && address + nbytes <= start + one.nbytes;
  };
  if (latest_ >= allocations_.size() || !holds(allocations_[latest_])) {
    auto starts_later = [](uintptr_t value, const Allocation& one) {
      return value < reinterpret_cast<uintptr_t>(one.data);
    };
    auto after = std::upper_bound(allocations_.begin(), allocations_.end(), address, starts_later);
    if (after == allocations_.begin() || !holds(*std::prev(after))) return false;
    latest_ = std::prev(after) - allocations_.begin();
  }
  const Allocation& found = allocations_[latest_];
  place.shadow = found.shadow;
  place.races = &global_races_;
  place.start = reinterpret_cast<uintptr_t>(found.data);
  place.nbytes = found.nbytes;
  place.is_input = found.is_input;
  place.is_constant = is_constant_[latest_];
  return true;
}

// __constant__ and __device__ variables.
bool Checker::is_in_module(uintptr_t address, size_t nbytes) {
  if (modules_.empty()) dl_iterate_phdr(&add_module, &modules_);
  return std::any_of(modules_.begin(), modules_.end(), [&](const std::pair<uintptr_t, uintptr_t>& range) {
    return address >= range.first && address + nbytes <= range.second;
  });
}

// A structure may hold another pointer to the same memory, so then nobody knows.
bool Checker::was_given_as_constant(const Allocation& allocation) const {
  bool is_constant = false;
  for (auto& argument : arguments_) {
    if (argument.is_opaque) return false;
    auto* pointer = static_cast<const char*>(argument.pointer);
    if (pointer < allocation.data || pointer >= allocation.data + allocation.nbytes) continue;
    if (!argument.is_const) return false;
    is_constant = true;
  }
  return is_constant;
}

void Checker::check_permission(const Access& access, const Place& place) {
  if (place.is_input) {
    report_access("input-write", access, action_of(access) + " at " + where(place, access.address) +
                                             ", which is an input of the call");
    return;
  }
  report_access("const-write", access, action_of(access) + " at " + where(place, access.address) +
                                           ", which the kernel was given as a pointer to const");
}

void Checker::check_contents(const Access& access, const Place& place, size_t index, unsigned mask) {
  unsigned unwritten = access.reads ? place.shadow->unwritten(index, mask) : 0;
  // What blocks that were left out would have written is nobody's fault.
  if (unwritten && (place.variable || (launch_->blocks.empty() && !place.shadow->is_partial))) {
    uintptr_t first = place.start + index * granule + __builtin_ctz(unwritten);
    report_access(place.variable ? "uninitialised-shared-read" : "uninitialised-global-read", access,
                  action_of(access) + " at " + where(place, access.address) + ": " +
                      (place.variable ? "no thread of the block has written " : "nobody has written ") +
                      (first == access.address ? "it" : where(place, first)));
    place.shadow->mark_granule(index, unwritten);  // once is enough
  }
  if (access.writes) place.shadow->mark_granule(index, mask);
}

// ---- Order among threads.

Actor Checker::actor(const Access& access, const Place& place) const {
  unsigned thread = worker_->current->thread;
  auto instruction = reinterpret_cast<uintptr_t>(access.site.instruction);
  // Among threads of a block volatile orders nothing; between blocks it is what spin loops are made of.
  bool is_atomic = access.is_atomic || (access.is_volatile && !place.variable);
  return {block_, worker_->barriers_met(), thread, worker_->warp().syncs,
          threads_.changes(thread), uint32_t(instruction), is_atomic};
}

void Checker::check_order(const Access& access, const Place& place, size_t index, unsigned mask, const Actor& self,
                          Conflict& worst) {
  Cell& cell = place.shadow->cell(index);
  if (access.reads) {
    Conflict found = place.races->read(cell, self, mask);
    if (found.kind != Conflict::none) worst = found;
  }
  if (access.writes) {
    Conflict found = place.races->write(cell, self, mask);
    if (found.kind != Conflict::none) worst = found;
  }
}

// An atomic orders what came before it in other threads, and settles what its own thread has read.
void Checker::synchronize(const Access& access, const Place& place, const Actor& self) {
  if (access.reads) threads_.acquire(access.address, self.thread, self.syncs);
  if (access.reads && !place.variable) blocks_.acquire(access.address);
  if (access.writes) threads_.release(access.address, self.thread, self.syncs);
  if (access.writes && !place.variable) blocks_.release(access.address);
  auto is_settled = [&](const Doubt& doubt) {
    // It may have read the members of a structure of 16 bytes one by one.
    return doubt.thread == self.thread && doubt.access.address - access.address < access.nbytes;
  };
  doubts_.erase(std::remove_if(doubts_.begin(), doubts_.end(), is_settled), doubts_.end());
}

void Checker::take_conflict(const Access& access, const Place& place, const Conflict& conflict) {
  bool is_plain_write = access.writes && !access.reads && conflict.kind == Conflict::with_write;
  if (is_plain_write && access.nbytes <= sizeof overwrite_.before) {
    overwrite_ = {true, access, {}, conflict, place};
    memcpy(overwrite_.before, reinterpret_cast<void*>(access.address), access.nbytes);
  } else if (!access.writes && conflict.kind == Conflict::with_atomic) {
    if (!access.is_volatile) doubts_.push_back({worker_->current->thread, access, conflict, place, trace(access.site)});
  } else {
    report_race(access, place, conflict, false, trace(access.site));
  }
}

void Checker::settle_write() {
  if (!overwrite_.is_pending) return;
  overwrite_.is_pending = false;
  const Access& access = overwrite_.access;
  bool is_same = memcmp(overwrite_.before, reinterpret_cast<void*>(access.address), access.nbytes) == 0;
  report_race(access, overwrite_.place, overwrite_.conflict, is_same, trace(access.site));
}

void Checker::release(const void* object) {
  threads_.release(reinterpret_cast<uintptr_t>(object), worker_->current->thread, worker_->warp().syncs);
}

void Checker::acquire(const void* object) {
  threads_.acquire(reinterpret_cast<uintptr_t>(object), worker_->current->thread, worker_->warp().syncs);
}

Actor Checker::now() const {
  unsigned thread = worker_->current->thread;
  return {block_, worker_->barriers_met(), thread, worker_->warp().syncs, threads_.changes(thread), 0, false};
}

void Checker::use_mbarrier(const void* barrier, const Source& source) {
  auto found = begun_.find(barrier);
  if (found == begun_.end()) return;
  const Actor begun = found->second, self = now();
  if (shared_races_.is_before(begun, self)) return;
  begun_.erase(found);  // once is enough
  report("shared-race",
         "an mbarrier that thread " + index_text(begun.thread, launch_->block) +
             " has initialised, and no barrier lies between",
         source);
}

void Checker::settle() {
  settle_write();
  if (doubts_.empty()) return;
  unsigned self = worker_->current->thread;
  for (auto& doubt : doubts_)
    if (doubt.thread == self) report_race(doubt.access, doubt.place, doubt.conflict, false, doubt.callers);
  auto is_own = [self](const Doubt& doubt) { return doubt.thread == self; };
  doubts_.erase(std::remove_if(doubts_.begin(), doubts_.end(), is_own), doubts_.end());
}

// ---- Words.

void Checker::report_race(const Access& access, const Place& place, const Conflict& conflict, bool is_harmless,
                          const std::vector<void*>& callers) {
  const char* kind = is_harmless ? "same-value-write" : place.variable ? "shared-race" : "global-race";
  if (report_again(kind, access.site.instruction)) return;
  const char* done = conflict.kind == Conflict::with_read     ? " reads it"
                     : conflict.kind == Conflict::with_atomic ? " changes it atomically"
                                                              : " writes it";
  bool is_other_block = conflict.earlier.block != block_;
  std::string detail = action_of(access) + " at " + where(place, access.address) + ": " + thread_of(conflict) + done +
                       " @OTHER@, and " +
                       (is_other_block ? "nothing orders blocks of one launch" : "no barrier lies between");
  if (is_harmless) detail += "; both write the same value";
  auto high = reinterpret_cast<uintptr_t>(access.site.instruction) & ~uintptr_t(0xFFFFFFFF);
  auto* other = reinterpret_cast<void*>(high | conflict.earlier.site);
  report(kind, detail, {"", 0, access.site.instruction}, callers, other);
}

void Checker::report_access(const char* kind, const Access& access, const std::string& detail) {
  if (report_again(kind, access.site.instruction)) return;
  report(kind, detail, {"", 0, access.site.instruction}, trace(access.site));
}

void Checker::refuse(const Access& access) {
  bool is_shared = worker_->guards_shared(reinterpret_cast<void*>(access.address));
  fault_at({"", 0, access.site.instruction}, is_shared ? "shared-out-of-bounds" : "illegal-address",
           action_of(access) + ": " + missed(access.address, access.nbytes), access.site, cudaErrorIllegalAddress);
}

void Checker::report_at(const Source& source, const char* kind, const std::string& detail, const Site& site) {
  Source placed = source;
  placed.instruction = site.instruction;
  if (!report_again(kind, site.instruction)) report(kind, detail, placed, trace(site));
}

void Checker::fault_at(const Source& source, const char* kind, const std::string& detail, const Site& site,
                       cudaError_t error) {
  report_at(source, kind, detail, site);
  raise_sticky(error);
  worker_->abandon_block();
}

std::string Checker::describe(uintptr_t address, size_t nbytes) {
  Place place;
  if (find(address, nbytes, place)) return where(place, address);
  return worker_->current->holds(address) ? "local memory" : missed(address, nbytes);
}

std::vector<void*> Checker::trace(const Site& site) const {
  return callers(site, worker_->current->lowest(), worker_->current->highest());
}

std::string Checker::where(const Place& place, uintptr_t address) const {
  if (!place.variable) return "byte " + std::to_string(address - place.start) + " of " + name_of(place.start, place.nbytes);
  size_t offset = address - reinterpret_cast<uintptr_t>(place.variable->address);
  return "byte " + std::to_string(offset) + " of " + place.variable->name() + " (" +
         bytes_text(place.variable->nbytes) + ")";
}

std::string Checker::name_of(uintptr_t start, size_t nbytes) const {
  std::string name = "a device allocation";
  for (auto& argument : arguments_) {
    auto pointer = reinterpret_cast<uintptr_t>(argument.pointer);
    if (argument.is_opaque || pointer < start || pointer >= start + nbytes) continue;
    name = "argument " + std::to_string(argument.position);
    break;
  }
  return name + " (" + bytes_text(nbytes) + ")";
}

// The bytes of an access that lies in no allocation, or not with all of them, counted from the nearest one's first.
std::string Checker::missed(uintptr_t address, size_t nbytes) const {
  if (worker_->guards_shared(reinterpret_cast<void*>(address))) return missed_shared(address, nbytes);
  for (auto& allocation : allocations_) {
    if (address < allocation.guards_begin || address >= allocation.guards_end) continue;
    auto start = reinterpret_cast<uintptr_t>(allocation.data);
    auto offset = static_cast<long long>(address - start);
    return (nbytes == 1 ? "byte " : "bytes ") + std::to_string(offset) +
           (nbytes == 1 ? "" : " to " + std::to_string(offset + static_cast<long long>(nbytes) - 1)) + " of " +
           name_of(start, allocation.nbytes);
  }
  return address < page_size ? "a null pointer" : describe_address(address);
}

std::string Checker::missed_shared(uintptr_t address, size_t nbytes) const {
  const SharedVariable* nearest = worker_->shared_variable_before(address);
  if (!nearest) return "the bytes before the block's shared memory";
  size_t offset = address - reinterpret_cast<uintptr_t>(nearest->address);
  return "bytes " + std::to_string(offset) + " to " + std::to_string(offset + nbytes - 1) + " of " + nearest->name() +
         " (" + bytes_text(nearest->nbytes) + ")";
}

std::string Checker::thread_of(const Conflict& conflict) const {
  const Stamp& stamp = conflict.earlier;
  if (!conflict.names_thread) return stamp.by_other_blocks ? "a thread of another block" : "another thread of the block";
  std::string thread = "thread " + index_text(stamp.thread, launch_->block);
  if (stamp.block == block_) return thread;
  return thread + " of block " + index_text(launch_->block_number(stamp.block - first_block_), launch_->grid);
}

std::vector<void*> callers(const Site& site, const void* lowest, const void* highest) {
  constexpr int deepest = 12;
  std::vector<void*> found;
  auto within = [&](void** frame) {
    auto address = reinterpret_cast<uintptr_t>(frame);
    return frame >= lowest && frame + 2 <= highest && address % sizeof(void*) == 0;
  };
  void** frame = site.frame;
  while (int(found.size()) < deepest && within(frame)) {
    found.push_back(static_cast<char*>(frame[1]) - 1);
    void** next = static_cast<void**>(frame[0]);
    if (next <= frame) break;
    frame = next;
  }
  return found;
}

}  // namespace sim
