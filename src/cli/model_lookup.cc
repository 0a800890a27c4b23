#include "cli/model_lookup.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>
#include <system_error>
#include <utility>

#include "cli/other_models.h"

namespace skald::cli {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kExtension = ".gguf";
constexpr std::string_view kFirstPart = "-00001-of-";

bool IsFile(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error);
}

// A model as its publisher keeps it: a folder of Hugging Face.
bool IsFolder(const fs::path& path) {
  std::error_code error;
  return fs::is_directory(path, error) && IsFile(path / "config.json");
}

bool IsModel(const fs::path& path) { return IsFile(path) || IsFolder(path); }

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
    if (!IsModelFileName(path.filename().string()) || !IsFile(path)) continue;
    std::error_code size_error;
    const uint64_t size = fs::file_size(path, size_error);
    models.push_back({.name = path.stem().string(),
                      .path = path.string(),
                      .file_bytes = size_error ? 0 : static_cast<int64_t>(size)});
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
                  fmt::format("no file and no model named '{}'; there are: {}; type one of them, "
                              "the path of a GGUF file, or hf://OWNER/NAME to pull one",
                              name, known));
  std::string places;
  for (const std::string& directory : ModelDirectories(environment))
    places += (places.empty() ? "" : ", ") + directory;
  return Status(
      ErrorCode::kNotFound,
      fmt::format("no file and no model named '{}', and no models in {}; type the path of "
                  "a GGUF file, or hf://OWNER/NAME to pull one",
                  name, places));
}

bool IsNameCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
         c == '_' || c == '-';
}

bool IsName(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), IsNameCharacter);
}

bool HasFigure(std::string_view text) {
  return text.find_first_of("0123456789") != std::string_view::npos;
}

bool HasLetter(std::string_view text) {
  return std::any_of(text.begin(), text.end(),
                     [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); });
}

// "llama3.2", "Qwen2.5-7B", "deepseek-r1": a family and a version. The family alone is a word
// ("mistral" is a wind), but for those that are nothing else.
bool IsFamily(std::string_view word) {
  constexpr std::array<std::string_view, 18> kFamilies = {
      "llama",     "qwen",    "mistral", "mixtral", "gemma",    "phi",
      "deepseek",  "smollm",  "granite", "olmo",    "falcon",   "codellama",
      "tinyllama", "gpt-oss", "glm",     "exaone",  "nemotron", "kimi"};
  constexpr std::array<std::string_view, 6> kNoOtherWord = {"mixtral",   "qwen",    "tinyllama",
                                                            "codellama", "gpt-oss", "smollm"};
  if (!IsName(word)) return false;
  std::string lower(word);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  if (std::find(kNoOtherWord.begin(), kNoOtherWord.end(), lower) != kNoOtherWord.end()) return true;
  return std::any_of(kFamilies.begin(), kFamilies.end(), [&](std::string_view family) {
    if (!lower.starts_with(family)) return false;
    const std::string_view version = std::string_view(lower).substr(family.size());
    return HasFigure(version) && (version.front() == '-' || HasFigure(version.substr(0, 1)));
  });
}

}  // namespace

std::string UserModelDirectory(const Environment& environment) {
  if (!environment.data_home.empty()) return environment.data_home + "/skald/models";
  if (!environment.home.empty()) return environment.home + "/.local/share/skald/models";
  return {};
}

std::vector<std::string> ModelDirectories(const Environment& environment) {
  std::vector<std::string> directories;
  std::string_view rest = environment.models;
  while (!rest.empty()) {
    const std::string_view entry = rest.substr(0, rest.find(':'));
    if (!entry.empty()) directories.emplace_back(entry);
    rest.remove_prefix(std::min(rest.size(), entry.size() + 1));
  }
  if (std::string own = UserModelDirectory(environment); !own.empty())
    directories.push_back(std::move(own));
  if (!environment.executable_dir.empty()) {
    const fs::path here = environment.executable_dir;
    directories.push_back((here / "../share/skald/models").lexically_normal().string());
    // build/<preset>/skald in the source tree
    directories.push_back((here / "../../models/tales").lexically_normal().string());
  }
  return directories;
}

bool IsModelFileName(const std::string& name) {
  const fs::path path = name;
  return path.extension() == kExtension && !IsLaterPart(path.stem().string()) &&
         name.find("mmproj") == std::string::npos;
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
  if (name.find('/') != std::string::npos || IsModel(name)) return name;
  for (const std::string& directory : ModelDirectories(environment)) {
    const fs::path base = fs::path(directory) / name;
    for (const fs::path& path : {fs::path(base.string() + std::string(kExtension)), base})
      if (IsModel(path)) return path.string();
  }
  for (const FoundModel& model : ModelsOfOthers(environment))
    if (model.name == name) return model.path;
  return NoSuchModel(environment, name);
}

bool LooksLikeModel(std::string_view word) {
  const bool has_space = word.find_first_of(" \t\n") != std::string_view::npos;
  const bool is_path = word.starts_with("./") || word.starts_with("../") ||
                       word.starts_with("~/") || word.starts_with('/');
  if (word.ends_with(kExtension) && word.size() > kExtension.size()) return !has_space || is_path;
  if (has_space) return false;
  for (const std::string_view source : kModelSources)
    if (word.starts_with(source) && word.size() > source.size()) return true;
  if (is_path) return word.find('/', 1) != std::string_view::npos && word.size() > 3;
  const size_t slash = word.find('/');
  const std::string_view name = slash == std::string_view::npos ? word : word.substr(slash + 1);
  const size_t colon = name.find(':');
  const std::string_view base = name.substr(0, colon);
  if (!IsName(base) || (slash != std::string_view::npos && !IsName(word.substr(0, slash))))
    return false;
  if (slash != std::string_view::npos) return HasFigure(name) && HasLetter(base);
  if (colon == std::string_view::npos) return IsFamily(base);
  const std::string_view tag = name.substr(colon + 1);
  return HasLetter(base) && IsName(tag) && (HasFigure(word) || tag == "latest");
}

bool IsModelHere(const Environment& environment, const std::string& word) {
  if (IsModel(word)) return true;
  return word.find('/') == std::string::npos && !word.empty() && FindModel(environment, word).ok();
}

}  // namespace skald::cli
