/// The variants of the functions in attention.h, one file each. Internal to attention/ and to
/// the instruction sets (isa/scalar.cc, x86/); scalar is the specification.
#pragma once

#include "kernels/attention/attention.h"

namespace skald::kernels {

namespace scalar {
void Attention(const AttentionArgs& args);
void AppendKv(const PagedKv& kv, int64_t position, const float* key, const float* value);
}  // namespace scalar

namespace avx2 {
void Attention(const AttentionArgs& args);
void AppendKv(const PagedKv& kv, int64_t position, const float* key, const float* value);
}  // namespace avx2

namespace avx512 {
void Attention(const AttentionArgs& args);
void AppendKv(const PagedKv& kv, int64_t position, const float* key, const float* value);
}  // namespace avx512

}  // namespace skald::kernels
