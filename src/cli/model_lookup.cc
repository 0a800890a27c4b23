#include "cli/model_lookup.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <system_error>
#include <utility>

namespace skald::cli {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kExtension = ".gguf";
constexpr std::string_view kFirstPart = "-00001-of-";

bool IsFile(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error);
}

// "name-00002-of-00003": a later part of a split model, which cannot be loaded by itself. The
// pattern is llama.cpp's: five digits each.
bool IsLaterPart(std::string_view stem) {
  constexpr std::string_view kPattern = "-00000-of-00000";
  if (stem.size() < kPattern.size()) return false;
  const std::string_view tail = stem.substr(stem.size() - kPattern.size());
  for (size_t i = 0; i < tail.size(); ++i) {
    const bool matches =
        kPattern[i] == '0' ? tail[i] >= '0' && tail[i] <= '9' : tail[i] == kPattern[i];
    if (!matches) return false;
  }
  return !tail.starts_with(kFirstPart);
}

// The models of one directory, by name. A directory that is not there or not readable has none.
std::vector<FoundModel> ModelsIn(const std::string& directory) {
  std::vector<FoundModel> models;
  std::error_code error;
  for (fs::directory_iterator entry(directory, error), end; !error && entry != end;
       entry.increment(error)) {
    const fs::path& path = entry->path();
    if (path.extension() != kExtension || IsLaterPart(path.stem().string()) || !IsFile(path))
      continue;
    std::error_code size_error;
    const uint64_t size = fs::file_size(path, size_error);
    models.push_back(
        {path.stem().string(), path.string(), size_error ? 0 : static_cast<int64_t>(size)});
  }
  std::sort(models.begin(), models.end(),
            [](const FoundModel& a, const FoundModel& b) { return a.name < b.name; });
  return models;
}

Status NoSuchModel(const Environment& environment, const std::string& name) {
  std::string known;
  for (const FoundModel& model : FindModels(environment))
    known += (known.empty() ? "" : ", ") + model.name;
  if (!known.empty())
    return Status(ErrorCode::kNotFound,
                  fmt::format("no file and no model named '{}'; there are: {}", name, known));
  std::string places;
  for (const std::string& directory : ModelDirectories(environment))
    places += (places.empty() ? "" : ", ") + directory;
  return Status(ErrorCode::kNotFound,
                fmt::format("no file and no model named '{}', and no models in {}", name, places));
}

}  // namespace

std::vector<std::string> ModelDirectories(const Environment& environment) {
  std::vector<std::string> directories;
  std::string_view rest = environment.models;
  while (!rest.empty()) {
    const std::string_view entry = rest.substr(0, rest.find(':'));
    if (!entry.empty()) directories.emplace_back(entry);
    rest.remove_prefix(std::min(rest.size(), entry.size() + 1));
  }
  if (!environment.data_home.empty())
    directories.push_back(environment.data_home + "/skald/models");
  else if (!environment.home.empty())
    directories.push_back(environment.home + "/.local/share/skald/models");
  if (!environment.executable_dir.empty()) {
    const fs::path here = environment.executable_dir;
    directories.push_back((here / "../share/skald/models").lexically_normal().string());
    // build/<preset>/skald in the source tree
    directories.push_back((here / "../../models/tales").lexically_normal().string());
  }
  return directories;
}

std::vector<FoundModel> FindModels(const Environment& environment) {
  std::vector<FoundModel> models;
  std::set<std::string> names;
  for (const std::string& directory : ModelDirectories(environment))
    for (FoundModel& model : ModelsIn(directory))
      if (names.insert(model.name).second) models.push_back(std::move(model));
  return models;
}

Result<std::string> FindModel(const Environment& environment, const std::string& name) {
  if (name.empty()) return Status(ErrorCode::kInvalidArgument, "the name of the model is empty");
  if (name.find('/') != std::string::npos || IsFile(name)) return name;
  for (const std::string& directory : ModelDirectories(environment)) {
    const fs::path base = fs::path(directory) / name;
    for (const fs::path& path : {fs::path(base.string() + std::string(kExtension)), base})
      if (IsFile(path)) return path.string();
  }
  return NoSuchModel(environment, name);
}

}  // namespace skald::cli
