// Model files that other programs wrote, so they show that this reader and those writers mean the
// same format: the golden models always, the larger ones where they lie beside the checkout.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "formats/gguf.h"
#include "support/shared_data.h"

namespace skald::formats {
namespace {

std::vector<std::string> FilesIn(const std::string& path) {
  std::vector<std::string> files;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(path, error)) {
    if (entry.path().extension() == ".gguf") files.push_back(entry.path().string());
  }
  EXPECT_FALSE(files.empty()) << "no model files in " << path;
  std::sort(files.begin(), files.end());
  return files;
}

GgufModel OpenOrFail(const std::string& path) {
  auto model = GgufModel::Open(path);
  EXPECT_TRUE(model.ok()) << model.status().message();
  return *std::move(model);
}

void ExpectModelsParse(const std::string& folder) {
  for (const std::string& path : FilesIn(folder)) {
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

// The matrix of the golden llama's tokens: its shape.
void ExpectLlamaEmbedding(const std::string& folder, uint64_t columns, uint64_t rows) {
  const GgufModel model = OpenOrFail(folder + "/llama.gguf");
  EXPECT_EQ(*model.metadata().GetU64("llama.block_count"), 2u);
  const auto embedding = model.tensors().Get("token_embd.weight");
  ASSERT_TRUE(embedding.ok());
  EXPECT_EQ((*embedding)->columns(), columns);
  EXPECT_EQ((*embedding)->rows(), rows);
  EXPECT_EQ((*embedding)->byte_count, columns * rows * 4);
}

TEST(GgufFiles, GoldenModelsParse) { ExpectModelsParse(SKALD_GOLDEN_MODELS); }

TEST(GgufFiles, GoldenLlamaHasItsShapes) { ExpectLlamaEmbedding(SKALD_GOLDEN_MODELS, 96, 295); }

TEST(GgufSharedData, GoldenModelsParse) { ExpectModelsParse(support::SharedData("golden")); }

TEST(GgufSharedData, GoldenLlamaHasItsShapes) {
  ExpectLlamaEmbedding(support::SharedData("golden"), 128, 512);
}

TEST(GgufSharedData, VocabularyFilesParse) {
  for (const std::string& path : FilesIn(support::SharedData("tokenizers"))) {
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
