// Opens a region whose functions are compiled for amx; rules as in target_avx512_begin.h.
#if defined(__clang__)
#pragma clang attribute push(                                                            \
    __attribute__((target("avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni," \
                          "amx-tile,amx-int8"))),                                        \
    apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,amx-tile,amx-int8")
#endif
