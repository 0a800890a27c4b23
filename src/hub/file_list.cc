#include "hub/file_list.h"

#include <algorithm>
#include <boost/json.hpp>
#include <map>
#include <set>
#include <utility>

#include "base/status_macros.h"

namespace skald::hub {
namespace {

namespace json = boost::json;

// Repositories of many quantizations have some hundred files.
constexpr size_t kMostFiles = 100'000;
constexpr int64_t kMostBytes = int64_t{1} << 50;
constexpr std::string_view kExtension = ".gguf";

Status NotAHub() {
  return Status(ErrorCode::kUnavailable, "the answer is not that of a model hub");
}

std::string TextOf(const json::object& object, std::string_view name) {
  const json::value* value = object.if_contains(name);
  if (value == nullptr || !value->is_string()) return {};
  return std::string(value->get_string());
}

int64_t SizeOf(const json::object& object) {
  const json::value* value = object.if_contains("size");
  if (value == nullptr || !value->is_int64()) return -1;
  return value->get_int64();
}

// What goes into a path on this machine: the other side must not choose where it writes.
bool IsSafePath(std::string_view path) {
  if (path.empty() || path.size() > 1024 || path.front() == '/' || path.back() == '/') return false;
  if (path.find("..") != std::string_view::npos || path.find("//") != std::string_view::npos)
    return false;
  return std::all_of(path.begin(), path.end(), [](char c) {
    return static_cast<unsigned char>(c) >= ' ' && c != '\\' && c != 127;
  });
}

std::string Upper(std::string_view text) {
  std::string upper(text);
  for (char& c : upper) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return upper;
}

bool IsWordCharacter(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// Whether `word` stands in `path`, both in capitals, and neither side goes on with it: Q4_K is no
// part of Q4_K_M.
bool HasWord(std::string_view path, std::string_view word) {
  for (size_t at = path.find(word); at != std::string_view::npos; at = path.find(word, at + 1)) {
    const size_t end = at + word.size();
    if ((at == 0 || !IsWordCharacter(path[at - 1])) &&
        (end == path.size() || !IsWordCharacter(path[end])))
      return true;
  }
  return false;
}

// "a-00002-of-00003.gguf": the model's name is "a", the part 2 of 3. Of an unsplit file: 1 of 1.
struct Part {
  std::string model;
  int number = 1;
  int count = 1;
};

int FiveDigits(std::string_view text) {
  int number = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return -1;
    number = number * 10 + (c - '0');
  }
  return number;
}

Part PartOf(std::string_view path) {
  const std::string_view stem = path.substr(0, path.size() - kExtension.size());
  constexpr std::string_view kTail = "-00001-of-00001";
  if (stem.size() > kTail.size() && stem.substr(stem.size() - 9, 4) == "-of-" &&
      stem[stem.size() - kTail.size()] == '-') {
    const int number = FiveDigits(stem.substr(stem.size() - 14, 5));
    const int count = FiveDigits(stem.substr(stem.size() - 5));
    if (number >= 1 && count >= number)
      return {std::string(stem.substr(0, stem.size() - kTail.size())), number, count};
  }
  return {std::string(stem), 1, 1};
}

bool IsModelFile(std::string_view path) {
  if (!path.ends_with(kExtension) || path.size() == kExtension.size()) return false;
  const std::string name = Upper(path.substr(path.rfind('/') + 1));
  return name.find("MMPROJ") == std::string::npos && name.find("IMATRIX") == std::string::npos;
}

// Whole models by name, the parts of each in order. A model of which a part lacks is none.
std::map<std::string, std::vector<ListedFile>> ModelsAmong(const std::vector<ListedFile>& files) {
  std::map<std::string, std::map<int, ListedFile>> parts;
  std::map<std::string, int> counts;
  for (const ListedFile& file : files) {
    if (!IsModelFile(file.path)) continue;
    const Part part = PartOf(file.path);
    parts[part.model].emplace(part.number, file);
    counts[part.model] = part.count;
  }
  std::map<std::string, std::vector<ListedFile>> models;
  for (auto& [name, numbered] : parts) {
    if (static_cast<int>(numbered.size()) != counts[name]) continue;
    for (auto& [number, file] : numbered) models[name].push_back(std::move(file));
  }
  return models;
}

const std::vector<ListedFile>* WithWord(
    const std::map<std::string, std::vector<ListedFile>>& models, std::string_view word) {
  const std::vector<ListedFile>* found = nullptr;
  size_t shortest = 0;
  for (const auto& [name, parts] : models) {
    if (!HasWord(Upper(name), word)) continue;
    if (found != nullptr && name.size() >= shortest) continue;
    found = &parts;
    shortest = name.size();
  }
  return found;
}

std::vector<ListedFile> Copy(const std::vector<ListedFile>& files) { return files; }

std::string ChoicesText(const std::map<std::string, std::vector<ListedFile>>& models) {
  std::set<std::string> words;
  for (const auto& [name, parts] : models) {
    const std::string word = QuantizationOf(parts.front().path);
    words.insert(word.empty() ? parts.front().path : word);
  }
  std::string text;
  for (const std::string& word : words) {
    if (text.size() > 400) return text + ", ...";
    text += (text.empty() ? "" : ", ") + word;
  }
  return text;
}

}  // namespace

bool IsHash(std::string_view text, size_t digits) {
  return text.size() == digits &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

Status AppendFileList(std::string_view text, std::vector<ListedFile>* files) {
  json::error_code error;
  const json::value list = json::parse(json::string_view(text.data(), text.size()), error);
  if (error || !list.is_array()) return NotAHub();
  for (const json::value& entry : list.get_array()) {
    if (!entry.is_object()) return NotAHub();
    const json::object& object = entry.get_object();
    if (TextOf(object, "type") != "file") continue;
    ListedFile file = {
        .path = TextOf(object, "path"), .blob = TextOf(object, "oid"), .bytes = SizeOf(object)};
    if (const json::value* lfs = object.if_contains("lfs"); lfs != nullptr && lfs->is_object()) {
      file.sha256 = TextOf(lfs->get_object(), "oid");
      file.bytes = SizeOf(lfs->get_object());
      if (!IsHash(file.sha256, 64)) return NotAHub();
      file.blob = file.sha256;
    }
    // It becomes a file's name.
    if (file.sha256.empty() && !IsHash(file.blob, 40)) return NotAHub();
    if (file.bytes < 0 || file.bytes > kMostBytes || files->size() >= kMostFiles) return NotAHub();
    if (IsSafePath(file.path)) files->push_back(std::move(file));
  }
  return Ok();
}

Result<std::string> ReadCommit(std::string_view text) {
  json::error_code error;
  const json::value answer = json::parse(json::string_view(text.data(), text.size()), error);
  if (error || !answer.is_object()) return NotAHub();
  std::string commit = TextOf(answer.get_object(), "sha");
  // It becomes a folder.
  if (!IsHash(commit, 40)) return NotAHub();
  return commit;
}

Result<std::vector<ListedFile>> ChooseModel(const std::vector<ListedFile>& files,
                                            std::string_view choice) {
  for (const ListedFile& file : files) {
    if (file.path != choice || !choice.ends_with(kExtension)) continue;
    if (!IsModelFile(file.path)) return std::vector<ListedFile>{file};
  }
  const auto models = ModelsAmong(files);
  if (models.empty())
    return Status(ErrorCode::kUnsupported,
                  "there is no GGUF file; look for a repository whose name ends in -GGUF");
  for (const auto& [name, parts] : models) {
    for (const ListedFile& part : parts)
      if (part.path == choice) return Copy(parts);
  }
  if (choice.empty()) {
    for (const std::string_view usual : {"Q4_K_M", "Q8_0"})
      if (const auto* found = WithWord(models, usual)) return Copy(*found);
    return Copy(models.begin()->second);
  }
  if (const auto* found = WithWord(models, Upper(choice))) return Copy(*found);
  return Status(ErrorCode::kNotFound,
                "there is no '" + std::string(choice) + "'; there are: " + ChoicesText(models));
}

std::string QuantizationOf(std::string_view path) {
  const Part part = PartOf(path);
  std::string_view name = part.model;
  name.remove_prefix(name.find_last_of("/") + 1);  // npos + 1 is 0
  // The last word that begins as a type does: Q4_K_M, IQ2_XS, TQ1_0, F16, BF16, MXFP4.
  for (size_t end = name.size(); end > 0;) {
    const size_t begin = name.find_last_of("-.", end - 1) + 1;
    const std::string word = Upper(name.substr(begin, end - begin));
    for (const std::string_view start : {"Q", "IQ", "TQ", "F", "BF", "MXFP"}) {
      if (word.size() > start.size() && word.starts_with(start) && word[start.size()] >= '0' &&
          word[start.size()] <= '9')
        return word;
    }
    if (begin == 0) break;
    end = begin - 1;
  }
  return {};
}

}  // namespace skald::hub
