/// DotOf: exact dots of integers for attention, by vector type. Each instruction set has one
/// (dot_avx2.h, dot_avx512.h); what its members do stands in dot_avx512.h.
#pragma once

namespace skald::kernels {

template <typename V>
struct DotOf;

}  // namespace skald::kernels
