// Findings and error codes: what a launch leaves behind for the host program and for the harness.
#pragma once
#include <string>
#include <vector>

#include "sim/abi.h"

namespace sim {

struct Source {
  const char* file = "";
  int line = 0;
  void* instruction = nullptr;  // for faults, whose line the harness looks up in the debug information
};

// '[x, y, z]' of a block's thread, or of a grid's block, by its number.
std::string index_text(uint64_t number, const dim3& size);

// Adds a finding at the current block and thread; equal ones are counted, not repeated. `callers` are instructions that
// led to the source's; `other` is where the detail's @OTHER@ happened.
void report(const char* kind, const std::string& detail, const Source& source, const std::vector<void*>& callers = {},
            void* other = nullptr);
// Whether the launch's kernel has such a finding at an instruction; then it is counted, and needs no words.
bool report_again(const char* kind, void* instruction);

void raise_sticky(cudaError_t error);
// An error that the host may still ask for: its finding is withdrawn when it does.
void raise_launch_error(cudaError_t error, const std::string& detail, const char* kernel, const Source& source);

// An argument that points to what no kernel can use.
void report_argument(const char* kind, int position, const std::string& memory, const char* kernel,
                     const Source& source);

void count_launch(const std::string& kernel, int64_t blocks);
// A launch whose threads changed memory atomically.
void count_atomics();

}  // namespace sim
