/// Test pages: a folder that goes with the test, and pages whose bytes follow from their numbers.
#pragma once

#include <stdlib.h>  // NOLINT(modernize-deprecated-headers): mkdtemp is POSIX

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "disk/page_files.h"

namespace skald::disk {

/// A folder of a name of its own, gone with the object.
class TestFolder {
 public:
  TestFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "skald-disk-XXXXXX").string();
    root_ = mkdtemp(pattern.data());
  }
  ~TestFolder() { std::filesystem::remove_all(root_); }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;

  std::string path() const { return root_ + "/cache"; }
  std::string File(const std::string& name) const { return path() + "/" + name; }

 private:
  std::string root_;
};

/// Page `number` of a chain of its own.
struct TestPage {
  explicit TestPage(int number, int64_t bytes = 4096)
      : before(FirstKey(IdentityKey("test"), static_cast<uint64_t>(number))),
        tokens(kKeyTokens, TokenId{number}),
        key(NextKey(before, tokens)),
        page(static_cast<size_t>(bytes)) {
    for (size_t i = 0; i < page.size(); ++i) {
      page[i] = static_cast<std::byte>((static_cast<size_t>(number) * 131 + i * 7 + i / 251) & 255);
    }
  }
  PageName name() const { return {.key = key, .before = before, .tokens = tokens}; }

  PageKey before;
  std::vector<TokenId> tokens;
  PageKey key;
  std::vector<std::byte> page;
};

/// Files of pages of so many bytes. Null if the folder is not to be had.
inline std::unique_ptr<PageFiles> OpenFiles(const TestFolder& folder, int64_t bytes,
                                            int64_t page_bytes = 4096,
                                            const std::string& model = "test") {
  auto files = PageFiles::Open(folder.path(), bytes);
  if (!files.ok()) return nullptr;
  const PageKind kind = {.identity = IdentityKey(model), .label = model, .page_bytes = page_bytes};
  return (*files)->Serve(kind).ok() ? *std::move(files) : nullptr;
}

enum class Found : uint8_t { kMiss, kRight, kWrong };

inline Found ReadBack(PageFiles* files, const TestPage& wanted) {
  std::vector<std::byte> page(wanted.page.size());
  if (!files->Read(wanted.name(), page)) return Found::kMiss;
  return page == wanted.page ? Found::kRight : Found::kWrong;
}

}  // namespace skald::disk
