// Slim: torch's global state, which a solution seldom asks for; half of ATen hangs on it.
#pragma once
#include <c10/util/Exception.h>
#include <c10/util/irange.h>
