// Closes a region opened by target_avx2_begin.h or target_avx512_begin.h.
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
