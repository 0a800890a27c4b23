// Opens a region whose functions are compiled for avx512 with permutations of bytes (AVX-512 VBMI);
// rules as in target_avx512_begin.h.
#if defined(__clang__)
#pragma clang attribute push(                                                            \
    __attribute__((target("avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni," \
                          "avx512vbmi"))),                                               \
    apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx512vbmi")
#endif
