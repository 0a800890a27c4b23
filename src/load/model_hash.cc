#include "load/model_hash.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/sha256.h"
#include "base/status_macros.h"
#include "tensor/dtype.h"

namespace skald::load {

static_assert(std::endian::native == std::endian::little,
              "numbers are hashed as they lie in memory; a big-endian port swaps bytes here");

namespace {

// Large enough that reading costs nothing beside hashing.
constexpr uint64_t kBlockBytes = uint64_t{1} << 20;

std::string_view AsText(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void AddText(std::string_view text, Sha256* hash) {
  hash->Add(text);
  hash->Add(std::string_view("", 1));
}

void AddNumber(uint64_t number, Sha256* hash) {
  hash->Add({reinterpret_cast<const char*>(&number), sizeof(number)});
}

void AddByte(uint8_t byte, Sha256* hash) {
  hash->Add({reinterpret_cast<const char*>(&byte), sizeof(byte)});
}

void AddKeys(const formats::Metadata& metadata, Sha256* hash) {
  for (size_t i = 0; i < metadata.size(); ++i) {
    const formats::MetadataEntry entry = metadata.entry(i);
    AddText(entry.key, hash);
    AddByte(static_cast<uint8_t>(entry.type), hash);
    AddByte(static_cast<uint8_t>(entry.element_type), hash);
    AddNumber(entry.count, hash);
    hash->Add(AsText(metadata.value_bytes(i)));
  }
}

Status AddTensor(const formats::ModelFile& file, const formats::TensorInfo& tensor,
                 std::vector<std::byte>* block, Sha256* hash) {
  AddText(tensor.name, hash);
  AddText(tensor::InfoOf(tensor.dtype).name, hash);
  for (const uint64_t dim : tensor.dims) AddNumber(dim, hash);
  Sha256 weights;
  for (uint64_t begin = 0; begin < tensor.byte_count; begin += block->size()) {
    block->resize(std::min(kBlockBytes, tensor.byte_count - begin));
    RETURN_IF_ERROR(file.ReadTensor(tensor, begin, *block));
    weights.Add(AsText(*block));
  }
  hash->Add(weights.TakeBytes());
  return Ok();
}

}  // namespace

Result<std::string> HashOfModel(const formats::ModelFile& file) {
  Sha256 hash;
  hash.Add("skald model 1\n");
  AddKeys(file.metadata(), &hash);
  std::vector<std::byte> block;
  for (const formats::TensorInfo& tensor : file.tensors().all()) {
    RETURN_IF_ERROR(AddTensor(file, tensor, &block, &hash));
  }
  return hash.Take();
}

Result<std::string> ModelHash::Get() {
  const std::lock_guard lock(mutex_);
  if (!hash_.has_value()) {
    ASSIGN_OR_RETURN(hash_, HashOfModel(*file_));
  }
  return std::string(*hash_);
}

}  // namespace skald::load
