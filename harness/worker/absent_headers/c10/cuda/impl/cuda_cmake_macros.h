// torch's CUDA builds generate it, and CPU builds have none.
#pragma once
#define C10_CUDA_BUILD_SHARED_LIBS
