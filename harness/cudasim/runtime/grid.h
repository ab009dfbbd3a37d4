// Cooperative launches: all blocks are there at once, and may wait for each other.
#pragma once
#include <vector>

#include "worker.h"

namespace sim {

// False, and an error, for more blocks than an H100 holds at a time.
bool is_accepted_grid(const Launch& launch);

// One host thread runs each block until none of its threads can go on, then the next block, in turn.
void run_together(Launch& launch, const std::vector<KernelArgument>& arguments);

}  // namespace sim
