#include "hub/disk_use.h"

#include <sys/stat.h>

#include <array>
#include <filesystem>
#include <map>
#include <string_view>
#include <system_error>
#include <utility>

namespace skald::hub {
namespace {

namespace fs = std::filesystem;

// Ours, and what Hugging Face's own program leaves of a fetch that was ended.
constexpr std::array<std::string_view, 3> kUnfinished = {".partial", ".partial.state",
                                                         ".incomplete"};

// Blocks, not lengths: the ranges of a partial file come in any order, with holes between.
int64_t BlockBytes(const fs::path& path) {
  struct stat facts = {};
  return lstat(path.c_str(), &facts) == 0 ? int64_t{facts.st_blocks} * 512 : 0;
}

// The name without the ending of an unfinished file; empty for a whole one.
std::string_view WholeName(std::string_view name) {
  for (const std::string_view ending : kUnfinished)
    if (name.ends_with(ending)) return name.substr(0, name.size() - ending.size());
  return {};
}

void Add(const fs::path& path, DiskUse* use) {
  const std::string name = path.filename().string();
  (WholeName(name).empty() ? use->bytes : use->unfinished_bytes) += BlockBytes(path);
}

// "models--owner--name" is "hf://owner/name"; empty for the folder of something else.
std::string RepositoryName(std::string_view folder) {
  constexpr std::string_view kPrefix = "models--";
  if (!folder.starts_with(kPrefix)) return {};
  folder.remove_prefix(kPrefix.size());
  const size_t border = folder.find("--");
  if (border == std::string_view::npos) return {};
  return "hf://" + std::string(folder.substr(0, border)) + "/" +
         std::string(folder.substr(border + 2));
}

}  // namespace

std::vector<DiskUse> UseOfCache(const std::string& cache_dir) {
  std::vector<DiskUse> uses;
  std::error_code error;
  for (fs::directory_iterator entry(cache_dir, error), end; !error && entry != end;
       entry.increment(error)) {
    DiskUse use = {.name = RepositoryName(entry->path().filename().string()),
                   .path = entry->path().string()};
    if (use.name.empty()) continue;
    // Names are links to the bytes and are not followed, so that each file counts once.
    std::error_code inner_error;
    for (fs::recursive_directory_iterator file(entry->path(), inner_error), last;
         !inner_error && file != last; file.increment(inner_error)) {
      std::error_code kind_error;
      if (file->symlink_status(kind_error).type() == fs::file_type::regular) Add(*file, &use);
    }
    uses.push_back(std::move(use));
  }
  return uses;
}

std::vector<DiskUse> UseOfFiles(const std::string& files_dir) {
  std::map<std::string, DiskUse> uses;
  std::error_code error;
  for (fs::directory_iterator entry(files_dir, error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code kind_error;
    const std::string name = entry->path().filename().string();
    if (entry->symlink_status(kind_error).type() != fs::file_type::regular) continue;
    if (name.ends_with(".lock")) continue;
    const std::string whole = WholeName(name).empty() ? name : std::string(WholeName(name));
    DiskUse& use = uses[whole];
    use.name = whole;
    use.path = files_dir + "/" + whole;
    Add(*entry, &use);
  }
  std::vector<DiskUse> list;
  for (auto& [name, use] : uses) list.push_back(std::move(use));
  return list;
}

}  // namespace skald::hub
