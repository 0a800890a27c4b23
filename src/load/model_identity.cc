#include "load/model_identity.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "base/status_macros.h"
#include "text/bytes_hash.h"

namespace skald::load {

namespace {

constexpr uint64_t kSampleBytes = 4096;
// Of a value of metadata: templates are shorter, and of a vocabulary the beginning tells enough.
constexpr size_t kValueBytes = size_t{64} << 10;

uint64_t HashSample(const std::vector<std::byte>& bytes, uint64_t key) {
  return text::HashBytes({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, key);
}

uint64_t HashTables(const formats::TensorInfo& tensor, uint64_t key) {
  key = text::HashBytes(tensor.name, key);
  for (const uint64_t dim : tensor.dims) key = text::MixBits(key ^ dim, text::kMixA);
  return text::MixBits(key ^ static_cast<uint64_t>(tensor.dtype), text::kMixB);
}

}  // namespace

Result<uint64_t> ModelIdentity(const formats::ModelFile& file) {
  const formats::Metadata& metadata = file.metadata();
  uint64_t identity = metadata.size();
  for (size_t i = 0; i < metadata.size(); ++i) {
    identity = text::HashBytes(metadata.entry(i).key, identity);
    identity = text::HashBytes(metadata.Describe(i, kValueBytes), identity);
  }
  std::vector<std::byte> sample;
  for (const formats::TensorInfo& tensor : file.tensors().all()) {
    identity = HashTables(tensor, identity);
    sample.resize(std::min(kSampleBytes, tensor.byte_count));
    const uint64_t last = tensor.byte_count - sample.size();
    for (const uint64_t begin : {uint64_t{0}, last / 2, last}) {
      RETURN_IF_ERROR(file.ReadTensor(tensor, begin, sample));
      identity = HashSample(sample, identity);
    }
  }
  return identity;
}

}  // namespace skald::load
