// The files of the team's test data beside the checkout. They were written by other programs, so
// they show that this reader and those writers mean the same format.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "formats/gguf.h"

namespace skald::formats {
namespace {

std::vector<std::string> FilesIn(const std::string& folder) {
  std::vector<std::string> files;
  std::error_code error;
  const std::string path = std::string(SKALD_SOURCE_DIR) + "/../shared/" + folder;
  for (const auto& entry : std::filesystem::directory_iterator(path, error)) {
    if (entry.path().extension() == ".gguf") files.push_back(entry.path().string());
  }
  EXPECT_FALSE(files.empty()) << "no test data in " << path
                              << ": the folder shared must lie beside the checkout";
  std::sort(files.begin(), files.end());
  return files;
}

GgufModel OpenOrFail(const std::string& path) {
  auto model = GgufModel::Open(path);
  EXPECT_TRUE(model.ok()) << model.status().message();
  return *std::move(model);
}

TEST(GgufSharedData, GoldenModelsParse) {
  for (const std::string& path : FilesIn("golden")) {
    SCOPED_TRACE(path);
    const auto model = GgufModel::Open(path);
    ASSERT_TRUE(model.ok()) << model.status().message();
    EXPECT_GE(model->tensors().size(), 20u);
    EXPECT_TRUE(model->metadata().Contains("tokenizer.ggml.tokens"));
    const TensorInfo& last = model->tensors().all().back();
    std::vector<std::byte> row(last.row_bytes());
    EXPECT_TRUE(model->ReadTensor(last, last.byte_count - row.size(), row).ok());
  }
}

TEST(GgufSharedData, GoldenLlamaHasItsShapes) {
  const std::vector<std::string> files = FilesIn("golden");
  ASSERT_FALSE(files.empty());
  const GgufModel model =
      OpenOrFail(std::filesystem::path(files.front()).parent_path() / "llama.gguf");
  EXPECT_EQ(*model.metadata().GetU64("llama.block_count"), 2u);
  const auto embedding = model.tensors().Get("token_embd.weight");
  ASSERT_TRUE(embedding.ok());
  EXPECT_EQ((*embedding)->columns(), 128u);
  EXPECT_EQ((*embedding)->rows(), 512u);
  EXPECT_EQ((*embedding)->byte_count, 128u * 512 * 4);
}

TEST(GgufSharedData, VocabularyFilesParse) {
  for (const std::string& path : FilesIn("tokenizers")) {
    SCOPED_TRACE(path);
    const auto model = GgufModel::Open(path);
    ASSERT_TRUE(model.ok()) << model.status().message();
    const auto tokens = model->metadata().GetStrings("tokenizer.ggml.tokens");
    ASSERT_TRUE(tokens.ok()) << tokens.status().message();
    EXPECT_GE(tokens->size(), 32000u);
    EXPECT_EQ(static_cast<size_t>(std::distance(tokens->begin(), tokens->end())), tokens->size());
  }
}

}  // namespace
}  // namespace skald::formats
