// Slim: the binding knows the vectors, tuples and optionals of the C++ library.
#pragma once
#include <harness/binding.h>
