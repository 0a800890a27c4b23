#include "base/json_tree.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace skald {
namespace {

JsonTree Parsed(std::string_view text) {
  Result<JsonTree> tree = JsonTree::Parse(text);
  EXPECT_TRUE(tree.ok()) << tree.status().message();
  return *std::move(tree);
}

TEST(JsonTree, KeepsTheOrderOfMembersAndElements) {
  const JsonTree tree = Parsed(R"({"b": [1, [2, 3], {}], "a": {"c": null}, "b": 4})");
  std::string names;
  for (const JsonValue member : tree.root()) names += member.name();
  EXPECT_EQ(names, "bab");
  const JsonValue first = *tree.root().Find("b");
  EXPECT_EQ(first.size(), 3u);
  EXPECT_EQ((*first.begin()).AsInt(), 1);
  EXPECT_TRUE(tree.root().Find("a")->Find("c").has_value());
  EXPECT_FALSE(tree.root().Find("c").has_value());
  EXPECT_FALSE(first.Find("b").has_value());
}

TEST(JsonTree, GivesNumbersAsWhatTheyAre) {
  const JsonTree tree = Parsed("[1, -2, 1e2, 1.5, 18446744073709551615, true, \"7\", 1e300]");
  auto value = tree.root().begin();
  EXPECT_EQ((*value).AsInt(), 1);
  EXPECT_EQ((*value).AsNumber(), 1.0);
  ++value;
  EXPECT_EQ((*value).AsInt(), -2);
  ++value;
  EXPECT_EQ((*value).AsInt(), 100);
  ++value;
  EXPECT_FALSE((*value).AsInt().has_value());
  EXPECT_EQ((*value).AsNumber(), 1.5);
  ++value;
  EXPECT_FALSE((*value).AsInt().has_value());
  EXPECT_EQ((*value).AsNumber(), 18446744073709551616.0);
  ++value;
  EXPECT_EQ((*value).AsBool(), true);
  EXPECT_FALSE((*value).AsNumber().has_value());
  ++value;
  EXPECT_EQ((*value).AsString(), "7");
  EXPECT_FALSE((*value).AsInt().has_value());
  ++value;
  EXPECT_FALSE((*value).AsInt().has_value());
}

TEST(JsonTree, ReadsEscapesAndKeepsNul) {
  const JsonTree tree = Parsed(R"({"\u00e4\n": "a\u0000b\ud83d\ude00"})");
  EXPECT_EQ((*tree.root().begin()).name(), "\u00e4\n");
  EXPECT_EQ((*tree.root().begin()).AsString(), std::string("a\0b\U0001f600", 7));
}

TEST(JsonTree, RefusesWhatIsNoJson) {
  for (const char* text : {"", "{", "[1,]", "{\"a\" 1}", "1 2", "nul", "\"\\ud800\"", "'a'"}) {
    const Result<JsonTree> tree = JsonTree::Parse(text);
    ASSERT_FALSE(tree.ok()) << text;
    EXPECT_EQ(tree.status().code(), ErrorCode::kBadModel);
    EXPECT_TRUE(tree.status().message().starts_with("no JSON at byte")) << tree.status().message();
  }
}

TEST(JsonTree, RefusesDepth) {
  const auto nested = [](size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  EXPECT_TRUE(JsonTree::Parse(nested(kJsonTreeDepth)).ok());
  EXPECT_FALSE(JsonTree::Parse(nested(kJsonTreeDepth + 1)).ok());
  EXPECT_FALSE(JsonTree::Parse(std::string(1 << 20, '[')).ok());
}

TEST(JsonTree, DepthCanBeChosen) {
  const std::string nested =
      std::string(kJsonTreeDepth + 1, '[') + std::string(kJsonTreeDepth + 1, ']');
  EXPECT_TRUE(JsonTree::Parse(nested, {.depth = kJsonTreeDepth + 1}).ok());
  EXPECT_FALSE(JsonTree::Parse("[[]]", {.depth = 1}).ok());
}

TEST(JsonTree, KeepsTheTextsOfNumbers) {
  constexpr std::string_view kText =
      R"([0.10, "x", 12, -3e400, 18446744073709551616, {"a": 1.5E+3}])";
  const Result<JsonTree> tree = JsonTree::Parse(kText, {.number_texts = true});
  ASSERT_TRUE(tree.ok()) << tree.status().message();
  std::vector<std::string> texts;
  for (const JsonValue value : tree->root()) texts.push_back(value.NumberText());
  EXPECT_EQ(texts,
            (std::vector<std::string>{"0.10", "", "12", "-3e400", "18446744073709551616", ""}));
  EXPECT_EQ(Parsed(kText).root().size(), 6u);
}

TEST(JsonTree, RefusesTooManyValues) {
  const auto list = [](size_t count) {
    std::string text = "[0";
    for (size_t i = 2; i < count; ++i) text += ",0";
    return text + "]";
  };
  EXPECT_TRUE(JsonTree::Parse(list(kJsonTreeValues)).ok());
  EXPECT_FALSE(JsonTree::Parse(list(kJsonTreeValues + 1)).ok());
}

// Names that collide in a table of FNV-1a cost nothing here, because there is no table: a hundred
// thousand names are read in a moment, whatever they are.
TEST(JsonTree, ReadsAnObjectOfManyNames) {
  std::string text = "{";
  for (int i = 0; i < 100000; ++i) text += "\"name" + std::to_string(i) + "\": " + "1, ";
  text += "\"last\": 2}";
  const JsonTree tree = Parsed(text);
  EXPECT_EQ(tree.root().size(), 100001u);
  EXPECT_EQ(tree.root().Find("last")->AsInt(), 2);
}

}  // namespace
}  // namespace skald
