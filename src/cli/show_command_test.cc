#include "cli/show_command.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace skald::cli {
namespace {

ModelDescription Small() {
  ModelDescription description;
  description.info.name = "small";
  description.info.path = "small.gguf";
  description.info.file_bytes = 3000;
  description.info.weight_bytes = 2048;
  description.info.context_length = 4096;
  description.format = "GGUF version 3";
  description.tensors = {{"a", "F32", "2", 100}, {"b", "Q4_K", "8", 700}, {"c", "F32", "1", 50}};
  description.metadata = {{"general.name", "string", "evil\x1b[2J\nname", 0}};
  description.kv_bytes_per_token_f16 = 512;
  description.kv_bytes_per_token_f32 = 1024;
  return description;
}

TEST(SizesByType, AddsUpAndPutsTheLargestFirst) {
  const std::vector<TypeSize> sizes = SizesByType(Small().tensors);
  ASSERT_EQ(sizes.size(), 2u);
  EXPECT_EQ(sizes[0].type, "Q4_K");
  EXPECT_EQ(sizes[0].bytes, 700);
  EXPECT_EQ(sizes[1].tensors, 2);
  EXPECT_EQ(sizes[1].bytes, 150);
  EXPECT_TRUE(SizesByType({}).empty());
}

TEST(ContextsToShow, EndsWithTheModelsOwn) {
  using Contexts = std::vector<int64_t>;
  EXPECT_EQ(ContextsToShow(512), (Contexts{512}));
  EXPECT_EQ(ContextsToShow(2048), (Contexts{2048}));
  EXPECT_EQ(ContextsToShow(2049), (Contexts{2048, 2049}));
  EXPECT_EQ(ContextsToShow(4096), (Contexts{2048, 4096}));
  EXPECT_EQ(ContextsToShow(131072), (Contexts{2048, 4096, 131072}));
  EXPECT_EQ(ContextsToShow(0), (Contexts{2048, 4096}));
}

TEST(ShowText, SaysWhatMemoryAContextNeeds) {
  const std::string text = ShowText(Small(), {});
  EXPECT_NE(text.find("context 2048  1.0 MiB  2.0 MiB\n"), std::string::npos) << text;
  EXPECT_NE(text.find("weights, packed: 2.0 KiB\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("general.name"), std::string::npos) << text;
}

TEST(ShowText, HasQuantizedTypesWhereTheModelAllowsThem) {
  EXPECT_EQ(ShowText(Small(), {}).find("KV q8"), std::string::npos);
  ModelDescription description = Small();
  description.kv_bytes_per_token_q8 = 264;
  description.kv_bytes_per_token_q4 = 136;
  const std::string text = ShowText(description, {});
  EXPECT_NE(text.find("KV q8      KV q4\n"), std::string::npos) << text;
  EXPECT_NE(text.find("context 2048  1.0 MiB  2.0 MiB  528.0 KiB  272.0 KiB\n"), std::string::npos)
      << text;
}

TEST(ShowText, ShowsControlCharactersOfTheFile) {
  const std::string text = ShowText(Small(), {.metadata = true});
  EXPECT_NE(text.find("evil\\x1B[2J\\nname"), std::string::npos) << text;
}

TEST(ShowJson, HasTheListsOnRequest) {
  EXPECT_EQ(ShowJson(Small(), {}).find("\"tensors\":[{\"name\""), std::string::npos);
  const std::string json = ShowJson(Small(), {.metadata = true, .tensors = true});
  EXPECT_NE(json.find(R"({"name":"b","type":"Q4_K","shape":"8","bytes":700})"), std::string::npos)
      << json;
  EXPECT_NE(json.find(R"("kv_bytes":[{"context":2048,"f16":1048576,"f32":2097152},)"),
            std::string::npos)
      << json;
}

}  // namespace
}  // namespace skald::cli
