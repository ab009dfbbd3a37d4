#include "memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>

#include "shadow.h"
#include "sim/abi.h"

namespace sim {
namespace {

constexpr size_t MiB = size_t(1) << 20, GiB = size_t(1) << 30;
// From here on memory is poisoned and zeroed by mapping, so that only pages that a kernel writes cost memory.
constexpr size_t lazy_from = 64 * MiB;
// An index that overflows 32 bits misses by at most 2^32 elements; 16 GiB catch it for elements of 4 bytes.
constexpr size_t wide_guard_from = 256 * MiB, wide_guard = 16 * GiB;
// Address space is free, and a miss by a row or two is named with the allocation that it missed.
constexpr size_t narrow_guard = 4 * MiB;
constexpr size_t poison_period = 16 * MiB;
constexpr size_t device_alignment = 16;
constexpr int poison = 0xFF;  // NaN in every float format, -1 in every integer

struct Region {
  size_t nbytes;
  char* mapping;
  size_t mapping_nbytes;
  bool shared;  // with another process: its pages may not be replaced
  bool is_input = false;  // which no kernel may change
  std::shared_ptr<Shadow> shadow{};
  bool is_filled = false;  // by others, before any kernel
};

std::mutex mutex;
std::map<char*, Region> regions;
bool is_checking = false;

struct Freed {
  const char* data;
  size_t nbytes;
};
constexpr size_t most_freed = 256;
std::deque<Freed> freed;  // the latest first

// The allocation that has all of a range; null if none has.
const Region* region_with(const void* pointer, size_t nbytes) {
  auto* start = const_cast<char*>(static_cast<const char*>(pointer));
  auto after = regions.upper_bound(start);
  if (after == regions.begin()) return nullptr;
  auto& [data, region] = *std::prev(after);
  return start + nbytes <= data + region.nbytes ? &region : nullptr;
}

// Inaccessible address space: a guard, `body` bytes, a guard. Null if there is none.
char* reserve(size_t body, size_t nbytes, Region& region) {
  size_t guard = nbytes >= wide_guard_from ? wide_guard : narrow_guard;
  size_t total = body + 2 * guard;
  void* mapping = mmap(nullptr, total, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED) return nullptr;
  region = {nbytes, static_cast<char*>(mapping), total, false, false, nullptr};
  return region.mapping + guard;
}

bool map_over(char* at, size_t nbytes, int flags, int fd, size_t offset) {
  return mmap(at, nbytes, PROT_READ | PROT_WRITE, flags | MAP_FIXED | MAP_NORESERVE, fd, offset) != MAP_FAILED;
}

bool map_repeatedly(char* at, size_t nbytes, int fd, size_t period) {
  for (size_t done = 0; done < nbytes; done += period)
    if (!map_over(at + done, std::min(period, nbytes - done), MAP_PRIVATE, fd, 0)) return false;
  return true;
}

int poison_file() {
  static const int fd = [] {
    int file = memfd_create("harness-sim-poison", MFD_CLOEXEC);
    if (file < 0 || ftruncate(file, poison_period) != 0) return -1;
    void* view = mmap(nullptr, poison_period, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (view == MAP_FAILED) return -1;
    memset(view, poison, poison_period);
    munmap(view, poison_period);
    return file;
  }();
  return fd;
}

bool map_poisoned(char* at, size_t nbytes) {
  if (nbytes >= lazy_from) return poison_file() >= 0 && map_repeatedly(at, nbytes, poison_file(), poison_period);
  if (!map_over(at, nbytes, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) return false;
  memset(at, poison, nbytes);
  return true;
}

void* add_region(char* data, Region region) {
  std::lock_guard<std::mutex> guard(mutex);
  if (is_checking) region.shadow = std::make_shared<Shadow>(region.nbytes, region.is_filled);
  regions[data] = region;
  return data;
}

void* drop(const Region& region) {
  munmap(region.mapping, region.mapping_nbytes);
  return nullptr;
}

// The region that holds an address; null where none does.
std::pair<char* const, Region>* region_at(const char* address) {
  auto after = regions.upper_bound(const_cast<char*>(address));
  if (after == regions.begin()) return nullptr;
  auto& found = *std::prev(after);
  return address < found.first + found.second.nbytes ? &found : nullptr;
}

}  // namespace

size_t freed_nbytes(const void* pointer) {
  std::lock_guard<std::mutex> guard(mutex);
  auto* address = static_cast<const char*>(pointer);
  for (auto& one : freed)
    if (address >= one.data && address < one.data + one.nbytes) return one.nbytes;
  return 0;
}

std::vector<Allocation> allocations() {
  std::lock_guard<std::mutex> guard(mutex);
  std::vector<Allocation> all;
  for (auto& [data, region] : regions) {
    auto begin = reinterpret_cast<uintptr_t>(region.mapping);
    all.push_back({data, region.nbytes, region.shadow.get(), region.is_input, begin, begin + region.mapping_nbytes});
  }
  return all;
}

bool is_private(const void* pointer, size_t nbytes) {
  std::lock_guard<std::mutex> guard(mutex);
  const Region* region = region_with(pointer, nbytes);
  return region && !region->shared;
}

bool is_device_range(const void* pointer, size_t nbytes) {
  std::lock_guard<std::mutex> guard(mutex);
  return region_with(pointer, nbytes) != nullptr;
}

bool is_near_device_memory(const void* pointer) {
  std::lock_guard<std::mutex> guard(mutex);
  auto* address = static_cast<const char*>(pointer);
  for (auto& [data, region] : regions)
    if (address >= region.mapping && address < region.mapping + region.mapping_nbytes) return true;
  return false;
}

std::string describe_address(uintptr_t address) {
  std::lock_guard<std::mutex> guard(mutex);
  char hex[32];
  snprintf(hex, sizeof hex, "0x%zx", static_cast<size_t>(address));
  for (auto& [data, region] : regions) {
    uintptr_t start = reinterpret_cast<uintptr_t>(data), end = start + region.nbytes;
    uintptr_t mapping = reinterpret_cast<uintptr_t>(region.mapping);
    if (address < mapping || address >= mapping + region.mapping_nbytes) continue;
    bool before = address < start;
    size_t distance = before ? start - address : address - end;
    return std::string(hex) + " is " + std::to_string(distance) + " bytes " + (before ? "before" : "past the end of") +
           " a device allocation of " + std::to_string(region.nbytes) + " bytes";
  }
  return std::string(hex) + " is in no device allocation";
}

}  // namespace sim

using namespace sim;

extern "C" {

// The data ends at the guard, or up to 15 bytes before it: device pointers are aligned to 16 bytes.
void* sim_device_alloc(size_t nbytes) {
  nbytes = std::max<size_t>(nbytes, 1);
  size_t body = round_up(nbytes, page_size);
  Region region;
  char* start = reserve(body, nbytes, region);
  if (!start) return nullptr;
  if (!map_poisoned(start, body)) return drop(region);
  return add_region(start + body - round_up(nbytes, device_alignment), region);
}

// `period` 0 shares the file's bytes; otherwise the file's first `period` bytes repeat, and writes stay private.
void* sim_map_buffer(int fd, size_t offset, size_t nbytes, size_t period, int may_change) {
  if (period % page_size || nbytes == 0) return nullptr;
  size_t first_page = offset / page_size * page_size, lead = offset - first_page;
  size_t body = round_up(lead + nbytes, page_size);
  Region region;
  char* start = reserve(body, nbytes, region);
  if (!start) return nullptr;
  bool mapped = period ? map_repeatedly(start, body, fd, period) : map_over(start, body, MAP_SHARED, fd, first_page);
  if (!mapped) return drop(region);
  region.shared = period == 0;
  region.is_filled = true;
  region.is_input = !may_change;
  return add_region(start + lead, region);
}

int sim_device_free(void* pointer) {
  std::lock_guard<std::mutex> guard(mutex);
  auto found = regions.find(static_cast<char*>(pointer));
  if (found == regions.end()) return 1;
  freed.push_front({found->first, found->second.nbytes});
  if (freed.size() > most_freed) freed.pop_back();
  drop(found->second);
  regions.erase(found);
  return 0;
}

void sim_check(int is_on) {
  std::lock_guard<std::mutex> guard(mutex);
  is_checking |= is_on != 0;  // code of a solution's can't turn it off
}

int sim_is_checking(void) { return is_checking; }

void sim_mark_written(void* pointer, size_t nbytes) {
  if (!is_checking) return;
  std::lock_guard<std::mutex> guard(mutex);
  auto* start = static_cast<char*>(pointer);
  auto* found = region_at(start);
  if (found) found->second.shadow->mark_written(start - found->first, start - found->first + nbytes);
}

size_t sim_count_unwritten(const void* pointer, size_t nbytes, size_t* first) {
  if (!is_checking) return 0;
  std::lock_guard<std::mutex> guard(mutex);
  auto* start = static_cast<const char*>(pointer);
  auto* found = region_at(start);
  if (!found) return 0;
  size_t offset = start - found->first;
  size_t count = found->second.shadow->count_unwritten(offset, offset + nbytes, *first);
  *first -= offset;
  return count;
}

void sim_fill(void* pointer, int byte, size_t nbytes) {
  sim_mark_written(pointer, nbytes);
  char* start = static_cast<char*>(pointer);
  char* end = start + nbytes;
  auto address = reinterpret_cast<uintptr_t>(start);
  char* first = start + (round_up(address, page_size) - address);
  char* last = end - reinterpret_cast<uintptr_t>(end) % page_size;
  bool lazily = byte == 0 && nbytes >= lazy_from && is_private(start, nbytes) &&
                map_over(first, last - first, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (!lazily) {
    memset(start, byte, nbytes);
    return;
  }
  memset(start, 0, first - start);
  memset(last, 0, end - last);
}
}
