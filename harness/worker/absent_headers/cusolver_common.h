// Stands in where the real header isn't installed.
#pragma once
#include <cusolverDn.h>
