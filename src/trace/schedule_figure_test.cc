#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "skald/trace_view.h"

namespace skald {
namespace {

TraceRecord Of(uint64_t request, TraceBody body) {
  return {.event = {.request = request, .body = std::move(body)}};
}
TraceRecord Step(int64_t rows, int64_t prompt_rows) {
  return Of(0, TraceStep{.rows = rows, .prompt_rows = prompt_rows});
}

std::string Drawn(const std::vector<TraceRecord>& records) {
  ScheduleFigure figure("skald trace convert --svg a b");
  for (const TraceRecord& record : records) figure.Add(record);
  return figure.Finish();
}

// The data of the drawing, as JSON.
std::string DataOf(const std::string& svg) {
  const size_t begin = svg.find("<metadata>") + 10;
  std::string data = svg.substr(begin, svg.find("</metadata>") - begin);
  for (size_t at = 0; (at = data.find("&quot;")) != std::string::npos;) data.replace(at, 6, "\"");
  return data;
}

bool Has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// The first is computed in two steps and answers; the second waits, finds 8 tokens in the cache,
// loses its pages and comes back. A step without rows is none.
std::vector<TraceRecord> Story() {
  return {Of(1, TraceQueued{.prompt_tokens = 12}),
          Of(2, TraceQueued{.prompt_tokens = 10}),
          Of(1, TraceAdmitted{.cached = 0, .length = 12}),
          Of(1, TraceRows{.first = 0, .count = 8, .reason = RowReason::kRank}),
          Step(8, 8),
          Step(0, 0),
          Of(1, TraceRows{.first = 8, .count = 4, .reason = RowReason::kRank}),
          Of(1, TraceToken{}),
          Of(2, TraceAdmitted{.cached = 8, .length = 10}),
          Of(2, TraceRows{.first = 8, .count = 2, .reason = RowReason::kRank}),
          Of(2, TraceToken{}),
          Step(6, 6),
          Of(2, TracePreempted{}),
          Of(1, TraceRows{.first = 12, .count = 1}),
          Of(1, TraceToken{}),
          Step(1, 0),
          Of(1, TraceRows{.first = 13, .count = 1}),
          Of(1, TraceToken{}),
          Step(1, 0),
          Of(1, TraceEnded{}),
          Of(2, TraceResumed{}),
          Of(2, TraceRows{.first = 10, .count = 1}),
          Of(2, TraceToken{.index = 1}),
          Of(2, TraceToken{.index = 2}),
          Of(2, TraceEnded{}),
          Step(3, 0)};
}

TEST(ScheduleFigure, TellsWhatEachSequenceDidInEachStep) {
  EXPECT_EQ(DataOf(Drawn(Story())),
            R"({"steps":[{"rows":8,"prompt_rows":8},{"rows":6,"prompt_rows":6},)"
            R"({"rows":1,"prompt_rows":0},{"rows":1,"prompt_rows":0},{"rows":3,"prompt_rows":0}],)"
            R"("sequences":[{"request":1,"sequence":0,"prompt":12,"cached":0,"tokens":3,"runs":[)"
            R"({"doing":"prefill","first_step":0,"steps":1,"count":8},)"
            R"({"doing":"prefill","first_step":1,"steps":1,"count":4},)"
            R"({"doing":"decode","first_step":2,"steps":2,"count":1}]},)"
            R"({"request":2,"sequence":0,"prompt":10,"cached":8,"tokens":3,"runs":[)"
            R"({"doing":"waits","first_step":0,"steps":1,"count":0},)"
            R"({"doing":"prefill","first_step":1,"steps":1,"count":2},)"
            R"({"doing":"preempted","first_step":2,"steps":2,"count":0},)"
            R"({"doing":"decode","first_step":4,"steps":1,"count":2}]}]})");
}

TEST(ScheduleFigure, SaysTheFindingAndItsCommand) {
  const std::string svg = Drawn(Story());
  EXPECT_TRUE(Has(svg, ">8 of 22 prompt tokens came from the cache, and a step had up to 8 rows<"));
  EXPECT_TRUE(Has(svg, ">skald trace convert --svg a b<"));
  EXPECT_FALSE(Has(svg, "not drawn"));
}

TEST(ScheduleFigure, OfNothingIsADocument) { EXPECT_TRUE(Drawn({}).ends_with("</svg>\n")); }

TEST(ScheduleFigure, CountsWhatIsNotDrawn) {
  std::vector<TraceRecord> records;
  for (int64_t i = 0; i < kMostDrawnSequences + 2; ++i) {
    records.push_back(Of(static_cast<uint64_t>(i + 1), TraceQueued{.prompt_tokens = 1}));
    records.push_back(Of(static_cast<uint64_t>(i + 1), TraceEnded{}));
  }
  for (int64_t i = 0; i < kMostDrawnSteps + 3; ++i) records.push_back(Step(1, 0));
  EXPECT_TRUE(Has(Drawn(records), ">2 further sequences and 3 further steps are not drawn<"));
}

}  // namespace
}  // namespace skald
