#include "huggingface/folder.h"

#include <gtest/gtest.h>

#include <limits>
#include <set>

#include "base/json_tree.h"
#include "base/status_macros.h"
#include "huggingface/architecture.h"
#include "huggingface/row_changes.h"
#include "huggingface/tensor_names.h"

namespace skald::huggingface {
namespace {

Architecture Plain() { return {.model_type = "plain", .family = "plain"}; }

TEST(TensorNames, TakeNumbersAndWhatStandsBeforeOut) {
  for (const char* name :
       {"model.layers.3.mlp.experts.12.up_proj.weight", "layers.3.mlp.experts.12.up_proj.weight",
        "language_model.model.layers.3.mlp.experts.12.up_proj.weight",
        "model.language_model.layers.3.mlp.experts.12.up_proj.weight"}) {
    const NamePattern found = PatternOf(name);
    EXPECT_EQ(found.pattern, "layers.#.mlp.experts.#.up_proj.weight");
    EXPECT_EQ(found.numbers, (std::vector<int64_t>{3, 12}));
  }
  EXPECT_EQ(PatternOf("language_model.lm_head.weight").pattern, "lm_head.weight");
  EXPECT_EQ(PatternOf("layers.99999999999999999999.x").pattern, "layers.99999999999999999999.x");
  EXPECT_EQ(PatternOf("").pattern, "");
}

TEST(TensorNames, MoveRowsAndAddOneOnlyWhereTheArchitectureSaysSo) {
  constexpr std::string_view kQuery = "layers.#.self_attn.q_proj.weight";
  constexpr std::string_view kNorm = "layers.#.input_layernorm.weight";
  Architecture architecture = Plain();
  EXPECT_EQ(RulesFor(architecture, kQuery).at(0).change, Change::kNone);
  EXPECT_EQ(RulesFor(architecture, kNorm).at(0).values, Values::kAsStored);
  architecture.pairs_rows = true;
  architecture.adds_one = true;
  EXPECT_EQ(RulesFor(architecture, kQuery).at(0).change, Change::kPairRows);
  EXPECT_EQ(RulesFor(architecture, kNorm).at(0).values, Values::kAddOne);
  EXPECT_TRUE(RulesFor(architecture, "layers.#.unheard.of").empty());
}

TEST(TensorNames, AnArchitecturesOwnRuleHidesTheCommonOne) {
  constexpr NameRule kOwn[] = {{"norm.weight", "first"}, {"norm.weight", "second"}};
  Architecture architecture = Plain();
  architecture.rules = kOwn;
  const std::vector<NameRule> rules = RulesFor(architecture, "norm.weight");
  ASSERT_EQ(rules.size(), 2u);
  EXPECT_EQ(rules[1].name, "second");
}

TEST(Architectures, HaveNamesOfTheirOwn) {
  std::set<std::string_view> names;
  for (const Architecture* architecture : Architectures()) {
    if (architecture->is_kind != nullptr) continue;  // of a type that another one has
    EXPECT_TRUE(names.insert(architecture->model_type).second) << architecture->model_type;
    if (architecture->other_type.empty()) continue;
    EXPECT_TRUE(names.insert(architecture->other_type).second) << architecture->other_type;
  }
  EXPECT_GE(names.size(), 37u);
}

// `more`: further members, each behind a comma.
Result<std::string_view> FamilyOf(std::string_view type, std::string_view more = "") {
  const auto document =
      JsonTree::Parse(R"({"model_type": ")" + std::string(type) + "\"" + std::string(more) + "}");
  ASSIGN_OR_RETURN(const Config config, Config::Of(*document));
  ASSIGN_OR_RETURN(const Architecture* architecture, FindArchitecture(config));
  return architecture->family;
}

TEST(Architectures, OfOneTypeAreToldApart) {
  EXPECT_EQ(*FamilyOf("gemma3_text"), "gemma3");
  EXPECT_EQ(*FamilyOf("gemma3_text", R"(, "use_bidirectional_attention": false)"), "gemma3");
  EXPECT_EQ(*FamilyOf("gemma3_text", R"(, "use_bidirectional_attention": true)"),
            "gemma-embedding");
  EXPECT_EQ(*FamilyOf("gemma3", R"(, "use_bidirectional_attention": true)"), "gemma3");
}

TEST(Architectures, AreFoundUnderBothNames) {
  EXPECT_EQ(*FamilyOf("qwen3_5"), "qwen35");
  EXPECT_EQ(*FamilyOf("qwen3_5_text"), "qwen35");
  EXPECT_EQ(*FamilyOf("kimi_k2"), "deepseek2");
}

TEST(Architectures, AreNamedWhereOneIsUnknown) {
  for (const char* unknown : {"nope", ""}) {
    const Status status = FamilyOf(unknown).status();
    EXPECT_EQ(status.code(), ErrorCode::kUnsupported);
    EXPECT_NE(status.message().find("gemma3, gemma3_text, gemma4"), std::string::npos)
        << status.message();
  }
}

// Of a plain matrix, whose rows move.
Status Change4Rows(Change change, HeadNumbers numbers) {
  const auto document = JsonTree::Parse("{}");
  ASSIGN_OR_RETURN(const Config config, Config::Of(*document));
  PlannedTensor tensor = {.name = "x", .change = change, .rows = 4, .columns = 3};
  const std::string stored = "stored";
  return ApplyChange({.config = config, .numbers = numbers, .stored = stored}, &tensor);
}

TEST(RowChanges, TakeOnlyHeadsThatDivideTheRows) {
  constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
  EXPECT_TRUE(Change4Rows(Change::kPairKvRows, {.kv_heads = 1}).ok());
  EXPECT_TRUE(Change4Rows(Change::kPairKvRows, {.kv_heads = 2}).ok());
  // Two times the least number is 0 in 64 bits: nothing may be divided by it.
  for (const int64_t heads : {int64_t{0}, int64_t{3}, int64_t{4}, int64_t{-1}, kLeast})
    EXPECT_FALSE(Change4Rows(Change::kPairKvRows, {.kv_heads = heads}).ok()) << heads;
}

TEST(RowChanges, TakeOnlyValueHeadsOfEachKeyHead) {
  const HeadNumbers right = {.key_heads = 1, .value_heads = 2, .value_dim = 2};
  EXPECT_TRUE(Change4Rows(Change::kTurnValueHeads, right).ok());
  const HeadNumbers wrong[] = {{.key_heads = 0, .value_heads = 2, .value_dim = 2},
                               {.key_heads = 2, .value_heads = 3, .value_dim = 1},
                               {.key_heads = 1, .value_heads = 2, .value_dim = 3},
                               {.key_heads = 1, .value_heads = 65537, .value_dim = 1}};
  for (const HeadNumbers& numbers : wrong)
    EXPECT_FALSE(Change4Rows(Change::kTurnValueHeads, numbers).ok());
}

TEST(Folder, IsADirectoryWithAConfig) {
  EXPECT_FALSE(Folder::IsFolder("/nowhere/at/all"));
  EXPECT_FALSE(Folder::IsFolder(SKALD_SOURCE_DIR));
  EXPECT_FALSE(Folder::IsFolder(SKALD_SOURCE_DIR "/README.md"));
}

}  // namespace
}  // namespace skald::huggingface
