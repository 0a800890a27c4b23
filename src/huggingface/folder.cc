#include "huggingface/folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include "base/check.h"
#include "base/file.h"
#include "base/json_tree.h"
#include "base/status_macros.h"
#include "formats/quote.h"
#include "formats/safetensors.h"
#include "huggingface/architecture.h"
#include "huggingface/config.h"
#include "huggingface/decoder_keys.h"
#include "huggingface/documents.h"
#include "huggingface/pooling.h"
#include "huggingface/tokenizer_json.h"

namespace skald::huggingface {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kConfig = "config.json";
constexpr std::string_view kIndex = "model.safetensors.index.json";
constexpr std::string_view kSingle = "model.safetensors";
constexpr size_t kPartsMax = 512;  // half the descriptors a process may hold

// The files with tensors: those that the index names, else the only one. Names with a slash would
// lead out of the folder.
Result<std::vector<std::string>> PartNames(const std::string& folder) {
  ASSIGN_OR_RETURN(const std::optional<JsonTree> index, ReadTreeIfThere(folder, kIndex));
  if (!index) return std::vector<std::string>{std::string(kSingle)};
  const auto bad = [&](std::string_view problem) {
    return Status(ErrorCode::kBadModel, fmt::format("{}: {}", kIndex, problem));
  };
  const std::optional<JsonValue> map = index->root().Find("weight_map");
  if (!map || !map->IsObject()) return bad("'weight_map' is missing");
  std::set<std::string> names;
  for (const JsonValue entry : *map) {
    const std::string name(entry.AsString().value_or(""));
    if (!name.ends_with(".safetensors") || name.find('/') != std::string::npos)
      return bad(fmt::format("{} is no name of a file beside it", formats::Quote(name)));
    names.insert(name);
    if (names.size() > kPartsMax) return bad(fmt::format("names more than {} files", kPartsMax));
  }
  return std::vector<std::string>(names.begin(), names.end());
}

// Published beside the tokenizer, in one of two places; several templates have names there.
Result<std::string> ReadChatTemplate(const std::string& folder, const JsonTree* config) {
  Result<std::string> text = ReadDocument(folder, "chat_template.jinja");
  if (text.ok() || text.status().code() != ErrorCode::kNotFound) return text;
  if (config == nullptr) return std::string();
  const std::optional<JsonValue> member = config->root().Find("chat_template");
  if (!member) return std::string();
  if (const auto whole = member->AsString()) return std::string(*whole);
  for (const JsonValue each : *member) {
    const auto name = each.Find("name");
    const auto source = each.Find("template");
    if (name && source && name->AsString() == "default")
      return std::string(source->AsString().value_or(""));
  }
  return std::string();
}

// Keys of the tokenizer and its template.
Status WriteTextKeys(const std::string& folder, const Architecture& architecture,
                     const JsonTree& config_tree, formats::MetadataWriter* metadata) {
  ASSIGN_OR_RETURN(const Config config, Config::Of(config_tree));
  ASSIGN_OR_RETURN(const JsonTree tokenizer, ReadTree(folder, "tokenizer.json"));
  ASSIGN_OR_RETURN(const std::optional<JsonTree> tokenizer_config,
                   ReadTreeIfThere(folder, "tokenizer_config.json"));
  ASSIGN_OR_RETURN(const std::optional<JsonTree> generation_config,
                   ReadTreeIfThere(folder, "generation_config.json"));
  ASSIGN_OR_RETURN(const int64_t vocab_size, config.Int("vocab_size"));
  if (config.Contains("type_vocab_size")) {
    ASSIGN_OR_RETURN(const int64_t kinds, config.Int("type_vocab_size"));
    metadata->SetInt("tokenizer.ggml.token_type_count", kinds);
  }
  const JsonTree* tokenizer_config_tree = tokenizer_config ? &*tokenizer_config : nullptr;
  RETURN_IF_ERROR(
      WriteTokenizerKeys({.tokenizer = tokenizer,
                          .tokenizer_config = tokenizer_config_tree,
                          .generation_config = generation_config ? &*generation_config : nullptr,
                          .config = &config_tree,
                          .characters_model = architecture.characters_model},
                         vocab_size, metadata));
  ASSIGN_OR_RETURN(const std::string chat_template,
                   ReadChatTemplate(folder, tokenizer_config_tree));
  if (!chat_template.empty()) metadata->SetString("tokenizer.chat_template", chat_template);
  return Ok();
}

}  // namespace

bool Folder::IsFolder(const std::string& path) {
  std::error_code error;
  return fs::is_directory(path, error) && fs::exists(fs::path(path) / kConfig, error);
}

Result<Folder> Folder::Open(const std::string& path) {
  Folder folder;
  folder.path_ = path;
  while (folder.path_.size() > 1 && folder.path_.ends_with('/')) folder.path_.pop_back();
  Status status = folder.Read();
  if (!status.ok()) return std::move(status).WithContext(folder.path_);
  return folder;
}

// Documents before weights: what is wrong with them is said before a file of many gigabytes is
// opened. Tensors after keys, because what may be left out depends on the number of layers.
Status Folder::Read() {
  ASSIGN_OR_RETURN(const JsonTree config_tree, ReadTree(path_, kConfig));
  ASSIGN_OR_RETURN(Config config, Config::Of(config_tree));
  ASSIGN_OR_RETURN(const Architecture* architecture, FindArchitecture(config));
  config.Rename(architecture->members);
  formats::MetadataWriter metadata;
  metadata.SetString("general.architecture", architecture->family);
  KeyWriter keys(metadata, architecture->family);
  ASSIGN_OR_RETURN(std::vector<ComputedTensor> computed,
                   WriteDecoderKeys(config, *architecture, &keys));
  std::vector<std::string> projections;
  // A head that ranks pools by itself.
  if (!config.IsClass(kRankingClass)) {
    ASSIGN_OR_RETURN(projections, WritePooling(path_, *architecture, &keys));
  }
  RETURN_IF_ERROR(WriteTextKeys(path_, *architecture, config_tree, &metadata));
  ASSIGN_OR_RETURN(metadata_, std::move(metadata).Finish());
  RETURN_IF_ERROR(OpenParts(projections));
  ASSIGN_OR_RETURN(planned_, PlanTensors(config, *architecture, stored_));
  for (ComputedTensor& tensor : computed) {
    planned_.push_back({.name = std::string(tensor.name),
                        .dims = {tensor.values.size()},
                        .rows = 1,
                        .columns = tensor.values.size(),
                        .computed = std::move(tensor.values)});
  }
  return MakeDirectory();
}

// `projections`: the folders of the matrices behind the pooling. Each calls its tensor the same.
Status Folder::OpenParts(const std::vector<std::string>& projections) {
  ASSIGN_OR_RETURN(const std::vector<std::string> names, PartNames(path_));
  for (const std::string& name : names) RETURN_IF_ERROR(OpenPart(name, ""));
  for (size_t i = 0; i < projections.size(); ++i) {
    RETURN_IF_ERROR(OpenPart(fmt::format("{}/{}", projections[i], kSingle),
                             fmt::format("dense_{}.", kFirstProjection + i)));
  }
  return Ok();
}

// `prefix` comes before the names of its tensors.
Status Folder::OpenPart(const std::string& name, std::string_view prefix) {
  ASSIGN_OR_RETURN(File file, File::Open(PathInside(path_, name)));
  parts_.push_back(std::make_unique<File>(std::move(file)));
  Result<std::vector<formats::StoredTensor>> tensors = formats::ParseSafetensors(*parts_.back());
  if (!tensors.ok()) return std::move(tensors).status().WithContext(name);
  for (formats::StoredTensor& tensor : *tensors) {
    tensor.name.insert(0, prefix);
    stored_.push_back({.part = parts_.size() - 1, .tensor = std::move(tensor)});
  }
  return Ok();
}

// A file that does not exist, in which the tensors lie one behind the other: so they are checked as
// those of GGUF are.
Status Folder::MakeDirectory() {
  size_t bytes = 0;
  for (const PlannedTensor& tensor : planned_) bytes += tensor.name.size();
  const auto names = std::make_shared<std::byte[]>(bytes + 1);
  formats::TensorDirectoryBuilder builder(1, names);
  builder.Reserve(planned_.size());
  uint64_t offset = 0;
  auto* next = reinterpret_cast<char*>(names.get());
  for (const PlannedTensor& tensor : planned_) {
    std::copy(tensor.name.begin(), tensor.name.end(), next);
    formats::TensorClaim claim = {.name = std::string_view(next, tensor.name.size()),
                                  .type_id = tensor::InfoOf(tensor.dtype).gguf_id,
                                  .dim_count = static_cast<uint32_t>(tensor.dims.size()),
                                  .data_offset = offset};
    CHECK(tensor.dims.size() <= claim.dims.size());
    std::copy(tensor.dims.begin(), tensor.dims.end(), claim.dims.begin());
    RETURN_IF_ERROR(builder.Add(claim));
    const size_t slices = std::max<size_t>(1, tensor.slices.size());
    offset += slices * tensor.rows * RowBytes(tensor);
    next += tensor.name.size();
  }
  ASSIGN_OR_RETURN(tensors_, std::move(builder).Finish(0, offset));
  return Ok();
}

uint64_t Folder::file_bytes() const {
  uint64_t sum = 0;
  for (const auto& part : parts_) sum += part->size();
  return sum;
}

const PlannedTensor& Folder::PlannedOf(const formats::TensorInfo& tensor) const {
  const std::ptrdiff_t index = &tensor - tensors_.all().data();
  CHECK(index >= 0 && static_cast<size_t>(index) < planned_.size());
  return planned_[static_cast<size_t>(index)];
}

Status Folder::ReadTensor(const formats::TensorInfo& tensor, uint64_t begin,
                          std::span<std::byte> out) const {
  return ReadPlanned(parts_, PlannedOf(tensor), begin, out);
}

void Folder::DropTensor(const formats::TensorInfo& tensor, uint64_t begin, uint64_t length) const {
  if (begin + length != tensor.byte_count) return;
  for (const Slice& slice : PlannedOf(tensor).slices) {
    const formats::StoredTensor& stored = slice.values->tensor;
    parts_[slice.values->part]->DropFromCache(stored.begin, stored.bytes);
  }
}

}  // namespace skald::huggingface
