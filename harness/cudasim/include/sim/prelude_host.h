// What torch's generated main.cpp reads first; precompiled, it saves most of that file's time.
#pragma once
#include <torch/extension.h>
