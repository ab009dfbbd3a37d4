// Before all else in the checked build: copies and fills by the C library's functions, which g++ doesn't instrument, go
// to the checker. The compiler's own uses of them do too, and those of CUDA's copies.
#pragma once

extern "C" {
void* memcpy(void* __restrict to, const void* __restrict from, __SIZE_TYPE__ nbytes) noexcept
    __asm__("sim_checked_memcpy");
void* memmove(void* to, const void* from, __SIZE_TYPE__ nbytes) noexcept __asm__("sim_checked_memmove");
void* memset(void* to, int byte, __SIZE_TYPE__ nbytes) noexcept __asm__("sim_checked_memset");
}
