#include "huggingface/documents.h"

#include <fmt/format.h>

#include <filesystem>
#include <span>
#include <utility>

#include "base/file.h"
#include "base/status_macros.h"

namespace skald::huggingface {
namespace {

namespace fs = std::filesystem;

// Largest seen: 33 MB (Gemma 3's tokenizer.json).
constexpr uint64_t kDocumentBytesMax = 256u << 20;

}  // namespace

std::string PathInside(const std::string& folder, std::string_view name) {
  return (fs::path(folder) / name).string();
}

// The file `name` of a folder. Messages of File name the whole path, others only `name`.
Result<std::string> ReadDocument(const std::string& folder, std::string_view name) {
  ASSIGN_OR_RETURN(const File file, File::Open(PathInside(folder, name)));
  if (file.size() > kDocumentBytesMax) {
    return Status(ErrorCode::kBadModel, fmt::format("{}: has {} bytes, at most {} are read", name,
                                                    file.size(), kDocumentBytesMax));
  }
  std::string text(file.size(), '\0');
  Status status = file.ReadAt(0, std::as_writable_bytes(std::span(text)));
  if (!status.ok()) return std::move(status).WithContext(std::string(name));
  return text;
}

Result<JsonTree> ReadTree(const std::string& folder, std::string_view name) {
  ASSIGN_OR_RETURN(const std::string text, ReadDocument(folder, name));
  Result<JsonTree> tree = JsonTree::Parse(text);
  if (!tree.ok()) return std::move(tree).status().WithContext(std::string(name));
  return tree;
}

// A document that need not be there.
Result<std::optional<JsonTree>> ReadTreeIfThere(const std::string& folder, std::string_view name) {
  Result<JsonTree> tree = ReadTree(folder, name);
  if (tree.ok()) return std::optional(*std::move(tree));
  if (tree.status().code() == ErrorCode::kNotFound) return std::optional<JsonTree>();
  return std::move(tree).status();
}

}  // namespace skald::huggingface
