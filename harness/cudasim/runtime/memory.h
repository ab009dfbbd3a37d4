// Device memory: host mappings between inaccessible guards.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace sim {

class Shadow;

constexpr size_t page_size = 4096;

constexpr size_t round_up(size_t value, size_t multiple) { return (value + multiple - 1) / multiple * multiple; }

// Whether the address lies in a device allocation or at one of its guards.
bool is_near_device_memory(const void* pointer);

// The size of the allocation that an address lay in until lately; 0 where it lay in none.
size_t freed_nbytes(const void* pointer);

// An allocation as the checker sees it. An input's memory is the harness's: kernels only read it.
struct Allocation {
  char* data;
  size_t nbytes;
  Shadow* shadow;
  bool is_input;
  uintptr_t guards_begin, guards_end;  // what lies between is nobody else's
};

// By address. Their shadows are there in the checked build alone.
std::vector<Allocation> allocations();

// Where an address that faulted lies, in words.
std::string describe_address(uintptr_t address);

// Whether the range lies in one device allocation.
bool is_device_range(const void* pointer, size_t nbytes);

// Whether the range is device memory that no other process sees, so that its pages may be replaced.
bool is_private(const void* pointer, size_t nbytes);

}  // namespace sim
