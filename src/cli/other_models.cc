#include "cli/other_models.h"

#include <algorithm>
#include <boost/json.hpp>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>

#include "cli/input.h"

namespace skald::cli {

namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

// A folder of models has some hundred entries. The folders are the user's, but one may be a link to
// a whole disk.
constexpr int kMostEntries = 20'000;
constexpr int kDeepest = 6;

// Calls `take` for every regular file below `folder`.
template <typename Take>
void ForEachFile(const fs::path& folder, const Take& take) {
  std::error_code error;
  int entries = 0;
  for (fs::recursive_directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    if (++entries > kMostEntries) return;
    if (entry.depth() >= kDeepest) entry.disable_recursion_pending();
    std::error_code file_error;
    if (entry->is_regular_file(file_error)) take(entry->path());
  }
}

int64_t SizeOf(const fs::path& path) {
  std::error_code error;
  const uint64_t size = fs::file_size(path, error);
  return error ? 0 : static_cast<int64_t>(size);
}

void SortFrom(size_t first, std::vector<FoundModel>* models) {
  std::sort(models->begin() + static_cast<std::ptrdiff_t>(first), models->end(),
            [](const FoundModel& a, const FoundModel& b) { return a.name < b.name; });
}

// "models--owner--name/snapshots/COMMIT/path.gguf"
void AddHuggingFace(const std::string& cache, std::vector<FoundModel>* models) {
  constexpr std::string_view kPrefix = "models--";
  const size_t first = models->size();
  std::error_code error;
  for (fs::directory_iterator entry(cache, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string folder = entry->path().filename().string();
    const size_t border = folder.find("--", kPrefix.size());
    if (!folder.starts_with(kPrefix) || border == std::string::npos) continue;
    const std::string owner = folder.substr(kPrefix.size(), border - kPrefix.size());
    const std::string name = folder.substr(border + 2);
    ForEachFile(entry->path() / "snapshots", [&](const fs::path& path) {
      if (!IsModelFileName(path.filename().string())) return;
      // Below the folder of the commit.
      fs::path inside;
      const fs::path below = path.lexically_relative(entry->path() / "snapshots");
      for (auto part = std::next(below.begin()); part != below.end(); ++part) inside /= *part;
      models->push_back({.name = "hf://" + owner + "/" + name + ":" + inside.string(),
                         .path = path.string(),
                         .file_bytes = SizeOf(path),
                         .origin = "Hugging Face"});
    });
  }
  SortFrom(first, models);
}

// The file of the weights that a manifest names, or "".
std::string BlobOf(const fs::path& manifest, const fs::path& blobs) {
  const Result<std::string> text = ReadInput(manifest.string());
  if (!text.ok()) return {};
  json::error_code error;
  const json::value value = json::parse(*text, error);
  const json::object* object = error ? nullptr : value.if_object();
  const json::value* layers = object == nullptr ? nullptr : object->if_contains("layers");
  if (layers == nullptr || !layers->is_array()) return {};
  for (const json::value& layer : layers->get_array()) {
    if (!layer.is_object()) continue;
    const json::value* type = layer.get_object().if_contains("mediaType");
    const json::value* digest = layer.get_object().if_contains("digest");
    if (type == nullptr || digest == nullptr || !type->is_string() || !digest->is_string())
      continue;
    std::string name(digest->get_string());
    if (type->get_string() != "application/vnd.ollama.image.model") continue;
    constexpr std::string_view kHash = "sha256:";
    if (!name.starts_with(kHash) || name.find('/') != std::string::npos) return {};
    name[kHash.size() - 1] = '-';
    return (blobs / name).string();
  }
  return {};
}

// "manifests/registry.ollama.ai/library/llama3.2/1b" is "llama3.2:1b"; of another owner
// "owner/name:tag", of another host that, too.
void AddOllama(const std::string& folder, std::vector<FoundModel>* models) {
  const size_t first = models->size();
  const fs::path manifests = fs::path(folder) / "manifests";
  ForEachFile(manifests, [&](const fs::path& manifest) {
    std::string name = manifest.parent_path().lexically_relative(manifests).string();
    for (const std::string_view usual : {"registry.ollama.ai/", "library/"})
      if (name.starts_with(usual)) name.erase(0, usual.size());
    const std::string path = BlobOf(manifest, fs::path(folder) / "blobs");
    std::error_code error;
    if (path.empty() || !fs::is_regular_file(path, error)) return;
    models->push_back({.name = name + ":" + manifest.filename().string(),
                       .path = path,
                       .file_bytes = SizeOf(path),
                       .origin = "Ollama"});
  });
  SortFrom(first, models);
}

void AddFiles(const std::string& folder, const std::string& origin,
              std::vector<FoundModel>* models) {
  const size_t first = models->size();
  ForEachFile(folder, [&](const fs::path& path) {
    if (!IsModelFileName(path.filename().string())) return;
    models->push_back({.name = path.stem().string(),
                       .path = path.string(),
                       .file_bytes = SizeOf(path),
                       .origin = origin});
  });
  SortFrom(first, models);
}

}  // namespace

std::vector<FoundModel> ModelsOfOthers(const Environment& environment) {
  std::vector<FoundModel> models;
  const OtherFolders& folders = environment.others;
  if (!environment.hub.cache_dir.empty()) AddHuggingFace(environment.hub.cache_dir, &models);
  if (!folders.ollama.empty()) AddOllama(folders.ollama, &models);
  if (!folders.llama_cpp.empty()) AddFiles(folders.llama_cpp, "llama.cpp", &models);
  if (!folders.lm_studio.empty()) AddFiles(folders.lm_studio, "LM Studio", &models);
  return models;
}

}  // namespace skald::cli
