#include "figure/markup.h"

#include <gtest/gtest.h>

namespace skald::figure {
namespace {

TEST(Markup, ShowsWhatItMustNotObey) {
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
}

}  // namespace
}  // namespace skald::figure
