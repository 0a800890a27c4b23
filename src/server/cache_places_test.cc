// Where in a prompt the first messages of a conversation end.
#include "server/cache_places.h"

#include <gtest/gtest.h>

#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "skald/model.h"

namespace skald::server {
namespace {

namespace json = boost::json;

constexpr std::string_view kTemplate =
    "{% for m in messages %}{{ m.role }}: {{ m.content }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}assistant: {% endif %}";

class PlacesTest : public testing::Test {
 protected:
  static Model Load() {
    Result<Model> model = LoadModel({.path = SKALD_GOLDEN_MODELS "/qwen3.gguf"});
    EXPECT_TRUE(model.ok()) << model.status().message();
    return *std::move(model);
  }

  // The texts of the prompt up to each place.
  std::vector<std::string> Fronts(std::string_view source, const std::vector<size_t>& messages,
                                  StopCheck stop = {}) {
    const Result<ChatTemplate> chat = ChatTemplate::Create(source, {});
    EXPECT_TRUE(chat.ok()) << chat.status().message();
    const Result<ChatPrompt> prompt =
        MakeChatPrompt(*chat, model_.tokenizer(), variables_, std::chrono::local_seconds{});
    EXPECT_TRUE(prompt.ok()) << prompt.status().message();
    std::vector<std::string> fronts;
    for (const int64_t place :
         PlacesOf({*chat, model_.tokenizer(), variables_, *prompt, {}}, messages, stop)) {
      std::string& text = fronts.emplace_back();
      for (int64_t i = 0; i < place; ++i)
        text += model_.tokenizer().TokenBytes(prompt->tokens[static_cast<size_t>(i)]);
    }
    return fronts;
  }

  const Model model_ = Load();
  json::object variables_ = json::parse(R"({"messages":[{"role":"system","content":"be kind"},
                     {"role":"user","content":"hi"},{"role":"assistant","content":"there"},
                     {"role":"user","content":"again"}],"add_generation_prompt":true})")
                                .as_object();
};

TEST_F(PlacesTest, EndBehindTheMessages) {
  const std::vector<std::string> fronts = Fronts(kTemplate, {1, 3});
  ASSERT_EQ(fronts.size(), 2u);
  EXPECT_EQ(fronts[0], "system: be kind<|end|>");
  EXPECT_EQ(fronts[1], "system: be kind<|end|>user: hi<|end|>assistant: there<|end|>");
}

// Nothing separates them: the last token could be joined with what comes.
TEST_F(PlacesTest, ATokenEarlierWithoutControlTokens) {
  const std::vector<std::string> fronts =
      Fronts("{% for m in messages %}[{{ m.content }}]{% endfor %}", {1});
  ASSERT_EQ(fronts.size(), 1u);
  EXPECT_EQ(fronts[0], "[be kind");
}

TEST_F(PlacesTest, ATemplateMayTellNothingWithoutAUser) {
  const std::string needs_user =
      "{% if messages[-1].role == 'system' %}{{ raise_exception('no user') }}{% endif %}";
  const std::vector<std::string> fronts = Fronts(needs_user + std::string(kTemplate), {1});
  ASSERT_EQ(fronts.size(), 1u);
  EXPECT_EQ(fronts[0], "system: be kind<|end|>");
  const std::string needs_all =
      "{% if messages|length < 4 %}{{ raise_exception('more') }}{% endif %}";
  EXPECT_TRUE(Fronts(needs_all + std::string(kTemplate), {1}).empty());
}

// Who has no time left gets a request without places, not a refusal.
TEST_F(PlacesTest, NothingIsRenderedForWhoseTimeIsUp) {
  const auto is_over = [] { return true; };
  EXPECT_TRUE(Fronts(kTemplate, {1, 3}, StopCheck(is_over)).empty());
}

TEST_F(PlacesTest, TheSystemHasAPlaceWithoutAMark) {
  using Counts = std::vector<size_t>;
  json::array messages = variables_.at("messages").as_array();
  EXPECT_EQ(MarkedFronts(messages, {}), Counts{1});
  EXPECT_EQ(MarkedFronts(messages, {1, 3, 4}), (Counts{1, 3})) << "the end is no place";
  messages[1].as_object()["role"] = "developer";
  EXPECT_EQ(MarkedFronts(messages, {1, 3}), (Counts{1, 2, 3}));
  messages.erase(messages.begin(), messages.begin() + 2);
  EXPECT_EQ(MarkedFronts(messages, {}), Counts{}) << "no system";
}

// As many as there can be messages: eight renderings of two kinds, whatever is marked.
TEST_F(PlacesTest, AThousandMarksCostNoMoreThanEight) {
  json::array& messages = variables_.at("messages").as_array();
  std::vector<size_t> marks;
  while (messages.size() < 1000) messages.push_back(messages.back());
  for (size_t i = 1; i + 1 < messages.size(); ++i) marks.push_back(i);
  // Tells nothing but the whole: each front is rendered twice, in vain.
  int asked = 0;
  const auto count = [&asked] { return ++asked < 0; };
  const std::string needs_all =
      "{% if messages|length < 1000 %}{{ raise_exception('more') }}{% endif %}";
  EXPECT_TRUE(Fronts(needs_all + std::string(kTemplate), marks, StopCheck(count)).empty());
  EXPECT_GE(asked, 16);
  EXPECT_LT(asked, 200) << "each rendering asks a few times";
}

TEST_F(PlacesTest, OfManyTheFirstAndTheLastCount) {
  json::array& messages = variables_.at("messages").as_array();
  while (messages.size() < 12) messages.push_back(messages.back());
  const std::vector<size_t> marks = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  const std::vector<std::string> fronts = Fronts(kTemplate, marks);
  ASSERT_EQ(fronts.size(), 8u);
  EXPECT_EQ(fronts[0], "system: be kind<|end|>");
  EXPECT_EQ(fronts[1], Fronts(kTemplate, {5})[0]);
}

}  // namespace
}  // namespace skald::server
