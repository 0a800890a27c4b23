#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "formats/gguf.h"
#include "formats/quote.h"

namespace skald::formats {
namespace {

constexpr std::string_view kArchitectureKey = "general.architecture";
constexpr std::string_view kPartKey = "split.no";
constexpr std::string_view kPartCountKey = "split.count";
constexpr std::string_view kTensorCountKey = "split.tensors.count";

constexpr size_t kArchitectureBytesMax = 64;

Status Bad(std::string problem) { return Status(ErrorCode::kBadModel, std::move(problem)); }

// The name of part `i` of `count`, as every tool that splits writes it; both have five digits.
std::string PartSuffix(uint64_t i, uint64_t count) {
  return fmt::format("-{:05}-of-{:05}.gguf", i + 1, count);
}

Status CheckArchitecture(const Metadata& metadata) {
  ASSIGN_OR_RETURN(const std::string_view name, metadata.GetString(kArchitectureKey));
  const bool plain = std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.';
  });
  if (plain && !name.empty() && name.size() <= kArchitectureBytesMax) return Ok();
  return Bad(fmt::format("key '{}': expected 1 to {} bytes of a-z 0-9 _ - ., found {}",
                         kArchitectureKey, kArchitectureBytesMax, Quote(name)));
}

// The number of parts a file says its model has; 1 if it says nothing.
Result<uint64_t> PartCountOf(const Metadata& metadata) {
  ASSIGN_OR_RETURN(const uint64_t count, metadata.GetU64Or(kPartCountKey, 1));
  if (count >= 1 && count <= kSplitPartsMax) return count;
  return Bad(
      fmt::format("key '{}': expected 1 to {}, found {}", kPartCountKey, kSplitPartsMax, count));
}

// Checks that `file` is part `i` of `count`.
Status CheckPart(const GgufFile& file, uint64_t i, uint64_t count) {
  ASSIGN_OR_RETURN(const uint64_t its_count, PartCountOf(file.metadata));
  ASSIGN_OR_RETURN(const uint64_t its_number, file.metadata.GetU64Or(kPartKey, 0));
  if (its_count == count && its_number == i) return Ok();
  return Bad(fmt::format("expected part {} of {}, found part {} of {}", i + 1, count,
                         its_number + 1, its_count));
}

// Checks what `file` says about the whole model against the first part and the merged directory.
Status CheckAgreement(const GgufFile& file, const GgufFile& first, size_t tensor_count) {
  ASSIGN_OR_RETURN(const uint64_t count, file.metadata.GetU64Or(kTensorCountKey, tensor_count));
  if (count != tensor_count) {
    return Bad(fmt::format("key '{}': all parts together have {} tensors, found {}",
                           kTensorCountKey, tensor_count, count));
  }
  ASSIGN_OR_RETURN(const auto expected, first.metadata.GetString(kArchitectureKey));
  ASSIGN_OR_RETURN(const auto found, file.metadata.GetStringOr(kArchitectureKey, expected));
  if (found == expected) return Ok();
  return Bad(fmt::format("key '{}': expected {} as in the first part, found {}", kArchitectureKey,
                         Quote(expected), Quote(found)));
}

using Sources = std::vector<std::unique_ptr<ByteSource>>;

// The paths of the parts after the first. They are siblings of `path` by its own name.
Result<std::vector<std::string>> SiblingsOf(const std::string& path, uint64_t count) {
  std::vector<std::string> siblings;
  if (count == 1) return siblings;
  const std::string suffix = PartSuffix(0, count);
  if (!path.ends_with(suffix)) {
    return Bad(fmt::format("is the first of {} parts, so its name must end in {}", count, suffix));
  }
  const std::string prefix = path.substr(0, path.size() - suffix.size());
  for (uint64_t i = 1; i < count; ++i) siblings.push_back(prefix + PartSuffix(i, count));
  return siblings;
}

// Checks that `first` is a part to start from, and returns how many there are.
Result<uint64_t> CheckFirst(const GgufFile& first) {
  ASSIGN_OR_RETURN(const uint64_t count, PartCountOf(first.metadata));
  ASSIGN_OR_RETURN(const uint64_t number, first.metadata.GetU64Or(kPartKey, 0));
  if (number != 0) {
    return Bad(fmt::format("key '{}': is part {} of {} of a split model, expected the first part",
                           kPartKey, number + 1, count));
  }
  RETURN_IF_ERROR(CheckArchitecture(first.metadata));
  return count;
}

}  // namespace

Result<GgufModel> GgufModel::Open(const std::string& path) {
  Sources sources;
  std::vector<GgufFile> files;
  const auto add = [&](const std::string& part) -> Status {
    ASSIGN_OR_RETURN(File file, File::Open(part));
    sources.push_back(std::make_unique<File>(std::move(file)));
    ASSIGN_OR_RETURN(GgufFile parsed, ParseGguf(*sources.back()));
    files.push_back(std::move(parsed));
    return Ok();
  };
  RETURN_IF_ERROR(add(path));
  const auto count = CheckFirst(files.front());
  if (!count.ok()) return Status(count.status()).WithContext(path);
  const auto siblings = SiblingsOf(path, *count);
  if (!siblings.ok()) return Status(siblings.status()).WithContext(path);
  for (const std::string& sibling : *siblings) {
    Status status = add(sibling);
    if (!status.ok()) return std::move(status).WithContext(path + ": split model");
  }
  return Assemble(std::move(sources), std::move(files));
}

Result<GgufModel> GgufModel::FromSources(Sources sources) {
  CHECK(!sources.empty() && sources.size() <= kSplitPartsMax);
  std::vector<GgufFile> files;
  for (const auto& source : sources) {
    ASSIGN_OR_RETURN(GgufFile parsed, ParseGguf(*source));
    files.push_back(std::move(parsed));
  }
  const auto count = CheckFirst(files.front());
  if (!count.ok()) return Status(count.status()).WithContext(sources.front()->name());
  return Assemble(std::move(sources), std::move(files));
}

Result<GgufModel> GgufModel::Assemble(Sources sources, std::vector<GgufFile> files) {
  std::vector<TensorDirectory> directories;
  directories.reserve(files.size());
  for (const GgufFile& file : files) directories.push_back(file.tensors);
  auto merged = TensorDirectory::Merge(directories);
  if (!merged.ok()) return std::move(merged).status().WithContext(sources.front()->name());
  for (size_t i = 0; i < files.size(); ++i) {
    Status status = CheckPart(files[i], i, files.size());
    if (status.ok()) status = CheckAgreement(files[i], files.front(), merged->size());
    if (!status.ok()) return std::move(status).WithContext(sources[i]->name());
  }
  GgufModel model;
  model.parts_ = std::move(sources);
  model.tensors_ = *std::move(merged);
  model.metadata_ = std::move(files.front().metadata);
  model.version_ = files.front().version;
  model.alignment_ = files.front().alignment;
  return model;
}

uint64_t GgufModel::file_bytes() const {
  uint64_t sum = 0;
  for (const auto& part : parts_) sum += part->size();
  return sum;
}

Status GgufModel::ReadTensor(const TensorInfo& tensor, uint64_t begin,
                             std::span<std::byte> out) const {
  CHECK(begin <= tensor.byte_count && out.size() <= tensor.byte_count - begin);
  const ByteSource& part = *parts_[tensor.part];
  Status status = part.ReadAt(tensor.offset + begin, out);
  if (status.ok()) return status;
  return std::move(status).WithContext(
      fmt::format("{}: tensor {}", part.name(), Quote(tensor.name)));
}

void GgufModel::DropTensor(const TensorInfo& tensor, uint64_t begin, uint64_t length) const {
  CHECK(begin <= tensor.byte_count && length <= tensor.byte_count - begin);
  parts_[tensor.part]->DropFromCache(tensor.offset + begin, length);
}

}  // namespace skald::formats
