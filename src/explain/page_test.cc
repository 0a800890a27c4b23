// What a model says is text in the page, whatever it says; and what the page shows stands in it as
// tables and as data.

#include <gtest/gtest.h>

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

size_t CountOf(std::string_view text, std::string_view what) {
  size_t count = 0;
  for (size_t at = text.find(what); at != std::string_view::npos; at = text.find(what, at + 1)) {
    ++count;
  }
  return count;
}

TEST(ExplainPage, TakesNoMarkupFromAModel) {
  const std::string page = ExplainPage(Hostile(), kHostile);
  EXPECT_EQ(CountOf(page, "<img"), 0u);
  EXPECT_EQ(CountOf(page, "onerror=\""), 0u);
  EXPECT_EQ(CountOf(page, "<script"), 1u);
  EXPECT_EQ(CountOf(page, "</script"), 1u);
  EXPECT_GT(CountOf(page, "&lt;/td&gt;&lt;/script&gt;&lt;img"), 10u);
  EXPECT_GT(CountOf(page, "\\u003c/td>\\u003c/script>"), 5u) << "the data";
}

TEST(ExplainPage, NeedsNothingAndRunsNothing) {
  const std::string page = ExplainPage(Hostile(), "skald explain");
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

TEST(Html, ShowsWhatItMustNotObey) {
  EXPECT_EQ(HtmlText("a<b>&\"'"), "a&lt;b&gt;&amp;&quot;&#39;");
  EXPECT_EQ(HtmlText("\x01\x7f\n"), "U+0001U+007FU+000A");
  EXPECT_EQ(HtmlText("\xE2\x80\xAE"
                     "abc\xEF\xBB\xBF"),
            "U+202EabcU+FEFF");
  EXPECT_EQ(HtmlText("\xF3\xA0\x81\x81"), "U+E0041");
  EXPECT_EQ(HtmlText("\xC3\xA9\xFF\xE2\x82"), "\xC3\xA9\\xFF\\xE2\\x82");
  EXPECT_EQ(HtmlToken(" a\n\t"),
            "\xE2\x90\xA3"
            "a\xE2\x90\x8A\xE2\x90\x89");
  EXPECT_EQ(HtmlJson("{\"a\":\"</script><!--\"}"), "{\"a\":\"\\u003c/script>\\u003c!--\"}");
}

}  // namespace
}  // namespace skald::explain
