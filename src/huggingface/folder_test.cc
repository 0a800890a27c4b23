#include "huggingface/folder.h"

#include <gtest/gtest.h>

#include "huggingface/architecture.h"
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

TEST(Architectures, StandOnceInOrder) {
  for (size_t i = 1; i < Architectures().size(); ++i)
    EXPECT_LT(Architectures()[i - 1].model_type, Architectures()[i].model_type);
}

TEST(Folder, IsADirectoryWithAConfig) {
  EXPECT_FALSE(Folder::IsFolder("/nowhere/at/all"));
  EXPECT_FALSE(Folder::IsFolder(SKALD_SOURCE_DIR));
  EXPECT_FALSE(Folder::IsFolder(SKALD_SOURCE_DIR "/README.md"));
}

}  // namespace
}  // namespace skald::huggingface
