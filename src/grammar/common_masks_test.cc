#include "grammar/common_masks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "grammar/plain_states.h"
#include "grammar/test_vocabulary.h"
#include "grammar/token_table.h"
#include "skald/grammar.h"

namespace skald::grammar {
namespace {

Grammar Schema(std::string_view schema) {
  Result<Grammar> grammar = Grammar::FromJsonSchema(schema);
  EXPECT_TRUE(grammar.ok()) << grammar.status().message();
  return *std::move(grammar);
}

// Of each state of each leaf, and of keys; null where it is not common.
std::vector<std::shared_ptr<const LeafMask>> MasksOf(std::string_view schema,
                                                     const TokenTable& tokens) {
  std::vector<std::shared_ptr<const LeafMask>> masks;
  const Grammar grammar = Schema(schema);
  const Form& form = grammar.form();
  Fuel work(std::numeric_limits<int64_t>::max());
  for (uint32_t rule = 0; rule < form.rules.size(); ++rule) {
    const std::vector<StateRoom> plain = PlainRooms(form.rules[rule], KeysLeft::kMany);
    for (uint32_t state = 0; state < plain.size(); ++state) {
      const LeafState place = {.rule = rule, .state = state, .plain = plain[state]};
      masks.push_back(tokens.common_masks().Get(form, tokens, place, &work));
      if (masks.back() == nullptr) continue;
      const LeafMask own = *MakeMask(form, tokens, place, &work);
      EXPECT_EQ(masks.back()->inside, own.inside) << schema << ", " << rule << ", " << state;
      EXPECT_EQ(masks.back()->leaving.node_count(), own.leaving.node_count());
      EXPECT_EQ(masks.back()->longest, own.longest);
      EXPECT_EQ(masks.back()->steps, own.steps);
    }
  }
  return masks;
}

size_t CountCommon(const std::vector<std::shared_ptr<const LeafMask>>& masks) {
  return masks.size() - static_cast<size_t>(std::count(masks.begin(), masks.end(), nullptr));
}

TEST(CommonMasks, AreWhatALeafWouldMakeForItself) {
  const Vocabulary vocabulary = SmallVocabulary().Make();
  for (const char* schema :
       {"true", R"({"type":"number"})", R"({"properties":{"ab":{"type":"integer"}}})",
        R"({"properties":{"ab":{"type":"string","maxLength":7}},"required":["ab"]})",
        R"({"type":"string","pattern":"^(abc|order)+$"})", R"({"enum":["abc","ab",10]})",
        R"({"patternProperties":{"^a":{"type":"integer","minimum":3}}})"})
    MasksOf(schema, vocabulary.table());
}

TEST(CommonMasks, AreSharedByAllThatHaveALeafOfJson) {
  const Vocabulary vocabulary = SmallVocabulary().Make();
  const auto one = MasksOf(R"({"type":"string"})", vocabulary.table());
  const auto other = MasksOf(R"({"type":"string","maxLength":30000})", vocabulary.table());
  EXPECT_EQ(CountCommon(one), one.size());
  EXPECT_EQ(CountCommon(other), other.size());
  EXPECT_EQ(one, MasksOf(R"({"type":"string"})", vocabulary.table()));
}

// Somebody else's expression must not be known by how quickly its masks come.
TEST(CommonMasks, AreNoneThatOnlyASchemaHas) {
  const Vocabulary vocabulary = SmallVocabulary().Make();
  for (int time = 0; time < 2; ++time)
    EXPECT_EQ(MasksOf(R"({"type":"string","pattern":"^secret[0-9]"})", vocabulary.table())[1],
              nullptr);
}

// Two states, which "a" leads to and fro.
Leaf TwoStates() {
  Leaf leaf = {.class_count = 2, .next = {Leaf::kDead, 1, Leaf::kDead, 0}, .accepting = {0, 1}};
  leaf.class_of['a'] = 1;
  return leaf;
}

TEST(CommonMasks, AShapeTellsApartWhatAMaskDoes) {
  const LeafState first = {.rule = 0, .state = 0, .plain = {}};
  const std::string shape = ShapeOf(TwoStates(), first);
  EXPECT_FALSE(shape.empty());
  EXPECT_NE(ShapeOf(TwoStates(), {.rule = 0, .state = 1, .plain = {}}), shape);
  for (size_t alphabet = 0; alphabet < kAlphabetCount; ++alphabet) {
    LeafState roomy = first;
    roomy.plain[alphabet].characters = PlainRoom::kEndless;
    EXPECT_NE(ShapeOf(TwoStates(), roomy), shape) << alphabet;
  }
  Leaf other = TwoStates();
  other.accepting = {1, 1};
  EXPECT_NE(ShapeOf(other, first), shape);
  other = TwoStates();
  other.class_of['b'] = 1;
  EXPECT_NE(ShapeOf(other, first), shape);
  other = TwoStates();
  other.next[3] = 1;
  EXPECT_NE(ShapeOf(other, first), shape);
  // Bytes in more classes than there need be are the same bytes.
  other = TwoStates();
  other.class_count = 3;
  other.class_of['b'] = 2;
  other.next = {Leaf::kDead, 1, Leaf::kDead, Leaf::kDead, 0, Leaf::kDead};
  EXPECT_EQ(ShapeOf(other, first), shape);
}

TEST(CommonMasks, AShapeOfKeysSaysWhereTheyEnd) {
  const LeafState first = {.rule = 0, .state = 0, .plain = {}};
  Object object;
  object.keys = TwoStates();
  object.ends = {Object::kNoMember, 0};
  object.free_keys = {Object::kEndless, Object::kEndless};
  const std::string shape = ShapeOf(object, first);
  EXPECT_NE(ShapeOf(TwoStates(), first), shape);
  Object other = object;
  other.ends[1] = Object::kNoMember;
  EXPECT_NE(ShapeOf(other, first), shape);
  other = object;
  other.free_keys[1] = 5;
  EXPECT_NE(ShapeOf(other, first), shape);
  // Which of its members it is does not matter to a mask, and a bare key has rules of its own.
  other = object;
  other.ends[1] = 3;
  EXPECT_EQ(ShapeOf(other, first), shape);
  other.is_bare = true;
  EXPECT_EQ(ShapeOf(other, first), "");
}

TEST(CommonMasks, AVeryLargeLeafHasNoShape) {
  Leaf leaf = {.class_count = 1};
  for (uint32_t state = 0; state < 1000; ++state) {
    leaf.next.push_back(state + 1 < 1000 ? state + 1 : Leaf::kDead);
    leaf.accepting.push_back(1);
  }
  EXPECT_EQ(ShapeOf(leaf, {.rule = 0, .state = 0, .plain = {}}), "");
  EXPECT_NE(ShapeOf(leaf, {.rule = 0, .state = 900, .plain = {}}), "");
}

}  // namespace
}  // namespace skald::grammar
