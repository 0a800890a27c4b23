/// <immintrin.h> without the false alarms of gcc 12: its AVX-512 intrinsics start from a
/// deliberately undefined register and -Wuninitialized reports that in every caller (gcc bug
/// 105593). Include this instead.
#pragma once

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#include <immintrin.h>
#pragma GCC diagnostic pop
#else
#include <immintrin.h>
#endif
