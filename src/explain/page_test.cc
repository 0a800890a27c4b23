// What a model says is text in the page, whatever it says; and what the page shows stands in it as
// tables and as data.

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <utility>

#include "explain/html.h"
#include "skald/explain.h"

namespace skald::explain {
namespace {

constexpr const char* kHostile = "</td></script><img src=x onerror=\"alert('1')\">&amp;";

Explanation Hostile() {
  Explanation hostile = {.isa = kHostile, .threads = 1, .prompt_tokens = 2, .cached_tokens = 1};
  hostile.model.name = hostile.model.architecture = hostile.model.weights_type = kHostile;
  hostile.tokens = {{.id = 1, .text = kHostile, .origin = TokenOrigin::kCached},
                    {.id = 2, .text = kHostile, .origin = TokenOrigin::kComputed},
                    {.id = 3, .text = kHostile, .origin = TokenOrigin::kDrawn}};
  ExplainedChoice choice = {.drawn = 3, .filters = {{kHostile, 2}}};
  choice.chances = {{.token = 4, .text = kHostile, .probabilities = {0.75}, .race = 2},
                    {.token = 3, .text = kHostile, .probabilities = {0.25}, .race = 1}};
  const Call inner = {.kind = CallKind::kBlock, .name = kHostile, .seconds = 1};
  ExplainedStep step = {.first_position = 1, .rows = 1, .logit_rows = 1, .is_prefill = true};
  step.drawn = 3;
  step.choice = choice;
  step.tree = {.name = kHostile, .input = {1}, .seconds = 2, .calls = {inner}};
  hostile.steps = {step};
  hostile.pages = {{.id = 7, .first_position = 0, .source = PageSource::kShared}};
  return hostile;
}

// The same, looked at in every way: one layer with two heads and four experts.
Explanation Tapped() {
  Explanation tapped = Hostile();
  ExplainedStep& step = tapped.steps[0];
  step.lens = {{.layer = 0, .best = 4, .text = kHostile, .probability = .5},
               {.layer = 1, .best = 3, .text = kHostile, .probability = .75}};
  step.tree.calls[0].card = TensorCard{
      .shape = {1, 4}, .count = 4, .min = -9, .max = 1, .first = {-9, 1}, .bins = {3, 1}};
  tapped.attention = {{.head = 0, .position = 1, .weights = {.75f, .25f}},
                      {.head = 1, .position = 1, .weights = {.5f, 0}, .sink = .5}};
  tapped.heads = {{.head = 0, .entropy_bits = .8, .distance = .75},
                  {.head = 1, .entropy_bits = 1, .distance = 1}};
  tapped.experts = {{.position = 0, .count = 4, .experts = {1, 2}, .weights = {.25f, .75f}},
                    {.position = 1, .count = 4, .experts = {0, 2}, .weights = {.5f, .5f}}};
  tapped.weights = {{.name = kHostile, .card = *step.tree.calls[0].card}};
  return tapped;
}

size_t CountOf(std::string_view text, std::string_view what) {
  size_t count = 0;
  for (size_t at = text.find(what); at != std::string_view::npos; at = text.find(what, at + 1)) {
    ++count;
  }
  return count;
}

TEST(ExplainPage, TakesNoMarkupFromAModel) {
  const std::string page = ExplainPage(Tapped(), kHostile);
  EXPECT_EQ(CountOf(page, "<img"), 0u);
  EXPECT_EQ(CountOf(page, "onerror=\""), 0u);
  EXPECT_EQ(CountOf(page, "<script"), 1u);
  EXPECT_EQ(CountOf(page, "</script"), 1u);
  EXPECT_GT(CountOf(page, "&lt;/td&gt;&lt;/script&gt;&lt;img"), 10u);
  EXPECT_GT(CountOf(page, "\\u003c/td>\\u003c/script>"), 5u) << "the data";
}

TEST(ExplainPage, NeedsNothingAndRunsNothing) {
  const std::string page = ExplainPage(Tapped(), "skald explain");
  EXPECT_EQ(CountOf(page, "default-src 'none'; style-src 'unsafe-inline'"), 1u);
  for (const char* outside :
       {"http:", "https:", "@import", "url(", " src=\"", "<link", "<iframe"}) {
    EXPECT_EQ(CountOf(page, outside), 0u) << outside;
  }
  EXPECT_LT(page.size(), 40'000u);
}

TEST(ExplainPage, SaysItsFindingsAndHasThemAsTables) {
  Explanation explanation = Hostile();
  for (ExplainedToken& token : explanation.tokens) token.text = " a";
  explanation.steps[0].choice->chances[1].text = " a";
  const std::string page = ExplainPage(explanation, "skald explain");
  for (const char* part :
       {"<h1>2 tokens in, 1 token out, in 1 step</h1>",
        "The model sees 2 numbers, 1 of them from the cache", "href=\"#step-0\"",
        "<h3 id=\"step-0\">Step 0: <bdi class=\"token\">\xE2\x90\xA3"
        "a</bdi> was drawn with 25 %</h3>",
        "The cache had 1 positions, 1 were computed", "page 7, shared, from position 0",
        "<li class=\"cached\" title=\"position 0: cached\">c</li>",
        "<li class=\"computed\" title=\"position 1: step 0\">0</li>",
        "<td>7</td><td>shared</td><td>0</td><td>1</td><td>1</td><td>30</td>"}) {
    EXPECT_EQ(CountOf(page, part), 1u) << part;
  }
  EXPECT_EQ(CountOf(page, "class=\"wide\" tabindex=\"0\" role=\"region\" aria-label="),
            CountOf(page, "<table>"));
}

// The tint of a token grows with -log p, and the page says how.
TEST(ExplainPage, TintsTokensByHowUnlikelyTheyWere) {
  Explanation explanation = Hostile();
  const std::array<std::pair<double, int>, 8> cases = {
      {{1, 0}, {.7, 0}, {.69, 1}, {.3, 1}, {.1, 2}, {.05, 3}, {.02, 3}, {.001, 4}}};
  for (const auto& [probability, tint] : cases) {
    explanation.tokens.back().probability = probability;
    const std::string page = ExplainPage(explanation, "skald explain");
    EXPECT_EQ(CountOf(page, "class=\"drawn p" + std::to_string(tint) + "\""), 1u) << probability;
  }
  const std::string page = ExplainPage(explanation, "skald explain");
  EXPECT_EQ(CountOf(page, "<span class=\"p0\">at least 70 %</span><span class=\"p1\">30 % to 70 %"),
            1u);
  EXPECT_EQ(CountOf(page, "<span class=\"p4\">below 2.0 %</span>"), 1u);
  explanation.tokens[1].probability = .05;
  EXPECT_EQ(CountOf(ExplainPage(explanation, "skald explain"), "class=\"computed p3\""), 1u);
  for (ExplainedToken& token : explanation.tokens) token.probability.reset();
  EXPECT_EQ(CountOf(ExplainPage(explanation, "skald explain"), "<span class=\"p"), 0u);
}

// Each figure that somebody asked for has a sentence, a drawing and its numbers.
TEST(ExplainPage, DrawsWhatWasLookedAt) {
  Explanation explanation = Tapped();
  for (ExplainedToken& token : explanation.tokens) token.text = "a";
  for (ExplainedLens& lens : explanation.steps[0].lens) lens.text = "b";
  explanation.steps[0].tree.calls[0].name = "mixer";
  const std::string page = ExplainPage(explanation, "skald explain");
  for (const char* part :
       {"<h2>The drawn token is the best from layer 1 on, of layers 0 to 1</h2>",
        "<td class=\"bar computed\"><bdi>b</bdi> 50 %<i style=\"width:50%\"></i></td>",
        "<td class=\"bar drawn\"><bdi>b</bdi> 75 %<i style=\"width:75%\"></i></td>",
        "<h2>The last row looks most at token 0, <bdi class=\"token\">a</bdi>: 62 %</h2>",
        "layer 0, head 0: 0.8 bits, 0.8 back, sink</text>",
        "layer 0, head 1: 1.0 bits, 1.0 back, sink",
        "<a href=\"#show-map-0-1\">1.0 &middot; 1.0</a>",
        "<h2>Expert 2 of layer 0 is chosen by 2 of 2 tokens</h2>",
        "<td class=\"bar computed\">2 1<i style=\"width:75%\"></i></td>",
        "<h2>The first step's largest value is 9, in mixer</h2>"}) {
    EXPECT_EQ(CountOf(page, part), 1u) << part;
  }
  // The map of a head: a row of the text, and the sink before it.
  EXPECT_EQ(CountOf(page,
                    "<g id=\"map-0-0\"><path class=\"h6\" d=\"M1 1.5h1\"/>"
                    "<path class=\"h10\" d=\"M0 1.5h1\"/></g>"),
            1u);
  EXPECT_EQ(CountOf(page, "M-2 1.5h1"), 3u) << "head, mean, all";
  EXPECT_EQ(CountOf(ExplainPage(Hostile(), ""), "<svg"), 0u);
}

TEST(ExplainPage, StaysSmallWhateverWasLookedAt) {
  Explanation explanation = Tapped();
  explanation.tokens[0].text = explanation.model.name = " a";
  explanation.steps[0].tree.calls[0].name = "a block";
  explanation.weights[0].name = "blk.0.attn_q.weight";
  explanation.steps[0].lens[0].text = explanation.steps[0].choice->chances[0].text = " a";
  explanation.steps[0].choice->chances[1].text = explanation.steps[0].choice->filters[0].name = "b";
  explanation.tokens.assign(200, explanation.tokens[0]);
  explanation.attention.clear();
  explanation.heads.clear();
  for (int64_t head = 0; head < 12; ++head) {
    explanation.heads.push_back({.layer = head % 4, .head = head / 4});
    for (int64_t position = 0; position < 200; ++position) {
      ExplainedAttention row = {.layer = head % 4, .head = head / 4, .position = position};
      // No two neighbours alike: the worst for a map.
      for (int64_t key = 0; key <= position; ++key) {
        row.weights.push_back(key % 2 == 0 ? .5f : .01f);
      }
      explanation.attention.push_back(std::move(row));
    }
  }
  explanation.experts.clear();
  for (int64_t position = 0; position < 6000; ++position) {
    explanation.experts.push_back({.layer = position % 40,
                                   .position = position / 40,
                                   .count = 64,
                                   .experts = {1, 2, 3, 4, 5, 6},
                                   .weights = {1, 1, 1, 1, 1, 1}});
  }
  explanation.steps[0].lens.assign(500, explanation.steps[0].lens[0]);
  // What is in a call of a step, deeper than it ever is.
  Call& tree = explanation.steps[0].tree;
  tree.calls[0].calls.assign(5, tree.calls[0]);
  tree.calls.assign(60, tree.calls[0]);
  const ExplainedStep step = explanation.steps[0];
  explanation.steps.assign(20, step);
  explanation.weights.assign(500, explanation.weights[0]);
  explanation.pages.assign(100, explanation.pages[0]);
  const std::string page = ExplainPage(explanation, "skald explain");
  const size_t data = page.find("<script");
  EXPECT_LT(data, 300'000u);
  EXPECT_EQ(CountOf(page, " maps are left out to keep the page small"), 1u);
  EXPECT_EQ(CountOf(page, "Rows before token 165 are left out"), 1u);
  for (const char* said :
       {"<li>80 tokens are left out", "Of 150 tokens the first 10 are drawn",
        "Of 20 steps the first 1 are drawn", "Of 500 cards the first 32 are drawn",
        "Of 20 choices the first 6 are drawn", "Of 60 parts the first 13 are drawn",
        "Of 100 pages the first 8 are drawn"}) {
    EXPECT_GE(CountOf(page, said), 1u) << said;
  }
}

TEST(ExplainPage, ShowsWhatWindowsLetGoAndStatesOverwrite) {
  Explanation explanation = Hostile();
  explanation.memory = {.full_layers = 1,
                        .window_layers = 3,
                        .window = 16,
                        .state_layers = 2,
                        .state_bytes = 640,
                        .snapshots = {1}};
  explanation.pages[0].window_left = 5;
  const std::string page = ExplainPage(explanation, "skald explain");
  for (const char* part :
       {"1 layer that keeps all</p>", "3 layers with a window of 16, let go before step 5",
        "state of 2 layers, 640 bytes",
        "<li class=\"hollow\">&cir;</li><li class=\"computed\"></li>", "<td>before step 5</td>",
        "<td>snapshot behind token</td><td>1</td>"}) {
    EXPECT_EQ(CountOf(page, part), 1u) << part;
  }
  EXPECT_EQ(CountOf(page, "<li class=\"hollow\"></li>"), 32u);
}

TEST(Html, ShortensTokensByCharacters) {
  EXPECT_EQ(HtmlShortToken("abc", 3), "abc");
  EXPECT_EQ(HtmlShortToken("<\xC3\xA9\xC3\xA9", 2), "&lt;\xC3\xA9&hellip;");
  EXPECT_EQ(HtmlPercent(.0994), "9.9 %");
  EXPECT_EQ(HtmlPercent(.0996), "10 %");
}

TEST(Html, NothingInJsonEndsItsElement) {
  EXPECT_EQ(HtmlJson("{\"a\":\"</script><!--\"}"), "{\"a\":\"\\u003c/script>\\u003c!--\"}");
}

}  // namespace
}  // namespace skald::explain
