// Fuzz target of the safetensors reader. Besides not dying, an accepted file must keep its
// promises: the tensors tile the data, and each has as many bytes as its shape and type take.
// Reading takes memory and time in proportion to the bytes.
#include <cstdint>
#include <optional>
#include <vector>

#include "base/byte_source.h"
#include "base/check.h"
#include "formats/safetensors.h"
#include "support/cost.h"

namespace skald::formats {
namespace {

void Check(const MemorySource& source) {
  std::optional<Result<std::vector<StoredTensor>>> parsed;
  const test::Cost cost = test::CostOf([&] { parsed.emplace(ParseSafetensors(source)); });
  const auto size = static_cast<double>(source.size());
  CHECK(static_cast<double>(cost.peak_bytes) < 80 * size + (64 << 10));
  CHECK(cost.cpu_seconds < 0.5 + 20e-6 * size);
  const Result<std::vector<StoredTensor>>& tensors = *parsed;
  if (!tensors.ok()) {
    CHECK(!tensors.status().message().empty());
    return;
  }
  uint64_t next = tensors->empty() ? 0 : tensors->front().begin;
  for (const StoredTensor& tensor : *tensors) {
    CHECK(tensor.begin == next);
    next += tensor.bytes;
    uint64_t elements = 1;
    for (const uint64_t dim : tensor.shape) elements *= dim;
    CHECK(elements == 0 || tensor.bytes % elements == 0);
  }
  CHECK(next <= source.size());
}

}  // namespace
}  // namespace skald::formats

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto* bytes = reinterpret_cast<const std::byte*>(data);
  const skald::MemorySource source(std::vector<std::byte>(bytes, bytes + size));
  skald::formats::Check(source);
  return 0;
}
