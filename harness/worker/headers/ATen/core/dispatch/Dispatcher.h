// Slim: torch/types.h of torch 2.6 names it and needs nothing of it.
#pragma once
