// Fuzz target of the documents of a folder. The input is three of them with a byte of 0 between:
// config.json, tokenizer.json, and the header of a safetensors file, whose tensors are planned.
// Nothing dies, every error is one line, and all of it takes memory and time in proportion to the
// bytes, and to the vocabulary that config.json claims.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_source.h"
#include "base/check.h"
#include "base/json_tree.h"
#include "base/status_macros.h"
#include "formats/metadata_writer.h"
#include "formats/safetensors.h"
#include "huggingface/config.h"
#include "huggingface/decoder_keys.h"
#include "huggingface/tensor_plan.h"
#include "huggingface/tensor_reader.h"
#include "huggingface/tokenizer_json.h"
#include "support/cost.h"

namespace skald::huggingface {
namespace {

// The largest vocabulary that is tried: its unused tokens have names, which cost memory.
constexpr int64_t kVocabulary = 4096;

std::string_view TakePart(std::string_view* rest) {
  const size_t end = std::min(rest->find('\0'), rest->size());
  const std::string_view part = rest->substr(0, end);
  rest->remove_prefix(std::min(rest->size(), end + 1));
  return part;
}

// A file of that header, and the data that it speaks of, up to a bound.
MemorySource FileOf(std::string_view header) {
  constexpr size_t kDataBytes = 4096;
  std::vector<std::byte> bytes(sizeof(uint64_t) + header.size() + kDataBytes);
  const uint64_t length = header.size();
  std::copy_n(reinterpret_cast<const std::byte*>(&length), sizeof(length), bytes.begin());
  std::copy_n(reinterpret_cast<const std::byte*>(header.data()), header.size(),
              bytes.begin() + sizeof(length));
  return MemorySource(std::move(bytes));
}

Status TryTensors(const Config& config, const Architecture& architecture, std::string_view header) {
  Parts parts;
  parts.push_back(std::make_unique<MemorySource>(FileOf(header)));
  ASSIGN_OR_RETURN(std::vector<formats::StoredTensor> tensors,
                   formats::ParseSafetensors(*parts[0]));
  std::vector<Stored> stored;
  for (formats::StoredTensor& tensor : tensors) stored.push_back({.tensor = std::move(tensor)});
  ASSIGN_OR_RETURN(const std::vector<PlannedTensor> planned,
                   PlanTensors(config, architecture, stored));
  for (const PlannedTensor& tensor : planned) {
    std::vector<std::byte> row(RowBytes(tensor));
    CHECK(ReadPlanned(parts, tensor, (tensor.slices.size() * tensor.rows - 1) * row.size(), row)
              .ok());
  }
  return Ok();
}

Status Try(std::string_view input) {
  const std::string_view config_text = TakePart(&input);
  const std::string_view tokenizer_text = TakePart(&input);
  ASSIGN_OR_RETURN(const JsonTree config_tree, JsonTree::Parse(config_text));
  ASSIGN_OR_RETURN(Config config, Config::Of(config_tree));
  ASSIGN_OR_RETURN(const Architecture* architecture, FindArchitecture(config));
  config.Rename(architecture->members);
  formats::MetadataWriter metadata;
  KeyWriter keys(metadata, architecture->family);
  RETURN_IF_ERROR(WriteDecoderKeys(config, *architecture, &keys).status());
  const Status tensors = TryTensors(config, *architecture, input);
  CHECK(tensors.ok() || !tensors.message().empty());
  ASSIGN_OR_RETURN(const JsonTree tokenizer, JsonTree::Parse(tokenizer_text));
  ASSIGN_OR_RETURN(const int64_t claimed, config.IntOr("vocab_size", 8));
  RETURN_IF_ERROR(WriteTokenizerKeys({.tokenizer = tokenizer, .config = &config_tree},
                                     std::min(claimed, kVocabulary), &metadata));
  return std::move(metadata).Finish().status();
}

}  // namespace
}  // namespace skald::huggingface

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace skald;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  Status status;
  const test::Cost cost = test::CostOf([&] { status = huggingface::Try(input); });
  CHECK(status.ok() || !status.message().empty());
  CHECK(status.message().find('\n') == std::string::npos);
  CHECK(cost.peak_bytes < 200 * static_cast<int64_t>(size) + (4 << 20));
  CHECK(cost.cpu_seconds < 0.5 + 50e-6 * static_cast<double>(size));
  return 0;
}
